/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CTF 2's metadata of any bytes: read or refused, in bounded time and memory. */
#include "collect/read/fast/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	struct dtc_trace_declaration *declaration = dtc_ctf2_parse((const char *)data, size, &error);
	struct dtc_trace_layout *layout = declaration ? dtc_layout_compile(declaration, &error) : NULL;
	g_assert_true((layout == NULL) == (error != NULL));
	dtc_trace_layout_free(layout);
	dtc_trace_declaration_free(declaration);
	return 0;
}
