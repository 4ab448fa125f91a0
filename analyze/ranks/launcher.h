/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mpirun, which at the end waits for every machine on which it started something as long as TCP tries (a quarter of an
 * hour), also for one that is cut off, and for ever for one whose daemon is stopped; and which, where it had to kill
 * somebody who was stopped, may wait for itself (Open MPI 4.1.4: PMIx_server_finalize, half of the times on a busy
 * machine).
 */
#pragma once

#include <sys/types.h>

/*
 * Leaves a process behind that ends the parent of this one, if that is mpirun and does not end by itself soon after it
 * has written its output. code: of the answer, which is told on mpirun's standard error: its own exit code is another
 * one then.
 */
void dtc_launcher_end_later(int code);
