/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/page.h"

#include "collect/console/json_object.h"

#include <glib.h>
#include <string.h>

static void append_escaped(GString *out, const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	g_autofree char *escaped = g_markup_escape_text(valid, -1);
	g_string_append(out, escaped);
}

/* 'sha256-...' of an inline element, as a content security policy names it. */
static void append_hash(GString *out, const char *text)
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	guint8 digest[32];
	gsize bytes = sizeof(digest);

	g_checksum_update(checksum, (const guchar *)text, -1);
	g_checksum_get_digest(checksum, digest, &bytes);
	g_autofree char *encoded = g_base64_encode(digest, bytes);
	g_string_append_printf(out, " 'sha256-%s'", encoded);
}

static void append_policy(GString *out, const struct dtc_page *page)
{
	g_string_append(out, "default-src 'none'; script-src");
	append_hash(out, dtc_frame_js);
	for (guint i = 0; i < DTC_PAGE_SCRIPTS && page->scripts[i]; i++)
		append_hash(out, page->scripts[i]);
	g_string_append(out, "; style-src");
	append_hash(out, dtc_page_css);
	g_string_append(out, "; base-uri 'none'; form-action 'none'");
}

static void append_script(GString *out, const char *script)
{
	g_string_append(out, "<script>");
	g_string_append(out, script);
	g_string_append(out, "</script>\n");
}

static void append_part(GString *out, const struct dtc_page *page, const char *name)
{
	if (strcmp(name, "TITLE") == 0) {
		append_escaped(out, page->title);
	} else if (strcmp(name, "POLICY") == 0) {
		append_policy(out, page);
	} else if (strcmp(name, "STYLE") == 0) {
		g_string_append(out, dtc_page_css);
	} else if (strcmp(name, "BODY") == 0) {
		g_string_append(out, page->body);
	} else if (strcmp(name, "PLAIN") == 0) {
		append_escaped(out, page->plain);
	} else if (strcmp(name, "DATA") == 0) {
		g_autofree char *data = dtc_json_escape_markup(page->data);
		g_string_append(out, data);
	} else {
		g_assert(strcmp(name, "SCRIPTS") == 0);
		append_script(out, dtc_frame_js);
		for (guint i = 0; i < DTC_PAGE_SCRIPTS && page->scripts[i]; i++)
			append_script(out, page->scripts[i]);
	}
}

char *dtc_page_make(const struct dtc_page *page)
{
	GString *out = g_string_new(NULL);
	/* the template is cut at its places: what is put in is never searched */
	g_auto(GStrv) parts = g_strsplit(dtc_frame_html, "@@", -1);

	for (guint i = 0; parts[i]; i++) {
		if (i % 2)
			append_part(out, page, parts[i]);
		else
			g_string_append(out, parts[i]);
	}
	return g_string_free(out, FALSE);
}
