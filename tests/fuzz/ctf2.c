/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CTF 2's metadata of any bytes: read or refused, in bounded time and memory. */
#include "collect/read/fast/known.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Who has read metadata knows them again. */
static void open_twice(const char *text, size_t bytes)
{
	g_autoptr(DtcKnown) known = dtc_known_new();
	struct dtc_known_trace traces[2];
	for (guint i = 0; i < G_N_ELEMENTS(traces); i++)
		g_assert_true(dtc_known_open(known, g_string_new_len(text, (gssize)bytes), &traces[i], NULL));
	g_assert_true(traces[0].metadata == traces[1].metadata);
	for (guint i = 0; i < G_N_ELEMENTS(traces); i++)
		dtc_known_close(&traces[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	struct dtc_trace_declaration *declaration = dtc_ctf2_parse((const char *)data, size, &error);
	struct dtc_trace_layout *layout = declaration ? dtc_layout_compile(declaration, &error) : NULL;
	g_assert_true((layout == NULL) == (error != NULL));
	if (layout && !declaration->is_alone)
		open_twice((const char *)data, size);
	dtc_trace_layout_free(layout);
	dtc_trace_declaration_free(declaration);
	return 0;
}
