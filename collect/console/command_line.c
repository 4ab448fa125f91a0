/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/console/command_line.h"

#include "collect/bundle/suggest.h"
#include "collect/console/json_object.h"
#include "collect/console/process.h"
#include "collect/console/terminal.h"
#include "dtrace-chain/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NARROW_WIDTH 60 /* less leaves no room for two columns */
#define NARROW_COLUMN 6
#define TEXT_COLUMN 26
#define MAX_TEXT 2000

/* An option, or a heading above options. */
struct line_option {
	const char *heading;
	GOptionEntry entry; /* its texts are borrowed */
};

struct DtcCommandLine {
	const struct dtc_program *program;
	const struct dtc_manual *manual; /* of its command */
	GOptionContext *context;
	GArray *options;	     /* struct line_option */
	const char *const *left_out; /* names; NULL: none */
};

DtcCommandLine *dtc_command_line_new(const struct dtc_program *program, const char *command)
{
	DtcCommandLine *line = g_new0(DtcCommandLine, 1);
	line->program = program;
	line->manual = dtc_program_find_manual(program, command);
	g_assert(line->manual);
	line->context = g_option_context_new(NULL);
	g_option_context_set_help_enabled(line->context, FALSE);
	line->options = g_array_new(FALSE, FALSE, sizeof(struct line_option));
	return line;
}

void dtc_command_line_free(DtcCommandLine *line)
{
	if (!line)
		return;
	g_option_context_free(line->context);
	g_array_unref(line->options);
	g_free(line);
}

void dtc_command_line_leave_out(DtcCommandLine *line, const char *const *names)
{
	line->left_out = names;
}

/* Ends with one of zeros, as GOption wants it. */
static GArray *choose_entries(const DtcCommandLine *line, const GOptionEntry *entries)
{
	GArray *taken = g_array_new(TRUE, FALSE, sizeof(GOptionEntry));

	for (; entries->long_name; entries++)
		if (!line->left_out || !g_strv_contains(line->left_out, entries->long_name))
			g_array_append_val(taken, *entries);
	return taken;
}

void dtc_command_line_add(DtcCommandLine *line, const char *heading, const GOptionEntry *entries, void *data)
{
	/* a group for each call: its data is what callbacks get */
	g_autofree char *name = g_strdup_printf("%u", line->options->len);
	GOptionGroup *group = g_option_group_new(name, heading, heading, data, NULL);

	g_autoptr(GArray) taken = choose_entries(line, entries);

	g_option_group_add_entries(group, (const GOptionEntry *)(void *)taken->data);
	if (g_option_context_get_main_group(line->context))
		g_option_context_add_group(line->context, group);
	else
		g_option_context_set_main_group(line->context, group);
	for (guint i = 0; i < taken->len; i++) {
		struct line_option option = { heading, g_array_index(taken, GOptionEntry, i) };
		g_array_append_val(line->options, option);
	}
}

/* ---- help ---- */

static void append_option(GString *out, const GOptionEntry *entry, guint width)
{
	g_autoptr(GString) head = g_string_new("  ");
	guint column = width < NARROW_WIDTH ? NARROW_COLUMN : TEXT_COLUMN;

	if (entry->short_name)
		g_string_append_printf(head, "-%c, ", entry->short_name);
	g_string_append_printf(head, "--%s", entry->long_name);
	if (entry->arg_description)
		g_string_append_printf(head, " %s", entry->arg_description);
	if (head->len + 1 > column) {
		dtc_terminal_wrap(out, head->str, 0, column, width);
		g_string_append_printf(out, "%*s", (int)column, "");
	} else {
		g_string_append_printf(out, "%s%*s", head->str, (int)(column - head->len), "");
	}
	dtc_terminal_wrap(out, entry->description, column, column, width);
}

static void append_heading(GString *out, const char *heading, guint width)
{
	g_autofree char *text = g_strconcat(heading, ":", NULL);

	g_string_append_c(out, '\n');
	dtc_terminal_wrap(out, text, 0, 2, width);
}

char *dtc_command_line_get_help(const DtcCommandLine *line, guint width)
{
	static const char *const headings[] = { DTC_HEADING_OPTIONS, DTC_HEADING_FILES, DTC_HEADING_COMMON };
	const struct dtc_manual *manual = line->manual;
	GString *out = g_string_new("Usage: ");

	g_autofree char *usage =
		g_strdup_printf("%s %s %s [OPTION...]", line->program->name, manual->name, manual->synopsis);
	dtc_terminal_wrap(out, usage, 7, width < NARROW_WIDTH ? 4 : 14, width);
	g_string_append_c(out, '\n');
	dtc_terminal_wrap(out, manual->description, 0, 0, width);
	for (gsize i = 0; i < G_N_ELEMENTS(headings); i++) {
		bool has_heading = false;
		for (guint k = 0; k < line->options->len; k++) {
			const struct line_option *option = &g_array_index(line->options, struct line_option, k);
			if (strcmp(option->heading, headings[i]) != 0)
				continue;
			if (!has_heading)
				append_heading(out, headings[i], width);
			has_heading = true;
			append_option(out, &option->entry, width);
		}
	}
	g_string_append(out, "\nExamples:\n");
	for (guint i = 0; i < G_N_ELEMENTS(manual->examples) && manual->examples[i].command; i++) {
		/* a command is copied in whole */
		g_string_append_printf(out, "  %s\n      ", manual->examples[i].command);
		dtc_terminal_wrap(out, manual->examples[i].what, 6, 6, width);
	}
	g_string_append_c(out, '\n');
	dtc_terminal_wrap(out, line->program->exit_status, 0, 0, width);
	return g_string_free(out, FALSE);
}

/* ---- the table ---- */

static void append_key_text(GString *out, const char *key, const char *text)
{
	dtc_json_append_key(out, key);
	dtc_json_append_text(out, text, MAX_TEXT);
}

static const char *get_kind(const GOptionEntry *entry)
{
	if (entry->arg == G_OPTION_ARG_NONE)
		return "none";
	if (entry->arg == G_OPTION_ARG_FILENAME || entry->arg == G_OPTION_ARG_FILENAME_ARRAY)
		return "file";
	return "text";
}

/* "a|b|c": the words that the argument can be. */
static bool is_choice(const char *text)
{
	bool has_bar = false;

	for (; text && *text; text++) {
		has_bar |= *text == '|';
		if (*text != '|' && *text != '-' && !g_ascii_islower(*text))
			return false;
	}
	return has_bar;
}

static void append_table_option(GString *out, const struct line_option *option)
{
	const GOptionEntry *entry = &option->entry;
	const char short_name[2] = { entry->short_name, 0 };

	dtc_json_append_separator(out);
	g_string_append(out, "\n  {");
	append_key_text(out, "name", entry->long_name);
	append_key_text(out, "short", entry->short_name ? short_name : NULL);
	append_key_text(out, "argument", entry->arg_description);
	append_key_text(out, "kind", get_kind(entry));
	append_key_text(out, "text", entry->description);
	append_key_text(out, "heading", option->heading);
	dtc_json_append_key(out, "values");
	g_string_append_c(out, '[');
	if (is_choice(entry->arg_description)) {
		g_auto(GStrv) values = g_strsplit(entry->arg_description, "|", -1);
		for (char **value = values; *value; value++) {
			dtc_json_append_separator(out);
			dtc_json_append_text(out, *value, MAX_TEXT);
		}
	}
	g_string_append(out, "]}");
}

static char *get_table(const DtcCommandLine *line)
{
	const struct dtc_manual *manual = line->manual;
	GString *out = g_string_new("{");

	append_key_text(out, "name", manual->name);
	append_key_text(out, "synopsis", manual->synopsis);
	append_key_text(out, "summary", manual->summary);
	append_key_text(out, "description", manual->description);
	dtc_json_append_key(out, "examples");
	g_string_append_c(out, '[');
	for (guint i = 0; i < G_N_ELEMENTS(manual->examples) && manual->examples[i].command; i++) {
		dtc_json_append_separator(out);
		g_string_append(out, "\n  {");
		append_key_text(out, "command", manual->examples[i].command);
		append_key_text(out, "what", manual->examples[i].what);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
	dtc_json_append_key(out, "options");
	g_string_append_c(out, '[');
	for (guint i = 0; i < line->options->len; i++)
		append_table_option(out, &g_array_index(line->options, struct line_option, i));
	g_string_append(out, "]}\n");
	return g_string_free(out, FALSE);
}

/* ---- parsing ---- */

static const struct line_option *find_option(const DtcCommandLine *line, const char *name, gsize length)
{
	for (guint i = 0; i < line->options->len; i++) {
		const struct line_option *option = &g_array_index(line->options, struct line_option, i);
		if (strlen(option->entry.long_name) == length && strncmp(option->entry.long_name, name, length) == 0)
			return option;
	}
	return NULL;
}

/* Ends the program if help is asked for, as GOption does. */
static void answer_help(const DtcCommandLine *line, int argc, char *const *argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		bool is_table = strcmp(argv[i], "--help-table") == 0;
		if (!is_table && strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0 &&
		    strcmp(argv[i], "--help-all") != 0)
			continue;
		char *text =
			is_table ? get_table(line) : dtc_command_line_get_help(line, dtc_terminal_get_help_width());
		fputs(text, stdout);
		g_free(text); /* exit ends no scope */
		exit(dtc_process_finish(line->program->name, 0));
	}
}

/* GLib's message is translated and says nothing else: name what is alike. */
static bool set_unknown(const DtcCommandLine *line, int argc, char *const *argv, GError **error)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], "--", 2) != 0)
			continue;
		const char *name = argv[i] + 2;
		gsize length = strcspn(name, "=");
		if (find_option(line, name, length))
			continue;
		g_autofree const char **names = g_new0(const char *, line->options->len + 2);
		for (guint k = 0; k < line->options->len; k++)
			names[k] = g_array_index(line->options, struct line_option, k).entry.long_name;
		names[line->options->len] = "help";
		g_autofree char *word = g_strndup(name, length);
		const char *nearest = dtc_suggest(word, names);
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "unknown option '--%s'\n%s%s%s`%s %s --help` lists the options", word,
			    nearest ? "did you mean '--" : "", nearest ? nearest : "", nearest ? "'? " : "",
			    line->program->name, line->manual->name);
		return true;
	}
	return false;
}

bool dtc_command_line_parse(DtcCommandLine *line, int *argc, char ***argv, GError **error)
{
	g_autoptr(GError) reason = NULL;

	answer_help(line, *argc, *argv);
	if (g_option_context_parse(line->context, argc, argv, &reason))
		return true;
	if (!g_error_matches(reason, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) ||
	    !set_unknown(line, *argc, *argv, error))
		g_propagate_error(error, g_steal_pointer(&reason));
	return false;
}

void dtc_command_line_clear_texts(DtcCommandLine *line)
{
	for (guint i = 0; i < line->options->len; i++) {
		const GOptionEntry *entry = &g_array_index(line->options, struct line_option, i).entry;
		if (entry->arg == G_OPTION_ARG_STRING || entry->arg == G_OPTION_ARG_FILENAME)
			g_clear_pointer((char **)entry->arg_data, g_free);
		else if (entry->arg == G_OPTION_ARG_STRING_ARRAY || entry->arg == G_OPTION_ARG_FILENAME_ARRAY)
			g_clear_pointer((char ***)entry->arg_data, g_strfreev);
	}
}

/* ---- handing on ---- */

static void add_given(GPtrArray *words, const char *name, const char *value)
{
	if (value)
		g_ptr_array_add(words, g_strdup_printf("--%s=%s", name, value));
}

static void add_entry(GPtrArray *words, const GOptionEntry *entry)
{
	if (entry->arg == G_OPTION_ARG_NONE && *(const gboolean *)entry->arg_data)
		g_ptr_array_add(words, g_strconcat("--", entry->long_name, NULL));
	if (entry->arg == G_OPTION_ARG_STRING || entry->arg == G_OPTION_ARG_FILENAME)
		add_given(words, entry->long_name, *(char *const *)entry->arg_data);
	if (entry->arg == G_OPTION_ARG_INT && *(const gint *)entry->arg_data != 0) {
		g_autofree char *number = g_strdup_printf("%d", *(const gint *)entry->arg_data);
		add_given(words, entry->long_name, number);
	}
	if (entry->arg != G_OPTION_ARG_STRING_ARRAY && entry->arg != G_OPTION_ARG_FILENAME_ARRAY)
		return;
	for (char *const *value = *(char *const *const *)entry->arg_data; value && *value; value++)
		add_given(words, entry->long_name, *value);
}

char **dtc_command_line_get_given(const DtcCommandLine *line, const char *const *except)
{
	GPtrArray *words = g_ptr_array_new();

	for (guint i = 0; i < line->options->len; i++) {
		const GOptionEntry *entry = &g_array_index(line->options, struct line_option, i).entry;
		if (!g_strv_contains(except, entry->long_name))
			add_entry(words, entry);
	}
	g_ptr_array_add(words, NULL);
	return (char **)g_ptr_array_free(words, FALSE);
}
