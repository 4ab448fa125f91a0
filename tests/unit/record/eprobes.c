/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where members of the kernel's structures lie, in type information made by hand, and what is fetched from there. */
#include "collect/record/eprobes.h"

#include <string.h>

#define STRUCT 4
#define UNION 5
#define INT 1
#define BIT_FIELDS (1u << 31)

struct made {
	GByteArray *types;
	GString *strings;
	guint count;
};

static void put(GByteArray *to, guint32 value)
{
	g_byte_array_append(to, (const guint8 *)&value, sizeof(value));
}

static guint32 add_string(struct made *made, const char *text)
{
	guint32 at = (guint32)made->strings->len;

	if (!*text)
		return 0;
	g_string_append_len(made->strings, text, (gssize)strlen(text) + 1);
	return at;
}

/* A structure or union; its number. */
static guint add_type(struct made *made, guint kind, const char *name, guint members, guint32 flags)
{
	put(made->types, add_string(made, name));
	put(made->types, kind << 24 | members | flags);
	put(made->types, 64);
	return ++made->count;
}

static void add_member(struct made *made, const char *name, guint type, guint32 bits)
{
	put(made->types, add_string(made, name));
	put(made->types, type);
	put(made->types, bits);
}

static struct made begin(void)
{
	struct made made = { g_byte_array_new(), g_string_new_len("", 1), 0 };

	add_type(&made, INT, "int", 0, 0);
	put(made.types, 32);
	return made;
}

static GBytes *end(struct made *made)
{
	GByteArray *file = g_byte_array_new();
	const guint16 magic = 0xeb9f;

	g_byte_array_append(file, (const guint8 *)&magic, 2);
	g_byte_array_append(file, (const guint8 *)"\1\0", 2);
	put(file, 24);
	put(file, 0);
	put(file, made->types->len);
	put(file, made->types->len);
	put(file, (guint32)made->strings->len);
	g_byte_array_append(file, made->types->data, made->types->len);
	g_byte_array_append(file, (const guint8 *)made->strings->str, (guint)made->strings->len);
	g_byte_array_unref(made->types);
	g_string_free(made->strings, TRUE);
	return g_byte_array_free_to_bytes(file);
}

/* What the kernel's structures look like, with offsets of our own. */
static GBytes *make_kernel(bool has_net)
{
	struct made made = begin();
	guint fields = add_type(&made, STRUCT, "", 2, BIT_FIELDS);
	add_member(&made, "pfmemalloc", 1, 1u << 24 | 3);
	add_member(&made, "protocol", 1, 64);
	guint either = add_type(&made, UNION, "", 2, 0);
	add_member(&made, "", fields, 0);
	add_member(&made, "network_header", 1, 80);
	add_type(&made, STRUCT, "sk_buff", 4, BIT_FIELDS);
	add_member(&made, "dev", 1, 16 * 8);
	add_member(&made, "", either, 100 * 8);
	add_member(&made, "head", 1, 200 * 8);
	add_member(&made, "data", 1, 208 * 8);
	add_type(&made, STRUCT, "net_device", 1, 0);
	add_member(&made, "nd_net", 1, 300 * 8);
	add_type(&made, STRUCT, "ns_common", 1, 0);
	add_member(&made, "inum", 1, 24 * 8);
	if (has_net) {
		add_type(&made, STRUCT, "net", 1, 0);
		add_member(&made, "ns", 1, 120 * 8);
	}
	return end(&made);
}

static void test_members(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcBtf) btf = dtc_btf_new(make_kernel(true), &error);
	guint offset = 0;

	g_assert_no_error(error);
	g_assert_true(dtc_btf_find_member(btf, "sk_buff", "data", &offset));
	g_assert_cmpuint(offset, ==, 208);
	g_assert_true(dtc_btf_find_member(btf, "sk_buff", "protocol", &offset)); /* in two anonymous ones */
	g_assert_cmpuint(offset, ==, 108);
	g_assert_false(dtc_btf_find_member(btf, "sk_buff", "pfmemalloc", &offset)); /* a bit */
	g_assert_false(dtc_btf_find_member(btf, "sk_buff", "tail", &offset));
	g_assert_false(dtc_btf_find_member(btf, "socket", "data", &offset));
}

static void test_fields(void)
{
	g_autoptr(DtcBtf) btf = dtc_btf_new(make_kernel(true), NULL);
	g_autoptr(GPtrArray) events = g_ptr_array_new();
	struct dtc_eprobe_offsets offsets;

	g_assert_true(dtc_eprobe_offsets_find(btf, &offsets, NULL));
	g_ptr_array_add(events, "net:net_dev_queue");
	g_ptr_array_add(events, "sched:sched_switch");
	g_ptr_array_add(events, "syscalls:sys_enter_openat");
	g_autoptr(GPtrArray) probes = dtc_eprobes_choose(events, &offsets);
	g_assert_cmpuint(probes->len, ==, 2);
	const struct dtc_eprobe *probe = g_ptr_array_index(probes, 0);
	g_assert_cmpstr(probe->name, ==, "net_dev_queue_bytes");
	g_assert_cmpstr(probe->system, ==, "net");
	g_assert_cmpstr(probe->event, ==, "net_dev_queue");
	g_assert_cmpstr(probe->fields, ==,
			"skbaddr=$skbaddr:x64 head=+200($skbaddr):x64 data=+208($skbaddr):x64 "
			"network=+110($skbaddr):u16 protocol=+108($skbaddr):x16 netns=+144(+300(+16($skbaddr))):u32 "
			"bytes=+0(+208($skbaddr)):x64[11]");
	probe = g_ptr_array_index(probes, 1);
	g_assert_cmpstr(probe->system, ==, "syscalls");
	g_assert_cmpstr(probe->fields, ==,
			"dfd=$dfd:s32 filename=+0($filename):ustring flags=$flags:s32 mode=$mode:u16");
	g_assert_true(probe->is_instead);
	g_assert_false(((const struct dtc_eprobe *)g_ptr_array_index(probes, 0))->is_instead);
	g_autoptr(GPtrArray) without = dtc_eprobes_choose(events, NULL);
	g_assert_cmpuint(without->len, ==, 1);
}

static void test_missing(void)
{
	g_autoptr(DtcBtf) btf = dtc_btf_new(make_kernel(false), NULL);
	struct dtc_eprobe_offsets offsets;
	g_autoptr(GError) error = NULL;

	g_assert_false(dtc_eprobe_offsets_find(btf, &offsets, &error));
	g_assert_nonnull(strstr(error->message, "'struct net' has no 'ns'"));
	g_clear_error(&error);
	g_assert_null(dtc_btf_read("/nonexistent/btf", &error));
	g_assert_nonnull(strstr(error->message, "CONFIG_DEBUG_INFO_BTF"));
}

/* Cut anywhere, and any byte another: it is told or lived with. */
static void test_damage(void)
{
	g_autoptr(GBytes) whole = make_kernel(true);
	gsize size;
	const guint8 *bytes = g_bytes_get_data(whole, &size);
	g_autoptr(GRand) random = g_rand_new_with_seed(15);

	for (guint i = 0; i < 4000; i++) {
		gsize length = i < size ? i : size;
		g_autofree guint8 *copy = g_memdup2(bytes, MAX(length, 1));
		if (i >= size)
			copy[g_rand_int_range(random, 0, (gint32)size)] = (guint8)g_rand_int(random);
		g_autoptr(DtcBtf) btf = dtc_btf_new(g_bytes_new(copy, length), NULL);
		struct dtc_eprobe_offsets offsets;
		g_assert_true(i >= size || !btf);
		if (btf)
			(void)dtc_eprobe_offsets_find(btf, &offsets, NULL);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/eprobes/members", test_members);
	g_test_add_func("/record/eprobes/fields", test_fields);
	g_test_add_func("/record/eprobes/missing", test_missing);
	g_test_add_func("/record/eprobes/damage", test_damage);
	return g_test_run();
}
