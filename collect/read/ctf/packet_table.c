/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/packet_table.h"

#include "collect/read/ctf/clock_class.h"
#include "dtrace-chain/bisect.h"

#include <string.h>

/*
 * A kernel's packets overlap by microseconds. A thread that traces itself may be held up between the stamp of the next
 * packet's begin and that of its own's end.
 */
#define OVERLAPS_PER_S 1000
#define USER_OVERLAP_S 10

struct DtcPacketTable {
	char *path;
	struct dtc_packet_layout layout;
	struct dtc_ctf_context context;
	GPtrArray *files; /* struct dtc_packet_file, by name */
};

static void file_free(void *data)
{
	struct dtc_packet_file *file = data;
	g_free(file->name);
	g_clear_pointer(&file->map, g_mapped_file_unref);
	g_array_unref(file->packets);
	g_free(file);
}

static struct dtc_packet_rules get_rules(const DtcPacketTable *table, const GString *metadata)
{
	struct dtc_clock_class clock;
	struct dtc_packet_rules rules = {
		.has_sequence = table->context.sequence >= 0,
		.has_discarded = table->context.discarded >= 0,
		.has_cpu = table->context.cpu >= 0,
		.second_ticks = 1000000000,
		.wrap_ticks = (uint64_t)dtc_clock_class_find_wrap(metadata),
	};
	if (dtc_clock_class_parse(metadata->str, metadata->len, &clock)) {
		rules.second_ticks = MAX(clock.frequency_hz, 1);
		dtc_clock_class_clear(&clock);
	}
	rules.tolerance_ticks = dtc_clock_class_is_text_of(metadata, "ust") ? rules.second_ticks * USER_OVERLAP_S
									    : rules.second_ticks / OVERLAPS_PER_S;
	return rules;
}

static void add_file(DtcPacketTable *table, const char *name, const struct dtc_packet_rules *rules, const char *node,
		     DtcFindings *findings)
{
	g_autofree char *path = g_build_filename(table->path, name, NULL);
	const struct dtc_packet_names names = { node, name };
	struct dtc_packet_file *file = g_new0(struct dtc_packet_file, 1);
	file->name = g_strdup(name);
	file->packets = dtc_stream_file_list_packets(path, &table->layout, &table->context, &file->holes, &file->map);
	guint count = file->packets->len;
	const struct dtc_ctf_packet *last =
		count > 0 ? &g_array_index(file->packets, struct dtc_ctf_packet, count - 1) : NULL;
	bool is_cut = !last || last->is_cut;
	gsize last_offset = last ? last->offset : 0;
	gsize end = last ? last->offset + last->bytes : 0;
	file->is_whole = !is_cut && file->holes.skipped_bytes == 0;
	file->is_sound = dtc_packets_judge(file->packets, rules, &names, findings);
	count = file->packets->len;
	file->has_no_end = is_cut || end < file->holes.file_bytes ||
			   (count > 0 && !file->is_sound &&
			    g_array_index(file->packets, struct dtc_ctf_packet, count - 1).offset < last_offset);
	g_ptr_array_add(table->files, file);
}

static const struct dtc_packet_file *get_file(const DtcPacketTable *table, guint index)
{
	return g_ptr_array_index(table->files, index);
}

static const struct dtc_ctf_packet *find_packet(const struct dtc_packet_file *file, uint64_t begin_ticks);

/* More than half of the packets of one have the time and number of packets of the other. */
static bool tells_the_same(const struct dtc_packet_file *one, const struct dtc_packet_file *other)
{
	guint count = 0;
	for (guint i = 0; i < one->packets->len; i++) {
		const struct dtc_ctf_packet *packet = &g_array_index(one->packets, struct dtc_ctf_packet, i);
		const struct dtc_ctf_packet *same = find_packet(other, packet->begin_ticks);
		count += same && packet->begin_ticks < packet->end_ticks && same->end_ticks == packet->end_ticks &&
			 same->sequence == packet->sequence && same->stream_id == packet->stream_id &&
			 same->instance == packet->instance && same->cpu == packet->cpu;
	}
	return count > one->packets->len / 2;
}

/* From the first begin to the last end of all files but one; all time if they have no packet. */
static void find_span_of_others(const DtcPacketTable *table, guint but, uint64_t *ret_low, uint64_t *ret_high)
{
	*ret_low = UINT64_MAX;
	*ret_high = 0;
	for (guint i = 0; i < table->files->len; i++) {
		const GArray *packets = get_file(table, i)->packets;
		if (i == but || packets->len == 0)
			continue;
		const struct dtc_ctf_packet *last = &g_array_index(packets, struct dtc_ctf_packet, packets->len - 1);
		*ret_low = MIN(*ret_low, g_array_index(packets, struct dtc_ctf_packet, 0).begin_ticks);
		*ret_high = MAX(*ret_high, MAX(last->begin_ticks, last->end_ticks));
	}
	if (*ret_low <= *ret_high)
		return;
	*ret_low = 0;
	*ret_high = UINT64_MAX - 1;
}

static void judge_ends(DtcPacketTable *table, const struct dtc_packet_rules *rules, const char *node,
		       DtcFindings *findings)
{
	for (guint i = 0; i < table->files->len; i++) {
		struct dtc_packet_file *file = g_ptr_array_index(table->files, i);
		const struct dtc_packet_names names = { node, file->name };
		uint64_t low, high;
		find_span_of_others(table, i, &low, &high);
		file->is_sound &= dtc_packets_judge_ends(file->packets, low, high, rules, &names, findings);
	}
}

/* babeltrace2 would take the one or the other of two packets and say nothing. */
static void find_doubles(DtcPacketTable *table, const char *node, DtcFindings *findings)
{
	for (guint i = 1; i < table->files->len; i++) {
		struct dtc_packet_file *file = g_ptr_array_index(table->files, i);
		for (guint k = 0; k < i && !file->is_double; k++) {
			const struct dtc_packet_file *other = get_file(table, k);
			if (other->is_double || !tells_the_same(file, other))
				continue;
			file->is_double = true;
			dtc_findings_add_coded(
				findings, DTC_FINDING_PACKET_ORDER, DTC_SEVERITY_ERROR, true, node,
				"stream file '%s' tells of the same packets as '%s' with other events, and "
				"was left out",
				file->name, other->name);
		}
	}
}

DtcPacketTable *dtc_packet_table_new(const char *path, const DtcInventory *inventory, const char *node,
				     DtcFindings *findings)
{
	DtcPacketTable *table = g_new0(DtcPacketTable, 1);
	const char *const *names = dtc_inventory_get_streams(inventory);
	table->path = g_strdup(path);
	table->files = g_ptr_array_new_with_free_func(file_free);
	if (!dtc_packet_layout_find(path, names, &table->layout))
		return table;
	/* hundreds of KB, copied once for all that is asked of them */
	GString *metadata = dtc_metadata_read_text(path);
	if (!metadata)
		metadata = g_string_new(NULL);
	table->context = dtc_packet_context_find(metadata->str);
	struct dtc_packet_rules rules = get_rules(table, metadata);
	g_string_free(metadata, TRUE);
	for (; *names; names++)
		add_file(table, *names, &rules, node, findings);
	judge_ends(table, &rules, node, findings);
	find_doubles(table, node, findings);
	return table;
}

void dtc_packet_table_free(DtcPacketTable *table)
{
	if (!table)
		return;
	g_ptr_array_unref(table->files);
	g_free(table->path);
	g_free(table);
}

bool dtc_packet_table_has_damage(const DtcPacketTable *table)
{
	for (guint i = 0; i < table->files->len; i++)
		if (!get_file(table, i)->is_whole || !get_file(table, i)->is_sound || get_file(table, i)->is_double)
			return true;
	return false;
}

const struct dtc_packet_file *dtc_packet_table_find_file(const DtcPacketTable *table, const char *name)
{
	for (guint i = 0; i < table->files->len; i++)
		if (g_strcmp0(get_file(table, i)->name, name) == 0)
			return get_file(table, i);
	return NULL;
}

static G_GNUC_PRINTF(3, 4) void add_loss(DtcFindings *findings, const char *node, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	g_autofree char *text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	dtc_findings_add_coded(findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_ERROR, true, node, "%s", text);
}

static void report_file(const struct dtc_packet_file *file, const char *node, DtcFindings *findings)
{
	const struct dtc_stream_holes *holes = &file->holes;
	if (holes->skipped_bytes > 0)
		add_loss(findings, node,
			 "stream file '%s' is damaged at byte %" G_GSIZE_FORMAT ": %" G_GSIZE_FORMAT
			 " of its %" G_GSIZE_FORMAT
			 " bytes are no packets and were skipped with an unknown number of events",
			 file->name, holes->first_skipped, holes->skipped_bytes, holes->file_bytes);
	for (guint i = 0; i < file->packets->len; i++) {
		const struct dtc_ctf_packet *packet = &g_array_index(file->packets, struct dtc_ctf_packet, i);
		if (packet->is_cut)
			add_loss(findings, node,
				 "stream file '%s' ends at byte %" G_GSIZE_FORMAT
				 ", inside the packet that begins at byte %" G_GSIZE_FORMAT
				 ": an unknown number of events is missing",
				 file->name, holes->file_bytes, packet->offset);
	}
	if (file->packets->len == 0)
		add_loss(findings, node, "stream file '%s' holds no packet that can be read", file->name);
}

void dtc_packet_table_report(const DtcPacketTable *table, const char *node, DtcFindings *findings)
{
	for (guint i = 0; i < table->files->len; i++)
		if (!get_file(table, i)->is_double)
			report_file(get_file(table, i), node, findings);
}

/* Packets are in the order of time, but for those that nobody could judge. */
static const struct dtc_ctf_packet *find_packet(const struct dtc_packet_file *file, uint64_t begin_ticks)
{
	guint low = DTC_BISECT(i, 0, file->packets->len,
			       g_array_index(file->packets, struct dtc_ctf_packet, i).begin_ticks < begin_ticks);
	if (low == file->packets->len)
		return NULL;
	const struct dtc_ctf_packet *packet = &g_array_index(file->packets, struct dtc_ctf_packet, low);
	return packet->begin_ticks == begin_ticks ? packet : NULL;
}

const struct dtc_ctf_packet *dtc_packet_table_find(const DtcPacketTable *table, const char *name, uint64_t begin_ticks)
{
	const struct dtc_packet_file *own = dtc_packet_table_find_file(table, name);
	const struct dtc_ctf_packet *found = own ? find_packet(own, begin_ticks) : NULL;
	if (found || !own || own->packets->len == 0)
		return found;
	const struct dtc_ctf_packet *first = &g_array_index(own->packets, struct dtc_ctf_packet, 0);
	for (guint i = 0; i < table->files->len; i++) {
		found = find_packet(get_file(table, i), begin_ticks);
		if (found && found->stream_id == first->stream_id && found->instance == first->instance)
			return found;
	}
	return NULL;
}

bool dtc_packet_table_write(const DtcPacketTable *table, const struct dtc_packet_file *file, bool with_cut,
			    const char *copy, GError **error)
{
	g_autofree char *path = g_build_filename(table->path, file->name, NULL);
	return dtc_stream_file_write(path, &table->layout, &table->context, file->packets, with_cut, copy, error);
}
