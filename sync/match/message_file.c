/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Message files, as synthetic generators write them:
 *
 *   # comment
 *   N
 *   SENDER RECEIVER SEND_SECONDS RECEIVE_SECONDS
 *
 * The whole file is mapped and scanned once; seconds are read digit by digit into nanoseconds, because a double loses
 * nanoseconds above 2^53 ns (104 days).
 */
#include "dtrace-chain/error.h"
#include "sync/match/relation.h"

#include <string.h>

#define NS_PER_S 1000000000
/* More nodes than this are a damaged first line rather than a cluster. */
#define MAX_NODES 100000

struct cursor {
	const char *at;
	const char *end;
};

static void skip_blanks(struct cursor *cursor)
{
	while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r'))
		cursor->at++;
}

static bool read_number(struct cursor *cursor, guint64 limit, guint64 *ret_value)
{
	skip_blanks(cursor);
	const char *begin = cursor->at;
	guint64 value = 0;
	for (; cursor->at < cursor->end && g_ascii_isdigit(*cursor->at); cursor->at++) {
		value = value * 10 + (guint64)(*cursor->at - '0');
		if (value > limit)
			return false;
	}
	*ret_value = value;
	return cursor->at > begin;
}

/* Decimal seconds to nanoseconds; digits after the ninth are cut off. */
static bool read_seconds(struct cursor *cursor, int64_t *ret_ns)
{
	skip_blanks(cursor);
	bool negative = cursor->at < cursor->end && *cursor->at == '-';
	cursor->at += negative;
	guint64 seconds, ns = 0;
	if (!read_number(cursor, DTC_MATCH_TIME_LIMIT / NS_PER_S - 1, &seconds))
		return false;
	if (cursor->at < cursor->end && *cursor->at == '.') {
		guint64 unit = NS_PER_S / 10;
		for (cursor->at++; cursor->at < cursor->end && g_ascii_isdigit(*cursor->at); cursor->at++) {
			ns += unit * (guint64)(*cursor->at - '0');
			unit /= 10;
		}
	}
	int64_t value = (int64_t)(seconds * NS_PER_S + ns);
	*ret_ns = negative ? -value : value;
	return true;
}

static bool at_line_end(struct cursor *cursor)
{
	skip_blanks(cursor);
	return cursor->at == cursor->end || *cursor->at == '\n';
}

static DtcMatches *new_numbered(guint count)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < count; i++)
		g_ptr_array_add(names, g_strdup_printf("%u", i));
	return dtc_matches_new((const char *const *)names->pdata, count);
}

static bool read_message(struct cursor *cursor, DtcMatches *matches)
{
	guint64 from, to;
	int64_t sent, received;
	guint64 last = dtc_matches_get_node_count(matches) - 1;
	return read_number(cursor, last, &from) && read_number(cursor, last, &to) && read_seconds(cursor, &sent) &&
	       read_seconds(cursor, &received) && at_line_end(cursor) &&
	       dtc_matches_add(matches, (guint)from, (guint)to, sent, received);
}

DtcMatches *dtc_matches_read_file(const char *path, GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, &cause);
	if (!file) {
		g_set_error(error, DTC_SYNC_ERROR, DTC_ERROR_UNREADABLE, "cannot read '%s': %s\n%s", path,
			    cause->message, "--messages takes a text file, see docs/clock-alignment.md");
		return NULL;
	}
	g_autoptr(DtcMatches) matches = NULL;
	struct cursor cursor = { g_mapped_file_get_contents(file), NULL };
	cursor.end = cursor.at ? cursor.at + g_mapped_file_get_length(file) : NULL;
	for (guint64 line = 1; cursor.at && cursor.at < cursor.end; line++) {
		skip_blanks(&cursor);
		const char *newline = memchr(cursor.at, '\n', (gsize)MAX(cursor.end - cursor.at, 0));
		const char *next = newline ? newline + 1 : cursor.end;
		if (cursor.at < cursor.end && *cursor.at != '#' && *cursor.at != '\n') {
			guint64 count = 0;
			bool ok;
			if (matches) {
				ok = read_message(&cursor, matches);
			} else {
				ok = read_number(&cursor, MAX_NODES, &count) && count && at_line_end(&cursor);
				matches = ok ? new_numbered((guint)count) : NULL;
			}
			if (!ok) {
				g_set_error(error, DTC_SYNC_ERROR, DTC_ERROR_DAMAGED,
					    "line %" G_GUINT64_FORMAT " of '%s' is not a message\nexpected %s", line,
					    path,
					    matches ? "'SENDER RECEIVER SEND_SECONDS RECEIVE_SECONDS' with two "
						      "different nodes"
						    : "the number of nodes");
				return NULL;
			}
		}
		cursor.at = next;
	}
	if (!matches) {
		g_set_error(error, DTC_SYNC_ERROR, DTC_ERROR_DAMAGED,
			    "no messages in '%s'\nthe first line is the number of nodes", path);
		return NULL;
	}
	dtc_matches_sort(matches);
	return g_steal_pointer(&matches);
}
