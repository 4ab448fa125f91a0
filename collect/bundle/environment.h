/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a recorder says about a machine and its recording: the file NODE/environment (docs/formats.md). It tells which
 * network namespace a capture is of, what was lost, and what this kernel or these rights could not give.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define DTC_ENVIRONMENT_NAME "environment"

struct dtc_environment_interface {
	guint32 index; /* the kernel's, in its namespace */
	char *name;
	char **addresses; /* "10.0.0.2/24", NULL-terminated */
};

struct dtc_environment_capture {
	char *file;	       /* name of the file in the node's folder */
	guint64 netns;	       /* inode of the network namespace; 0: not known */
	GPtrArray *interfaces; /* struct dtc_environment_interface */
	guint64 packets;
	guint64 dropped; /* that the kernel could not hand over */
};

/* A name and what there is to say of it, both for people. */
struct dtc_environment_entry {
	char *name;
	char *value;
};

/* All owned, none NULL. */
typedef struct DtcEnvironment {
	GPtrArray *machine;  /* struct dtc_environment_entry: hostname, release, machine, boot-id, ... */
	GPtrArray *recorder; /* the same: version, tracer, events, command, ... */
	GPtrArray *captures; /* struct dtc_environment_capture */
	GPtrArray *losses;   /* struct dtc_environment_entry: numbers, by what was lost */
	GPtrArray *lacks;    /* what is not in the recording, and why */
	GPtrArray *join;     /* numbers */
	GPtrArray *repairs;  /* numbers */
} DtcEnvironment;

DtcEnvironment *dtc_environment_new(void);
void dtc_environment_free(DtcEnvironment *environment);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcEnvironment, dtc_environment_free)

/* Appends an entry to one of the lists; name is made fit for a key: letters, digits, '-', '.' and '/'. */
void dtc_environment_add(GPtrArray *entries, const char *name, const char *value);
void dtc_environment_add_number(GPtrArray *entries, const char *name, guint64 value);
/* NULL: there is none of this name. Borrowed. */
const char *dtc_environment_find(const GPtrArray *entries, const char *name);
/* 0 if it is absent or no number. */
guint64 dtc_environment_find_number(const GPtrArray *entries, const char *name);

/* A new one of this file at the end of the list; borrowed. */
struct dtc_environment_capture *dtc_environment_add_capture(DtcEnvironment *environment, const char *file);
/* NULL: it says nothing of this file. Borrowed. */
const struct dtc_environment_capture *dtc_environment_find_capture(const DtcEnvironment *environment, const char *file);
/* Takes over addresses (NULL: none). */
void dtc_environment_add_interface(struct dtc_environment_capture *capture, guint32 index, const char *name,
				   char **addresses);
/* Whether one of its interfaces has this address ("10.0.0.2"); borrowed. */
const struct dtc_environment_interface *dtc_environment_find_address(const struct dtc_environment_capture *capture,
								     const char *address);

/* The text of the file; caller frees. */
char *dtc_environment_to_text(const DtcEnvironment *environment);
/*
 * Groups and keys that are not known are passed over: a later recorder may say more. DAMAGED if it is no key file, is
 * larger than a MiB, or has no [recorder]: other recorders wrote files of this name in forms of their own. Caller owns.
 */
DtcEnvironment *dtc_environment_read(const char *path, GError **error);
