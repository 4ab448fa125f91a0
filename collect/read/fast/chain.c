/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/chain.h"

#include "collect/bundle/access.h"
#include "collect/read/spellings.h"

#define MAGIC 0xc1fc1fc1u

struct DtcChains {
	const struct dtc_trace_layout *layout;
	GPtrArray *maps;   /* GMappedFile */
	GPtrArray *names;  /* of their files */
	GPtrArray *chains; /* struct dtc_chain */
	uint64_t *slots;
	bool is_uuid_wrong; /* the metadata's: no packet has it */
};

/* ---- headers ---- */

/*
 * What a field of a packet's header or context is for. CTF 2 tells by roles, and its names mean nothing; that of the
 * CPU alone has no role.
 */
static enum dtc_type_role get_role(const struct dtc_layout_member *member, bool is_version_2)
{
	static const struct {
		const char *name;
		enum dtc_type_role role;
	} names[] = {
		{ "magic", DTC_ROLE_MAGIC },
		{ "uuid", DTC_ROLE_UUID },
		{ "stream_id", DTC_ROLE_STREAM_CLASS },
		{ "stream_instance_id", DTC_ROLE_STREAM },
		{ "timestamp_begin", DTC_ROLE_PACKET_BEGIN },
		{ "timestamp_end", DTC_ROLE_PACKET_END },
		{ "packet_size", DTC_ROLE_PACKET_BITS },
		{ "content_size", DTC_ROLE_CONTENT_BITS },
		{ "packet_seq_num", DTC_ROLE_SEQUENCE },
		{ "events_discarded", DTC_ROLE_DISCARDED },
		{ "cpu_id", DTC_ROLE_CPU },
	};
	if (member->layout->role > DTC_ROLE_CLOCK || member->layout->role == DTC_ROLE_MAGIC ||
	    member->layout->role == DTC_ROLE_UUID || member->layout->role == DTC_ROLE_STREAM_CLASS ||
	    member->layout->role == DTC_ROLE_STREAM)
		return member->layout->role;
	const char *name = dtc_spelling_skip_underscores(member->name);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(name, names[i].name) == 0 && (!is_version_2 || names[i].role == DTC_ROLE_CPU))
			return names[i].role;
	/* a time stamp of a packet that is not its end's */
	return member->layout->role == DTC_ROLE_CLOCK ? DTC_ROLE_PACKET_BEGIN : DTC_ROLE_NONE;
}

struct header {
	uint64_t values[DTC_ROLES];
	bool has[DTC_ROLES];
	uint8_t uuid[16];
	bool is_version_2;
};

static bool take_uuid(struct dtc_decoder *decoder, const struct dtc_layout *layout, struct header *header)
{
	uint64_t at = dtc_align_bits(decoder->at, layout->align), length;
	if ((layout->kind != DTC_TYPE_ARRAY && layout->kind != DTC_TYPE_SEQUENCE) || layout->element->bits != 8 ||
	    !dtc_decode_get_length(decoder, layout, &length) || length != sizeof(header->uuid))
		return dtc_decode_pass(decoder, layout);
	if (!dtc_decode_pass(decoder, layout))
		return false;
	for (guint i = 0; i < sizeof(header->uuid); i++)
		header->uuid[i] = (uint8_t)dtc_decode_bits(decoder->data, at + UINT64_C(8) * i, 8, false);
	header->has[DTC_ROLE_UUID] = true;
	return true;
}

static bool read_structure(struct dtc_decoder *decoder, const struct dtc_layout *structure, struct header *header);

static bool read_member(struct dtc_decoder *decoder, const struct dtc_layout_member *member, struct header *header)
{
	const struct dtc_layout *layout = member->layout;
	enum dtc_type_role role = get_role(member, header->is_version_2);
	if (layout->kind == DTC_TYPE_STRUCT)
		return read_structure(decoder, layout, header);
	if (role == DTC_ROLE_UUID)
		return take_uuid(decoder, layout, header);
	if (role == DTC_ROLE_NONE || (layout->kind != DTC_TYPE_INTEGER && layout->kind != DTC_TYPE_VARINT))
		return dtc_decode_pass(decoder, layout);
	header->has[role] = true;
	return layout->kind == DTC_TYPE_VARINT ? dtc_decode_varint(decoder, layout, &header->values[role])
					       : dtc_decode_integer(decoder, layout, &header->values[role]);
}

static bool read_structure(struct dtc_decoder *decoder, const struct dtc_layout *structure, struct header *header)
{
	if (!structure)
		return true;
	decoder->at = dtc_align_bits(decoder->at, structure->align);
	for (guint i = 0; i < structure->member_count; i++)
		if (!read_member(decoder, &structure->members[i], header))
			return false;
	return decoder->at <= decoder->end;
}

static const struct dtc_stream_layout *find_stream(const struct dtc_trace_layout *layout, const struct header *header)
{
	if (!header->has[DTC_ROLE_STREAM_CLASS])
		return layout->stream_count == 1 ? &layout->streams[0] : dtc_layout_find_stream(layout, 0);
	return dtc_layout_find_stream(layout, header->values[DTC_ROLE_STREAM_CLASS]);
}

bool dtc_chain_enter(const struct dtc_trace_layout *trace, const struct dtc_chain *chain,
		     const struct dtc_chain_packet *packet, struct dtc_decoder *decoder)
{
	decoder->data = packet->data;
	decoder->at = 0;
	decoder->end = packet->content_bits;
	decoder->room = packet->room_bits;
	if (!dtc_decode_pass(decoder, trace->packet_header) ||
	    !dtc_decode_pass(decoder, chain->layout ? chain->layout->packet_context : NULL))
		return false;
	if (packet->has_begin)
		decoder->clock = packet->begin_ticks;
	return true;
}

/* ---- packets that nobody knows yet ---- */

static bool is_ours(const DtcChains *chains, const struct header *header)
{
	const struct dtc_trace_declaration *declaration = chains->layout->declaration;
	if (header->has[DTC_ROLE_MAGIC] && header->values[DTC_ROLE_MAGIC] != MAGIC)
		return false;
	return !header->has[DTC_ROLE_UUID] || !declaration->has_uuid || chains->is_uuid_wrong ||
	       memcmp(header->uuid, declaration->uuid, sizeof(header->uuid)) == 0;
}

static void take_header(const struct header *header, struct dtc_chain_packet *packet)
{
	const uint64_t *values = header->values;
	const bool *has = header->has;
	packet->begin_ticks = values[DTC_ROLE_PACKET_BEGIN];
	packet->has_begin = has[DTC_ROLE_PACKET_BEGIN];
	packet->end_ticks = values[DTC_ROLE_PACKET_END];
	packet->has_end = has[DTC_ROLE_PACKET_END];
	packet->sequence = values[DTC_ROLE_SEQUENCE];
	packet->has_sequence = has[DTC_ROLE_SEQUENCE];
	packet->discarded = values[DTC_ROLE_DISCARDED];
	packet->has_discarded = has[DTC_ROLE_DISCARDED];
	packet->stream_id = values[DTC_ROLE_STREAM_CLASS];
	packet->instance = values[DTC_ROLE_STREAM];
	packet->has_instance = has[DTC_ROLE_STREAM];
	packet->cpu = values[DTC_ROLE_CPU];
}

/* The packet at an offset; its bytes, 0 if there is none. Without sizes a packet is all that is left. */
static uint64_t parse_packet(DtcChains *chains, const uint8_t *data, uint64_t left, struct dtc_chain_packet *ret)
{
	struct header header = { .is_version_2 = chains->layout->declaration->is_version_2 };
	struct dtc_decoder decoder = { .data = data, .end = left * 8, .slots = chains->slots };
	*ret = (struct dtc_chain_packet){ .data = data };
	if (!read_structure(&decoder, chains->layout->packet_header, &header) || !is_ours(chains, &header))
		return 0;
	const struct dtc_stream_layout *stream = find_stream(chains->layout, &header);
	if (!stream || !read_structure(&decoder, stream->packet_context, &header))
		return 0;
	take_header(&header, ret);
	ret->stream_id = stream->declaration->id;
	uint64_t packet_bits = header.has[DTC_ROLE_PACKET_BITS]	   ? header.values[DTC_ROLE_PACKET_BITS]
			       : header.has[DTC_ROLE_CONTENT_BITS] ? header.values[DTC_ROLE_CONTENT_BITS]
								   : left * 8;
	ret->content_bits = header.has[DTC_ROLE_CONTENT_BITS] ? header.values[DTC_ROLE_CONTENT_BITS] : packet_bits;
	if (packet_bits == 0 || packet_bits % 8 != 0 || ret->content_bits > packet_bits ||
	    ret->content_bits < decoder.at)
		return 0;
	ret->is_cut = packet_bits / 8 > left;
	ret->content_bits = MIN(ret->content_bits, left * 8);
	return MIN(packet_bits / 8, left);
}

static GArray *list_packets(DtcChains *chains, const char *name, GMappedFile *map, const char *node,
			    DtcFindings *findings)
{
	GArray *packets = g_array_new(FALSE, TRUE, sizeof(struct dtc_chain_packet));
	const uint8_t *data = (const uint8_t *)g_mapped_file_get_contents(map);
	uint64_t size = g_mapped_file_get_length(map);
	for (uint64_t offset = 0; offset < size;) {
		struct dtc_chain_packet packet;
		uint64_t bytes = parse_packet(chains, data + offset, size - offset, &packet);
		if (bytes == 0) {
			dtc_findings_add_coded(findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_ERROR, true, node,
					       "stream file '%s' is damaged at byte %" G_GUINT64_FORMAT
					       ": there is no packet, and the rest of its %" G_GUINT64_FORMAT
					       " bytes was left out with an unknown number of events",
					       name, offset, size);
			break;
		}
		packet.offset = offset;
		packet.room_bits = (size - offset) * 8;
		if (packet.is_cut)
			dtc_findings_add_coded(findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_ERROR, true, node,
					       "stream file '%s' ends at byte %" G_GUINT64_FORMAT
					       ", inside the packet that begins at byte %" G_GUINT64_FORMAT
					       ": an unknown number of events is missing",
					       name, size, offset);
		g_array_append_val(packets, packet);
		offset += bytes;
	}
	return packets;
}

/* ---- packets that the table knows ---- */

static GArray *take_packets(DtcChains *chains, const struct dtc_packet_file *file, GMappedFile *map)
{
	GArray *packets = g_array_new(FALSE, TRUE, sizeof(struct dtc_chain_packet));
	const uint8_t *data = (const uint8_t *)g_mapped_file_get_contents(map);
	uint64_t size = g_mapped_file_get_length(map);
	for (guint i = 0; i < file->packets->len; i++) {
		const struct dtc_ctf_packet *from = &g_array_index(file->packets, struct dtc_ctf_packet, i);
		struct dtc_chain_packet packet;
		if (from->is_left_out || from->offset >= size || from->bytes > size - from->offset)
			continue;
		/* which of the numbers the trace has at all is told by its own layout */
		if (!parse_packet(chains, data + from->offset, size - from->offset, &packet))
			packet = (struct dtc_chain_packet){ .data = data + from->offset,
							    .has_begin = true,
							    .has_end = true };
		packet.offset = from->offset;
		packet.room_bits = (size - from->offset) * 8;
		packet.begin_ticks = from->begin_ticks;
		packet.end_ticks = from->end_ticks;
		packet.content_bits = MIN(from->content_bits, (uint64_t)from->bytes * 8);
		packet.sequence = packet.has_sequence ? from->sequence : 0;
		packet.discarded = packet.has_discarded ? from->discarded : 0;
		packet.stream_id = from->stream_id;
		packet.instance = from->instance;
		packet.cpu = from->cpu;
		packet.is_cut = from->is_cut;
		packet.is_open = from->is_open;
		packet.has_end = packet.has_end && (!from->is_open || from->end_ticks != 0);
		g_array_append_val(packets, packet);
	}
	return packets;
}

/* ---- chains ---- */

static void chain_free(void *data)
{
	struct dtc_chain *chain = data;
	g_free(chain->name);
	g_array_unref(chain->packets);
	g_free(chain);
}

/* A stream may have several files (rotation): those of one class and instance are one. */
static struct dtc_chain *find_chain(const DtcChains *chains, const struct dtc_chain_packet *first)
{
	for (guint i = 0; first->has_instance && i < chains->chains->len; i++) {
		struct dtc_chain *chain = g_ptr_array_index(chains->chains, i);
		const struct dtc_chain_packet *other = &g_array_index(chain->packets, struct dtc_chain_packet, 0);
		if (other->has_instance && other->instance == first->instance && other->stream_id == first->stream_id)
			return chain;
	}
	return NULL;
}

static int compare_packets(gconstpointer a, gconstpointer b)
{
	const struct dtc_chain_packet *x = a, *y = b;
	return (x->begin_ticks > y->begin_ticks) - (x->begin_ticks < y->begin_ticks);
}

static void add_chain(DtcChains *chains, const char *name, GArray *packets, bool has_no_end)
{
	if (packets->len == 0) {
		g_array_unref(packets);
		return;
	}
	const struct dtc_chain_packet *first = &g_array_index(packets, struct dtc_chain_packet, 0);
	struct dtc_chain *chain = find_chain(chains, first);
	if (chain) {
		if (first->begin_ticks < g_array_index(chain->packets, struct dtc_chain_packet, 0).begin_ticks) {
			g_free(chain->name);
			chain->name = g_strdup(name);
		}
		g_array_append_vals(chain->packets, packets->data, packets->len);
		g_array_sort(chain->packets, compare_packets); /* stable */
		chain->has_no_end = chain->has_no_end || has_no_end;
		g_array_unref(packets);
		return;
	}
	chain = g_new0(struct dtc_chain, 1);
	chain->layout = dtc_layout_find_stream(chains->layout, first->stream_id);
	chain->name = g_strdup(name);
	chain->packets = packets;
	chain->has_no_end = has_no_end;
	g_ptr_array_add(chains->chains, chain);
}

/* The places that stream_file.c tries, and no others: a header with a field more would be taken for one of them. */
static bool is_where_table_looks(const struct dtc_trace_layout *layout, const struct dtc_layout *context)
{
	static const uint64_t bytes[] = { 20, 24, 28, 32, 40 };
	if (layout->packet_header->fixed_bits < 0)
		return false;
	uint64_t at = dtc_align_bits((uint64_t)layout->packet_header->fixed_bits, context->align);
	for (gsize i = 0; i < G_N_ELEMENTS(bytes); i++)
		if (at == bytes[i] * 8)
			return true;
	return false;
}

bool dtc_chains_can_use_table(const struct dtc_trace_layout *layout)
{
	static const char *const names[] = { "timestamp_begin", "timestamp_end", "content_size", "packet_size" };
	const struct dtc_layout *header = layout->packet_header;
	if (!header || header->member_count < 2 || strcmp(header->members[0].name, "magic") != 0 ||
	    strcmp(header->members[1].name, "uuid") != 0)
		return false;
	for (guint i = 0; i < layout->stream_count; i++) {
		const struct dtc_layout *context = layout->streams[i].packet_context;
		if (!context || context->member_count < G_N_ELEMENTS(names) || !is_where_table_looks(layout, context))
			return false;
		for (guint k = 0; k < G_N_ELEMENTS(names); k++)
			if (strcmp(dtc_spelling_skip_underscores(context->members[k].name), names[k]) != 0 ||
			    context->members[k].layout->bits != 64 ||
			    context->members[k].layout->is_big_endian != layout->declaration->is_big_endian)
				return false;
	}
	return true;
}

static void add_file(DtcChains *chains, const char *directory, const char *name, const DtcPacketTable *table,
		     const char *node, DtcFindings *findings)
{
	const struct dtc_packet_file *file = table ? dtc_packet_table_find_file(table, name) : NULL;
	g_autofree char *path = g_build_filename(directory, name, NULL);
	GMappedFile *map = file && file->map ? g_mapped_file_ref(file->map) : dtc_access_map(path);
	if (!map)
		return;
	g_ptr_array_add(chains->maps, map);
	g_ptr_array_add(chains->names, g_strdup(name));
	if (g_mapped_file_get_length(map) == 0 || (file && file->is_double))
		return;
	GArray *packets = file ? take_packets(chains, file, map) : list_packets(chains, name, map, node, findings);
	bool has_no_end =
		file ? file->has_no_end
		     : packets->len > 0 && g_array_index(packets, struct dtc_chain_packet, packets->len - 1).is_cut;
	add_chain(chains, name, packets, has_no_end);
}

DtcChains *dtc_chains_new(const char *directory, const struct dtc_trace_layout *layout, const DtcInventory *inventory,
			  const DtcPacketTable *table, const char *node, DtcFindings *findings)
{
	DtcChains *chains = g_new0(DtcChains, 1);
	chains->layout = layout;
	chains->is_uuid_wrong = dtc_inventory_is_all_foreign(inventory);
	chains->maps = g_ptr_array_new_with_free_func((GDestroyNotify)g_mapped_file_unref);
	chains->names = g_ptr_array_new_with_free_func(g_free);
	chains->chains = g_ptr_array_new_with_free_func(chain_free);
	chains->slots = g_new0(uint64_t, layout->slot_count + 1);
	for (const char *const *name = dtc_inventory_get_streams(inventory); *name; name++)
		add_file(chains, directory, *name, table, node, findings);
	return chains;
}

void dtc_chains_free(DtcChains *chains)
{
	if (!chains)
		return;
	g_ptr_array_unref(chains->chains);
	g_ptr_array_unref(chains->maps);
	g_ptr_array_unref(chains->names);
	g_free(chains->slots);
	g_free(chains);
}

guint dtc_chains_get_count(const DtcChains *chains)
{
	return chains->chains->len;
}

const struct dtc_chain *dtc_chains_get(const DtcChains *chains, guint index)
{
	return g_ptr_array_index(chains->chains, index);
}

guint dtc_chains_get_file_count(const DtcChains *chains)
{
	return chains->maps->len;
}

const char *dtc_chains_get_file_name(const DtcChains *chains, guint file)
{
	return g_ptr_array_index(chains->names, file);
}

const uint8_t *dtc_chains_get_file_bytes(const DtcChains *chains, guint file, gsize *ret_bytes)
{
	GMappedFile *map = g_ptr_array_index(chains->maps, file);
	*ret_bytes = g_mapped_file_get_length(map);
	return (const uint8_t *)g_mapped_file_get_contents(map);
}
