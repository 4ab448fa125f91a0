/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/redact/environment_file.h"

#include "collect/redact/names.h"

#include <string.h>

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "-0123456789") == strlen(text);
}

/* Words that may be of anybody: a command line with its paths and filters, a line of a log. */
static char *replace_words(struct dtc_redaction *redaction, const char *text)
{
	char *copy = g_strdup(text);
	dtc_pseudonyms_replace_text(redaction->words, (uint8_t *)copy, strlen(copy), 0);
	return copy;
}

/* Each in its place. */
static void redact_macs(struct dtc_redaction *redaction, char **macs)
{
	for (; redaction->parts & DTC_REDACT_ADDRESSES && *macs; macs++) {
		char *mac = dtc_addresses_replace_mac_string(redaction->addresses, *macs);
		g_free(*macs);
		*macs = mac;
	}
}

static char *redact_mac_list(struct dtc_redaction *redaction, const char *text)
{
	g_auto(GStrv) macs = g_strsplit(text, ",", -1);
	redact_macs(redaction, macs);
	return g_strjoinv(",", macs);
}

static char *redact_machine(struct dtc_redaction *redaction, const struct dtc_environment_entry *entry)
{
	static const char *const kept[] = { "release", "machine", "clocksource", NULL };
	if (strcmp(entry->name, DTC_ENVIRONMENT_MACS) == 0)
		return redact_mac_list(redaction, entry->value);
	if (strcmp(entry->name, "boot-id") == 0 || strcmp(entry->name, DTC_ENVIRONMENT_UUID) == 0)
		return dtc_redaction_uuid(redaction, entry->value);
	if (strcmp(entry->name, "hostname") == 0)
		return dtc_redaction_name(redaction, entry->value);
	return is_one_of(entry->name, kept) || is_number(entry->value) ? g_strdup(entry->value)
								       : replace_words(redaction, entry->value);
}

static char *redact_recorder(struct dtc_redaction *redaction, const struct dtc_environment_entry *entry)
{
	static const char *const kept[] = { "version", "tracer", "headers-only", "state", "redacted", NULL };
	static const char *const sets[] = { "minimal", "default", "full", NULL };
	bool is_kept = is_one_of(entry->name, kept) || is_number(entry->value) || is_one_of(entry->value, sets);
	return is_kept ? g_strdup(entry->value) : replace_words(redaction, entry->value);
}

static char *redact_number(struct dtc_redaction *redaction, const struct dtc_environment_entry *entry)
{
	return is_number(entry->value) ? g_strdup(entry->value) : replace_words(redaction, entry->value);
}

/* Why something is lacking may name a file or an interface. */
static char *redact_lack(struct dtc_redaction *redaction, const struct dtc_environment_entry *entry)
{
	return redaction->parts & (DTC_REDACT_NAMES | DTC_REDACT_ADDRESSES) ? g_strdup("its reason is redacted")
									    : g_strdup(entry->value);
}

static void redact_entries(struct dtc_redaction *redaction, const GPtrArray *from, GPtrArray *to,
			   char *(*redact)(struct dtc_redaction *, const struct dtc_environment_entry *))
{
	for (guint i = 0; i < from->len; i++) {
		const struct dtc_environment_entry *entry = g_ptr_array_index(from, i);
		g_autofree char *value = redact(redaction, entry);
		dtc_environment_add(to, entry->name, value);
	}
}

static char **redact_addresses(struct dtc_redaction *redaction, char **addresses)
{
	GPtrArray *list = g_ptr_array_new();
	for (; *addresses; addresses++) {
		char *address = redaction->parts & DTC_REDACT_ADDRESSES
					? dtc_addresses_replace_string(redaction->addresses, *addresses)
					: g_strdup(*addresses);
		if (*address)
			g_ptr_array_add(list, address);
		else
			g_free(address);
	}
	g_ptr_array_add(list, NULL);
	return (char **)g_ptr_array_free(list, FALSE);
}

static void redact_capture(struct dtc_redaction *redaction, const struct dtc_environment_capture *from,
			   const char *file, DtcEnvironment *to)
{
	struct dtc_environment_capture *capture = dtc_environment_add_capture(to, file);
	capture->netns = from->netns;
	capture->packets = from->packets;
	capture->dropped = from->dropped;
	for (guint i = 0; i < from->interfaces->len; i++) {
		const struct dtc_environment_interface *interface = g_ptr_array_index(from->interfaces, i);
		g_autofree char *name = dtc_redaction_name(redaction, interface->name);
		dtc_environment_add_interface(capture, interface->index, name,
					      redact_addresses(redaction, interface->addresses));
	}
}

/* What tells which node is which guest: both sides are replaced alike. */
static void redact_guest(struct dtc_redaction *redaction, const struct dtc_environment_guest *from, GPtrArray *to)
{
	struct dtc_environment_guest *guest = dtc_environment_add_guest(to, from->pid);
	g_free(guest->name);
	g_free(guest->uuid);
	g_strfreev(guest->macs);
	guest->name = dtc_redaction_name(redaction, from->name);
	guest->uuid = dtc_redaction_uuid(redaction, from->uuid);
	guest->macs = g_strdupv(from->macs);
	redact_macs(redaction, guest->macs);
	guest->vcpu_count = from->vcpu_count;
	g_array_append_vals(guest->vcpu_tids, from->vcpu_tids->data, from->vcpu_tids->len);
}

DtcEnvironment *dtc_environment_redact(struct dtc_redaction *redaction, const DtcEnvironment *environment,
				       GHashTable *renamed)
{
	DtcEnvironment *to = dtc_environment_new();
	redact_entries(redaction, environment->machine, to->machine, redact_machine);
	redact_entries(redaction, environment->recorder, to->recorder, redact_recorder);
	redact_entries(redaction, environment->losses, to->losses, redact_number);
	redact_entries(redaction, environment->lacks, to->lacks, redact_lack);
	redact_entries(redaction, environment->join, to->join, redact_number);
	redact_entries(redaction, environment->repairs, to->repairs, redact_number);
	for (guint i = 0; i < environment->guests->len; i++)
		redact_guest(redaction, g_ptr_array_index(environment->guests, i), to->guests);
	for (guint i = 0; i < environment->captures->len; i++) {
		const struct dtc_environment_capture *capture = g_ptr_array_index(environment->captures, i);
		const char *file = g_hash_table_lookup(renamed, capture->file);
		if (file) /* of one that is not there nothing needs to be known */
			redact_capture(redaction, capture, file, to);
	}
	return to;
}
