/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/profile/profile_states.h"

#include "analyze/edge/cause.h"
#include "analyze/exchange/label.h"
#include "analyze/profile/profile.h"

#include <inttypes.h>
#include <string.h>

static const char *const class_names[DTC_CLASSES] = {
	[DTC_CLASS_WORKING] = "working", [DTC_CLASS_INTERRUPTED] = "interrupted", [DTC_CLASS_BLOCKED] = "blocked",
	[DTC_CLASS_IDLE] = "idle",	 [DTC_CLASS_EXITED] = "exited",		  [DTC_CLASS_UNKNOWN] = "unknown",
};

const char *dtc_state_class_to_string(enum dtc_state_class state_class)
{
	return state_class < DTC_CLASSES ? class_names[state_class] : NULL;
}

bool dtc_state_class_parse(const char *name, enum dtc_state_class *ret_class)
{
	for (guint i = 0; i < DTC_CLASSES; i++) {
		if (strcmp(class_names[i], name) == 0) {
			*ret_class = (enum dtc_state_class)i;
			return true;
		}
	}
	return false;
}

enum dtc_state_class dtc_state_class_get(const struct dtc_interval *interval)
{
	switch ((enum dtc_state)interval->state) {
	case DTC_STATE_USER:
	case DTC_STATE_SYSCALL:
	case DTC_STATE_KERNEL:
	case DTC_STATE_GUEST:
		return DTC_CLASS_WORKING;
	case DTC_STATE_IRQ:
	case DTC_STATE_SOFTIRQ:
	case DTC_STATE_RUNQUEUE:
	case DTC_STATE_PREEMPTED:
	case DTC_STATE_VM_PREEMPTED:
	case DTC_STATE_VM_EXIT:
		return DTC_CLASS_INTERRUPTED;
	case DTC_STATE_WAIT:
	case DTC_STATE_WAIT_DISK:
	case DTC_STATE_STOPPED:
		return DTC_CLASS_BLOCKED;
	case DTC_STATE_IDLE:
		return DTC_CLASS_IDLE;
	case DTC_STATE_EXITED:
		return DTC_CLASS_EXITED;
	case DTC_STATE_UNKNOWN:
	case DTC_STATES_OF_SHARES:
		break;
	}
	return DTC_CLASS_UNKNOWN;
}

const char *dtc_state_name_get(const DtcHistory *history, const struct dtc_interval *interval)
{
	if (!dtc_state_is_wait(interval->state))
		return dtc_state_to_string(interval->state);
	enum dtc_cause cause = dtc_cause_of_interval(history, interval);
	return cause == DTC_CAUSE_UNKNOWN ? "wait" : dtc_cause_to_string(cause);
}

/* ---- spells ---- */

void dtc_spells_begin(struct dtc_spells *spells, const DtcLinks *links, guint node, const DtcHistory *history,
		      uint32_t thread, DtcNodeTime begin, DtcNodeTime end)
{
	*spells = (struct dtc_spells){
		.history = history,
		.begin_ns = begin.ns,
		.end_ns = end.ns,
		.parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval)),
	};
	spells->has_next = dtc_history_get_interval_after(history, thread, begin.ns, &spells->next);
	dtc_shares_begin(&spells->shares, links, node, history, thread);
}

void dtc_spells_end(struct dtc_spells *spells)
{
	g_clear_pointer(&spells->parts, g_array_unref);
}

static bool is_same_spell(const struct dtc_interval *a, const struct dtc_interval *b)
{
	if (a->state != b->state || a->call != b->call || a->end_ns != b->begin_ns)
		return false;
	return !dtc_state_is_wait(a->state) && a->state != DTC_STATE_IRQ && a->state != DTC_STATE_SOFTIRQ;
}

/* The next part of an interval in the span; false at its end. Stays there until spells->part is counted up. */
static bool get_part(struct dtc_spells *spells, struct dtc_interval *ret_part)
{
	while (spells->part >= spells->parts->len) {
		struct dtc_interval interval = spells->next;
		if (!spells->has_next || interval.begin_ns >= spells->end_ns)
			return false;
		interval.begin_ns = MAX(interval.begin_ns, spells->begin_ns);
		interval.end_ns = MIN(interval.end_ns, spells->end_ns);
		dtc_shares_cut(&spells->shares, &interval, spells->parts);
		spells->part = 0;
		spells->has_next = dtc_history_get_next_interval(spells->history, &spells->next);
	}
	*ret_part = g_array_index(spells->parts, struct dtc_interval, spells->part);
	return true;
}

bool dtc_spells_next(struct dtc_spells *spells, struct dtc_interval *ret_spell)
{
	struct dtc_interval spell, part;

	if (!get_part(spells, &spell))
		return false;
	for (spells->part++; get_part(spells, &part) && is_same_spell(&spell, &part); spells->part++)
		spell.end_ns = part.end_ns;
	*ret_spell = spell;
	return true;
}

/* ---- tree ---- */

/* What names a child of an entry: an id as the history has it (quick), or its name (the same file, opened twice). */
struct child_key {
	guint parent;
	guint kind; /* which ids; KEY_NAME: value is the address of the interned name */
	uint64_t value;
};

enum {
	KEY_CLASS,
	KEY_STATE,
	KEY_CALL,
	KEY_IRQ,
	KEY_SOFTIRQ,
	KEY_PATH,
	KEY_FUTEX,
	KEY_FILE,
	KEY_FD,
	KEY_NONE,
	KEY_NAME
};

struct DtcStateTree {
	GArray *entries;      /* struct dtc_state_entry */
	GHashTable *children; /* struct child_key -> index + 1 */
	GStringChunk *names;
};

static guint hash_key(const void *data)
{
	const struct child_key *key = data;
	uint64_t bits = key->value ^ ((uint64_t)key->parent << 32) ^ ((uint64_t)key->kind << 24);
	return (guint)((bits * 0x9e3779b97f4a7c15u) >> 32);
}

static gboolean equal_keys(const void *a, const void *b)
{
	const struct child_key *x = a, *y = b;
	return x->parent == y->parent && x->kind == y->kind && x->value == y->value;
}

DtcStateTree *dtc_state_tree_new(void)
{
	DtcStateTree *tree = g_new0(DtcStateTree, 1);
	tree->entries = g_array_new(FALSE, FALSE, sizeof(struct dtc_state_entry));
	tree->children = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL);
	tree->names = g_string_chunk_new(1024);
	return tree;
}

void dtc_state_tree_free(DtcStateTree *tree)
{
	if (!tree)
		return;
	g_array_unref(tree->entries);
	g_hash_table_unref(tree->children);
	g_string_chunk_free(tree->names);
	g_free(tree);
}

static bool find_child(const DtcStateTree *tree, const struct child_key *key, guint *ret_entry)
{
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(tree->children, key));
	if (found)
		*ret_entry = found - 1;
	return found != 0;
}

static void remember_child(DtcStateTree *tree, const struct child_key *key, guint entry)
{
	g_hash_table_insert(tree->children, g_memdup2(key, sizeof(*key)), GUINT_TO_POINTER(entry + 1));
}

/* The child with that name, made if it is new; key is another way to find it the next time. */
static guint get_child(DtcStateTree *tree, const struct child_key *key, enum dtc_state_level level, const char *name)
{
	const char *kept = g_string_chunk_insert_const(tree->names, name);
	struct child_key by_name = { key->parent, KEY_NAME, (uintptr_t)kept };
	guint entry;

	if (!find_child(tree, &by_name, &entry)) {
		const struct dtc_state_entry fresh = {
			.name = kept,
			.level = level,
			.parent = key->parent,
			.min_ns = INT64_MAX,
			.is_none = key->kind == KEY_NONE,
		};
		entry = tree->entries->len;
		g_array_append_val(tree->entries, fresh);
		remember_child(tree, &by_name, entry);
	}
	remember_child(tree, key, entry);
	return entry;
}

static void count_spell(DtcStateTree *tree, guint index, int64_t ns)
{
	struct dtc_state_entry *entry = &g_array_index(tree->entries, struct dtc_state_entry, index);
	entry->count++;
	entry->total_ns += ns;
	entry->min_ns = MIN(entry->min_ns, ns);
	entry->max_ns = MAX(entry->max_ns, ns);
}

static struct child_key make_state_key(const DtcHistory *history, const struct dtc_interval *spell, guint parent)
{
	uint64_t value = spell->state;
	if (dtc_state_is_wait(spell->state)) /* causes come after the states */
		value = DTC_STATES_OF_SHARES + (uint64_t)dtc_cause_of_interval(history, spell);
	return (struct child_key){ parent, KEY_STATE, value };
}

/* The interrupt, or the system call in which the spell lies; false: a state that is in none by nature. */
static bool make_call_key(const DtcHistory *history, const struct dtc_interval *spell, guint parent,
			  struct child_key *ret_key)
{
	if (spell->state == DTC_STATE_IRQ || spell->state == DTC_STATE_SOFTIRQ) {
		guint kind = spell->state == DTC_STATE_IRQ ? KEY_IRQ : KEY_SOFTIRQ;
		*ret_key = (struct child_key){ parent, kind, spell->ref };
		return true;
	}
	if (spell->state == DTC_STATE_USER || spell->state == DTC_STATE_KERNEL)
		return false;
	if (spell->call == DTC_NONE)
		*ret_key = (struct child_key){ parent, KEY_NONE, 0 };
	else
		*ret_key = (struct child_key){ parent, KEY_CALL, dtc_history_copy_call(history, spell->call).name };
	return true;
}

static const char *name_call(const DtcHistory *history, const struct child_key *key)
{
	if (key->kind == KEY_NONE)
		return "";
	if (key->kind == KEY_SOFTIRQ)
		return dtc_softirq_to_string((uint32_t)key->value);
	return key->value == DTC_NONE ? "interrupt" : dtc_history_get_string(history, (uint32_t)key->value);
}

/* What the call works on; false: there is no call. */
static bool make_file_key(const DtcHistory *history, const struct dtc_interval *spell, guint parent,
			  struct child_key *ret_key)
{
	if (spell->call == DTC_NONE || spell->state == DTC_STATE_IRQ || spell->state == DTC_STATE_SOFTIRQ)
		return false;
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(history, spell->call, &call_place);
	if (call->path != DTC_NONE && *dtc_history_get_string(history, call->path))
		*ret_key = (struct child_key){ parent, KEY_PATH, call->path };
	else if (call->kind == DTC_CALL_FUTEX)
		*ret_key = (struct child_key){ parent, KEY_FUTEX, call->argument };
	else if (call->file != DTC_NONE)
		*ret_key = (struct child_key){ parent, KEY_FILE, call->file };
	else if (call->fd >= 0)
		*ret_key = (struct child_key){ parent, KEY_FD, (uint64_t)call->fd };
	else
		*ret_key = (struct child_key){ parent, KEY_NONE, 0 };
	return true;
}

static char *name_file(const DtcHistory *history, const struct dtc_interval *spell, const struct child_key *key)
{
	switch (key->kind) {
	case KEY_NONE:
		return g_strdup("");
	case KEY_PATH:
		return g_strdup(dtc_history_get_string(history, (uint32_t)key->value));
	case KEY_FUTEX:
		return g_strdup_printf("0x%" PRIx64, key->value);
	case KEY_FILE: {
		char *name = dtc_file_to_string(history, (uint32_t)key->value);
		if (name)
			return name;
		break;
	}
	default:
		break;
	}
	return g_strdup_printf("fd %d", dtc_history_copy_call(history, spell->call).fd);
}

bool dtc_state_line_has(const struct dtc_state_line *line, const DtcHistory *history, const struct dtc_interval *spell)
{
	struct child_key key;

	if (line->state && strcmp(line->state, dtc_state_name_get(history, spell)) != 0)
		return false;
	if (line->call &&
	    (!make_call_key(history, spell, 0, &key) || strcmp(line->call, name_call(history, &key)) != 0))
		return false;
	if (!line->file)
		return true;
	if (!make_file_key(history, spell, 0, &key))
		return false;
	g_autofree char *file = name_file(history, spell, &key);
	return strcmp(line->file, file) == 0;
}

void dtc_state_tree_add(DtcStateTree *tree, const DtcHistory *history, const struct dtc_interval *spell)
{
	int64_t ns = spell->end_ns - spell->begin_ns;
	enum dtc_state_class state_class = dtc_state_class_get(spell);
	struct child_key key = { G_MAXUINT, KEY_CLASS, state_class };
	guint entry;

	if (!find_child(tree, &key, &entry))
		entry = get_child(tree, &key, DTC_LEVEL_CLASS, class_names[state_class]);
	count_spell(tree, entry, ns);
	if (state_class >= DTC_CLASS_IDLE) /* one state each */
		return;
	key = make_state_key(history, spell, entry);
	if (!find_child(tree, &key, &entry))
		entry = get_child(tree, &key, DTC_LEVEL_STATE, dtc_state_name_get(history, spell));
	count_spell(tree, entry, ns);
	if (!make_call_key(history, spell, entry, &key))
		return;
	if (!find_child(tree, &key, &entry)) {
		entry = get_child(tree, &key, DTC_LEVEL_CALL, name_call(history, &key));
	}
	count_spell(tree, entry, ns);
	if (!make_file_key(history, spell, entry, &key))
		return;
	if (!find_child(tree, &key, &entry)) {
		g_autofree char *name = name_file(history, spell, &key);
		entry = get_child(tree, &key, DTC_LEVEL_FILE, name);
	}
	count_spell(tree, entry, ns);
}

static int compare_entries(const void *a, const void *b, void *data)
{
	const GArray *entries = data;
	const struct dtc_state_entry *x = &g_array_index(entries, struct dtc_state_entry, *(const guint *)a);
	const struct dtc_state_entry *y = &g_array_index(entries, struct dtc_state_entry, *(const guint *)b);
	enum dtc_state_class p, q;

	if (x->level != y->level) /* never siblings */
		return x->level < y->level ? -1 : 1;
	if (x->level == DTC_LEVEL_CLASS && dtc_state_class_parse(x->name, &p) && dtc_state_class_parse(y->name, &q))
		return p < q ? -1 : p > q;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Sorted siblings one behind the other, per parent; then depth first with a stack: four levels, any number of files. */
void dtc_state_tree_finish(DtcStateTree *tree)
{
	guint count = tree->entries->len, used = 0, depth = 0;
	g_autofree guint *order = g_new(guint, count + 1), *first = g_new(guint, count + 1);
	g_autofree guint *next = g_new(guint, count + 1), *path = g_new(guint, DTC_STATE_LEVELS + 1);
	GArray *ordered = g_array_sized_new(FALSE, FALSE, sizeof(struct dtc_state_entry), count);

	for (guint i = 0; i <= count; i++) {
		order[i] = i;
		first[i] = next[i] = G_MAXUINT;
	}
	g_qsort_with_data(order, (gint)count, sizeof(*order), compare_entries, tree->entries);
	for (guint i = count; i-- > 0;) { /* the largest is put in front last */
		guint parent = g_array_index(tree->entries, struct dtc_state_entry, order[i]).parent;
		guint *list = &first[parent == G_MAXUINT ? count : parent];
		next[order[i]] = *list;
		*list = order[i];
	}
	guint at = first[count];
	/* a parent of which nothing has a call or file needs no child that says so */
	for (guint i = 0; i < count; i++) {
		struct dtc_state_entry *entry = &g_array_index(tree->entries, struct dtc_state_entry, i);
		if (entry->is_none && next[first[entry->parent]] == G_MAXUINT)
			first[entry->parent] = G_MAXUINT;
	}
	while (at != G_MAXUINT || depth > 0) {
		if (at == G_MAXUINT) { /* the end of a parent's children */
			guint parent = path[--depth];
			g_array_index(ordered, struct dtc_state_entry, parent).end = used;
			at = next[order[parent]];
			continue;
		}
		struct dtc_state_entry entry = g_array_index(tree->entries, struct dtc_state_entry, at);
		entry.parent = depth ? path[depth - 1] : G_MAXUINT;
		g_array_append_val(ordered, entry);
		path[depth++] = used;
		order[used++] = at; /* which entry stands there; the sorted order is in the lists by now */
		at = first[at];
	}
	g_array_unref(tree->entries);
	tree->entries = ordered;
	g_hash_table_remove_all(tree->children);
}

guint dtc_state_tree_get_count(const DtcStateTree *tree)
{
	return tree->entries->len;
}

const struct dtc_state_entry *dtc_state_tree_get(const DtcStateTree *tree, guint index)
{
	return &g_array_index(tree->entries, struct dtc_state_entry, index);
}

int64_t dtc_state_tree_get_total_ns(const DtcStateTree *tree)
{
	int64_t total_ns = 0;

	for (guint i = 0; i < tree->entries->len; i++)
		if (dtc_state_tree_get(tree, i)->level == DTC_LEVEL_CLASS)
			total_ns += dtc_state_tree_get(tree, i)->total_ns;
	return total_ns;
}

/* ---- instances ---- */

struct DtcStateInstances {
	GArray *heap; /* struct dtc_state_instance; the least on top */
	guint limit;
};

DtcStateInstances *dtc_state_instances_new(guint limit)
{
	DtcStateInstances *instances = g_new0(DtcStateInstances, 1);
	instances->heap = g_array_new(FALSE, FALSE, sizeof(struct dtc_state_instance));
	instances->limit = limit;
	return instances;
}

void dtc_state_instances_free(DtcStateInstances *instances)
{
	if (!instances)
		return;
	g_array_unref(instances->heap);
	g_free(instances);
}

static int compare_instances(const void *a, const void *b)
{
	const struct dtc_state_instance *x = a, *y = b;
	int64_t p = x->spell.end_ns - x->spell.begin_ns, q = y->spell.end_ns - y->spell.begin_ns;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->spell.thread != y->spell.thread)
		return x->spell.thread < y->spell.thread ? -1 : 1;
	return x->spell.begin_ns < y->spell.begin_ns ? -1 : x->spell.begin_ns > y->spell.begin_ns;
}

static void sink(struct dtc_state_instance *heap, guint count, guint at)
{
	for (;;) {
		guint least = at;
		for (guint child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
			if (compare_instances(&heap[child], &heap[least]) > 0)
				least = child;
		if (least == at)
			return;
		struct dtc_state_instance keep = heap[at];
		heap[at] = heap[least];
		heap[least] = keep;
		at = least;
	}
}

void dtc_state_instances_add(DtcStateInstances *instances, guint node, const struct dtc_interval *spell)
{
	const struct dtc_state_instance instance = { node, *spell };
	GArray *heap = instances->heap;

	if (heap->len < instances->limit) {
		g_array_append_val(heap, instance);
		if (heap->len == instances->limit)
			for (guint i = heap->len / 2; i-- > 0;)
				sink((struct dtc_state_instance *)(void *)heap->data, heap->len, i);
		return;
	}
	if (instances->limit == 0 || compare_instances(&instance, heap->data) >= 0)
		return;
	g_array_index(heap, struct dtc_state_instance, 0) = instance;
	sink((struct dtc_state_instance *)(void *)heap->data, heap->len, 0);
}

const GArray *dtc_state_instances_finish(DtcStateInstances *instances)
{
	g_array_sort(instances->heap, compare_instances);
	return instances->heap;
}
