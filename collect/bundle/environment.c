/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/environment.h"

#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>

#define MAX_BYTES (1 << 20)
#define CAPTURE "capture "

static void entry_free(void *data)
{
	struct dtc_environment_entry *entry = data;
	g_free(entry->name);
	g_free(entry->value);
	g_free(entry);
}

static void interface_free(void *data)
{
	struct dtc_environment_interface *interface = data;
	g_free(interface->name);
	g_strfreev(interface->addresses);
	g_free(interface);
}

static void capture_free(void *data)
{
	struct dtc_environment_capture *capture = data;
	g_free(capture->file);
	g_ptr_array_unref(capture->interfaces);
	g_free(capture);
}

/* The lists of entries, each a group of the file. */
struct group {
	const char *name;
	gsize offset;
};

static const struct group groups[] = {
	{ "machine", G_STRUCT_OFFSET(DtcEnvironment, machine) },
	{ "recorder", G_STRUCT_OFFSET(DtcEnvironment, recorder) },
	{ "losses", G_STRUCT_OFFSET(DtcEnvironment, losses) },
	{ "lacks", G_STRUCT_OFFSET(DtcEnvironment, lacks) },
	{ "join", G_STRUCT_OFFSET(DtcEnvironment, join) },
	{ "repairs", G_STRUCT_OFFSET(DtcEnvironment, repairs) },
};

static GPtrArray **get_entries(const DtcEnvironment *environment, const struct group *group)
{
	return &G_STRUCT_MEMBER(GPtrArray *, environment, group->offset);
}

DtcEnvironment *dtc_environment_new(void)
{
	DtcEnvironment *environment = g_new0(DtcEnvironment, 1);
	for (guint i = 0; i < G_N_ELEMENTS(groups); i++)
		*get_entries(environment, &groups[i]) = g_ptr_array_new_with_free_func(entry_free);
	environment->captures = g_ptr_array_new_with_free_func(capture_free);
	environment->guests = dtc_environment_guests_new();
	return environment;
}

void dtc_environment_free(DtcEnvironment *environment)
{
	if (!environment)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(groups); i++)
		g_ptr_array_unref(*get_entries(environment, &groups[i]));
	g_ptr_array_unref(environment->captures);
	g_ptr_array_unref(environment->guests);
	g_free(environment);
}

void dtc_environment_add(GPtrArray *entries, const char *name, const char *value)
{
	struct dtc_environment_entry *entry = g_new0(struct dtc_environment_entry, 1);
	entry->name = g_strcanon(g_strdup(name), G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-./", '-');
	entry->value = g_strdup(value);
	g_ptr_array_add(entries, entry);
}

void dtc_environment_add_number(GPtrArray *entries, const char *name, guint64 value)
{
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, value);
	dtc_environment_add(entries, name, text);
}

const char *dtc_environment_find(const GPtrArray *entries, const char *name)
{
	for (guint i = 0; i < entries->len; i++) {
		const struct dtc_environment_entry *entry = g_ptr_array_index(entries, i);
		if (strcmp(entry->name, name) == 0)
			return entry->value;
	}
	return NULL;
}

guint64 dtc_environment_find_number(const GPtrArray *entries, const char *name)
{
	const char *text = dtc_environment_find(entries, name);
	guint64 value = 0;
	return text && g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, &value, NULL) ? value : 0;
}

struct dtc_environment_capture *dtc_environment_add_capture(DtcEnvironment *environment, const char *file)
{
	struct dtc_environment_capture *capture = g_new0(struct dtc_environment_capture, 1);
	capture->file = g_strdup(file);
	capture->interfaces = g_ptr_array_new_with_free_func(interface_free);
	g_ptr_array_add(environment->captures, capture);
	return capture;
}

const struct dtc_environment_capture *dtc_environment_find_capture(const DtcEnvironment *environment, const char *file)
{
	for (guint i = 0; i < environment->captures->len; i++) {
		const struct dtc_environment_capture *capture = g_ptr_array_index(environment->captures, i);
		if (strcmp(capture->file, file) == 0)
			return capture;
	}
	return NULL;
}

void dtc_environment_add_interface(struct dtc_environment_capture *capture, guint32 index, const char *name,
				   char **addresses)
{
	struct dtc_environment_interface *interface = g_new0(struct dtc_environment_interface, 1);
	interface->index = index;
	interface->name = g_strdup(name);
	interface->addresses = addresses ? addresses : g_new0(char *, 1);
	g_ptr_array_add(capture->interfaces, interface);
}

static bool has_address(const struct dtc_environment_interface *interface, const char *address)
{
	gsize length = strlen(address);
	for (char **each = interface->addresses; *each; each++)
		if (g_str_has_prefix(*each, address) && ((*each)[length] == '/' || !(*each)[length]))
			return true;
	return false;
}

const struct dtc_environment_interface *dtc_environment_find_address(const struct dtc_environment_capture *capture,
								     const char *address)
{
	for (guint i = 0; i < capture->interfaces->len; i++) {
		const struct dtc_environment_interface *interface = g_ptr_array_index(capture->interfaces, i);
		if (has_address(interface, address))
			return interface;
	}
	return NULL;
}

/* ---- writing ---- */

static void write_entries(GKeyFile *file, const char *group, const GPtrArray *entries)
{
	for (guint i = 0; i < entries->len; i++) {
		const struct dtc_environment_entry *entry = g_ptr_array_index(entries, i);
		g_autofree char *valid = g_utf8_make_valid(entry->value, -1);
		g_key_file_set_string(file, group, entry->name, valid);
	}
}

/* index:name:address,address. The kernel allows ':' in no name of an interface. */
static char *format_interface(const struct dtc_environment_interface *interface)
{
	g_autofree char *addresses = g_strjoinv(",", interface->addresses);
	return g_strdup_printf("%u:%s:%s", interface->index, interface->name, addresses);
}

static void write_capture(GKeyFile *file, const struct dtc_environment_capture *capture)
{
	g_autofree char *group = g_strconcat(CAPTURE, capture->file, NULL);
	g_auto(GStrv) interfaces = g_new0(char *, capture->interfaces->len + 1);
	for (guint i = 0; i < capture->interfaces->len; i++)
		interfaces[i] = format_interface(g_ptr_array_index(capture->interfaces, i));
	g_key_file_set_uint64(file, group, "netns", capture->netns);
	g_key_file_set_string_list(file, group, "interfaces", (const char *const *)interfaces,
				   capture->interfaces->len);
	g_key_file_set_uint64(file, group, "packets", capture->packets);
	g_key_file_set_uint64(file, group, "dropped", capture->dropped);
}

char *dtc_environment_to_text(const DtcEnvironment *environment)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	for (guint i = 0; i < G_N_ELEMENTS(groups); i++)
		write_entries(file, groups[i].name, *get_entries(environment, &groups[i]));
	for (guint i = 0; i < environment->captures->len; i++)
		write_capture(file, g_ptr_array_index(environment->captures, i));
	dtc_environment_write_guests(file, environment->guests);
	return g_key_file_to_data(file, NULL, NULL);
}

/* ---- reading ---- */

/* Findings show it, so that it has no control characters. */
static bool is_printable(const char *text)
{
	for (const char *c = text; *c; c = g_utf8_next_char(c))
		if (g_unichar_iscntrl(g_utf8_get_char(c)))
			return false;
	return true;
}

static void read_entries(GKeyFile *file, const char *group, GPtrArray *entries)
{
	g_auto(GStrv) keys = g_key_file_get_keys(file, group, NULL, NULL);
	for (char **key = keys; key && *key; key++) {
		g_autofree char *value = g_key_file_get_string(file, group, *key, NULL);
		if (value && is_printable(value))
			dtc_environment_add(entries, *key, value);
	}
}

static void read_interface(struct dtc_environment_capture *capture, const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, ":", 3); /* an IPv6 address has ':', too */
	guint64 index;
	if (g_strv_length(parts) != 3 || !g_ascii_string_to_unsigned(parts[0], 10, 0, G_MAXUINT32, &index, NULL))
		return;
	char **addresses = *parts[2] ? g_strsplit(parts[2], ",", -1) : NULL;
	dtc_environment_add_interface(capture, (guint32)index, parts[1], addresses);
}

static void read_capture(GKeyFile *file, const char *group, DtcEnvironment *environment)
{
	struct dtc_environment_capture *capture = dtc_environment_add_capture(environment, group + strlen(CAPTURE));
	g_auto(GStrv) interfaces = g_key_file_get_string_list(file, group, "interfaces", NULL, NULL);
	for (char **each = interfaces; each && *each; each++)
		read_interface(capture, *each);
	capture->netns = g_key_file_get_uint64(file, group, "netns", NULL);
	capture->packets = g_key_file_get_uint64(file, group, "packets", NULL);
	capture->dropped = g_key_file_get_uint64(file, group, "dropped", NULL);
}

static bool set_damaged(const char *path, const char *reason, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
		    "'%s' is not what dtrace-collect writes: %s\nwithout it, captures are the node's own, all together",
		    path, reason);
	return false;
}

static bool load(GKeyFile *file, const char *path, GError **error)
{
	GStatBuf info;
	g_autoptr(GError) reason = NULL;
	if (g_stat(path, &info) == 0 && info.st_size > MAX_BYTES)
		return set_damaged(path, "it is larger than a MiB", error);
	if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, &reason))
		return set_damaged(path, reason->message, error);
	return g_key_file_has_group(file, "recorder") || set_damaged(path, "it has no group [recorder]", error);
}

static DtcEnvironment *take_groups(GKeyFile *file)
{
	DtcEnvironment *environment = dtc_environment_new();
	for (guint i = 0; i < G_N_ELEMENTS(groups); i++)
		read_entries(file, groups[i].name, *get_entries(environment, &groups[i]));
	g_auto(GStrv) names = g_key_file_get_groups(file, NULL);
	for (char **group = names; *group; group++)
		if (g_str_has_prefix(*group, CAPTURE))
			read_capture(file, *group, environment);
	dtc_environment_read_guests(file, environment->guests);
	return environment;
}

DtcEnvironment *dtc_environment_read(const char *path, GError **error)
{
	g_autoptr(GKeyFile) file = g_key_file_new();

	return load(file, path, error) ? take_groups(file) : NULL;
}

DtcEnvironment *dtc_environment_from_text(const char *text)
{
	g_autoptr(GKeyFile) file = g_key_file_new();

	return g_key_file_load_from_data(file, text, (gsize)-1, G_KEY_FILE_NONE, NULL) ? take_groups(file) : NULL;
}
