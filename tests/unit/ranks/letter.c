/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Letters arrive whole, and messages of several are put together, those of each rank by themselves. */
#include "analyze/ranks/letter.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct sender {
	int end;
	struct dtc_letter letter;
	GBytes *data;
};

static void *send_message(void *data)
{
	const struct sender *sender = data;
	gsize bytes;
	const void *content = g_bytes_get_data(sender->data, &bytes);

	g_assert_true(dtc_letter_send_message(sender->end, sender->letter, content, bytes));
	return NULL;
}

static GBytes *make_data(gsize bytes, guint seed)
{
	guint8 *data = g_malloc(bytes + 1);

	for (gsize i = 0; i < bytes; i++)
		data[i] = (guint8)(i * 7 + i / 251 + seed);
	return g_bytes_new_take(data, bytes);
}

/* How many bytes went by. */
static gsize send_all(bool is_squeezed)
{
	static const gsize sizes[] = { 0, 1, DTC_LETTER_DATA_MAX, DTC_LETTER_DATA_MAX + 1, 1000000 };
	g_autoptr(DtcAssembly) assembly = dtc_assembly_new();
	g_autofree struct dtc_parcel *parcel = g_new(struct dtc_parcel, 1);
	gsize carried = 0;
	int ends[2];

	g_assert_true(dtc_letter_open_pair(ends));
	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(GBytes) data = make_data(sizes[i], i);
		struct sender sender = { ends[0],
					 { .type = DTC_LETTER_LIST, .rank = 3, .of = 5, .is_squeezed = is_squeezed },
					 data };
		GThread *thread = g_thread_new("send", send_message, &sender);
		g_autoptr(GBytes) message = NULL;
		while (!message) {
			g_assert_true(dtc_letter_receive(ends[1], parcel));
			g_assert_cmpuint(parcel->letter.of, ==, 5);
			carried += parcel->letter.bytes;
			g_assert_true(dtc_letter_unsqueeze(parcel));
			message = dtc_assembly_add(assembly, parcel);
		}
		g_thread_join(thread);
		g_assert_true(g_bytes_equal(message, data));
	}
	close(ends[0]);
	g_assert_false(dtc_letter_receive(ends[1], parcel));
	close(ends[1]);
	return carried;
}

static void test_messages(void)
{
	g_assert_cmpuint(send_all(false), >, 1000000);
}

static void test_squeezed(void)
{
	g_assert_cmpuint(send_all(true), <, 500000);
}

static GBytes *add_part(DtcAssembly *assembly, guint rank, guint64 at, guint64 all, const char *text)
{
	g_autofree struct dtc_parcel *parcel = g_new(struct dtc_parcel, 1);

	parcel->letter = (struct dtc_letter){ .rank = rank, .at = at, .all = all, .bytes = (uint32_t)strlen(text) };
	memcpy(parcel->data, text, strlen(text));
	return dtc_assembly_add(assembly, parcel);
}

/* The rest of a message whose begin was for somebody else is nothing. */
static void test_interleaved(void)
{
	g_autoptr(DtcAssembly) assembly = dtc_assembly_new();

	g_assert_null(add_part(assembly, 2, 3, 6, "def"));
	g_assert_null(add_part(assembly, 1, 0, 6, "abc"));
	g_assert_null(add_part(assembly, 2, 0, 4, "12"));
	g_autoptr(GBytes) one = add_part(assembly, 1, 3, 6, "def");
	g_autoptr(GBytes) two = add_part(assembly, 2, 2, 4, "34");
	g_assert_cmpmem(g_bytes_get_data(one, NULL), g_bytes_get_size(one), "abcdef", 6);
	g_assert_cmpmem(g_bytes_get_data(two, NULL), g_bytes_get_size(two), "1234", 4);
}

static void test_variants(void)
{
	g_autoptr(GVariant) value = g_variant_ref_sink(g_variant_new("(us)", 7, "web"));
	g_autoptr(GBytes) message = g_variant_get_data_as_bytes(value);
	g_autoptr(GVariant) same = dtc_letter_get_variant(message, "(us)");
	g_autoptr(GBytes) nonsense = g_bytes_new_static("\xff\xff\xff\xff\xff", 5);

	g_assert_true(g_variant_equal(value, same));
	g_assert_null(dtc_letter_get_variant(nonsense, "a{su}"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/letter/messages", test_messages);
	g_test_add_func("/letter/squeezed", test_squeezed);
	g_test_add_func("/letter/interleaved", test_interleaved);
	g_test_add_func("/letter/variants", test_variants);
	return g_test_run();
}
