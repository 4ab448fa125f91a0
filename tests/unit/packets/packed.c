/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read of packed packets is what was added, whatever it is; and images that say otherwise are refused. */
#include "collect/packets/records.h"

#include "tests/support/open_files.h"

#include <dtrace-chain/error.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct made {
	struct dtc_packet packet;
	uint32_t mark;
};

static uint32_t draw(GRand *rand)
{
	return g_rand_int(rand);
}

/* Few flows whose numbers wrap, fields that are as large as can be, marks of all kinds; wild: nothing is near anything.
 */
static struct made make(GRand *rand, guint i, bool wild)
{
	static const uint32_t flows[] = { 0, 1, 2, 7, DTC_NONE };
	struct made made = { .packet.time_ns = INT64_C(1700000000000000000) + (int64_t)i * 1000 };
	struct dtc_packet *p = &made.packet;
	guint flow = draw(rand) % (wild ? 5 : 3);
	p->flow = flows[flow];
	p->seq = UINT32_MAX - 5000 + i * 100 + (draw(rand) % 8 == 0 ? -3000u : 0);
	p->tcp_flags = draw(rand) % 16 == 0 ? DTC_TCP_SYN : DTC_TCP_ACK | draw(rand) % 2 * DTC_TCP_PSH;
	p->ack = p->tcp_flags & DTC_TCP_ACK ? 0x7fffffff + i * 50 : 0;
	p->payload_bytes = draw(rand) % 65536;
	p->ip_id = draw(rand) % 3 ? (uint16_t)draw(rand) : 0;
	p->window = (uint16_t)draw(rand);
	p->direction = flow & 1;
	p->interface = (uint16_t)(draw(rand) % 2);
	p->has_timestamps = flow < 2;
	made.mark = p->has_timestamps ? (uint32_t)(p->time_ns / 1000000) + 77 * flow + draw(rand) % 3 : 0;
	if (!wild)
		return made;
	p->time_ns = (int64_t)((uint64_t)draw(rand) << 32 | draw(rand));
	p->seq = draw(rand);
	p->ack = draw(rand);
	p->payload_bytes = draw(rand) % 4 ? draw(rand) & 0xffffff : 0xffffff;
	p->tcp_flags = draw(rand) & 0xff;
	p->cpu = draw(rand) & 0x1fff;
	p->interface = (uint16_t)draw(rand);
	p->is_inferred = draw(rand) & 1;
	p->has_timestamps = draw(rand) & 1;
	made.mark = draw(rand) % 2 ? draw(rand) : 0;
	return made;
}

static void check_same(const DtcPacked *packed, uint32_t id, const struct made *made)
{
	const struct dtc_packet packet = dtc_packed_get(packed, id);
	g_assert_cmpmem(&packet, sizeof(packet), &made->packet, sizeof(made->packet));
	g_assert_cmpint(dtc_packed_get_time_ns(packed, id), ==, made->packet.time_ns);
	g_assert_cmpuint(dtc_packed_get_mark(packed, id), ==, made->mark);
}

static int compare_time(const void *a, const void *b)
{
	const struct made *x = a, *y = b;
	return (x->packet.time_ns > y->packet.time_ns) - (x->packet.time_ns < y->packet.time_ns);
}

/* Of so many packets; every one is looked at before it is packed, and afterwards. */
static void check_round(guint count, bool wild, bool has_marks, guint seed)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
	g_autofree struct made *all = g_new(struct made, count + 1);
	g_autoptr(DtcPacked) packed = dtc_packed_new();
	for (guint i = 0; i < count; i++) {
		all[i] = make(rand, i, wild);
		if (!has_marks)
			all[i].mark = 0;
	}
	if (wild)
		qsort(all, count, sizeof(all[0]), compare_time);
	for (guint i = 0; i < count; i++) {
		dtc_packed_add(packed, &all[i].packet, all[i].mark);
		check_same(packed, i, &all[i]);
		check_same(packed, i / 2, &all[i / 2]);
	}
	g_assert_true(dtc_packed_sort(packed));
	dtc_packed_seal(packed);
	for (guint i = 0; i < count; i++)
		check_same(packed, i, &all[i]);
	struct dtc_packet list[DTC_PACKED_COUNT];
	for (guint i = 0; i < count; i += DTC_PACKED_COUNT) {
		guint here = dtc_packed_list(packed, i / DTC_PACKED_COUNT, list);
		g_assert_cmpuint(here, ==, MIN(DTC_PACKED_COUNT, count - i));
		for (guint k = 0; k < here; k++)
			g_assert_cmpmem(&list[k], sizeof(list[k]), &all[i + k].packet, sizeof(list[k]));
	}
}

static void test_round(void)
{
	static const guint counts[] = { 0, 1, 2, 127, 128, 129, 1023, 1024, 1025, 5000 };
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
		for (guint kind = 0; kind < 4; kind++)
			check_round(counts[i], kind & 1, kind & 2, i * 4 + kind);
}

/* Packets of two connections as they come: how much room they take, all told. */
static void test_room(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(5);
	g_autoptr(DtcPacked) packed = dtc_packed_new();
	const guint count = 128 * 100;
	for (guint i = 0; i < count; i++) {
		const struct made made = make(rand, i, false);
		dtc_packed_add(packed, &made.packet, made.mark);
	}
	dtc_packed_seal(packed);
	gsize bytes = packed->units->len * sizeof(struct dtc_packed_unit) + packed->blocks->len * sizeof(uint32_t);
	g_test_message("%.2f bytes for each of %u packets", (double)bytes / count, count);
	g_assert_cmpuint(bytes, <, count * 21);
}

/* Those that are late by little are sorted on the way; of those that are not, the caller is told. */
static void test_late(void)
{
	static const guint lateness[] = { 3, 500, 2000 };
	for (guint k = 0; k < G_N_ELEMENTS(lateness); k++) {
		g_autoptr(DtcPacked) packed = dtc_packed_new();
		const guint count = 4000;
		for (guint i = 0; i < count; i++) {
			bool is_late = i > lateness[k] && i % 37 == 0;
			struct dtc_packet packet = { .time_ns = i - (is_late ? lateness[k] : 0), .seq = i };
			dtc_packed_add(packed, &packet, i + 1);
		}
		bool is_sorted = dtc_packed_sort(packed);
		g_assert_true(is_sorted == (lateness[k] <= 500));
		if (!is_sorted)
			continue;
		dtc_packed_seal(packed);
		for (guint i = 1; i < count; i++) {
			const struct dtc_packet p = dtc_packed_get(packed, i - 1), q = dtc_packed_get(packed, i);
			g_assert_true(p.time_ns < q.time_ns || (p.time_ns == q.time_ns && p.seq < q.seq));
			g_assert_cmpuint(dtc_packed_get_mark(packed, i), ==, q.seq + 1);
		}
	}
}

static void test_clear(void)
{
	g_autoptr(DtcPacked) packed = dtc_packed_new();
	for (guint round = 0; round < 3; round++) {
		g_autoptr(GRand) rand = g_rand_new_with_seed(round);
		for (guint i = 0; i < 1500; i++) {
			const struct made made = make(rand, i, false);
			dtc_packed_add(packed, &made.packet, made.mark);
			check_same(packed, i, &made);
		}
		if (round == 2)
			break;
		dtc_packed_clear(packed);
		g_assert_cmpuint(packed->count, ==, 0);
	}
	g_autoptr(GRand) rand = g_rand_new_with_seed(2);
	g_assert_true(dtc_packed_sort(packed));
	dtc_packed_seal(packed);
	for (guint i = 0; i < 1500; i++) {
		const struct made made = make(rand, i, false);
		check_same(packed, i, &made);
	}
}

/* Ids as they come of many flows, and some that lie as far apart as can be. */
static void test_flow_index(void)
{
	static const guint counts[] = { 0, 1, 63, 64, 65, 1000 };
	for (guint k = 0; k < G_N_ELEMENTS(counts); k++) {
		g_autoptr(GRand) rand = g_rand_new_with_seed(k);
		g_autoptr(DtcFlowIndex) index = dtc_flow_index_new(NULL);
		g_autofree uint32_t *ids = g_new(uint32_t, counts[k] + 1);
		uint32_t *to = dtc_flow_index_begin(index, counts[k], NULL);
		for (guint i = 0; i < counts[k]; i++)
			to[i] = ids[i] = i / 64 % 3 == 0 ? 70 : i / 64 % 3 == 1 ? i + draw(rand) % 9 : draw(rand);
		dtc_flow_index_pack(index);
		for (guint i = 0; i < counts[k]; i++)
			g_assert_cmpuint(dtc_flow_index_get(index, i), ==, ids[i]);
	}
}

/* ---- images ---- */

static DtcPackets *fill(guint count)
{
	DtcPackets *packets = dtc_packets_new();
	for (guint i = 0; i < count; i++) {
		bool is_back = i & 1;
		struct dtc_headers headers = { .ip_version = i % 50 ? 4 : 0,
					       .protocol = DTC_PROTOCOL_TCP,
					       .has_transport = true,
					       .has_timestamps = true,
					       .tcp_flags = DTC_TCP_ACK,
					       .seq = i * 10,
					       .tsval = 1000 + i,
					       .source_port = is_back ? 80 : 1000,
					       .destination_port = is_back ? 1000 : 80,
					       .source = { [15] = is_back ? 2 : 3 },
					       .destination = { [15] = is_back ? 3 : 2 } };
		dtc_packets_add(packets, i * 100, is_back ? DTC_RECEIVED : DTC_SENT, 0, 0, &headers);
	}
	dtc_packets_seal(packets);
	return packets;
}

/* As an image that is loaded again; NULL with an error if it is refused. */
static DtcPackets *reload(const DtcPackets *packets, GError **error)
{
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	const struct dtc_image_key key = { { 0 } };
	g_autofree char *path = NULL;
	int file = g_file_open_tmp("packed-XXXXXX", &path, NULL);
	g_assert_cmpint(file, >=, 0);
	dtc_packets_save(packets, writer);
	g_assert_true(dtc_image_write(writer, file, &key, NULL));
	g_autoptr(DtcImage) image = dtc_image_map(file, "image", &key, error);
	close(file);
	unlink(path);
	g_assert_nonnull(image);
	return dtc_packets_load(image, error);
}

static void test_image(void)
{
	static const guint counts[] = { 0, 1, 128, 1000 };
	for (guint k = 0; k < G_N_ELEMENTS(counts); k++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcPackets) packets = fill(counts[k]);
		g_autoptr(DtcPackets) loaded = reload(packets, &error);
		g_assert_no_error(error);
		g_assert_cmpuint(dtc_packets_get_count(loaded), ==, counts[k]);
		for (guint i = 0; i < counts[k]; i++) {
			const struct made made = { dtc_packets_get(packets, i), dtc_packets_get_mark(packets, i) };
			g_assert_cmpuint(made.mark, ==, 1000 + i);
			check_same(loaded->packed, i, &made);
		}
		for (guint i = 0; i < dtc_packets_get_flow_count(packets); i++)
			for (guint n = 0; n < dtc_packets_get_flow(packets, i)->packet_count; n++)
				g_assert_cmpuint(dtc_packets_get_flow_packet(loaded, i, n), ==,
						 dtc_packets_get_flow_packet(packets, i, n));
		uint32_t bare = 0;
		for (guint i = 0; i < counts[k]; i += 50, bare++) {
			bare = dtc_packets_find_without_flow(loaded, bare);
			g_assert_cmpuint(bare, ==, i);
		}
		g_assert_cmpuint(dtc_packets_find_without_flow(loaded, bare), ==, DTC_NONE);
	}
}

/* Connections beyond what stays on the heap, each port used twice: they are found, also in what was written of them. */
static void test_connections(void)
{
	enum { PORT_COUNT = 20000 };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	struct dtc_headers headers = { .ip_version = 4,
				       .protocol = DTC_PROTOCOL_TCP,
				       .has_transport = true,
				       .tcp_flags = DTC_TCP_SYN,
				       .destination_port = 80,
				       .source = { [15] = 9 },
				       .destination = { [15] = 8 } };

	for (guint i = 0; i < 2 * PORT_COUNT; i++) {
		headers.source_port = (guint16)(1000 + i % PORT_COUNT);
		headers.seq = i * 1000;
		dtc_packets_add(packets, i, DTC_SENT, 0, 0, &headers);
	}
	dtc_packets_seal(packets);
	guint open_count = count_open_files();
	g_autoptr(DtcPackets) loaded = reload(packets, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(count_open_files(), ==, open_count); /* nodes are thousands */
	for (guint i = 0; i < PORT_COUNT; i++) {
		const DtcPackets *of[] = { packets, loaded };
		for (guint k = 0; k < G_N_ELEMENTS(of); k++) {
			guint32 found = dtc_packets_find_flow(of[k], headers.source, (guint16)(1000 + i),
							      headers.destination, 80, DTC_PROTOCOL_TCP, 0);
			guint32 before = dtc_packets_find_previous_generation(of[k], found);
			g_assert_cmpuint(dtc_packets_get_flow(of[k], found)->isn, ==, (PORT_COUNT + i) * 1000);
			g_assert_cmpuint(dtc_packets_get_flow(of[k], found)->generation, ==, 1);
			g_assert_cmpuint(dtc_packets_get_flow(of[k], before)->isn, ==, i * 1000);
			g_assert_cmpuint(dtc_packets_find_previous_generation(of[k], before), ==, DTC_NONE);
		}
	}
}

/* Whatever bytes are there: refused, or packets that can all be read. Run where every read beyond is found. */
static void test_damaged(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(9);
	guint refused_count = 0;
	for (guint round = 0; round < 2000; round++) {
		g_autoptr(DtcPackets) packets = fill(300);
		DtcTable *tables[] = { packets->packed->units, packets->packed->blocks, packets->by_flow->parts,
				       packets->by_flow->words };
		DtcTable *table = tables[draw(rand) % G_N_ELEMENTS(tables)];
		gsize bytes = table->len * table->size, head = sizeof(struct dtc_packed_head);
		gsize at = draw(rand) % (draw(rand) % 2 ? bytes : MIN(bytes, head));
		table->data[at] =
			(char)(draw(rand) % 2 ? draw(rand) : (uint32_t)table->data[at] ^ 1u << draw(rand) % 8);
		if (draw(rand) % 8 == 0)
			table->len -= draw(rand) % MIN(table->len, 3);
		g_autoptr(DtcPackets) loaded = reload(packets, NULL);
		refused_count += !loaded;
		for (guint i = 0; loaded && i < dtc_packets_get_count(loaded); i++) {
			const struct dtc_packet packet = dtc_packets_get(loaded, i);
			g_assert_true(packet.flow == DTC_NONE || packet.flow < dtc_packets_get_flow_count(loaded));
			(void)dtc_packets_get_mark(loaded, i);
		}
		for (guint i = 0; loaded && i < dtc_packets_get_flow_count(loaded); i++)
			for (guint n = 0; n < dtc_packets_get_flow(loaded, i)->packet_count; n++)
				(void)dtc_packets_get(loaded, dtc_packets_get_flow_packet(loaded, i, n));
	}
	g_assert_cmpuint(refused_count, >, 400);
}

/* What is told of flows to who does not look at the packets is what the packets tell. */
static void test_seen(void)
{
	for (guint i = 0; i < 3; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcPackets) packets = fill(300);
		struct dtc_flow_seen *seen = DTC_AT(packets->seen, struct dtc_flow_seen, 1);
		seen->interface ^= i == 0;
		seen->directions ^= (i == 1) << DTC_SENT;
		seen->is_on_many ^= i == 2;
		g_assert_null(reload(packets, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/packed/round", test_round);
	g_test_add_func("/packed/room", test_room);
	g_test_add_func("/packed/late", test_late);
	g_test_add_func("/packed/clear", test_clear);
	g_test_add_func("/packed/flow-index", test_flow_index);
	g_test_add_func("/packed/image", test_image);
	g_test_add_func("/packed/connections", test_connections);
	g_test_add_func("/packed/damaged", test_damaged);
	g_test_add_func("/packed/seen", test_seen);
	return g_test_run();
}
