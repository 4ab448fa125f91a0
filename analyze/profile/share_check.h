/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the path and the tree tell the same of a virtual machine's threads as `states` and `top`: each of them looks
 * at every stretch in which a thread did not wait.
 */
#pragma once

#include "analyze/profile/profile_check.h"

/* Of the threads of a guest, and of those of a host that are vCPUs; nothing is counted on any other node. */
struct dtc_check dtc_share_check_run(const DtcLinks *links, guint node);
