/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which node is whose guest: by UUID, by network card, by what somebody says; and what is doubtful is not believed. */
#include "collect/bundle/roles.h"

#include "collect/bundle/scratch.h"

#include <string.h>

#define HOSTS 0
#define WEB 1
#define DB 2
#define UUID_A "00000000-0000-0000-0000-00000000000a"
#define UUID_B "00000000-0000-0000-0000-00000000000b"

struct lab {
	DtcEnvironment *environments[3];
	struct dtc_role_source sources[3];
	GPtrArray *notes;
};

static struct lab make_lab(void)
{
	static const char *const names[] = { "host", "web", "db" };
	struct lab lab = { .notes = g_ptr_array_new_with_free_func(g_free) };

	for (guint i = 0; i < 3; i++) {
		lab.environments[i] = dtc_environment_new();
		lab.sources[i] = (struct dtc_role_source){ names[i], lab.environments[i], NULL };
	}
	return lab;
}

static void clear_lab(struct lab *lab)
{
	for (guint i = 0; i < 3; i++)
		dtc_environment_free(lab->environments[i]);
	g_ptr_array_unref(lab->notes);
}

static void add_guest(const struct lab *lab, guint32 pid, const char *name, const char *uuid, const char *mac)
{
	struct dtc_environment_guest *guest = dtc_environment_add_guest(lab->environments[HOSTS]->guests, pid);
	guint32 tid = pid + 1;

	g_free(guest->name);
	g_free(guest->uuid);
	g_strfreev(guest->macs);
	guest->name = g_strdup(name);
	guest->uuid = g_strdup(uuid);
	guest->macs = g_strsplit(mac, ",", -1);
	guest->vcpu_count = 1;
	g_array_append_val(guest->vcpu_tids, tid);
}

static void set_own(const struct lab *lab, guint node, const char *uuid, const char *macs)
{
	dtc_environment_add(lab->environments[node]->machine, DTC_ENVIRONMENT_UUID, uuid);
	dtc_environment_add(lab->environments[node]->machine, DTC_ENVIRONMENT_MACS, macs);
}

static void assert_role(const GArray *roles, guint index, guint guest, guint32 pid, const char *known_by)
{
	const struct dtc_role *role = &g_array_index(roles, struct dtc_role, index);

	g_assert_cmpuint(roles->len, >, index);
	g_assert_cmpuint(role->guest, ==, guest);
	g_assert_cmpuint(role->host, ==, HOSTS);
	g_assert_cmpuint(role->as->pid, ==, pid);
	g_assert_cmpstr(role->known_by, ==, known_by);
}

static void test_found(void)
{
	struct lab lab = make_lab();

	add_guest(&lab, 70, "x", UUID_A, "52:54:00:00:00:01");
	add_guest(&lab, 80, "y", "", "52:54:00:00:00:02,52:54:00:00:00:03");
	set_own(&lab, WEB, UUID_A, "52:54:00:00:00:09");
	set_own(&lab, DB, UUID_B, "52:54:00:00:00:08,52:54:00:00:00:03");
	g_autoptr(GArray) roles = dtc_roles_find(lab.sources, 3, lab.notes);
	g_assert_cmpuint(roles->len, ==, 2);
	assert_role(roles, 0, WEB, 70, "UUID");
	assert_role(roles, 1, DB, 80, "network card");
	g_assert_cmpuint(lab.notes->len, ==, 0);
	clear_lab(&lab);
}

/* Two machines of one network card, as QEMU's default makes them; another UUID says that it is another one. */
static void test_doubtful(void)
{
	struct lab lab = make_lab();

	add_guest(&lab, 70, "x", UUID_A, "52:54:00:12:34:56");
	add_guest(&lab, 80, "y", "", "52:54:00:12:34:56");
	set_own(&lab, WEB, "", "52:54:00:12:34:56");
	g_autoptr(GArray) two = dtc_roles_find(lab.sources, 3, lab.notes);
	g_assert_cmpuint(two->len, ==, 0);
	g_assert_nonnull(strstr(g_ptr_array_index(lab.notes, 0), "web may be any of 2"));
	lab.sources[WEB].told = "80";
	g_autoptr(GArray) told = dtc_roles_find(lab.sources, 3, NULL);
	assert_role(told, 0, WEB, 80, "name");
	lab.sources[WEB].told = "z";
	g_autoptr(GArray) none = dtc_roles_find(lab.sources, 3, lab.notes);
	g_assert_cmpuint(none->len, ==, 0);
	g_assert_nonnull(strstr(g_ptr_array_index(lab.notes, 1), "no node runs a virtual machine 'z'"));
	lab.sources[WEB].told = "x";
	lab.sources[DB].told = "x";
	g_autoptr(GArray) twice = dtc_roles_find(lab.sources, 3, lab.notes);
	g_assert_cmpuint(twice->len, ==, 0);
	g_assert_cmpuint(lab.notes->len, ==, 4);
	clear_lab(&lab);
}

/* A clone of a machine has its network card, but not its UUID. */
static void test_other_uuid(void)
{
	struct lab lab = make_lab();

	add_guest(&lab, 70, "x", UUID_A, "52:54:00:12:34:56");
	set_own(&lab, WEB, UUID_B, "52:54:00:12:34:56");
	lab.sources[DB].environment = NULL;
	g_autoptr(GArray) roles = dtc_roles_find(lab.sources, 3, lab.notes);
	g_assert_cmpuint(roles->len + lab.notes->len, ==, 0);
	clear_lab(&lab);
}

/* What a stranger's bundle may hold costs little: many machines, and a node of many network cards. */
static void test_many(void)
{
	struct lab lab = make_lab();
	g_autoptr(GString) macs = g_string_new("52:54:00:12:34:56");

	for (guint i = 0; i < 50000; i++)
		g_string_append_printf(macs, ",%017x", i);
	set_own(&lab, WEB, "", macs->str);
	for (guint32 i = 1; i < 4096; i++)
		add_guest(&lab, i, "x", "", "52:54:00:12:34:57,52:54:00:12:34:58,52:54:00:12:34:59,52:54:00:12:34:60");
	add_guest(&lab, 5000, "x", "", "52:54:00:12:34:56");
	g_autoptr(GArray) roles = dtc_roles_find(lab.sources, 3, lab.notes);
	assert_role(roles, 0, WEB, 5000, "network card");
	clear_lab(&lab);
}

/* As the environment is written and read, into a manifest, and out of it for who asks. */
static void test_written(void)
{
	struct lab lab = make_lab();
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), DTC_ENVIRONMENT_NAME, NULL);

	add_guest(&lab, 70, "x y", UUID_A, "52:54:00:00:00:01");
	set_own(&lab, WEB, UUID_A, "");
	dtc_environment_add(lab.environments[HOSTS]->recorder, "version", "1");
	g_autofree char *text = dtc_environment_to_text(lab.environments[HOSTS]);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	dtc_environment_free(lab.environments[HOSTS]);
	lab.sources[HOSTS].environment = lab.environments[HOSTS] = dtc_environment_read(path, NULL);
	g_assert_nonnull(lab.environments[HOSTS]);
	g_autofree char *again = dtc_environment_to_text(lab.environments[HOSTS]);
	g_assert_cmpstr(again, ==, text);

	g_autoptr(DtcManifest) manifest = dtc_manifest_new("test");
	for (guint i = 0; i < 3; i++)
		dtc_manifest_add_node(manifest, lab.sources[i].node);
	g_autoptr(GArray) roles = dtc_roles_find(lab.sources, 3, NULL);
	dtc_roles_write(manifest, lab.sources, roles);
	g_autoptr(DtcCluster) cluster = dtc_cluster_new_of(manifest);
	g_assert_cmpuint(dtc_cluster_get_count(cluster), ==, 2);
	const struct dtc_cluster_node *web = dtc_cluster_find_node(cluster, "web");
	g_assert_cmpstr(web->role, ==, "guest");
	g_assert_cmpstr(web->host, ==, "host");
	g_assert_cmpuint(g_array_index(web->vcpu_tids, uint32_t, 0), ==, 71);
	g_assert_cmpstr(dtc_cluster_find_node(cluster, "host")->role, ==, "host");
	clear_lab(&lab);
}

static void put_node(const DtcScratch *scratch, const char *name, const DtcEnvironment *environment)
{
	g_autofree char *folder = g_build_filename(dtc_scratch_get_path(scratch), name, NULL);
	g_autofree char *file = g_build_filename(folder, DTC_ENVIRONMENT_NAME, NULL);
	g_autofree char *trace = g_build_filename(folder, "metadata", NULL);
	g_autofree char *text = dtc_environment_to_text(environment);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(file, text, -1, NULL));
	g_assert_true(g_file_set_contents(trace, "", 0, NULL));
}

/* Folders beside each other, as recorders left them; once a manifest says something, that counts. */
static void test_bundle(void)
{
	struct lab lab = make_lab();
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), DTC_MANIFEST_NAME, NULL);

	add_guest(&lab, 70, "x", UUID_A, "");
	set_own(&lab, WEB, UUID_A, "");
	for (guint i = 0; i < 3; i++) {
		dtc_environment_add(lab.environments[i]->recorder, "version", "1");
		put_node(scratch, lab.sources[i].node, lab.environments[i]);
	}
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(dtc_scratch_get_path(scratch), &error);
	g_assert_no_error(error);
	g_autoptr(DtcCluster) found = dtc_roles_read(bundle);
	g_assert_nonnull(found);
	g_assert_cmpstr(dtc_cluster_find_node(found, "web")->host, ==, "host");
	g_assert_null(dtc_cluster_find_node(found, "db"));

	g_autoptr(DtcManifest) manifest = dtc_manifest_new("test");
	for (guint i = 3; i-- > 0;)
		dtc_manifest_add_node(manifest, i == 0 ? "web" : i == 1 ? "host" : "db");
	lab.sources[DB].told = "x";
	lab.sources[WEB].told = "nobody";
	g_autoptr(GArray) roles = dtc_roles_find(lab.sources, 3, NULL);
	dtc_roles_write(manifest, lab.sources, roles);
	g_autoptr(GBytes) bytes = dtc_manifest_to_bytes(manifest);
	g_assert_true(g_file_set_contents(path, g_bytes_get_data(bytes, NULL), (gssize)g_bytes_get_size(bytes), NULL));
	g_autoptr(DtcCluster) told = dtc_roles_read(bundle);
	g_assert_cmpstr(dtc_cluster_find_node(told, "db")->host, ==, "host");
	g_assert_null(dtc_cluster_find_node(told, "web"));
	clear_lab(&lab);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roles/found", test_found);
	g_test_add_func("/roles/doubtful", test_doubtful);
	g_test_add_func("/roles/other-uuid", test_other_uuid);
	g_test_add_func("/roles/many", test_many);
	g_test_add_func("/roles/written", test_written);
	g_test_add_func("/roles/bundle", test_bundle);
	return g_test_run();
}
