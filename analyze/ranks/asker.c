/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/ranks/asker.h"

#include "analyze/engine/owned.h"
#include "analyze/ranks/assign.h"
#include "analyze/ranks/help.h"
#include "analyze/ranks/letter.h"
#include "analyze/ranks/pager.h"
#include "analyze/ranks/pulse.h"
#include "collect/bundle/environment.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* In the place of an owner's rank: the asker, of which a helper has what was found. */
#define ASKER_RANK G_MAXUINT
#define PARTS_AHEAD 2 /* that a helper is given before it is through with one */

/* Of one bundle. */
struct asked {
	GVariant *options;
	GVariant *question; /* the last */
	guint number;	    /* of the last question */
	GHashTable *owners; /* name of a node -> rank */
	bool *has_nodes;    /* by rank */
};

struct asker {
	struct dtc_owners door; /* first */
	struct dtc_owners_help help_door;
	int end;
	int pulses; /* a pipe that never waits, or -1 */
	char **arguments;
	DtcHelp *help;	       /* who helps this asker */
	GVariant *helped_with; /* of DTC_LETTER_HELP_TYPE: this is a helper; or NULL */
	guint rank_count;
	DtcLosses *losses;
	DtcPager *pager;
	GPtrArray *asked; /* struct asked, by bundle */
	GMutex lock;
	GCond changed;
	/* under the lock */
	GBytes **lists;			       /* by rank, of the bundle that is being opened; NULL: it has not come */
	GHashTable *answers;		       /* "BUNDLE/QUESTION/KIND/NODE" -> GVariant */
	GHashTable *returns;		       /* number of a call -> GVariant */
	guint call;			       /* number of the last */
	GHashTable *ended;		       /* "BUNDLE/QUESTION/RANK" */
	guint64 found[DTC_OWNERS_FOUND_COUNT]; /* of a helper: bytes of images; 0: not yet */
	GQueue parts;			       /* of a helper, to be done */
};

/* ---- messages ---- */

static struct dtc_letter make_letter(const struct asker *asker, enum dtc_letter_type type, guint rank, guint of)
{
	return (struct dtc_letter){
		.type = type, .rank = rank, .generation = dtc_losses_get_generation(asker->losses), .of = of
	};
}

/* Nobody carries messages any more: the run is over, and nobody looks at how this process ends. */
static void check_sent(bool is_sent)
{
	if (!is_sent)
		_exit(1);
}

static void begin_again(struct asker *asker, guint rank, const char *why)
{
	if (asker->helped_with)
		_exit(1);
	dtc_losses_set(asker->losses, rank, why);
	_exit(DTC_ASKER_BEGIN_AGAIN);
}

static bool has_nodes(const struct asker *asker, guint rank)
{
	for (guint i = 0; i < asker->asked->len; i++)
		if (((const struct asked *)asker->asked->pdata[i])->has_nodes[rank])
			return true;
	return false;
}

static void lose(struct asker *asker, guint rank, const char *why)
{
	if (rank >= asker->rank_count)
		return;
	if (has_nodes(asker, rank) || asker->helped_with)
		begin_again(asker, rank, why);
	dtc_losses_set(asker->losses, rank, why);
}

static char *make_answer_key(guint bundle, guint question, bool is_capture, const char *node)
{
	return g_strdup_printf("%u/%u/%d/%s", bundle, question, is_capture, node);
}

static char *make_end_key(guint bundle, guint question, guint rank)
{
	return g_strdup_printf("%u/%u/%u", bundle, question, rank);
}

static void take_answers(struct asker *asker, guint bundle, GBytes *message)
{
	g_autoptr(GVariant) answers = dtc_letter_get_variant(message, "(u" DTC_LETTER_ANSWERS_LIST_TYPE ")");
	g_autoptr(GVariant) list = NULL;
	guint32 question;

	if (!answers)
		return;
	g_variant_get(answers, "(u@" DTC_LETTER_ANSWERS_LIST_TYPE ")", &question, &list);
	for (gsize i = 0; i < g_variant_n_children(list); i++) {
		GVariant *answer = g_variant_get_child_value(list, i);
		const char *node;
		gboolean is_capture;
		g_variant_get_child(answer, 0, "^&ay", &node);
		g_variant_get_child(answer, 1, "b", &is_capture);
		g_hash_table_insert(asker->answers, make_answer_key(bundle, question, is_capture, node), answer);
	}
}

static void take_return(struct asker *asker, GVariant *value)
{
	guint32 number;

	g_variant_get_child(value, 0, "u", &number);
	g_hash_table_insert(asker->returns, GUINT_TO_POINTER(number), g_variant_ref(value));
}

static void handle_message(struct asker *asker, const struct dtc_letter *letter, GBytes *message)
{
	g_autoptr(GVariant) value = NULL;

	switch (letter->type) {
	case DTC_LETTER_LIST:
		if (letter->rank < asker->rank_count && !asker->lists[letter->rank])
			asker->lists[letter->rank] = g_bytes_ref(message);
		break;
	case DTC_LETTER_ANSWERS:
		take_answers(asker, letter->of, message);
		break;
	case DTC_LETTER_ANSWERED:
		value = dtc_letter_get_variant(message, "u");
		if (value)
			g_hash_table_add(asker->ended,
					 make_end_key(letter->of, g_variant_get_uint32(value), letter->rank));
		break;
	case DTC_LETTER_RETURN:
		value = dtc_letter_get_variant(message, "(umv)");
		if (value)
			take_return(asker, value);
		break;
	case DTC_LETTER_FAILED:
		value = dtc_letter_get_variant(message, "ay");
		if (value) {
			const char *text = g_variant_get_bytestring(value);
			g_autofree char *why = g_strndup(text, strcspn(text, "\n"));
			lose(asker, letter->rank, why);
		}
		break;
	default:
		break;
	}
}

static void handle_help(struct asker *asker, const struct dtc_letter *letter, GBytes *message)
{
	if (!asker->helped_with)
		check_sent(dtc_help_handle(asker->help, letter, message));
	else if (letter->type == DTC_LETTER_FOUND && letter->of < DTC_OWNERS_FOUND_COUNT)
		asker->found[letter->of] = letter->all;
	else if (letter->type == DTC_LETTER_PART)
		g_queue_push_tail(&asker->parts, GUINT_TO_POINTER(letter->of));
}

/* Letters without data are no messages. */
static GBytes *assemble(DtcAssembly *assembly, const struct dtc_parcel *parcel)
{
	bool has_message = !dtc_letter_is_about_help(&parcel->letter) || parcel->letter.type == DTC_LETTER_MADE;

	return has_message ? dtc_assembly_add(assembly, parcel) : NULL;
}

/* False: nobody carries messages any more. */
static bool receive(struct asker *asker, DtcAssembly *assembly, struct dtc_parcel *parcel)
{
	const struct dtc_letter *letter = &parcel->letter;

	if (asker->helped_with && dtc_letter_await(asker->end) == DTC_LETTER_HELP)
		_exit(DTC_ASKER_BEGIN_AGAIN); /* of another asker: it is for who comes after this process */
	if (!dtc_letter_receive(asker->end, parcel))
		return false;
	if (letter->generation != dtc_losses_get_generation(asker->losses) && letter->type != DTC_LETTER_LOST)
		return true;
	if (!dtc_letter_unsqueeze(parcel)) { /* whoever waits for it would wait for ever */
		if (dtc_letter_is_about_help(letter) && !asker->helped_with)
			return true; /* nobody does */
		begin_again(asker, letter->rank, "what it sends is damaged");
	}
	if (letter->type == DTC_LETTER_PAGES) {
		dtc_pager_put(asker->pager, letter->file, letter->at, parcel->data, letter->bytes);
		return true;
	}
	g_mutex_lock(&asker->lock);
	if (letter->type == DTC_LETTER_LOST) {
		lose(asker, letter->rank,
		     letter->at == DTC_LETTER_SILENT ? "it is stopped, or hangs, or cannot be reached" : "it has died");
	} else {
		g_autoptr(GBytes) message = assemble(assembly, parcel);
		if (dtc_letter_is_about_help(letter))
			handle_help(asker, letter, message);
		else if (message)
			handle_message(asker, letter, message);
	}
	g_cond_broadcast(&asker->changed);
	g_mutex_unlock(&asker->lock);
	return true;
}

/* Until the process ends. */
static void *listen(void *data)
{
	struct asker *asker = data;
	g_autoptr(DtcAssembly) assembly = dtc_assembly_new();
	g_autofree struct dtc_parcel *parcel = g_new(struct dtc_parcel, 1);
	struct pollfd files[] = { { asker->end, POLLIN, 0 }, { dtc_pager_get_file(asker->pager), POLLIN, 0 } };
	struct dtc_pulse_clock clock;

	for (dtc_pulse_clock_begin(&clock);;) {
		if (dtc_pulse_clock_tick(&clock) && asker->pulses >= 0 && write(asker->pulses, "", 1) < 0 &&
		    errno == EPIPE)
			_exit(1);
		if (poll(files, G_N_ELEMENTS(files), (int)(clock.interval_us / 1000)) <= 0)
			continue;
		if (files[1].revents)
			dtc_pager_answer(asker->pager);
		if (files[0].revents && !receive(asker, assembly, parcel))
			_exit(1);
	}
	return NULL;
}

static void fetch(void *data, const struct dtc_pager_name *name, guint64 at, gsize bytes)
{
	const struct asker *asker = data;
	bool is_found = name->rank == ASKER_RANK;
	struct dtc_letter letter = make_letter(asker, is_found ? DTC_LETTER_FETCH_FOUND : DTC_LETTER_FETCH,
					       is_found ? 0 : name->rank, name->image);

	letter.file = name->file;
	letter.at = at;
	letter.all = bytes;
	check_sent(dtc_letter_send(asker->end, &letter, NULL));
}

/* ---- bundles ---- */

static bool is_there(const struct asker *asker, guint rank)
{
	return !dtc_losses_get(asker->losses, rank);
}

static void send_to_all(struct asker *asker, enum dtc_letter_type type, guint of, GVariant *value)
{
	for (guint rank = 0; rank < asker->rank_count; rank++)
		if (is_there(asker, rank))
			check_sent(dtc_letter_send_variant(asker->end, make_letter(asker, type, rank, of), value));
}

static void wait_for_lists(struct asker *asker)
{
	for (guint rank = 0; rank < asker->rank_count; rank++)
		while (is_there(asker, rank) && !asker->lists[rank])
			g_cond_wait(&asker->changed, &asker->lock);
}

/* What ranks see of nodes. */
struct sights {
	GArray *nodes;	     /* struct dtc_assign_node */
	GHashTable *by_name; /* -> index + 1; owns the names */
};

static void clear_assign_node(void *data)
{
	struct dtc_assign_node *node = data;

	g_array_unref(node->readers);
	g_array_unref(node->seers);
}

static struct dtc_assign_node *get_sight(struct sights *sights, const char *name)
{
	guint index = GPOINTER_TO_UINT(g_hash_table_lookup(sights->by_name, name));

	if (!index) {
		char *own = g_strdup(name);
		const struct dtc_assign_node node = { .name = own,
						      .readers = g_array_new(FALSE, FALSE, sizeof(guint)),
						      .seers = g_array_new(FALSE, FALSE, sizeof(guint)),
						      .owner = DTC_ASSIGN_NOBODY };
		g_array_append_val(sights->nodes, node);
		index = sights->nodes->len;
		g_hash_table_insert(sights->by_name, own, GUINT_TO_POINTER(index));
	}
	return &g_array_index(sights->nodes, struct dtc_assign_node, index - 1);
}

static void take_seen(struct sights *sights, guint rank, const struct dtc_owned_seen *seen, DtcBundle *bundle)
{
	struct dtc_assign_node *node = get_sight(sights, seen->node.name);

	node->bytes = MAX(node->bytes, seen->bytes);
	g_array_append_val(node->seers, rank);
	if (seen->is_readable)
		g_array_append_val(node->readers, rank);
	dtc_bundle_add_seen(bundle, &seen->node);
}

static void take_list(struct sights *sights, guint rank, GBytes *message, DtcBundle *bundle)
{
	g_autoptr(GVariant) list = dtc_letter_get_variant(message, DTC_OWNED_LIST_TYPE);

	for (gsize i = 0; list && i < g_variant_n_children(list); i++) {
		g_autoptr(GVariant) packed = g_variant_get_child_value(list, i);
		struct dtc_owned_seen seen;
		dtc_owned_unpack(packed, &seen);
		take_seen(sights, rank, &seen, bundle);
		dtc_owned_seen_clear(&seen);
	}
}

/* Who owned what before, and is not asked again; also what nobody else sees, so that it can be said to be missing. */
static void take_owners(struct sights *sights, guint rank_count, GVariant *owners, DtcBundle *bundle)
{
	char *no_paths[] = { NULL };
	GVariantIter iter;
	const char *name;
	guint32 rank;

	g_variant_iter_init(&iter, owners);
	while (g_variant_iter_next(&iter, "(^&ayu)", &name, &rank)) {
		const struct dtc_bundle_node node = { .name = (char *)name, .pcap_paths = no_paths };
		if (rank >= rank_count)
			continue;
		get_sight(sights, name)->owner = rank;
		dtc_bundle_add_seen(bundle, &node);
	}
}

static bool open_all(void *data, GVariant *options, DtcBundle *bundle, GError **error)
{
	struct asker *asker = data;
	guint number = asker->asked->len;
	struct asked *asked = g_new0(struct asked, 1);
	struct sights sights = { g_array_new(FALSE, FALSE, sizeof(struct dtc_assign_node)),
				 g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL) };
	g_autoptr(GVariant) before = dtc_losses_get_owners(asker->losses, number);

	(void)error;
	g_array_set_clear_func(sights.nodes, clear_assign_node);
	asked->options = asker->helped_with ? g_variant_get_child_value(asker->helped_with, 3) : g_variant_ref(options);
	asked->owners = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	asked->has_nodes = g_new0(bool, asker->rank_count + 1);
	send_to_all(asker, DTC_LETTER_OPEN, number, asked->options);
	g_mutex_lock(&asker->lock);
	g_ptr_array_add(asker->asked, asked);
	wait_for_lists(asker);
	for (guint rank = 0; rank < asker->rank_count; rank++) {
		if (asker->lists[rank] && is_there(asker, rank))
			take_list(&sights, rank, asker->lists[rank], bundle);
		g_clear_pointer(&asker->lists[rank], g_bytes_unref);
	}
	g_mutex_unlock(&asker->lock);
	if (before)
		take_owners(&sights, asker->rank_count, before, bundle);
	dtc_assign(sights.nodes, asker->rank_count);
	for (guint i = 0; i < sights.nodes->len; i++) {
		const struct dtc_assign_node *node = &g_array_index(sights.nodes, struct dtc_assign_node, i);
		if (node->owner != DTC_ASSIGN_NOBODY)
			g_hash_table_insert(asked->owners, g_strdup(node->name), GUINT_TO_POINTER(node->owner));
	}
	g_array_unref(sights.nodes);
	g_hash_table_unref(sights.by_name);
	dtc_bundle_set_owners(bundle, &asker->door, number);
	return true;
}

/* False: nobody has it, and it is read here. */
static bool find_owner(const struct asked *asked, const char *node, guint *ret_rank)
{
	void *rank;

	if (!g_hash_table_lookup_extended(asked->owners, node, NULL, &rank))
		return false;
	*ret_rank = GPOINTER_TO_UINT(rank);
	return true;
}

static void lose_nodes(const struct asker *asker, const struct asked *asked, DtcBundle *bundle)
{
	for (guint i = dtc_bundle_get_count(bundle); i-- > 0;) {
		g_autofree char *name = g_strdup(dtc_bundle_get_node(bundle, i)->name);
		guint rank;
		if (!find_owner(asked, name, &rank) || is_there(asker, rank))
			continue;
		g_autofree char *why =
			g_strdup_printf("it is not in this answer: of rank %u, which owned it, is said: %s", rank,
					dtc_losses_get(asker->losses, rank));
		dtc_bundle_lose_node(bundle, name, why);
	}
}

static void note_owners(const struct asker *asker, const struct asked *asked, guint number)
{
	GVariantBuilder list;
	GHashTableIter iter;
	void *name, *rank;

	g_variant_builder_init(&list, G_VARIANT_TYPE("a(ayu)"));
	g_hash_table_iter_init(&iter, asked->owners);
	while (g_hash_table_iter_next(&iter, &name, &rank))
		g_variant_builder_add(&list, "(^ayu)", name, GPOINTER_TO_UINT(rank));
	g_autoptr(GVariant) owners = g_variant_ref_sink(g_variant_builder_end(&list));
	dtc_losses_set_owners(asker->losses, number, owners);
}

static void send_names(struct asker *asker, const struct asked *asked, DtcBundle *bundle, guint number)
{
	g_autofree GVariantBuilder *lists = g_new0(GVariantBuilder, asker->rank_count + 1);
	guint owner;

	for (guint rank = 0; rank < asker->rank_count; rank++)
		g_variant_builder_init(&lists[rank], G_VARIANT_TYPE("aay"));
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const char *name = dtc_bundle_get_node(bundle, i)->name;
		if (!find_owner(asked, name, &owner))
			continue;
		dtc_bundle_give_node(bundle, i);
		g_variant_builder_add(&lists[owner], "^ay", name);
		asked->has_nodes[owner] = true;
	}
	for (guint rank = 0; rank < asker->rank_count; rank++) {
		g_autoptr(GVariant) names = g_variant_ref_sink(g_variant_builder_end(&lists[rank]));
		if (asked->has_nodes[rank] && !asker->helped_with)
			check_sent(dtc_letter_send_variant(asker->end,
							   make_letter(asker, DTC_LETTER_ASSIGN, rank, number), names));
	}
}

static bool assign_all(void *data, DtcBundle *bundle, GError **error)
{
	struct asker *asker = data;
	guint number;

	(void)dtc_bundle_get_owners(bundle, &number);
	const struct asked *asked = asker->asked->pdata[number];
	note_owners(asker, asked, number);
	g_mutex_lock(&asker->lock); /* who is lost from here on is told to somebody who owned something */
	lose_nodes(asker, asked, bundle);
	send_names(asker, asked, bundle, number);
	g_mutex_unlock(&asker->lock);
	if (dtc_bundle_get_count(bundle) > 0)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    "no node is left: all ranks that owned one are lost\n"
		    "see above, or in the system's log, what ended them; give each more memory, or start more ranks");
	return false;
}

/* ---- questions ---- */

static bool ask_all(void *data, guint bundle, GVariant *question, GError **error)
{
	struct asker *asker = data;
	struct asked *asked = asker->asked->pdata[bundle];

	(void)error;
	g_clear_pointer(&asked->question, g_variant_unref);
	asked->question =
		asker->helped_with ? g_variant_get_child_value(asker->helped_with, 4) : g_variant_ref(question);
	g_autoptr(GVariant) inner = g_variant_ref(asked->question);
	asked->number++;
	g_autoptr(GVariant) packed = g_variant_ref_sink(g_variant_new("(uv)", asked->number, inner));
	for (guint rank = 0; rank < asker->rank_count; rank++)
		if (asked->has_nodes[rank])
			check_sent(dtc_letter_send_variant(asker->end, make_letter(asker, DTC_LETTER_ASK, rank, bundle),
							   packed));
	return true;
}

/* NULL: its owner has answered, and has nothing of it. Caller owns. */
static GVariant *wait_for_answer(struct asker *asker, guint bundle, const char *node, bool is_capture, guint rank)
{
	const struct asked *asked = asker->asked->pdata[bundle];
	g_autofree char *key = make_answer_key(bundle, asked->number, is_capture, node);
	g_autofree char *end = make_end_key(bundle, asked->number, rank);
	GVariant *answer;
	char *own_key;

	g_mutex_lock(&asker->lock);
	while (!g_hash_table_contains(asker->answers, key) && !g_hash_table_contains(asker->ended, end))
		g_cond_wait(&asker->changed, &asker->lock);
	if (g_hash_table_steal_extended(asker->answers, key, (void **)&own_key, (void **)&answer))
		g_free(own_key);
	else
		answer = NULL;
	g_mutex_unlock(&asker->lock);
	return answer;
}

static DtcImage *take_content(struct asker *asker, guint rank, GVariant *answer, const char *node, GError **error)
{
	g_autoptr(GVariant) begin_of = g_variant_get_child_value(answer, 5);
	g_autoptr(GBytes) begin = g_variant_get_data_as_bytes(begin_of);
	guint64 bytes;
	guint32 image;

	g_variant_get_child(answer, 3, "u", &image);
	g_variant_get_child(answer, 4, "t", &bytes);
	struct dtc_pager_file *file = dtc_pager_add(asker->pager, rank, image, bytes, begin, error);
	return file ? dtc_image_take(dtc_pager_get_data(file), bytes, node, dtc_pager_release, file, error) : NULL;
}

static bool take_one(void *data, guint bundle, const char *node, bool is_capture, struct dtc_owners_answer *ret_answer,
		     GError **error)
{
	struct asker *asker = data;
	struct dtc_owners_answer taken = { 0 };
	guint rank = 0;
	guint64 bytes;

	g_autoptr(GVariant) answer = find_owner(asker->asked->pdata[bundle], node, &rank)
					     ? wait_for_answer(asker, bundle, node, is_capture, rank)
					     : NULL;
	if (!answer) {
		g_set_error(
			error, DTC_ANALYZE_ERROR, DTC_ERROR_UNREADABLE,
			"rank %u, which owns node '%s', has nothing of its %s\nsee that nobody changes the recording",
			rank, node, is_capture ? "captures" : "kernel trace");
		return false;
	}
	g_autoptr(GVariant) told_of = g_variant_get_child_value(answer, 2);
	taken.told = dtc_image_from_bytes(g_variant_get_data(told_of), g_variant_get_size(told_of), node, error);
	g_variant_get_child(answer, 4, "t", &bytes);
	if (taken.told && bytes)
		taken.content = take_content(asker, rank, answer, node, error);
	if (!taken.told || (bytes && !taken.content)) {
		dtc_owners_answer_clear(&taken);
		return false;
	}
	*ret_answer = taken;
	return true;
}

static GVariant *wait_for_return(struct asker *asker, guint number)
{
	GVariant *value;

	g_mutex_lock(&asker->lock);
	while (!g_hash_table_steal_extended(asker->returns, GUINT_TO_POINTER(number), NULL, (void **)&value))
		g_cond_wait(&asker->changed, &asker->lock);
	g_mutex_unlock(&asker->lock);
	return value;
}

static GVariant *call_one(void *data, guint bundle, const char *node, GVariant *question, GError **error)
{
	struct asker *asker = data;
	GVariant *answer = NULL;
	guint rank;

	if (find_owner(asker->asked->pdata[bundle], node, &rank)) {
		guint number = ++asker->call;
		g_autoptr(GVariant) packed = g_variant_ref_sink(g_variant_new("(u^ayv)", number, node, question));
		check_sent(
			dtc_letter_send_variant(asker->end, make_letter(asker, DTC_LETTER_CALL, rank, bundle), packed));
		g_autoptr(GVariant) value = wait_for_return(asker, number);
		g_variant_get_child(value, 1, "mv", &answer);
	}
	if (!answer)
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_UNREADABLE,
			    "the owner of node '%s' has nothing of it\nsee that nobody changes the recording", node);
	return answer;
}

/* ---- help ---- */

static GVariant *pack_losses(const struct asker *asker)
{
	GVariantBuilder losses;

	g_variant_builder_init(&losses, G_VARIANT_TYPE("aay"));
	for (guint rank = 0; rank < asker->rank_count; rank++)
		g_variant_builder_add(&losses, "^ay", is_there(asker, rank) ? "" : dtc_losses_get(asker->losses, rank));
	return g_variant_builder_end(&losses);
}

/* Of the first bundle alone: those that know no other cannot be wrong about which one it is. */
static void call_help(void *data, guint bundle)
{
	struct asker *asker = data;
	const struct asked *asked = asker->asked->pdata[bundle];
	g_autoptr(GVariant) owners = dtc_losses_get_owners(asker->losses, bundle);

	if (bundle == 0 && owners)
		check_sent(dtc_help_call(asker->help,
					 g_variant_new("(^aay@aay@a(ayu)@(bmaymayaayu)@(uv))", asker->arguments,
						       pack_losses(asker), owners, asked->options, asked->question)));
}

static void give_found(void *data, enum dtc_owners_found what, GBytes *image)
{
	const struct asker *asker = data;

	dtc_help_give(asker->help, what, image);
}

static bool share_with_help(void *data, const struct dtc_owners_work *work, GError **error)
{
	const struct asker *asker = data;

	return dtc_help_share(asker->help, work, error);
}

/* ---- of a helper ---- */

static void call_nobody(void *data, guint bundle)
{
	(void)data;
	(void)bundle;
}

static DtcImage *wait_for_found(void *data, enum dtc_owners_found what, GError **error)
{
	struct asker *asker = data;
	const struct dtc_letter letter = make_letter(asker, DTC_LETTER_WANT, 0, what);
	g_autoptr(GBytes) nothing = g_bytes_new(NULL, 0);

	check_sent(dtc_letter_send(asker->end, &letter, NULL));
	g_mutex_lock(&asker->lock);
	while (!asker->found[what])
		g_cond_wait(&asker->changed, &asker->lock);
	guint64 bytes = asker->found[what];
	g_mutex_unlock(&asker->lock);
	struct dtc_pager_file *file = dtc_pager_add(asker->pager, ASKER_RANK, what, bytes, nothing, error);
	return file ? dtc_image_take(dtc_pager_get_data(file), bytes, "what was found", dtc_pager_release, file, error)
		    : NULL;
}

static guint wait_for_part(struct asker *asker)
{
	g_mutex_lock(&asker->lock);
	while (g_queue_is_empty(&asker->parts))
		g_cond_wait(&asker->changed, &asker->lock);
	guint part = GPOINTER_TO_UINT(g_queue_pop_head(&asker->parts));
	g_mutex_unlock(&asker->lock);
	return part;
}

/* Until there are no more, and then the process is of no use. */
static bool do_parts(void *data, const struct dtc_owners_work *work, GError **error)
{
	struct asker *asker = data;
	const struct dtc_letter wish = make_letter(asker, DTC_LETTER_WORK, 0, 0);
	guint part;

	for (guint i = 0; i < PARTS_AHEAD; i++)
		check_sent(dtc_letter_send(asker->end, &wish, NULL));
	while ((part = wait_for_part(asker)) < work->part_count) {
		struct dtc_letter letter = make_letter(asker, DTC_LETTER_MADE, 0, part);
		g_autoptr(GBytes) made = work->make(work->data, part, error);
		if (!made)
			return false;
		gsize bytes;
		const void *content = g_bytes_get_data(made, &bytes);
		letter.is_squeezed = 1;
		check_sent(dtc_letter_send_message(asker->end, letter, content, bytes));
		check_sent(dtc_letter_send(asker->end, &wish, NULL));
	}
	_exit(0);
}

/* ---- all of it ---- */

static void unref_variant(void *variant)
{
	g_variant_unref(variant);
}

static void prepare_help(struct asker *asker, const bool *helps)
{
	asker->help = dtc_help_new(asker->end, dtc_losses_get_generation(asker->losses), asker->rank_count, helps);
	if (asker->helped_with)
		asker->help_door = (struct dtc_owners_help){
			.is_helper = true, .call = call_nobody, .wait = wait_for_found, .share = do_parts
		};
	else
		asker->help_door =
			(struct dtc_owners_help){ .call = call_help, .give = give_found, .share = share_with_help };
	if (asker->helped_with || dtc_help_has_any(asker->help))
		asker->door.help = &asker->help_door;
}

const struct dtc_owners *dtc_asker_new(const struct dtc_asker_input *input)
{
	struct asker *asker = g_new0(struct asker, 1);

	asker->door = (struct dtc_owners){ asker, NULL, open_all, assign_all, ask_all, call_one, take_one };
	asker->end = input->end;
	asker->pulses = input->pulses;
	asker->losses = input->losses;
	asker->arguments = input->arguments;
	asker->helped_with = input->asked;
	asker->rank_count = dtc_losses_get_rank_count(asker->losses);
	prepare_help(asker, input->helps);
	g_queue_init(&asker->parts);
	asker->pager = dtc_pager_new(fetch, asker);
	asker->asked = g_ptr_array_new();
	g_mutex_init(&asker->lock);
	g_cond_init(&asker->changed);
	asker->lists = g_new0(GBytes *, asker->rank_count + 1);
	asker->answers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, unref_variant);
	asker->returns = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, unref_variant);
	asker->ended = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	(void)g_thread_new("ranks", listen, asker);
	return &asker->door;
}
