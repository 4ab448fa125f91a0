/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/ranks/owner.h"

#include "analyze/engine/owned.h"
#include "analyze/ranks/pulse.h"

#include <string.h>

#define BEGIN_BYTES ((gsize)4096)      /* of these as many of an image go with an answer as its begin is in */
#define ANSWERS_BYTES ((gsize)1 << 20) /* of answers that go in one message, and the last of them */

struct answered {
	GVariant *question;
	GArray *answers; /* struct dtc_owned_answer */
	GArray *images;	 /* guint: the number of each answer's content */
};

struct bundle {
	GVariant *options;
	DtcBundle *bundle; /* NULL: there is nothing that this process can see */
	GBytes *list;
	GVariant *assigned;		   /* "aay"; NULL: not yet */
	GPtrArray *answered;		   /* struct answered */
	const struct answered *recordings; /* that were last asked for, of answered; NULL: none */
	GHashTable *streams;		   /* of dtc_owned_streams_new */
};

struct owner {
	int end;
	const char *program;
	GHashTable *bundles; /* number -> struct bundle */
	GPtrArray *images;   /* DtcImage or NULL, by number */
};

static void answered_free(void *data)
{
	struct answered *answered = data;

	g_variant_unref(answered->question);
	g_array_unref(answered->answers);
	g_array_unref(answered->images);
	g_free(answered);
}

static void bundle_free(void *data)
{
	struct bundle *bundle = data;

	g_ptr_array_unref(bundle->answered);
	g_hash_table_unref(bundle->streams);
	g_clear_pointer(&bundle->assigned, g_variant_unref);
	g_variant_unref(bundle->options);
	g_bytes_unref(bundle->list);
	dtc_bundle_free(bundle->bundle);
	g_free(bundle);
}

static struct bundle *find_bundle(const struct owner *owner, guint number)
{
	return g_hash_table_lookup(owner->bundles, GUINT_TO_POINTER(number));
}

/* ---- bundles ---- */

static struct bundle *open_bundle(const struct owner *owner, GVariant *options)
{
	struct bundle *bundle = g_new0(struct bundle, 1);
	g_autoptr(GVariant) list = NULL;

	bundle->options = g_variant_ref(options);
	bundle->bundle = dtc_owned_open(options, owner->program, NULL);
	list = g_variant_ref_sink(
		bundle->bundle
			? dtc_owned_list(bundle->bundle)
			: g_variant_new_array(g_variant_type_element(G_VARIANT_TYPE(DTC_OWNED_LIST_TYPE)), NULL, 0));
	bundle->list = g_variant_get_data_as_bytes(list);
	bundle->answered = g_ptr_array_new_with_free_func(answered_free);
	bundle->streams = dtc_owned_streams_new();
	return bundle;
}

/* A helper is told what the asker was told, and has nothing changed. */
static bool is_of_helper(const struct dtc_letter *letter)
{
	return letter->asker != 0;
}

static bool refuse_helper(const struct owner *owner, struct dtc_letter letter)
{
	letter.type = DTC_LETTER_FAILED;
	return dtc_letter_send_variant(owner->end, letter, g_variant_new_bytestring("the asker has not asked that"));
}

/* An asker that begins again finds the bundle as it is. */
static bool handle_open(struct owner *owner, struct dtc_letter letter, GVariant *options)
{
	struct bundle *bundle = find_bundle(owner, letter.of);
	gsize bytes;

	if (!bundle || !g_variant_equal(bundle->options, options)) {
		if (is_of_helper(&letter))
			return refuse_helper(owner, letter);
		bundle = open_bundle(owner, options);
		g_hash_table_insert(owner->bundles, GUINT_TO_POINTER(letter.of), bundle);
	}
	const void *list = g_bytes_get_data(bundle->list, &bytes);
	letter.type = DTC_LETTER_LIST;
	return dtc_letter_send_message(owner->end, letter, list, bytes);
}

static bool handle_assign(struct owner *owner, struct dtc_letter letter, GVariant *names)
{
	struct bundle *bundle = find_bundle(owner, letter.of);

	if (is_of_helper(&letter) || !bundle || !bundle->bundle ||
	    (bundle->assigned && g_variant_equal(bundle->assigned, names)))
		return true;
	if (bundle->assigned) { /* others than those, of which it has the nodes */
		g_autoptr(GVariant) options = g_variant_ref(bundle->options);
		bundle = open_bundle(owner, options);
		g_hash_table_insert(owner->bundles, GUINT_TO_POINTER(letter.of), bundle);
	}
	g_autofree const char **list = g_variant_get_bytestring_array(names, NULL);
	bundle->assigned = g_variant_ref(names);
	return *list && bundle->bundle ? dtc_bundle_select(bundle->bundle, list, NULL) : true;
}

/* ---- questions ---- */

static struct answered *find_answered(const struct bundle *bundle, GVariant *question)
{
	for (guint i = 0; i < bundle->answered->len; i++) {
		struct answered *answered = bundle->answered->pdata[i];
		if (g_variant_equal(answered->question, question))
			return answered;
	}
	return NULL;
}

static enum dtc_owners_question get_question(GVariant *question)
{
	guint32 what;

	g_variant_get_child(question, 0, "u", &what);
	return (enum dtc_owners_question)what;
}

/* NULL with an error: this process cannot go on. */
static struct answered *answer(struct owner *owner, struct bundle *bundle, GVariant *question, GError **error)
{
	GArray *answers = dtc_owned_answer(bundle->bundle, question, error);

	if (!answers)
		return NULL;
	struct answered *answered = g_new0(struct answered, 1);
	answered->question = g_variant_ref(question);
	answered->answers = answers;
	answered->images = g_array_new(FALSE, FALSE, sizeof(guint));
	for (guint i = 0; i < answers->len; i++) {
		guint number = owner->images->len;
		DtcImage *content = g_array_index(answers, struct dtc_owned_answer, i).content;
		g_ptr_array_add(owner->images, content ? dtc_image_ref(content) : NULL);
		g_array_append_val(answered->images, number);
	}
	g_ptr_array_add(bundle->answered, answered);
	return answered;
}

static GVariant *get_begin(const DtcImage *image)
{
	gsize pages = (dtc_image_get_begin_bytes(image) + BEGIN_BYTES - 1) / BEGIN_BYTES;
	gsize bytes = MIN(pages * BEGIN_BYTES, dtc_image_get_shown_bytes(image));
	g_autofree char *begin = g_malloc(bytes);

	dtc_image_copy_file(image, 0, bytes, begin);
	return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, begin, bytes, 1);
}

static GVariant *pack_bytes(GBytes *bytes)
{
	gsize count;
	const void *data = g_bytes_get_data(bytes, &count);

	return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, data, count, 1);
}

static GVariant *pack_answer(const struct answered *answered, guint index)
{
	const struct dtc_owned_answer *answer = &g_array_index(answered->answers, struct dtc_owned_answer, index);
	GVariant *begin = answer->content ? get_begin(answer->content)
					  : g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, NULL, 0, 1);

	return g_variant_new("(^ayb@ayut@ay)", answer->node, answer->is_capture, pack_bytes(answer->told),
			     g_array_index(answered->images, guint, index),
			     answer->content ? dtc_image_get_shown_bytes(answer->content) : 0, begin);
}

/* Many in a message, since much of them is the same, and squeezed once then. */
static bool send_answers(const struct owner *owner, struct dtc_letter letter, guint32 number,
			 const struct answered *answered)
{
	letter.type = DTC_LETTER_ANSWERS;
	for (guint i = 0; i < answered->answers->len;) {
		GVariantBuilder list;
		gsize bytes = 0;
		g_variant_builder_init(&list, G_VARIANT_TYPE(DTC_LETTER_ANSWERS_LIST_TYPE));
		while (i < answered->answers->len && bytes < ANSWERS_BYTES) {
			GVariant *answer = pack_answer(answered, i++);
			bytes += g_variant_get_size(answer);
			g_variant_builder_add_value(&list, answer);
		}
		if (!dtc_letter_send_variant(owner->end, letter,
					     g_variant_new("(u@" DTC_LETTER_ANSWERS_LIST_TYPE ")", number,
							   g_variant_builder_end(&list))))
			return false;
	}
	return true;
}

/* They are not kept: an asker that begins again may have read something else before it asks for them. */
static bool send_briefs(const struct owner *owner, const struct dtc_letter *letter, guint32 number,
			const struct bundle *bundle)
{
	g_autoptr(GArray) answers = dtc_owned_answer_briefs(bundle->bundle, bundle->recordings->answers);
	g_autoptr(GArray) images = g_array_new(FALSE, TRUE, sizeof(guint));
	const struct answered briefs = { .answers = answers, .images = images };

	g_array_set_size(images, answers->len + 1);
	return send_answers(owner, *letter, number, &briefs);
}

static bool handle_ask(struct owner *owner, struct dtc_letter letter, GVariant *asked)
{
	struct bundle *bundle = find_bundle(owner, letter.of);
	g_autoptr(GVariant) question = NULL;
	g_autoptr(GError) error = NULL;
	guint32 number;

	g_variant_get(asked, "(uv)", &number, &question);
	struct answered *answered = NULL;
	bool is_brief = get_question(question) == DTC_OWNERS_BRIEF;
	if (is_brief && bundle && bundle->recordings && !is_of_helper(&letter)) {
		if (!send_briefs(owner, &letter, number, bundle))
			return false;
	} else if (!is_brief && bundle && bundle->bundle && bundle->assigned) {
		answered = find_answered(bundle, question);
		if (!answered && !is_of_helper(&letter))
			answered = answer(owner, bundle, question, &error);
	}
	if (!answered && is_of_helper(&letter))
		return refuse_helper(owner, letter);
	if (error) {
		letter.type = DTC_LETTER_FAILED;
		return dtc_letter_send_variant(owner->end, letter, g_variant_new_bytestring(error->message));
	}
	if (answered && !is_of_helper(&letter) && get_question(question) == DTC_OWNERS_RECORDING)
		bundle->recordings = answered;
	if (answered && !send_answers(owner, letter, number, answered))
		return false;
	letter.type = DTC_LETTER_ANSWERED;
	return dtc_letter_send_variant(owner->end, letter, g_variant_new_uint32(number));
}

static bool handle_call(const struct owner *owner, struct dtc_letter letter, GVariant *called)
{
	const struct bundle *bundle = find_bundle(owner, letter.of);
	g_autoptr(GVariant) question = NULL;
	const char *node;
	guint32 number;

	g_variant_get(called, "(u^&ayv)", &number, &node, &question);
	bool is_ours =
		bundle && bundle->bundle && bundle->assigned && g_variant_is_of_type(question, G_VARIANT_TYPE("(uv)"));
	letter.type = DTC_LETTER_RETURN;
	return dtc_letter_send_variant(
		owner->end, letter,
		g_variant_new("(umv)", number,
			      is_ours ? dtc_owned_call(bundle->streams, bundle->bundle, node, question) : NULL));
}

/* ---- pages ---- */

static bool handle_fetch(const struct owner *owner, struct dtc_letter letter)
{
	const DtcImage *image = letter.of < owner->images->len ? owner->images->pdata[letter.of] : NULL;
	g_autofree char *data = g_malloc(DTC_LETTER_DATA_MAX);
	guint64 end = letter.at + letter.all;

	if (!image || end < letter.at || end > dtc_image_get_shown_bytes(image))
		return true;
	letter.type = DTC_LETTER_PAGES;
	for (; letter.at < end; letter.at += letter.bytes) {
		letter.bytes = (uint32_t)MIN(end - letter.at, DTC_LETTER_DATA_MAX);
		dtc_image_copy_file(image, letter.at, letter.bytes, data);
		if (!dtc_letter_send(owner->end, &letter, data))
			return false;
	}
	return true;
}

/* ---- all of it ---- */

static bool handle(struct owner *owner, const struct dtc_letter *letter, GBytes *message)
{
	static const char *const types[] = { [DTC_LETTER_OPEN] = DTC_OWNED_OPTIONS_TYPE,
					     [DTC_LETTER_ASSIGN] = "aay",
					     [DTC_LETTER_ASK] = "(uv)",
					     [DTC_LETTER_CALL] = "(uayv)" };
	g_autoptr(GVariant) value =
		letter->type <= DTC_LETTER_CALL ? dtc_letter_get_variant(message, types[letter->type]) : NULL;

	if (!value)
		return true;
	switch (letter->type) {
	case DTC_LETTER_OPEN:
		return handle_open(owner, *letter, value);
	case DTC_LETTER_ASSIGN:
		return handle_assign(owner, *letter, value);
	case DTC_LETTER_CALL:
		return handle_call(owner, *letter, value);
	default:
		return handle_ask(owner, *letter, value);
	}
}

void dtc_owner_serve(int end, const char *program)
{
	gint *is_busy = g_new0(gint, 1); /* for as long as the process lives */
	struct owner owner = { .end = end, .program = program };
	g_autoptr(DtcAssembly) assembly = dtc_assembly_new();
	g_autofree struct dtc_parcel *parcel = g_new(struct dtc_parcel, 1);
	bool goes_on = true;

	owner.bundles = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, bundle_free);
	owner.images = g_ptr_array_new_with_free_func((GDestroyNotify)dtc_image_unref);
	dtc_pulse_begin(end, is_busy);
	while (goes_on && dtc_letter_receive(end, parcel)) {
		g_atomic_int_set(is_busy, 1);
		parcel->letter.is_squeezed = parcel->letter.rank != parcel->letter.asker; /* else it is not far */
		if (parcel->letter.type == DTC_LETTER_FETCH) {
			goes_on = handle_fetch(&owner, parcel->letter);
		} else {
			g_autoptr(GBytes) message = dtc_assembly_add(assembly, parcel);
			if (message)
				goes_on = handle(&owner, &parcel->letter, message);
		}
		g_atomic_int_set(is_busy, 0);
	}
	g_hash_table_unref(owner.bundles);
	g_ptr_array_unref(owner.images);
}
