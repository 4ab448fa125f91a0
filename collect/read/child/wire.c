/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/child/wire.h"

#include <stddef.h>
#include <string.h>

#define NO_TEXT UINT32_MAX

const char *const dtc_wire_keys[] = { "kernel_release", "hostname", "domain",  "tracer_name",
				      "release",	"host",	    "machine", NULL };

static void put_bytes(FILE *to, const char *text, gsize bytes)
{
	uint32_t length = (uint32_t)MIN(bytes, DTC_WIRE_TEXT_BYTES);
	fwrite(&length, sizeof(length), 1, to);
	fwrite(text, 1, length, to);
}

void dtc_wire_put_text(FILE *to, const char *text)
{
	uint32_t none = NO_TEXT;
	if (text)
		put_bytes(to, text, strlen(text));
	else
		fwrite(&none, sizeof(none), 1, to);
}

/* *ret_has: there is a text, of length bytes. */
static bool get_length(FILE *from, bool *ret_has, uint32_t *ret_length)
{
	if (fread(ret_length, sizeof(*ret_length), 1, from) != 1)
		return false;
	*ret_has = *ret_length != NO_TEXT;
	return !*ret_has || *ret_length <= DTC_WIRE_TEXT_BYTES;
}

bool dtc_wire_get_text(FILE *from, char **ret_text)
{
	uint32_t length;
	bool has;
	*ret_text = NULL;
	if (!get_length(from, &has, &length))
		return false;
	if (!has)
		return true;
	*ret_text = g_malloc0(length + 1);
	return fread(*ret_text, 1, length, from) == length;
}

/* Of the descriptors only those that are there, of the headers those of packets. */
static gsize get_fixed_bytes(void)
{
	return offsetof(struct dtc_event, ready);
}

static bool has_headers(const struct dtc_event *event)
{
	return event->kind >= DTC_EVENT_NET_SEND && event->kind <= DTC_EVENT_INET_IN;
}

void dtc_wire_put_event(FILE *to, const struct dtc_event *event)
{
	fwrite(event, get_fixed_bytes(), 1, to);
	fwrite(event->ready, sizeof(*event->ready), event->ready_count, to);
	if (has_headers(event))
		fwrite(&event->headers, sizeof(event->headers), 1, to);
	for (guint i = 0; i < G_N_ELEMENTS(event->text); i++)
		dtc_wire_put_text(to, event->text[i]);
}

static bool get_string(FILE *from, GString *string, const char **ret_text)
{
	uint32_t length;
	bool has;
	*ret_text = NULL;
	if (!get_length(from, &has, &length))
		return false;
	if (!has)
		return true;
	g_string_set_size(string, length);
	*ret_text = string->str;
	return fread(string->str, 1, length, from) == length;
}

bool dtc_wire_get_event(FILE *from, GString *texts[2], struct dtc_event *event)
{
	if (fread(event, get_fixed_bytes(), 1, from) != 1 || event->ready_count > DTC_EVENT_READY ||
	    event->kind >= DTC_EVENT_KINDS ||
	    fread(event->ready, sizeof(*event->ready), event->ready_count, from) != event->ready_count ||
	    (has_headers(event) && fread(&event->headers, sizeof(event->headers), 1, from) != 1))
		return false;
	for (guint i = 0; i < G_N_ELEMENTS(event->text); i++)
		if (!get_string(from, texts[i], &event->text[i]))
			return false;
	return true;
}
