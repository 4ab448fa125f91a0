/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/targets.h"

#include "collect/bundle/paths.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define MAX_BYTES (1 << 20)
#define NODE "{node}"

static void target_free(void *data)
{
	struct dtc_target *target = data;

	g_free(target->name);
	g_free(target->host);
	g_free(target);
}

static int compare_targets(gconstpointer a, gconstpointer b)
{
	const struct dtc_target *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* What begins with '-' would be an option of ssh's. */
static bool is_host(const char *text)
{
	if (!*text || *text == '-')
		return false;
	for (; *text; text++)
		if (g_ascii_iscntrl(*text) || g_ascii_isspace(*text))
			return false;
	return true;
}

static bool add(GPtrArray *targets, const char *name, const char *host, GError **error)
{
	struct dtc_target *target = g_new0(struct dtc_target, 1);

	target->name = g_strdup(name);
	target->host = g_strdup(host);
	g_ptr_array_add(targets, target);
	if (dtc_node_name_check(name) && is_host(host))
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
		    "'%s' cannot be a node of the cluster\nname nodes as NAME or NAME=[USER@]HOST", name);
	return false;
}

static bool add_word(GPtrArray *targets, const char *word, GError **error)
{
	const char *equals = strchr(word, '='), *at = strchr(word, '@');

	if (!equals)
		return add(targets, at ? at + 1 : word, word, error);
	g_autofree char *name = g_strndup(word, (gsize)(equals - word));
	return add(targets, name, equals + 1, error);
}

static bool check_all(GPtrArray *targets, GError **error)
{
	g_ptr_array_sort(targets, compare_targets);
	if (targets->len == 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "no nodes are named\nname them: --nodes web1,db1=root@10.0.0.7");
		return false;
	}
	for (guint i = 1; i < targets->len; i++) {
		const struct dtc_target *a = g_ptr_array_index(targets, i - 1), *b = g_ptr_array_index(targets, i);
		if (strcmp(a->name, b->name) != 0)
			continue;
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "node '%s' is named twice\ngive each a name of its own: NAME=[USER@]HOST", a->name);
		return false;
	}
	return true;
}

static bool add_words(GPtrArray *targets, const char *text, const char *separators, GError **error)
{
	g_auto(GStrv) words = g_strsplit_set(text, separators, -1);

	for (char **word = words; *word; word++) {
		(*word)[strcspn(*word, "#")] = 0;
		g_strstrip(*word);
		if (**word && !add_word(targets, *word, error))
			return false;
	}
	return check_all(targets, error);
}

GPtrArray *dtc_targets_parse(const char *list, GError **error)
{
	g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(target_free);

	return add_words(targets, list, ",", error) ? g_steal_pointer(&targets) : NULL;
}

static bool add_cluster(GPtrArray *targets, const DtcCluster *cluster, GError **error)
{
	for (guint i = 0; i < dtc_cluster_get_count(cluster); i++) {
		const struct dtc_cluster_node *node = dtc_cluster_get_node(cluster, i);
		if (!add(targets, node->name, *node->connect ? node->connect : node->name, error))
			return false;
	}
	return check_all(targets, error);
}

static bool is_cluster_file(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++)
		if (*g_strchug(*line) == '[')
			return true;
	return false;
}

GPtrArray *dtc_targets_read(const char *path, DtcCluster **ret_cluster, GError **error)
{
	g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(target_free);
	g_autofree char *text = NULL;
	gsize bytes = 0;

	*ret_cluster = NULL;
	bool is_text = g_file_test(path, G_FILE_TEST_IS_REGULAR) && g_file_get_contents(path, &text, &bytes, NULL) &&
		       bytes <= MAX_BYTES && !is_cluster_file(text);
	if (is_text)
		return add_words(targets, text, "\n", error) ? g_steal_pointer(&targets) : NULL;
	g_autoptr(DtcCluster) cluster = dtc_cluster_read(path, error);
	if (!cluster || !add_cluster(targets, cluster, error))
		return NULL;
	*ret_cluster = g_steal_pointer(&cluster);
	return g_steal_pointer(&targets);
}

/* ---- the way there ---- */

char **dtc_via_parse(const char *text, GError **error)
{
	g_auto(GStrv) words = NULL;

	if (strstr(text, NODE) && g_shell_parse_argv(text, NULL, &words, NULL))
		return g_steal_pointer(&words);
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
		    "--via '%s' is no command with %s in it\nfor example --via 'kubectl exec -n shop %s --'", text,
		    NODE, NODE);
	return NULL;
}

static bool is_named(const char *word, const char *const *names)
{
	g_autofree char *base = g_path_get_basename(word);

	return g_strv_contains(names, base);
}

static bool is_interactive(char *const *words)
{
	static const char *const flags[] = { "-i", "-it", "-ti", "--interactive", "--stdin", "--stdin=true", NULL };

	for (; *words && strcmp(*words, "--") != 0; words++)
		if (g_strv_contains(flags, *words))
			return true;
	return false;
}

static char *replace_node(const char *word, const char *host)
{
	g_auto(GStrv) parts = g_strsplit(word, NODE, -1);

	return g_strjoinv(host, parts);
}

/* Of ssh, and of ssh to a node behind another one: each joins what it is given, for a shell there to split. */
static char *quote_script(const char *script, guint shells)
{
	g_autofree char *quoted = g_shell_quote(script);
	char *text = shells > 0 ? g_strconcat("sh -c ", quoted, NULL) : g_strdup(script);

	for (; shells > 1; shells--) {
		char *again = g_shell_quote(text);
		g_free(text);
		text = again;
	}
	return text;
}

static void add_script(GPtrArray *argv, const char *script, guint shells)
{
	if (shells == 0) {
		g_ptr_array_add(argv, g_strdup("sh"));
		g_ptr_array_add(argv, g_strdup("-c"));
	}
	g_ptr_array_add(argv, quote_script(script, shells));
	g_ptr_array_add(argv, NULL);
}

/* Programs before {node}, one of which may run another: sudo, timeout, sshpass, ssh. */
char **dtc_via_get_argv(char *const *via, const char *host, const char *script)
{
	static const char *const containers[] = { "kubectl", "oc", "docker", "podman", "nerdctl", "crictl", NULL };
	static const char *const shells[] = { "ssh", NULL };
	static char *const own[] = { (char *)"ssh", (char *)"-T", (char *)"-o", (char *)"BatchMode=yes",
				     (char *)"--",  (char *)NODE, NULL };
	bool wants_input = false, is_there = false;
	GPtrArray *argv = g_ptr_array_new();
	guint shell_count = 0;

	for (char *const *word = via ? via : own; *word; word++) {
		is_there |= strstr(*word, NODE) != NULL;
		if (!is_there && is_named(*word, containers))
			wants_input = !is_interactive(word);
		shell_count += !is_there && is_named(*word, shells);
		g_ptr_array_add(argv, replace_node(*word, host));
		if (wants_input && strcmp(*word, "exec") == 0) {
			g_ptr_array_add(argv, g_strdup("-i"));
			wants_input = false;
		}
	}
	add_script(argv, script, shell_count);
	return (char **)g_ptr_array_free(argv, FALSE);
}
