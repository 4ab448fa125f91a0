/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The descriptors in the events of polls: structures in a list, those of epoll with a structure inside. */
#pragma once

#include "collect/read/event.h"

#include <babeltrace2/babeltrace.h>

/* Where the members of a list's element are; -1: not there. */
struct dtc_ctf_ready {
	int fd;	  /* poll */
	int data; /* epoll_wait: a structure, whose member that is */
	int bits; /* of that structure: all 64 */
};

/* A member "fds" of these. False if it is not of a kind that is known. */
bool dtc_ctf_ready_compile(const bt_field_class *list, struct dtc_ctf_ready *ret_ready);
void dtc_ctf_ready_read(const struct dtc_ctf_ready *ready, const bt_field *list, struct dtc_event *event);
/* A member "event" of epoll_ctl. False if it has no data. */
bool dtc_ctf_ready_compile_data(const bt_field_class *structure, struct dtc_ctf_ready *ret_ready);
int64_t dtc_ctf_ready_read_data(const struct dtc_ctf_ready *ready, const bt_field *structure);
