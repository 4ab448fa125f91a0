/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/alignment_image.h"

#include "analyze/engine/findings_image.h"
#include "collect/image/fingerprint.h"
#include "sync/fit/sync_image.h"
#include "sync/match/relation_image.h"

#include <string.h>

static void add_number(DtcFingerprint *fingerprint, const char *name, double number)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	dtc_fingerprint_add(fingerprint, name, g_ascii_dtostr(text, sizeof(text), number));
}

static void add_key(DtcFingerprint *fingerprint, const char *name, const struct dtc_image_key *key)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < sizeof(key->bytes); i++)
		g_string_append_printf(text, "%02x", key->bytes[i]);
	dtc_fingerprint_add(fingerprint, name, text->str);
}

/* Whose guest a node is, and who carries its CPUs. */
static void add_told(DtcFingerprint *fingerprint, const DtcCluster *cluster, const char *name)
{
	const struct dtc_cluster_node *told = cluster ? dtc_cluster_find_node(cluster, name) : NULL;

	if (!told)
		return;
	dtc_fingerprint_add(fingerprint, "role", told->role);
	dtc_fingerprint_add(fingerprint, "host", told->host);
	for (char **address = told->addresses; address && *address; address++)
		dtc_fingerprint_add(fingerprint, "address", *address);
	for (guint i = 0; told->vcpu_tids && i < told->vcpu_tids->len; i++)
		add_number(fingerprint, "vcpu", g_array_index(told->vcpu_tids, uint32_t, i));
}

/* False: some recording is not kept, or maps of a file take the place of a fit. */
static bool make_key(const struct dtc_align_input *input, struct dtc_image_key *ret_key)
{
	const struct dtc_recordings *recordings = input->recordings;
	struct dtc_fit_options fit = input->fit ? *input->fit : dtc_fit_options_default();

	if (!recordings->store || !recordings->are_kept || input->sync_file)
		return false;
	g_autoptr(DtcFingerprint) fingerprint = dtc_fingerprint_new();
	for (guint node = 0; node < recordings->node_count; node++) {
		dtc_fingerprint_add(fingerprint, "clock of", input->names[node]);
		add_key(fingerprint, "kernel", &recordings->keys[node].kernel);
		add_key(fingerprint, "captures", &recordings->keys[node].captures);
		add_told(fingerprint, input->cluster, input->names[node]);
	}
	dtc_fingerprint_add(fingerprint, "reference", input->reference < 0 ? "" : input->names[input->reference]);
	add_number(fingerprint, "drift", fit.max_drift_ppm);
	add_number(fingerprint, "wander", fit.max_wander_ppm);
	g_autofree char *delay = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)fit.min_delay_ns);
	dtc_fingerprint_add(fingerprint, "delay", delay);
	return dtc_fingerprint_get_key(fingerprint, ret_key);
}

/* False leaves in it what was loaded until then. */
static bool load(struct dtc_alignment *alignment, const struct dtc_align_input *input, const DtcImage *image,
		 DtcFindings *findings, GError **error)
{
	guint count = input->recordings->node_count;

	alignment->lacks_messages = true;
	alignment->matches = dtc_relations_load(image, input->names, count, error);
	if (!alignment->matches || !dtc_findings_load(&findings, 1, image, error))
		return false;
	if (count == 1) {
		alignment->own = dtc_clocks_new_identity(1);
		return true;
	}
	alignment->sync = dtc_sync_load(image, input->names, count, error);
	return alignment->sync != NULL;
}

bool dtc_alignment_find(struct dtc_alignment *alignment, const struct dtc_align_input *input, DtcFindings *findings)
{
	g_autoptr(DtcFindings) found = dtc_findings_new();
	struct dtc_image_key key;
	g_autoptr(DtcImage) image = make_key(input, &key) ? dtc_store_find(input->recordings->store, &key) : NULL;

	if (!image)
		return false;
	if (!load(alignment, input, image, found, NULL)) {
		dtc_alignment_clear(alignment);
		return false;
	}
	dtc_findings_move(findings, found);
	return true;
}

static void save(const struct dtc_alignment *alignment, const struct dtc_align_input *input,
		 const DtcFindings *findings, DtcImageWriter *writer)
{
	dtc_image_add_strings(writer, "alignment.nodes", input->names, input->recordings->node_count);
	dtc_relations_save(alignment->matches, writer);
	dtc_findings_save(&findings, 1, writer);
	if (alignment->sync)
		dtc_sync_save(alignment->sync, writer);
}

void dtc_alignment_keep(const struct dtc_alignment *alignment, const struct dtc_align_input *input,
			const DtcFindings *findings)
{
	struct dtc_image_key key;

	if (!make_key(input, &key))
		return;
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	save(alignment, input, findings, writer);
	(void)dtc_store_put(input->recordings->store, &key, writer, NULL, NULL); /* the next run makes it again */
}

GBytes *dtc_alignment_to_bytes(const struct dtc_alignment *alignment, const struct dtc_align_input *input)
{
	g_autoptr(DtcFindings) none = dtc_findings_new();
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();

	save(alignment, input, none, writer);
	return dtc_image_to_bytes(writer, NULL);
}

bool dtc_alignment_load(struct dtc_alignment *alignment, const struct dtc_align_input *input, const DtcImage *image,
			DtcFindings *findings, GError **error)
{
	gsize count;
	g_autofree const char **names = dtc_image_get_strings(image, "alignment.nodes", &count, error);
	bool are_same = names && count == input->recordings->node_count;

	*alignment = (struct dtc_alignment){ 0 };
	for (gsize i = 0; are_same && i < count; i++)
		are_same = strcmp(names[i], input->names[i]) == 0;
	if (names && !are_same)
		return dtc_image_refuse(image, error, "it is of other nodes");
	return are_same && load(alignment, input, image, findings, error);
}

char *dtc_alignment_describe_image(const DtcImage *image)
{
	gsize count;
	g_autofree const char **names = dtc_image_get_strings(image, "alignment.nodes", &count, NULL);

	return names ? g_strjoinv(", ", (char **)names) : NULL;
}
