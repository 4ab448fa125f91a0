/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/identity.h"

#include "collect/packets/id_headers.h"

#include <string.h>

enum value_form {
	FORM_PLAIN,
	FORM_TRACEPARENT, /* W3C Trace Context: version-traceid-parentid-flags */
	FORM_B3,	  /* traceid-spanid[-sampled[-parent]], or a sampling decision alone */
	FORM_UBER,	  /* Jaeger: traceid:spanid:parent:flags, the colons often as %3A */
	FORM_SW8,	  /* SkyWalking: sample-base64(traceid)-... */
};

struct known_header {
	const char *name;
	enum value_form form;
	guint width;
};

static const struct known_header known_headers[] = {
#define HEADER(name, form, width) { name, form, width },
	DTC_ID_HEADERS(HEADER)
#undef HEADER
};
#define WIDTH_CUSTOM 1 /* asked for by the user, so better than any trace id */

struct DtcIdentityHeaders {
	char **more; /* owned, lower case */
};

DtcIdentityHeaders *dtc_identity_headers_new(const char *const *more)
{
	DtcIdentityHeaders *headers = g_new0(DtcIdentityHeaders, 1);
	GPtrArray *names = g_ptr_array_new();
	for (; more && *more; more++)
		g_ptr_array_add(names, g_ascii_strdown(*more, -1));
	g_ptr_array_add(names, NULL);
	headers->more = (char **)g_ptr_array_free(names, FALSE);
	return headers;
}

void dtc_identity_headers_free(DtcIdentityHeaders *headers)
{
	if (!headers)
		return;
	g_strfreev(headers->more);
	g_free(headers);
}

guint dtc_identity_get_width(const char *source)
{
	for (guint i = 0; i < G_N_ELEMENTS(known_headers); i++)
		if (strcmp(known_headers[i].name, source) == 0)
			return known_headers[i].width;
	return WIDTH_CUSTOM;
}

static guint64 hash_bytes(const char *bytes, gsize count)
{
	guint64 hash = 14695981039346656037u; /* FNV-1a */
	for (gsize i = 0; i < count; i++)
		hash = (hash ^ (guint8)bytes[i]) * 1099511628211u;
	return hash;
}

/* Length of the printable character at the start, or 0 if its first byte is to be escaped. */
static gsize get_printable_bytes(const char *bytes, gsize count)
{
	guint8 first = (guint8)bytes[0];
	if (first < 0x80)
		return first >= 0x20 && first < 0x7f;
	gunichar c = g_utf8_get_char_validated(bytes, (gssize)MIN(count, 4));
	if (c == (gunichar)-1 || c == (gunichar)-2)
		return 0;
	/* Format characters turn the direction of a terminal's text; separators break its lines. */
	GUnicodeType type = g_unichar_type(c);
	if (!g_unichar_isprint(c) || type == G_UNICODE_LINE_SEPARATOR || type == G_UNICODE_PARAGRAPH_SEPARATOR)
		return 0;
	return (gsize)g_unichar_to_utf8(c, NULL);
}

void dtc_identity_clean(const char *bytes, gsize count, char *ret_text)
{
	enum { SUFFIX_BYTES = 17 }; /* '#' and 16 digits */
	gsize used = 0, kept = 0;   /* kept: how much stays if the value turns out too long */
	for (gsize i = 0; i < count;) {
		gsize n = get_printable_bytes(bytes + i, count - i);
		gsize written = n ? n : 4;
		if (used + written > DTC_REQUEST_TEXT_BYTES) {
			g_snprintf(ret_text + kept, SUFFIX_BYTES + 1, "#%016" G_GINT64_MODIFIER "x",
				   hash_bytes(bytes, count));
			return;
		}
		if (n)
			memcpy(ret_text + used, bytes + i, n);
		else
			g_snprintf(ret_text + used, 5, "\\x%02x", (guint8)bytes[i]);
		used += written;
		i += n ? n : 1;
		if (used <= DTC_REQUEST_TEXT_BYTES - SUFFIX_BYTES)
			kept = used;
	}
	ret_text[used] = '\0';
}

static gsize count_hex(const char *text, gsize count)
{
	gsize n = 0;
	while (n < count && g_ascii_isxdigit(text[n]))
		n++;
	return n;
}

static bool is_only(const char *text, gsize count, char c)
{
	for (gsize i = 0; i < count; i++)
		if (text[i] != c)
			return false;
	return true;
}

static void set_lower(const char *text, gsize count, char *ret_id)
{
	for (gsize i = 0; i < count; i++)
		ret_id[i] = g_ascii_tolower(text[i]);
	ret_id[count] = '\0';
}

static bool decode_base64(const char *text, gsize count, char *ret_id)
{
	if (count == 0 || count > 4096)
		return false;
	g_autofree char *copy = g_strndup(text, count);
	gsize bytes = 0;
	g_autofree guchar *decoded = g_base64_decode(copy, &bytes);
	if (!decoded || bytes == 0)
		return false;
	dtc_identity_clean((const char *)decoded, bytes, ret_id);
	return true;
}

/* False if the value is well-formed but no identity; a value that is not well-formed is kept as it is. */
static bool find_id(enum value_form form, const char *value, gsize count, char *ret_id)
{
	gsize hex = 0;
	switch (form) {
	case FORM_PLAIN:
		break;
	case FORM_TRACEPARENT:
		if (count < 36 || count_hex(value, 2) != 2 || value[2] != '-' || count_hex(value + 3, 32) != 32 ||
		    value[35] != '-')
			break;
		set_lower(value + 3, 32, ret_id);
		return !is_only(ret_id, 32, '0');
	case FORM_B3:
		hex = count_hex(value, count);
		if (count == 1)
			return false; /* "0", "1", "d": sampling only */
		if ((hex != 16 && hex != 32) || hex == count || value[hex] != '-')
			break;
		set_lower(value, hex, ret_id);
		return !is_only(ret_id, hex, '0');
	case FORM_UBER:
		hex = count_hex(value, count);
		if (hex == 0 || hex > 32 || hex == count)
			break;
		if (value[hex] != ':' && (count - hex < 3 || g_ascii_strncasecmp(value + hex, "%3a", 3) != 0))
			break;
		set_lower(value, hex, ret_id);
		return !is_only(ret_id, hex, '0');
	case FORM_SW8: {
		const char *dash = memchr(value, '-', count);
		if (!dash || dash == value)
			break;
		const char *id = dash + 1;
		const char *end = memchr(id, '-', count - (gsize)(id - value));
		if (!end || !decode_base64(id, (gsize)(end - id), ret_id))
			break;
		return true;
	}
	}
	dtc_identity_clean(value, count, ret_id);
	return true;
}

static bool has_name(const char *known, const char *name, gsize name_bytes)
{
	return strlen(known) == name_bytes && g_ascii_strncasecmp(known, name, name_bytes) == 0;
}

bool dtc_identity_headers_match(const DtcIdentityHeaders *headers, const char *name, gsize name_bytes,
				const char *value, gsize value_bytes, const char **ret_source, char *ret_id,
				char *ret_value)
{
	const char *source = NULL;
	enum value_form form = FORM_PLAIN;
	for (guint i = 0; i < G_N_ELEMENTS(known_headers) && !source; i++) {
		if (!has_name(known_headers[i].name, name, name_bytes))
			continue;
		source = known_headers[i].name;
		form = known_headers[i].form;
	}
	for (guint i = 0; headers->more[i] && !source; i++)
		if (has_name(headers->more[i], name, name_bytes))
			source = headers->more[i];
	/* Proxies write an empty variable as "-". */
	if (!source || value_bytes == 0 || is_only(value, value_bytes, '-'))
		return false;
	char id[DTC_REQUEST_TEXT_BYTES + 1];
	if (!find_id(form, value, value_bytes, id))
		return false;
	g_strlcpy(ret_id, id, sizeof(id));
	dtc_identity_clean(value, value_bytes, ret_value);
	*ret_source = source;
	return true;
}
