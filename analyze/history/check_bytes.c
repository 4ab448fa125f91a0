/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/history/check_lists.h"
#include "analyze/history/records.h"

#include <stdlib.h>

static int compare_moved(const void *a, const void *b)
{
	const struct dtc_moved_bytes *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

bool dtc_calls_move_once(const DtcHistory *h, DtcTable *moved, const uint32_t *calls, uint32_t count,
			 const struct dtc_file *file, enum dtc_call_kind kind)
{
	uint64_t end = 0, total = kind == DTC_CALL_READ ? file->read_bytes : file->written_bytes;
	bool is_sorted = true; /* as where one thread does both, or one each */
	dtc_table_set_length(moved, 0);
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_call call = dtc_history_copy_call(h, calls[i]);
		const struct dtc_moved_bytes bytes = { call.offset, (uint64_t)call.result };
		if (call.kind != kind || call.result == DTC_ABSENT || call.result <= 0)
			continue;
		dtc_table_append(moved, &bytes);
		const struct dtc_moved_bytes *last = DTC_AT(moved, struct dtc_moved_bytes, moved->len - 1);
		is_sorted &= moved->len == 1 || last[-1].offset <= last->offset;
	}
	if (!is_sorted)
		qsort(moved->data, moved->len, sizeof(struct dtc_moved_bytes), compare_moved);
	if (h->has_forgotten) /* what the calls before moved */
		end = moved->len ? DTC_AT(moved, struct dtc_moved_bytes, 0)->offset : total;
	for (guint i = 0; i < moved->len; i++) {
		const struct dtc_moved_bytes *bytes = DTC_AT(moved, struct dtc_moved_bytes, i);
		if (bytes->offset < end || (bytes->offset > end && !file->has_lost_bytes))
			return false;
		if (__builtin_add_overflow(bytes->offset, bytes->bytes, &end) && file->has_lost_bytes)
			return false;
	}
	return file->has_lost_bytes ? end <= total : end == total;
}
