/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/describe.h"

#include "collect/bundle/environment.h"
#include "collect/read/reader.h"

static void describe_role(struct dtc_manifest_node *node, const DtcCluster *cluster)
{
	const struct dtc_cluster_node *known = cluster ? dtc_cluster_find_node(cluster, node->name) : NULL;

	if (!known)
		return;
	g_free(node->role);
	g_free(node->host);
	g_strfreev(node->addresses);
	node->role = g_strdup(known->role);
	node->host = g_strdup(known->host);
	node->addresses = g_strdupv(known->addresses);
	if (known->vcpu_tids->len)
		g_array_append_vals(node->vcpu_tids, known->vcpu_tids->data, known->vcpu_tids->len);
}

static void describe_probes(struct dtc_manifest_node *node, const DtcEnvironment *environment)
{
	guint64 port = environment ? dtc_environment_find_number(environment->recorder, DTC_ENVIRONMENT_PROBE_PORT) : 0;

	node->probe_port = port <= G_MAXUINT16 ? (uint16_t)port : 0;
}

static void set_text(char **to, const char *text)
{
	g_free(*to);
	/* a trace may say anything; a manifest is printable and short */
	*to = g_utf8_validate(text, -1, NULL) ? g_strndup(text, 200) : g_strdup("");
	for (char *c = *to; *c; c++)
		if (g_ascii_iscntrl(*c))
			*c = '?';
	if (!g_utf8_validate(*to, -1, NULL))
		**to = 0;
}

static bool is_complete(const DtcFindings *findings, const char *node)
{
	for (guint i = 0; i < dtc_findings_get_count(findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		if (finding->incomplete && g_strcmp0(finding->node, node) == 0)
			return false;
	}
	return true;
}

static void describe_node(DtcManifest *manifest, const DtcBundle *bundle, guint index, const GPtrArray *sources,
			  const DtcFindings *findings)
{
	const struct dtc_bundle_node *from = dtc_bundle_get_node(bundle, index);
	const struct dtc_census_source *kernel = dtc_census_find(sources, index, false);
	const struct dtc_census_source *capture = dtc_census_find(sources, index, true);
	struct dtc_manifest_node *node = dtc_manifest_add_node(manifest, from->name);

	describe_role(node, dtc_bundle_get_cluster(bundle));
	node->is_complete = is_complete(findings, from->name);
	node->packets = capture ? capture->packets : 0;
	describe_probes(node, from->environment);
	if (!kernel)
		return;
	node->clock = kernel->clock;
	node->clock.name = g_strdup(kernel->clock.name);
	node->clock.uuid = g_strdup(kernel->clock.uuid);
	node->events = kernel->events;
	node->lost_events = kernel->lost_events;
	if (kernel->release)
		set_text(&node->release, kernel->release);
	if (kernel->tracer)
		set_text(&node->tracer, kernel->tracer);
	if (kernel->events) {
		node->begin_ns = kernel->begin_ns;
		node->end_ns = kernel->end_ns;
	}
}

DtcManifest *dtc_describe_bundle(const DtcBundle *bundle, const GPtrArray *census, const DtcFindings *findings,
				 const char *made_by)
{
	DtcManifest *manifest = dtc_manifest_new(made_by);

	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++)
		describe_node(manifest, bundle, i, census, findings);
	return manifest;
}
