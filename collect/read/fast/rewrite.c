/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goes over each event field by field, with nothing remembered but what is to be done with each: traces are rewritten
 * once, and read many times.
 */
#include "collect/read/rewrite.h"

#include "collect/bundle/access.h"
#include "collect/bundle/file_copy.h"
#include "collect/read/ctf/clock_class.h"
#include "collect/read/ctf/metadata.h"
#include "collect/read/fast/chain.h"
#include "collect/read/fast/known.h"
#include "collect/read/fast/metadata_text.h"
#include "collect/read/spellings.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define FILL 0xff /* no event begins so */

struct rewriting {
	const struct dtc_rewrite *rewrite;
	const char *node;
	struct dtc_known_trace trace;
	DtcChains *chains;
	GHashTable *actions; /* struct dtc_layout -> what to do with it */
	const char *event;   /* whose fields these are */
	uint8_t *to;	     /* of the packet, in the copy */
	uint64_t done;	     /* bits of it, up to the end of the last field */
	bool is_unaligned;   /* a field that is to be changed begins within a byte */
};

/* ---- what to do with fields ---- */

static bool is_text(const struct dtc_layout *layout)
{
	return layout->kind == DTC_TYPE_STRING || layout->type->is_text ||
	       (layout->element && layout->element->bits == 8 && layout->element->type->is_text);
}

static bool is_array(const struct dtc_layout *layout)
{
	return layout->kind == DTC_TYPE_ARRAY || layout->kind == DTC_TYPE_SEQUENCE;
}

static guint choose(struct rewriting *rewriting, const struct dtc_layout *layout, const char *name)
{
	struct dtc_rewrite_field field = { rewriting->event, dtc_spelling_skip_underscores(name), DTC_REWRITE_NUMBER,
					   layout->bits };
	if (is_array(layout)) {
		field.shape = is_text(layout) ? DTC_REWRITE_TEXT : DTC_REWRITE_BYTES;
		field.bits = layout->element->bits;
		bool is_number = layout->element->kind == DTC_TYPE_INTEGER && (field.bits == 8 || field.bits == 16);
		if (!is_number)
			return DTC_REWRITE_KEEP;
	} else if (layout->kind == DTC_TYPE_STRING) {
		field.shape = DTC_REWRITE_TEXT;
		field.bits = 8;
	} else if (layout->kind != DTC_TYPE_INTEGER) {
		return DTC_REWRITE_KEEP;
	}
	return rewriting->rewrite->choose(&field, rewriting->rewrite->data);
}

static guint get_action(struct rewriting *rewriting, const struct dtc_layout *layout, const char *name)
{
	gpointer action;
	if (G_LIKELY(g_hash_table_lookup_extended(rewriting->actions, layout, NULL, &action)))
		return GPOINTER_TO_UINT(action);
	guint chosen = choose(rewriting, layout, name);
	g_hash_table_insert(rewriting->actions, (gpointer)layout, GUINT_TO_POINTER(chosen));
	return chosen;
}

/* ---- values ---- */

static void apply(struct rewriting *rewriting, guint action, const struct dtc_layout *layout, uint64_t begin,
		  uint64_t end)
{
	if (begin % 8 != 0 || end % 8 != 0) {
		rewriting->is_unaligned = true;
		return;
	}
	uint8_t *bytes = rewriting->to + begin / 8;
	gsize count = (gsize)(end - begin) / 8, used = count;
	if (layout->kind == DTC_TYPE_STRING) {
		used = count - 1; /* its zero */
	} else if (is_text(layout)) {
		const uint8_t *zero = memchr(bytes, 0, count);
		used = zero ? (gsize)(zero - bytes) : count;
		memset(bytes + used, 0, count - used);
	}
	rewriting->rewrite->apply(action, bytes, used, rewriting->rewrite->data);
}

static bool pass(struct rewriting *rewriting, struct dtc_decoder *decoder, const struct dtc_layout *layout,
		 const char *name);

static bool pass_members(struct rewriting *rewriting, struct dtc_decoder *decoder, const struct dtc_layout *layout)
{
	decoder->at = dtc_align_bits(decoder->at, layout->align);
	for (guint i = 0; i < layout->member_count; i++)
		if (!pass(rewriting, decoder, layout->members[i].layout, layout->members[i].name))
			return false;
	return decoder->at <= decoder->end;
}

/* An array of structures or of texts: each by itself. */
static bool pass_elements(struct rewriting *rewriting, struct dtc_decoder *decoder, const struct dtc_layout *layout,
			  const char *name)
{
	uint64_t length;
	if (!dtc_decode_get_length(decoder, layout, &length))
		return false;
	decoder->at = dtc_align_bits(decoder->at, layout->align);
	for (uint64_t i = 0; i < length; i++) {
		uint64_t before = decoder->at;
		if (!pass(rewriting, decoder, layout->element, name))
			return false;
		if (decoder->at == before)
			break;
	}
	return true;
}

/* A tracer that aligns skips bytes of its buffer, in which older events stand. */
static void clear_padding(struct rewriting *rewriting, uint64_t begin)
{
	uint64_t from = (rewriting->done + 7) / 8, to = begin / 8;
	if (to > from)
		memset(rewriting->to + from, 0, to - from);
}

static bool pass_field(struct rewriting *rewriting, struct dtc_decoder *decoder, const struct dtc_layout *layout,
		       const char *name)
{
	guint action = get_action(rewriting, layout, name);
	uint64_t begin = dtc_align_bits(decoder->at, layout->align);
	if (is_array(layout))
		begin = dtc_align_bits(begin, layout->element->align);
	if (!dtc_decode_pass(decoder, layout))
		return false;
	clear_padding(rewriting, MIN(begin, decoder->at)); /* elements that are not there align nothing */
	rewriting->done = decoder->at;
	if (action != DTC_REWRITE_KEEP && decoder->at > begin)
		apply(rewriting, action, layout, begin, decoder->at);
	return true;
}

static bool pass(struct rewriting *rewriting, struct dtc_decoder *decoder, const struct dtc_layout *layout,
		 const char *name)
{
	const struct dtc_layout *inner;
	uint32_t option;

	if (!layout)
		return true;
	switch (layout->kind) {
	case DTC_TYPE_STRUCT:
		return pass_members(rewriting, decoder, layout);
	case DTC_TYPE_VARIANT:
	case DTC_TYPE_OPTION:
		return dtc_decode_select(decoder, layout, &option, &inner) && pass(rewriting, decoder, inner, name);
	case DTC_TYPE_ARRAY:
	case DTC_TYPE_SEQUENCE:
		if (layout->element->kind != DTC_TYPE_INTEGER && layout->element->kind != DTC_TYPE_FLOAT)
			return pass_elements(rewriting, decoder, layout, name);
		return pass_field(rewriting, decoder, layout, name);
	default:
		return pass_field(rewriting, decoder, layout, name);
	}
}

/* ---- events ---- */

static bool pass_event(struct rewriting *rewriting, const struct dtc_stream_layout *stream, struct dtc_decoder *decoder)
{
	uint64_t id = 0, begin = decoder->at;
	struct dtc_decoder header = *decoder;
	if (!dtc_decode_header(&header, stream->event_header, &id))
		return false;
	const struct dtc_event_layout *event = dtc_layout_find_event(stream, id);
	if (!event)
		return false;
	rewriting->event = "";
	if (!pass(rewriting, decoder, stream->event_header, ""))
		return false;
	rewriting->event = event->declaration->name ? event->declaration->name : "";
	return pass(rewriting, decoder, stream->common_context, "") && pass(rewriting, decoder, event->context, "") &&
	       pass(rewriting, decoder, event->payload, "") && decoder->at > begin;
}

/* Bits within a damaged packet are decoded, too, as what they are not: times tell, sooner or later. */
static bool is_late(const struct dtc_chain_packet *packet, const struct dtc_decoder *decoder)
{
	return packet->has_begin && packet->has_end && packet->end_ticks >= packet->begin_ticks &&
	       decoder->clock > packet->end_ticks;
}

/* Behind the packet's own header; *ret_first is where the first event is, *ret_end the end of the last good one. */
static bool pass_events(struct rewriting *rewriting, const struct dtc_chain *chain,
			const struct dtc_chain_packet *packet, struct dtc_decoder *decoder, uint64_t *ret_first,
			uint64_t *ret_end)
{
	bool is_whole = chain->layout && pass(rewriting, decoder, rewriting->trace.layout->packet_header, "") &&
			pass(rewriting, decoder, chain->layout->packet_context, "");
	*ret_first = *ret_end = is_whole ? decoder->at : 0;
	if (packet->has_begin)
		decoder->clock = packet->begin_ticks;
	while (is_whole && decoder->at < decoder->end) {
		is_whole = pass_event(rewriting, chain->layout, decoder) && !is_late(packet, decoder);
		*ret_end = is_whole ? decoder->at : *ret_end;
	}
	return is_whole;
}

/*
 * A packet that is damaged anywhere goes, all of it: from where it is that bits were taken for others is not known. Of
 * one that only lacks its end what is there stays.
 */
static void rewrite_packet(struct rewriting *rewriting, const struct dtc_chain *chain,
			   const struct dtc_chain_packet *packet, uint64_t *slots)
{
	struct dtc_decoder decoder = { .data = packet->data, .end = packet->content_bits, .slots = slots };
	uint64_t bytes = (packet->content_bits + 7) / 8, first, end;

	memcpy(rewriting->to, packet->data, bytes);
	rewriting->done = 0;
	rewriting->event = "";
	if (pass_events(rewriting, chain, packet, &decoder, &first, &end))
		return;
	uint64_t kept = ((packet->is_cut || packet->is_open ? end : first) + 7) / 8;
	if (kept < bytes)
		memset(rewriting->to + kept, packet->is_open ? 0 : FILL, bytes - kept);
}

/* ---- files ---- */

static bool set_unaligned(const struct rewriting *rewriting, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot redact the trace of node '%s': a text in it begins within a byte\n"
		    "leave the node out with --nodes",
		    rewriting->node);
	return false;
}

static bool rewrite_file(struct rewriting *rewriting, const char *folder, guint file, GError **error)
{
	const char *name = dtc_chains_get_file_name(rewriting->chains, file);
	gsize bytes;
	const uint8_t *from = dtc_chains_get_file_bytes(rewriting->chains, file, &bytes);
	const struct dtc_rewrite *rewrite = rewriting->rewrite;
	g_autofree char *renamed = rewrite->name_file ? rewrite->name_file(name, rewrite->data) : g_strdup(name);
	g_autofree char *path = g_build_filename(folder, renamed, NULL);
	g_autofree uint64_t *slots = g_new0(uint64_t, rewriting->trace.layout->slot_count + 1);
	g_autoptr(DtcFileCopy) copy = dtc_file_copy_new_empty(path, bytes, error);

	if (!copy)
		return false;
	for (guint i = 0; i < dtc_chains_get_count(rewriting->chains); i++) {
		const struct dtc_chain *chain = dtc_chains_get(rewriting->chains, i);
		for (guint k = 0; k < chain->packets->len; k++) {
			const struct dtc_chain_packet *packet =
				&g_array_index(chain->packets, struct dtc_chain_packet, k);
			if (packet->data != from + packet->offset)
				continue;
			rewriting->to = dtc_file_copy_get_bytes(copy) + packet->offset;
			rewrite_packet(rewriting, chain, packet, slots);
		}
	}
	if (rewriting->is_unaligned)
		return set_unaligned(rewriting, error);
	return dtc_file_copy_finish(copy, true, error);
}

static bool rewrite_files(struct rewriting *rewriting, const char *path, const char *folder, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new(); /* who reads the copy finds the same */
	g_autoptr(DtcInventory) inventory = dtc_inventory_new(path);
	g_autoptr(DtcPacketTable) table = NULL;
	bool is_done = true;

	if (dtc_chains_can_use_table(rewriting->trace.layout))
		table = dtc_packet_table_new(path, inventory, rewriting->node, findings);
	rewriting->chains = dtc_chains_new(path, rewriting->trace.layout, inventory, table, rewriting->node, findings);
	for (guint i = 0; is_done && i < dtc_chains_get_file_count(rewriting->chains); i++)
		is_done = rewrite_file(rewriting, folder, i, error);
	dtc_chains_free(rewriting->chains);
	return is_done && dtc_access_check(error);
}

/* ---- metadata ---- */

static bool set_unknown(const char *node, const char *reason, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot redact the trace of node '%s': %s\n"
		    "what is in its events is not known, and nothing of it is left in: leave the node out with --nodes",
		    node, reason);
	return false;
}

static bool open_trace(struct rewriting *rewriting, const char *path, GString **ret_text, GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autofree char *metadata = g_build_filename(path, "metadata", NULL);
	if (!dtc_metadata_check(metadata, error))
		return false;
	GString *text = dtc_metadata_read_text(path);
	if (!text)
		return set_unknown(rewriting->node, "its metadata cannot be read", error);
	if (dtc_declaration_is_version_2(text->str, text->len)) {
		g_string_free(text, TRUE);
		return set_unknown(rewriting->node, "its metadata are of CTF 2, which can only be read", error);
	}
	*ret_text = g_string_new_len(text->str, (gssize)text->len);
	if (dtc_known_open(NULL, text, &rewriting->trace, &reason)) /* takes the text */
		return true;
	g_autofree char *why = g_strdup_printf("its metadata, %s", reason->message);
	g_string_free(g_steal_pointer(ret_text), TRUE);
	return set_unknown(rewriting->node, why, error);
}

static bool write_metadata(const struct dtc_rewrite *rewrite, const GString *text, const char *folder, GError **error)
{
	g_autofree char *path = g_build_filename(folder, "metadata", NULL);
	g_autoptr(GString) written = dtc_metadata_text_rewrite(text, rewrite);
	g_autoptr(DtcFileCopy) copy = dtc_file_copy_new_empty(path, written->len, error);
	if (!copy)
		return false;
	memcpy(dtc_file_copy_get_bytes(copy), written->str, written->len);
	return dtc_file_copy_finish(copy, true, error);
}

bool dtc_rewrite_trace(const struct dtc_rewrite *rewrite, const char *node, const char *path, const char *folder,
		       GError **error)
{
	struct rewriting rewriting = { .rewrite = rewrite, .node = node };
	GString *text = NULL;

	if (!open_trace(&rewriting, path, &text, error))
		return false;
	rewriting.actions = g_hash_table_new(NULL, NULL);
	bool is_done = write_metadata(rewrite, text, folder, error) && rewrite_files(&rewriting, path, folder, error);
	g_hash_table_unref(rewriting.actions);
	g_string_free(text, TRUE);
	dtc_known_close(&rewriting.trace);
	return is_done;
}
