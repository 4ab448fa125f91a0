/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TSDL is searched, so that metadata that are damaged still tell; JSON cannot be, and is parsed.
 */
#include "collect/read/fast/describe.h"

#include "collect/read/ctf/clock_class.h"
#include "collect/read/fast/types.h"

/* NULL if the metadata are not of CTF 2, or are damaged. Caller frees. */
static struct dtc_trace_declaration *parse_version_2(const char *path)
{
	GString *text = dtc_metadata_read_text(path);
	struct dtc_trace_declaration *declaration = NULL;
	if (text && dtc_declaration_is_version_2(text->str, text->len))
		declaration = dtc_ctf2_parse_head(text->str, text->len);
	if (text)
		g_string_free(text, TRUE);
	return declaration;
}

bool dtc_declaration_describe_clock(const char *path, struct dtc_clock_class *ret_clock)
{
	struct dtc_trace_declaration *declaration = parse_version_2(path);
	if (!declaration)
		return dtc_clock_class_read(path, ret_clock);
	const struct dtc_clock_declaration *clock = declaration->clock_count > 0 ? &declaration->clocks[0] : NULL;
	if (clock)
		*ret_clock = (struct dtc_clock_class){
			.name = g_strdup(clock->name ? clock->name : ""),
			.uuid = g_strdup(clock->uuid ? clock->uuid : ""),
			.frequency_hz = clock->frequency,
			.offset_s = clock->offset_s,
			.offset_cycles = (int64_t)MIN(clock->offset, (uint64_t)INT64_MAX),
		};
	dtc_trace_declaration_free(declaration);
	return clock != NULL;
}

/* "2a1bda29-ffc3-e248-8053-81ccaf830d2f", "" without one. Caller frees. */
static char *format_uuid(const struct dtc_trace_declaration *declaration)
{
	g_autoptr(GString) text = g_string_new(NULL);
	for (guint i = 0; declaration->has_uuid && i < sizeof(declaration->uuid); i++)
		g_string_append_printf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				       declaration->uuid[i]);
	return g_strdup(text->str);
}

static const char *find_text(const struct dtc_trace_declaration *declaration, const char *key)
{
	const char *text = g_hash_table_lookup(declaration->environment, key);
	return text ? text : "";
}

bool dtc_declaration_describe_origin(const char *path, struct dtc_trace_origin *ret_origin)
{
	struct dtc_trace_declaration *declaration = parse_version_2(path);
	if (!declaration)
		return dtc_clock_class_describe_origin(path, ret_origin);
	/* of other tracers the clock's identity is that of a kind of clock */
	bool has_boot = g_str_equal(find_text(declaration, "tracer_name"), "lttng-modules") &&
			declaration->clock_count > 0 && declaration->clocks[0].uuid;
	*ret_origin = (struct dtc_trace_origin){
		.uuid = format_uuid(declaration),
		.host = g_strdup(find_text(declaration, "hostname")),
		.boot = g_strdup(has_boot ? declaration->clocks[0].uuid : ""),
	};
	dtc_trace_declaration_free(declaration);
	return true;
}
