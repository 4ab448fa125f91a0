/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of an environment that tells of virtual machines. */
#include "collect/bundle/environment.h"

#include <string.h>

#define GUEST "guest " /* and the number of its process */
#define MAX_GUESTS 4096u
#define MAX_VCPUS 4096u
#define MAX_TEXT_BYTES 256

static void guest_free(void *data)
{
	struct dtc_environment_guest *guest = data;

	g_free(guest->name);
	g_free(guest->uuid);
	g_strfreev(guest->macs);
	g_array_unref(guest->vcpu_tids);
	g_free(guest);
}

GPtrArray *dtc_environment_guests_new(void)
{
	return g_ptr_array_new_with_free_func(guest_free);
}

struct dtc_environment_guest *dtc_environment_add_guest(GPtrArray *guests, guint32 pid)
{
	struct dtc_environment_guest *guest = g_new0(struct dtc_environment_guest, 1);

	guest->pid = pid;
	guest->name = g_strdup("");
	guest->uuid = g_strdup("");
	guest->macs = g_new0(char *, 1);
	guest->vcpu_tids = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_ptr_array_add(guests, guest);
	return guest;
}

static void write_guest(GKeyFile *file, const struct dtc_environment_guest *guest)
{
	g_autofree char *group = g_strdup_printf(GUEST "%u", guest->pid);
	g_autofree char *name = g_utf8_make_valid(guest->name, -1);

	g_key_file_set_string(file, group, "name", name);
	if (*guest->uuid)
		g_key_file_set_string(file, group, "uuid", guest->uuid);
	g_key_file_set_string_list(file, group, DTC_ENVIRONMENT_MACS, (const char *const *)guest->macs,
				   g_strv_length(guest->macs));
	g_key_file_set_uint64(file, group, "vcpus", guest->vcpu_count);
	if (guest->vcpu_tids->len)
		g_key_file_set_integer_list(file, group, "vcpu-threads", (gint *)(void *)guest->vcpu_tids->data,
					    guest->vcpu_tids->len);
}

void dtc_environment_write_guests(GKeyFile *file, const GPtrArray *guests)
{
	for (guint i = 0; i < guests->len; i++)
		write_guest(file, g_ptr_array_index(guests, i));
}

/* Short and printable, or "". Caller owns. */
static char *read_text(GKeyFile *file, const char *group, const char *key)
{
	char *text = g_key_file_get_string(file, group, key, NULL);
	bool is_fit = text && strlen(text) <= MAX_TEXT_BYTES;

	for (const char *c = text; is_fit && *c; c = g_utf8_next_char(c))
		is_fit = !g_unichar_iscntrl(g_utf8_get_char(c));
	if (is_fit)
		return text;
	g_free(text);
	return g_strdup("");
}

static void read_guest(GKeyFile *file, const char *group, guint32 pid, GPtrArray *guests)
{
	struct dtc_environment_guest *guest = dtc_environment_add_guest(guests, pid);
	gsize count = 0;
	g_autofree gint *tids = g_key_file_get_integer_list(file, group, "vcpu-threads", &count, NULL);
	char **macs = g_key_file_get_string_list(file, group, DTC_ENVIRONMENT_MACS, NULL, NULL);

	g_free(guest->name);
	g_free(guest->uuid);
	guest->name = read_text(file, group, "name");
	guest->uuid = read_text(file, group, "uuid");
	guest->vcpu_count = (guint)MIN(g_key_file_get_uint64(file, group, "vcpus", NULL), MAX_VCPUS);
	if (macs) {
		g_strfreev(guest->macs);
		guest->macs = macs;
	}
	for (gsize i = 0; i < count && count <= MAX_VCPUS; i++) {
		guint32 tid = (guint32)MAX(tids[i], 0);
		g_array_append_val(guest->vcpu_tids, tid);
	}
}

void dtc_environment_read_guests(GKeyFile *file, GPtrArray *guests)
{
	g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);
	guint64 pid;

	for (char **group = groups; *group && guests->len < MAX_GUESTS; group++)
		if (g_str_has_prefix(*group, GUEST) &&
		    g_ascii_string_to_unsigned(*group + strlen(GUEST), 10, 1, G_MAXINT32, &pid, NULL))
			read_guest(file, *group, (guint32)pid, guests);
}
