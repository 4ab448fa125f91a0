/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a recorder wrote about a machine: names and addresses go, numbers stay, host and guest agree. */
#include "collect/redact/environment_file.h"

#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>

static const char text[] =
	"[machine]\n"
	"hostname=treasure\nrelease=6.1.0\nboot-id=8d0fb718-6fa9-448d-a9ea-b680504dfa4e\ncpus=2\n"
	"product-uuid=8d0fb718-6fa9-448d-a9ea-b680504dfa4f\nnetwork-cards=52:54:00:12:34:56,52:54:00:12:34:57\n"
	"unheard-of=treasure island\n"
	"[recorder]\n"
	"version=dtrace-collect 0.1.0\ntracer=tracefs\nevents=default\ncommand=record --filter treasure\n"
	"begin-ns=17\nstate=stopped\n"
	"[lacks]\nfile-names=treasure cannot be opened\n"
	"[losses]\nevents=3\n"
	"[guest 731]\nname=treasure-vm\nuuid=8d0fb718-6fa9-448d-a9ea-b680504dfa4f\nvcpus=2\n"
	"network-cards=52:54:00:12:34:56;\nvcpu-threads=740;741;\n"
	"[capture packets-17.pcap]\n"
	"netns=17\ninterfaces=1:lo:127.0.0.1/8;2:treasure0:10.77.130.217/24,fe80::5054:ff:fe12:3456/64;\n"
	"packets=5\ndropped=1\n"
	"[capture gone.pcap]\nnetns=18\ninterfaces=\npackets=5\ndropped=1\n";

static DtcEnvironment *redact(struct dtc_redaction *redaction)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;
	g_close(g_file_open_tmp("dtc-environment-XXXXXX", &path, NULL), NULL);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	g_autoptr(DtcEnvironment) environment = dtc_environment_read(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	g_autoptr(GHashTable) renamed = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_insert(renamed, (gpointer) "packets-17.pcap", (gpointer) "capture-1.pcap");
	return dtc_environment_redact(redaction, environment, renamed);
}

static void test_all(void)
{
	struct dtc_redaction redaction;
	g_assert_true(dtc_redaction_init(&redaction, DTC_REDACT_PAYLOAD | DTC_REDACT_ADDRESSES | DTC_REDACT_NAMES, NULL,
					 NULL));
	g_autoptr(DtcEnvironment) environment = redact(&redaction);
	g_autofree char *written = dtc_environment_to_text(environment);
	static const char *const gone[] = { "treasure", "8d0fb718", "12:34:5", "10.77.130.217", "fe12:3456", "gone" };
	for (gsize i = 0; i < G_N_ELEMENTS(gone); i++)
		g_assert_null(strstr(written, gone[i]));
	g_assert_cmpstr(dtc_environment_find(environment->machine, "release"), ==, "6.1.0");
	g_assert_cmpstr(dtc_environment_find(environment->machine, "cpus"), ==, "2");
	g_assert_cmpstr(dtc_environment_find(environment->recorder, "begin-ns"), ==, "17");
	g_assert_cmpstr(dtc_environment_find(environment->recorder, "version"), ==, "dtrace-collect 0.1.0");
	g_assert_cmpuint(dtc_environment_find_number(environment->losses, "events"), ==, 3);
	g_assert_cmpuint(environment->captures->len, ==, 1);
	const struct dtc_environment_capture *capture = g_ptr_array_index(environment->captures, 0);
	g_assert_cmpstr(capture->file, ==, "capture-1.pcap");
	g_assert_cmpuint(capture->netns, ==, 17);
	g_assert_nonnull(dtc_environment_find_address(capture, "127.0.0.1"));
	const struct dtc_environment_guest *guest = g_ptr_array_index(environment->guests, 0);
	g_assert_cmpstr(guest->uuid, ==, dtc_environment_find(environment->machine, DTC_ENVIRONMENT_UUID));
	g_assert_true(
		g_str_has_prefix(dtc_environment_find(environment->machine, DTC_ENVIRONMENT_MACS), guest->macs[0]));
	g_assert_cmpuint(guest->vcpu_tids->len, ==, 2);
	dtc_redaction_clear(&redaction);
}

static void test_payload_alone(void)
{
	struct dtc_redaction redaction;
	g_assert_true(dtc_redaction_init(&redaction, DTC_REDACT_PAYLOAD, NULL, NULL));
	g_autoptr(DtcEnvironment) environment = redact(&redaction);
	g_assert_cmpstr(dtc_environment_find(environment->machine, "hostname"), ==, "treasure");
	g_assert_null(strstr(dtc_environment_find(environment->recorder, "command"), "treasure"));
	const struct dtc_environment_capture *capture = g_ptr_array_index(environment->captures, 0);
	g_assert_nonnull(dtc_environment_find_address(capture, "10.77.130.217"));
	dtc_redaction_clear(&redaction);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/environment/all", test_all);
	g_test_add_func("/environment/payload-alone", test_payload_alone);
	return g_test_run();
}
