/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/origins.h"

#include "collect/read/reader.h"

#include <string.h>

static const char *get_name(const DtcBundle *bundle, guint node)
{
	return dtc_bundle_get_node(bundle, node)->name;
}

/* What machines without a name of their own are called. */
static bool is_name(const char *host)
{
	return host && *host && strcmp(host, "localhost") != 0 && strcmp(host, "(none)") != 0;
}

static bool is_same(const char *a, const char *b)
{
	return a && b && *a && strcmp(a, b) == 0;
}

static void compare(const DtcBundle *bundle, const struct dtc_trace_origin *origins, guint a, guint b,
		    DtcFindings *findings)
{
	const struct dtc_trace_origin *x = &origins[a], *y = &origins[b];
	const char *name = get_name(bundle, a), *other = get_name(bundle, b);

	if (is_same(x->uuid, y->uuid))
		dtc_findings_add_coded(findings, DTC_FINDING_TRACE_TWICE, DTC_SEVERITY_ERROR, true, other,
				       "its trace is that of node '%s', too: both have the uuid %s", name, x->uuid);
	else if (is_name(x->host) && is_same(x->host, y->host))
		dtc_findings_add_coded(findings, DTC_FINDING_HOST_TWICE, DTC_SEVERITY_WARNING, false, other,
				       "its trace was recorded on a host called '%s', and that of node '%s', too",
				       x->host, name);
	else if (is_same(x->boot, y->boot))
		dtc_findings_add_coded(
			findings, DTC_FINDING_HOST_TWICE, DTC_SEVERITY_WARNING, false, other,
			"its trace was recorded on the same machine as that of node '%s': the boot id is the "
			"same",
			name);
	else if (is_same(y->host, name))
		dtc_findings_add_coded(findings, DTC_FINDING_HOST_TWICE, DTC_SEVERITY_WARNING, false, other,
				       "its trace was recorded on a host called '%s', which is another node's name",
				       name);
	else if (is_same(x->host, other))
		dtc_findings_add_coded(findings, DTC_FINDING_HOST_TWICE, DTC_SEVERITY_WARNING, false, name,
				       "its trace was recorded on a host called '%s', which is another node's name",
				       other);
}

/* NULL for what it does not tell; borrowed of the sources. */
static struct dtc_trace_origin *list_origins(const DtcBundle *bundle, const GPtrArray *sources)
{
	guint count = dtc_bundle_get_count(bundle);
	struct dtc_trace_origin *origins = g_new0(struct dtc_trace_origin, count + 1);

	for (guint i = 0; i < sources->len; i++) {
		const struct dtc_census_source *source = sources->pdata[i];
		if (!source->reading.is_capture)
			origins[source->reading.node_index] = source->origin;
	}
	return origins;
}

void dtc_origins_check(const DtcBundle *bundle, const GPtrArray *sources, DtcFindings *findings)
{
	guint count = dtc_bundle_get_count(bundle);
	g_autofree struct dtc_trace_origin *origins = list_origins(bundle, sources);

	for (guint b = 1; b < count; b++)
		for (guint a = 0; a < b; a++)
			compare(bundle, origins, a, b, findings);
}
