/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/reason.h"

#include <glib.h>

/* Whatever babeltrace2 says, none of its own words comes out. */
static void test_translate(void)
{
	static const struct {
		const char *message, *words;
	} cases[] = {
		{ "Cannot handle state: msg-it-addr=0x55, state=AFTER_STREAM_PACKET_CONTEXT",
		  "an event there cannot be decoded" },
		{ "No event class with ID of event class ID to use in stream class: ...",
		  "it has an event that the metadata does not declare" },
		{ "Cannot set dynamic array field's length field: ...", "a length in an event cannot be right" },
		{ "Something new", "it cannot be decoded" },
		{ "", "it cannot be decoded" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpstr(dtc_reason_translate(cases[i].message), ==, cases[i].words);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read/reason/translate", test_translate);
	return g_test_run();
}
