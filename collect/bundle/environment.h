/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a recorder says about a machine and its recording: the file NODE/environment (docs/formats.md). It tells which
 * network namespace a capture is of, what was lost, and what this kernel or these rights could not give.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define DTC_ENVIRONMENT_NAME "environment"
/* Of the recorder: UDP packets of this port are probes that nodes exchanged for their clocks, and nobody's traffic. */
#define DTC_ENVIRONMENT_PROBE_PORT "probe-port"
/* Of the machine, which is a guest of another, perhaps: what its host knows it by. */
#define DTC_ENVIRONMENT_UUID "product-uuid"
#define DTC_ENVIRONMENT_MACS "network-cards" /* with commas */

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

/* A virtual machine that ran on the machine. */
struct dtc_environment_guest {
	guint32 pid; /* of its process on the host */
	char *name;  /* as the host calls it */
	char *uuid;  /* lower case; "": not known */
	char **macs; /* of its network cards, as far as they are known; lower case, NULL-terminated */
	guint vcpu_count;
	GArray *vcpu_tids; /* guint32: threads of the host, in the order of its CPUs; empty unless all are known */
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
	GPtrArray *guests;   /* struct dtc_environment_guest */
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

/* A new one, without a name, addresses and threads, at the end of a list of them (dtc_environment_guests_new);
 * borrowed. */
struct dtc_environment_guest *dtc_environment_add_guest(GPtrArray *guests, guint32 pid);
/* A list of its own. Free with g_ptr_array_unref. */
GPtrArray *dtc_environment_guests_new(void);
/* Groups of a key file, as environment and raw recording have them. Those that cannot be understood are passed over. */
void dtc_environment_write_guests(GKeyFile *file, const GPtrArray *guests);
void dtc_environment_read_guests(GKeyFile *file, GPtrArray *guests);

/* The text of the file; caller frees. */
char *dtc_environment_to_text(const DtcEnvironment *environment);
/*
 * Groups and keys that are not known are passed over: a later recorder may say more. DAMAGED if it is no key file, is
 * larger than a MiB, or has no [recorder]: other recorders wrote files of this name in forms of their own. Caller owns.
 */
DtcEnvironment *dtc_environment_read(const char *path, GError **error);
/* Of what dtc_environment_to_text gave; NULL: it is none. Caller owns. */
DtcEnvironment *dtc_environment_from_text(const char *text);
