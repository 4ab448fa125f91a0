/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words, names and addresses: equal ones become equal, different ones different, and of the same kind and length. */
#include "collect/redact/addresses.h"
#include "collect/redact/names.h"
#include "dtrace-chain/error.h"

#include <arpa/inet.h>
#include <glib/gstdio.h>
#include <string.h>

static DtcPseudonyms *make_words(void)
{
	return dtc_pseudonyms_new("a key of the tests", 18);
}

static char *replace_text(DtcPseudonyms *words, const char *text)
{
	char *copy = g_strdup(text);
	dtc_pseudonyms_replace_text(words, (uint8_t *)copy, strlen(copy), 0);
	return copy;
}

static guint get_kind(const char *word)
{
	guint kind = 0;
	for (; *word; word++)
		kind |= g_ascii_isdigit(*word) ? 1 : g_ascii_islower(*word) ? 2 : g_ascii_isupper(*word) ? 4 : 8;
	return kind;
}

static void test_kinds(void)
{
	static const char *const texts[] = { "nginx",
					     "0069",
					     "a",
					     "Z9",
					     "7",
					     "deadbeef01",
					     "4bf92f3577b34da6a3ce929d0e0e4736",
					     "HTTPServer",
					     "x1",
					     "aB3",
					     "app2",
					     "R18C",
					     "abcdefghijklmnopqrstuvwxyz0123456789" };
	g_autoptr(DtcPseudonyms) words = make_words();
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *a = replace_text(words, texts[i]);
		g_autofree char *b = replace_text(words, texts[i]);
		g_assert_cmpstr(a, ==, b);
		g_assert_cmpuint(strlen(a), ==, strlen(texts[i]));
		g_assert_cmpuint(get_kind(a), ==, get_kind(texts[i]));
		if (strlen(a) > 4)
			g_assert_cmpstr(a, !=, texts[i]);
	}
	g_autofree char *hash = replace_text(words, "4bf92f3577b34da6");
	g_assert_cmpuint(strspn(hash, "0123456789abcdef"), ==, 16);
	g_autofree char *text = replace_text(words, "/srv/app one-two:3 \xc3\xa4"
						    "b");
	g_assert_cmpuint(strcspn(text, "/"), ==, 0);
	g_assert_nonnull(strchr(text, ':'));
	g_assert_true(g_utf8_validate(text, -1, NULL));
}

/* An identity may be a text that a firmware's maker made up: nothing of it is an index, and joints stay. */
static void test_no_figures(void)
{
	static const char *const texts[] = { "Not Settable", "03:00:02", "ghijklmn", "a,b", "\xc3\xa4", "" };
	g_autoptr(DtcPseudonyms) words = make_words();
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *copy = g_strdup(texts[i]), *text = replace_text(words, texts[i]);
		dtc_pseudonyms_replace_hex(words, (uint8_t *)copy, strlen(copy));
		g_assert_cmpstr(copy, ==, text);
	}
}

/* A hash that is cut would give some of a thousand numbers to two. */
static void test_all_differ(void)
{
	g_autoptr(DtcPseudonyms) words = make_words();
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < 1000; i++) {
		char number[4];
		g_snprintf(number, sizeof(number), "%03u", i);
		g_assert_true(g_hash_table_add(seen, replace_text(words, number)));
	}
	for (char c = 'a'; c <= 'z'; c++)
		for (char d = '0'; d <= '9'; d++) {
			const char word[] = { c, d, 0 };
			g_assert_true(g_hash_table_add(seen, replace_text(words, word)));
		}
}

static void test_keys(void)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;
	g_autoptr(DtcPseudonyms) drawn = dtc_pseudonyms_new_random(&error);
	g_autoptr(DtcPseudonyms) again = dtc_pseudonyms_new_random(&error);
	g_assert_no_error(error);
	g_autofree char *a = replace_text(drawn, "thesamewords");
	g_autofree char *b = replace_text(again, "thesamewords");
	g_assert_cmpstr(a, !=, b);
	g_close(g_file_open_tmp("dtc-key-XXXXXX", &path, NULL), NULL);
	g_assert_true(g_file_set_contents(path, "too short", -1, NULL));
	g_assert_null(dtc_pseudonyms_new_from_file(path, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
	g_clear_error(&error);
	g_assert_true(g_file_set_contents(path, "a key of the tests", -1, NULL));
	g_autoptr(DtcPseudonyms) from_file = dtc_pseudonyms_new_from_file(path, &error);
	g_assert_no_error(error);
	g_autoptr(DtcPseudonyms) same = make_words();
	g_autofree char *c = replace_text(from_file, "thesamewords");
	g_autofree char *d = replace_text(same, "thesamewords");
	g_assert_cmpstr(c, ==, d);
	g_unlink(path);
	g_assert_null(dtc_pseudonyms_new_from_file("/nowhere/at/all", &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND);
}

/* ---- names ---- */

static void test_kernel_names(void)
{
	static const char *const kept[] = { "swapper/0", "ksoftirqd/12",  "kworker/u8:3",	    "kworker/0:1H",
					    "lo",	 "socket:[1234]", "anon_inode:[eventpoll]", "vhost-731",
					    "/dev/pts/3" };
	g_autoptr(DtcPseudonyms) words = make_words();
	for (gsize i = 0; i < G_N_ELEMENTS(kept); i++) {
		g_autofree char *name = dtc_names_replace_string(words, kept[i]);
		g_assert_cmpstr(name, ==, kept[i]);
	}
	g_autofree char *disk = dtc_names_replace_string(words, "jbd2/secret-8");
	g_assert_true(g_str_has_prefix(disk, "jbd2/"));
	g_assert_null(strstr(disk, "secret"));
	g_autofree char *own = dtc_names_replace_string(words, "swapper/0x");
	g_assert_null(strstr(own, "swapper"));
	g_autofree char *user = dtc_names_replace_string(words, "/srv/alice/.ssh/id_rsa");
	g_assert_null(strstr(user, "alice"));
}

static void check_addresses(DtcPseudonyms *words, const char *text, const char *kept, bool is_changed)
{
	g_autofree char *copy = g_strdup(text);
	dtc_names_replace_addresses(words, copy, strlen(copy));
	g_assert_nonnull(strstr(copy, kept));
	g_assert_cmpint(strcmp(copy, text) != 0, ==, is_changed);
	if (is_changed) {
		g_assert_null(strstr(copy, "77"));
		g_assert_null(strstr(copy, "52"));
	}
}

static void test_addresses_in_texts(void)
{
	g_autoptr(DtcPseudonyms) words = make_words();
	check_addresses(words, "/log/10.77.130.217.txt", "/log/", true);
	check_addresses(words, "ip-10-77-130-217", "ip-", true);
	check_addresses(words, "web-10-77-130-217", "web-", true);
	check_addresses(words, "at fe80::12ab:34cd", "at ", true);
	/* what stands beside an address may be figures or hexadecimal, too */
	check_addresses(words, "ip-10-77-130-217.ec2.internal", ".ec2.internal", true);
	check_addresses(words, "ec2-52-90-113-27.compute-1.amazonaws.com", ".compute-1.amazonaws.com", true);
	check_addresses(words, "db-10.77.130.217", "db-", true);
	check_addresses(words, "10.77.130.217-backend.cafe", "-backend.cafe", true);
	check_addresses(words, "web10.77.130.217", "web", true);
	check_addresses(words, "::ffff:10.77.130.217", "::", true);
	check_addresses(words, "enx5254001234ab", "enx", true);
	check_addresses(words, "52-54-00-ab-cd-ef", "-", true);
	check_addresses(words, "mac 52:54:00:ab:cd:ef", "mac ", true);
	check_addresses(words, "std::vector", "std::vector", false);
	check_addresses(words, "6.1.0-56-amd64", "6.1.0-56-amd64", false);
	check_addresses(words, "2024-01-02-03", "2024-01-02-03", false);
	check_addresses(words, "version 1.2.3", "version 1.2.3", false);
	check_addresses(words, "kworker/0:1", "kworker/0:1", false);
}

/* ---- addresses ---- */

static guint count_common_bits(const uint8_t *a, const uint8_t *b, guint bits)
{
	guint i = 0;
	while (i < bits && ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) == 0)
		i++;
	return i;
}

static void replace(DtcAddresses *addresses, const char *text, uint8_t ret[4])
{
	g_assert_cmpint(inet_pton(AF_INET, text, ret), ==, 1);
	dtc_addresses_replace_ipv4(addresses, ret);
}

static void test_prefixes(void)
{
	static const char *const texts[] = {
		"10.77.0.2",	 "10.77.0.3",  "10.77.1.3",    "10.78.0.1", "192.168.1.1",
		"192.168.1.254", "172.16.0.1", "203.0.113.77", "8.8.8.8",   "169.254.7.7"
	};
	g_autoptr(DtcPseudonyms) words = make_words();
	g_autoptr(DtcAddresses) addresses = dtc_addresses_new(words);
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
		for (gsize k = 0; k < G_N_ELEMENTS(texts); k++) {
			uint8_t a[4], b[4], x[4], y[4];
			g_assert_cmpint(inet_pton(AF_INET, texts[i], a) + inet_pton(AF_INET, texts[k], b), ==, 2);
			replace(addresses, texts[i], x);
			replace(addresses, texts[k], y);
			g_assert_cmpuint(count_common_bits(a, b, 32), ==, count_common_bits(x, y, 32));
		}
}

static void check_string(DtcAddresses *addresses, const char *text, const char *prefix, bool is_same)
{
	g_autofree char *other = dtc_addresses_replace_string(addresses, text);
	g_assert_true(g_str_has_prefix(other, prefix));
	g_assert_cmpint(strcmp(text, other) == 0, ==, is_same);
}

static void test_kept_addresses(void)
{
	g_autoptr(DtcPseudonyms) words = make_words();
	g_autoptr(DtcAddresses) addresses = dtc_addresses_new(words);
	static const char *const kept[] = { "127.0.0.1", "0.0.0.0", "255.255.255.255", "::1", "::", "127.0.0.1/8" };
	for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
		check_string(addresses, kept[i], kept[i], true);
	check_string(addresses, "10.77.130.217/24", "10.", false);
	check_string(addresses, "192.168.7.9", "192.168.", false);
	check_string(addresses, "169.254.7.9", "169.254.", false);
	check_string(addresses, "fe80::1234:5678:9abc:def0/64", "fe80::", false);
	check_string(addresses, "no address", "", false);
	check_string(addresses, "10.0.0.1/x", "", false);
	uint8_t mapped[16] = { [10] = 0xff, 0xff, 10, 77, 0, 2 }, plain[4] = { 10, 77, 0, 2 };
	dtc_addresses_replace_ipv6(addresses, mapped);
	dtc_addresses_replace_ipv4(addresses, plain);
	g_assert_cmpmem(mapped + 12, 4, plain, 4);
	/* one whose bytes are those of an IPv4 address that was met */
	uint8_t longer[16] = { 0x20, 0x01, 0x0d, 0xb8, 4 }, shorter[4] = { 0x20, 0x01, 0x0d, 0xb8 }, same[16];
	memcpy(same, longer, sizeof(same));
	g_autoptr(DtcAddresses) others = dtc_addresses_new(words);
	dtc_addresses_replace_ipv6(others, same);
	dtc_addresses_replace_ipv4(addresses, shorter);
	dtc_addresses_replace_ipv6(addresses, longer);
	g_assert_cmpmem(longer, 16, same, 16);
}

static void test_macs(void)
{
	g_autoptr(DtcPseudonyms) words = make_words();
	g_autoptr(DtcAddresses) addresses = dtc_addresses_new(words);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	for (guint i = 0; i < 4096; i++) {
		uint8_t mac[6] = { (uint8_t)(0x50 + (i & 3)), 0x54, 0, (uint8_t)(i >> 2), 7, 1 };
		uint8_t first = mac[0];
		gint64 *key = g_new0(gint64, 1);
		dtc_addresses_replace_mac(addresses, mac);
		g_assert_cmpuint(mac[0] & 3, ==, first & 3);
		memcpy(key, mac, 6);
		bool is_new = g_hash_table_add(seen, key);
		g_assert_true(is_new || i >= 1024);
	}
	dtc_addresses_replace_mac(addresses, all);
	g_assert_cmpuint(all[0] & all[5], ==, 0xff);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pseudonyms/kinds", test_kinds);
	g_test_add_func("/pseudonyms/no-figures", test_no_figures);
	g_test_add_func("/pseudonyms/all-differ", test_all_differ);
	g_test_add_func("/pseudonyms/keys", test_keys);
	g_test_add_func("/names/kernel", test_kernel_names);
	g_test_add_func("/names/addresses", test_addresses_in_texts);
	g_test_add_func("/addresses/prefixes", test_prefixes);
	g_test_add_func("/addresses/kept", test_kept_addresses);
	g_test_add_func("/addresses/macs", test_macs);
	return g_test_run();
}
