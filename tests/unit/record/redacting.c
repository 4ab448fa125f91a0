/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sealed node with its raw recording, redacted in its place; what cannot be redacted stays as it was. */
#include "collect/record/redacting.h"

#include "collect/bundle/write.h"
#include "collect/seal/places.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>

struct made {
	char *folder; /* with the node in it */
	char *node;
};

static void put(const char *folder, const char *name, const char *text, gssize bytes)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	g_autofree char *parent = g_path_get_dirname(path);
	g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, bytes, NULL));
}

static void put_copy(const char *folder, const char *name, const char *from)
{
	g_autofree char *path = g_build_filename(g_getenv("DTC_SOURCE_DIR"), from, NULL);
	g_autofree char *data = NULL;
	gsize bytes;
	g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
	put(folder, name, data, (gssize)bytes);
}

static void put_manifest(const char *node)
{
	g_autoptr(DtcManifest) manifest = dtc_manifest_new("the test");
	struct dtc_manifest_node *entry = dtc_manifest_add_node(manifest, "node");
	const char *const addresses[] = { "10.77.130.217", NULL };
	g_strfreev(entry->addresses);
	entry->addresses = g_strdupv((char **)addresses);
	g_autoptr(GBytes) bytes = dtc_manifest_to_bytes(manifest);
	put(node, DTC_MANIFEST_NAME, g_bytes_get_data(bytes, NULL), (gssize)g_bytes_get_size(bytes));
}

/* As sealing leaves it: the client of the demo. */
static struct made make_node(void)
{
	struct made made = { g_dir_make_tmp("dtc-redacting-XXXXXX", NULL), NULL };
	made.node = g_build_filename(made.folder, "node", NULL);
	put_copy(made.node, "kernel/metadata", "clusters/demo/client/kernel/metadata");
	put_copy(made.node, "kernel/ch0_0", "clusters/demo/client/kernel/ch0_0");
	put_copy(made.node, "packets-17.pcap", "clusters/demo/client.pcap");
	put(made.node, "packets-18.pcap", "", 0); /* of a recorder that was killed */
	put(made.node, "packets-19.pcap", "\x4d\x3c\xb2\xa1", 4);
	put(made.node, "environment",
	    "[machine]\nhostname=treasure\n[recorder]\ncommand=record --secret\n"
	    "[capture packets-17.pcap]\nnetns=17\ninterfaces=1:eth0:10.77.130.217/24;\npackets=1\ndropped=0\n",
	    -1);
	put(made.node, "raw/recording", "[recording]\nversion=1\nredact=names,addresses\nid-headers=x-mine;\n", -1);
	put_manifest(made.node);
	return made;
}

static void made_clear(struct made *made)
{
	dtc_places_remove(made->folder);
	g_free(made->folder);
	g_free(made->node);
}

static bool holds(const struct made *made, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(made->node, name, NULL);
	g_autofree char *data = NULL;
	gsize bytes;
	g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
	for (gsize i = 0; i + strlen(text) <= bytes; i++)
		if (memcmp(data + i, text, strlen(text)) == 0)
			return true;
	return false;
}

static bool is_there(const struct made *made, const char *name)
{
	g_autofree char *path = g_build_filename(made->node, name, NULL);
	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void test_replaced(void)
{
	struct made made = make_node();
	struct dtc_redacting redacting;
	g_autoptr(GError) error = NULL;
	g_assert_true(dtc_redacting_of_raw(made.node, NULL, &redacting, &error));
	g_assert_cmpuint(redacting.redaction.parts, ==, DTC_REDACT_PAYLOAD | DTC_REDACT_ADDRESSES | DTC_REDACT_NAMES);
	g_assert_cmpstr(redacting.redaction.id_headers[0], ==, "x-mine");
	g_assert_true(holds(&made, "packets-17.pcap", "req-0069"));
	dtc_redacting_replace(made.node, &redacting.redaction, &error);
	g_assert_no_error(error);
	dtc_redacting_clear(&redacting);
	g_assert_false(holds(&made, "packets-17.pcap", "req-0069"));
	g_assert_false(holds(&made, "kernel/ch0_0", "lab-client"));
	g_assert_false(holds(&made, "environment", "treasure"));
	g_assert_false(holds(&made, "environment", "secret"));
	g_assert_false(holds(&made, "environment", "10.77.130.217"));
	g_assert_true(holds(&made, "environment", "[capture packets-17.pcap]"));
	g_assert_false(holds(&made, "manifest.pb", "10.77.130.217"));
	g_assert_false(is_there(&made, "raw"));
	g_assert_false(is_there(&made, ".sealing"));
	g_autoptr(DtcManifest) manifest = dtc_manifest_read(made.node, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(manifest->files->len, ==, 6);
	g_autoptr(GPtrArray) defects = dtc_manifest_check_files(manifest, made.node, NULL, NULL);
	g_assert_cmpuint(defects->len, ==, 0);
	made_clear(&made);
}

static void move(const struct made *made, const char *from, const char *to)
{
	g_autofree char *old_path = g_build_filename(made->node, from, NULL);
	g_autofree char *new_path = g_build_filename(made->node, to, NULL);
	g_assert_cmpint(g_rename(old_path, new_path), ==, 0);
}

/* It ended while files were replaced: the next sealing finds all as it was, and redacts nothing twice. */
static void test_crashed(void)
{
	struct made made = make_node();
	struct dtc_redacting redacting;
	g_autoptr(GError) error = NULL;
	put(made.node, "raw/originals/none", "", 0);
	move(&made, "raw/originals/none", "none");
	move(&made, "packets-17.pcap", "raw/originals/packets-17.pcap");
	put(made.node, "packets-17.pcap", "redacted", -1);
	move(&made, "packets-19.pcap", "raw/originals/packets-19.pcap"); /* nothing is in its place yet */
	move(&made, "kernel", "raw/originals/kernel");
	put(made.node, "kernel/metadata", "redacted", -1);
	g_assert_true(dtc_redacting_restore(made.node, &error));
	g_assert_true(dtc_redacting_restore(made.node, &error)); /* nothing is left to be done */
	g_assert_true(holds(&made, "packets-17.pcap", "req-0069"));
	g_assert_true(is_there(&made, "packets-19.pcap"));
	g_assert_true(holds(&made, "kernel/ch0_0", "lab-client"));
	g_assert_false(is_there(&made, "raw/originals"));
	g_assert_true(dtc_redacting_of_raw(made.node, NULL, &redacting, &error));
	dtc_redacting_replace(made.node, &redacting.redaction, &error);
	g_assert_no_error(error);
	dtc_redacting_clear(&redacting);
	g_assert_false(holds(&made, "packets-17.pcap", "req-0069"));
	g_assert_false(is_there(&made, "raw"));
	made_clear(&made);
}

/* What cannot be read is refused, and what was sealed is nobody's node then. */
static void check_refused(const char *name, const char *text)
{
	struct made made = make_node();
	struct dtc_redacting redacting;
	g_autoptr(GError) error = NULL;
	put(made.node, name, text, -1);
	g_assert_true(dtc_redacting_of_raw(made.node, NULL, &redacting, &error));
	g_assert_false(dtc_redacting_replace(made.node, &redacting.redaction, &error));
	g_assert_nonnull(error);
	dtc_redacting_clear(&redacting);
	g_assert_true(holds(&made, "packets-17.pcap", "req-0069"));
	g_assert_true(is_there(&made, "raw/recording"));
	g_assert_false(is_there(&made, DTC_MANIFEST_NAME));
	g_assert_false(is_there(&made, ".sealing"));
	made_clear(&made);
}

static void test_refused(void)
{
	check_refused("kernel/metadata", "/* CTF 1.8 */ trace { what is that };");
	check_refused("environment", "what is that");
}

static void test_not_asked_for(void)
{
	struct made made = make_node();
	struct dtc_redacting redacting;
	g_autoptr(GError) error = NULL;
	put(made.node, "raw/recording", "[recording]\nversion=1\n", -1);
	g_assert_true(dtc_redacting_of_raw(made.node, NULL, &redacting, &error));
	g_assert_cmpuint(redacting.redaction.parts, ==, 0);
	dtc_redacting_clear(&redacting);
	put(made.node, "raw/recording", "[recording]\nversion=1\nredact=nothing-known\n", -1);
	g_assert_false(dtc_redacting_of_raw(made.node, NULL, &redacting, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
	made_clear(&made);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/redacting/replaced", test_replaced);
	g_test_add_func("/redacting/crashed", test_crashed);
	g_test_add_func("/redacting/refused", test_refused);
	g_test_add_func("/redacting/not-asked-for", test_not_asked_for);
	return g_test_run();
}
