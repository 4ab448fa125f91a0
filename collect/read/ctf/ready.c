/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/ready.h"

#include "collect/read/spellings.h"

#include <glib.h>
#include <string.h>

static int find_member(const bt_field_class *structure, const char *wanted, bt_field_class_type type,
		       const bt_field_class **ret_class)
{
	uint64_t count = MIN(bt_field_class_structure_get_member_count(structure), G_MAXINT);
	for (uint64_t i = 0; i < count; i++) {
		const bt_field_class_structure_member *member =
			bt_field_class_structure_borrow_member_by_index_const(structure, i);
		const bt_field_class *class = bt_field_class_structure_member_borrow_field_class_const(member);
		const char *name = dtc_spelling_skip_underscores(bt_field_class_structure_member_get_name(member));
		if (strcmp(name, wanted) != 0 || !bt_field_class_type_is(bt_field_class_get_type(class), type))
			continue;
		if (ret_class)
			*ret_class = class;
		return (int)i;
	}
	return -1;
}

bool dtc_ctf_ready_compile_data(const bt_field_class *structure, struct dtc_ctf_ready *ret_ready)
{
	const bt_field_class *data;
	struct dtc_ctf_ready ready = { -1, -1, -1 };
	if (bt_field_class_get_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return false;
	ready.data = find_member(structure, "data_union", BT_FIELD_CLASS_TYPE_STRUCTURE, &data);
	if (ready.data >= 0)
		ready.bits = find_member(data, "u64", BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER, NULL);
	*ret_ready = ready;
	return ready.bits >= 0;
}

bool dtc_ctf_ready_compile(const bt_field_class *list, struct dtc_ctf_ready *ret_ready)
{
	if (!bt_field_class_type_is(bt_field_class_get_type(list), BT_FIELD_CLASS_TYPE_ARRAY))
		return false;
	const bt_field_class *element = bt_field_class_array_borrow_element_field_class_const(list);
	if (bt_field_class_get_type(element) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return false;
	if (dtc_ctf_ready_compile_data(element, ret_ready))
		return true;
	ret_ready->fd = find_member(element, "fd", BT_FIELD_CLASS_TYPE_SIGNED_INTEGER, NULL);
	return ret_ready->fd >= 0;
}

int64_t dtc_ctf_ready_read_data(const struct dtc_ctf_ready *ready, const bt_field *structure)
{
	const bt_field *data = bt_field_structure_borrow_member_field_by_index_const(structure, (uint64_t)ready->data);
	return (int64_t)bt_field_integer_unsigned_get_value(
		bt_field_structure_borrow_member_field_by_index_const(data, (uint64_t)ready->bits));
}

void dtc_ctf_ready_read(const struct dtc_ctf_ready *ready, const bt_field *list, struct dtc_event *event)
{
	event->ready_count = (uint16_t)MIN(bt_field_array_get_length(list), DTC_EVENT_READY);
	event->is_ready_data = ready->fd < 0;
	for (uint64_t i = 0; i < event->ready_count; i++) {
		const bt_field *element = bt_field_array_borrow_element_field_by_index_const(list, i);
		event->ready[i] = ready->fd < 0 ? dtc_ctf_ready_read_data(ready, element)
						: bt_field_integer_signed_get_value(
							  bt_field_structure_borrow_member_field_by_index_const(
								  element, (uint64_t)ready->fd));
	}
}
