/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/event_thread.h"

#include "collect/read/spellings.h"

#include <glib.h>
#include <string.h>

static bool find_in(const bt_field_class *structure, const char *wanted, enum dtc_ctf_scope scope,
		    struct dtc_ctf_event_thread *ret_thread)
{
	uint64_t count = structure ? MIN(bt_field_class_structure_get_member_count(structure), G_MAXINT) : 0;
	for (uint64_t i = 0; i < count; i++) {
		const bt_field_class_structure_member *member =
			bt_field_class_structure_borrow_member_by_index_const(structure, i);
		bt_field_class_type type =
			bt_field_class_get_type(bt_field_class_structure_member_borrow_field_class_const(member));
		bool is_signed = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER);
		if (strcmp(dtc_spelling_skip_underscores(bt_field_class_structure_member_get_name(member)), wanted) !=
			    0 ||
		    (!is_signed && !bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)))
			continue;
		*ret_thread = (struct dtc_ctf_event_thread){ scope, is_signed, (int)i };
		return true;
	}
	return false;
}

struct dtc_ctf_event_thread dtc_ctf_event_thread_find(const bt_event_class *class)
{
	struct dtc_ctf_event_thread thread = { DTC_CTF_NOWHERE, false, -1 };
	const bt_stream_class *stream = bt_event_class_borrow_stream_class_const(class);
	const bt_field_class *common = bt_stream_class_borrow_event_common_context_field_class_const(stream);
	const bt_field_class *specific = bt_event_class_borrow_specific_context_field_class_const(class);
	const bt_field_class *payload = bt_event_class_borrow_payload_field_class_const(class);
	if (!find_in(common, "tid", DTC_CTF_COMMON, &thread) && !find_in(specific, "tid", DTC_CTF_SPECIFIC, &thread))
		find_in(payload, "perf_tid", DTC_CTF_PAYLOAD, &thread);
	return thread;
}

void dtc_ctf_event_thread_read(const struct dtc_ctf_event_thread *thread, const bt_event *bt_event,
			       struct dtc_event *event)
{
	event->has_tid = thread->scope != DTC_CTF_NOWHERE;
	if (!event->has_tid)
		return;
	const bt_field *structure =
		thread->scope == DTC_CTF_COMMON	    ? bt_event_borrow_common_context_field_const(bt_event)
		: thread->scope == DTC_CTF_SPECIFIC ? bt_event_borrow_specific_context_field_const(bt_event)
						    : bt_event_borrow_payload_field_const(bt_event);
	const bt_field *field =
		bt_field_structure_borrow_member_field_by_index_const(structure, (uint64_t)thread->member);
	event->tid = thread->is_signed ? bt_field_integer_signed_get_value(field)
				       : (int64_t)bt_field_integer_unsigned_get_value(field);
}
