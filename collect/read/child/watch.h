/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reading end of a child's pipe, which does not wait for a child that will never write again. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * A stream over the pipe's end, which closes it, too; NULL with errno. Where the process pid neither writes nor works
 * (it was stopped, or sleeps) it is killed, *ret_is_stuck (which must outlive the stream) becomes true, and the stream
 * ends.
 */
FILE *dtc_child_watch(int fd, pid_t pid, bool *ret_is_stuck);

/* What it waits at least, at most twice that. */
#define DTC_CHILD_PATIENCE_S 10
