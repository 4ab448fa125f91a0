/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files are read through mappings. Pages of one that cannot be had, because a disk fails or somebody made the file
 * shorter meanwhile, come as SIGBUS: the program then says which file it was, and ends with 1.
 */
#pragma once

void dtc_lost_file_catch(void);
