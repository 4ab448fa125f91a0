/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/redact/redaction.h"

#include "collect/bundle/suggest.h"
#include "collect/redact/names.h"
#include "dtrace-chain/error.h"

#include <string.h>

bool dtc_redaction_parse_parts(const char *text, guint *ret_parts, GError **error)
{
	static const char *const names[] = { "payload", "addresses", "names", NULL };
	g_auto(GStrv) words = g_strsplit(text, ",", -1);
	guint parts = DTC_REDACT_PAYLOAD;

	/* a variable that is not set, perhaps: what was to be redacted would be passed on as it is */
	if (!*words) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "nothing is named that is to be redacted\n"
			    "give payload, addresses, names, or several of these");
		return false;
	}
	for (char **word = words; *word; word++) {
		guint i = 0;
		while (names[i] && strcmp(names[i], *word) != 0)
			i++;
		if (!names[i]) {
			const char *nearest = dtc_suggest(*word, names);
			g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
				    "'%s' is nothing that can be redacted\n"
				    "%s%s%sgive payload, addresses, names, or several of these",
				    *word, nearest ? "did you mean '" : "", nearest ? nearest : "",
				    nearest ? "'? " : "");
			return false;
		}
		parts |= 1u << i;
	}
	*ret_parts = parts;
	return true;
}

bool dtc_redaction_init(struct dtc_redaction *redaction, guint parts, const char *key_file, GError **error)
{
	*redaction = (struct dtc_redaction){ .parts = parts };
	redaction->words = key_file ? dtc_pseudonyms_new_from_file(key_file, error) : dtc_pseudonyms_new_random(error);
	if (redaction->words)
		redaction->addresses = dtc_addresses_new(redaction->words);
	return redaction->words;
}

void dtc_redaction_clear(struct dtc_redaction *redaction)
{
	g_clear_pointer(&redaction->addresses, dtc_addresses_free);
	g_clear_pointer(&redaction->words, dtc_pseudonyms_free);
}

char *dtc_redaction_name(struct dtc_redaction *redaction, const char *name)
{
	return redaction->parts & DTC_REDACT_NAMES ? dtc_names_replace_string(redaction->words, name)
						   : dtc_redaction_text(redaction, name);
}

char *dtc_redaction_text(struct dtc_redaction *redaction, const char *text)
{
	char *copy = g_strdup(text);
	if (redaction->parts & DTC_REDACT_NAMES)
		dtc_names_replace(redaction->words, copy, strlen(copy));
	else if (redaction->parts & DTC_REDACT_ADDRESSES)
		dtc_names_replace_addresses(redaction->words, copy, strlen(copy));
	return copy;
}

char **dtc_redaction_addresses(struct dtc_redaction *redaction, char **addresses)
{
	char **copy = g_strdupv(addresses);
	for (char **address = copy; redaction->parts & DTC_REDACT_ADDRESSES && *address; address++) {
		char *other = dtc_addresses_replace_string(redaction->addresses, *address);
		if (!*other) {
			g_free(other);
			other = dtc_redaction_name(redaction, *address);
		}
		g_free(*address);
		*address = other;
	}
	return copy;
}

char *dtc_redaction_uuid(struct dtc_redaction *redaction, const char *uuid)
{
	char *copy = g_strdup(uuid);
	if (redaction->parts & DTC_REDACT_NAMES)
		for (char *at = copy; *at; at += strspn(at, "-")) {
			gsize count = strcspn(at, "-");
			dtc_pseudonyms_replace_hex(redaction->words, (uint8_t *)at, count);
			at += count;
		}
	return copy;
}
