/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/metadata_text.h"

#include "collect/read/fast/tokens.h"

#define SIGNATURE "/* CTF 1.8 */\n" /* by which readers know plain text */

/* What block a token is in: only the outermost one counts. */
enum block { BLOCK_OTHER, BLOCK_ENVIRONMENT, BLOCK_CLOCK };

struct text {
	const struct dtc_rewrite *rewrite;
	struct dtc_tokens tokens;
	GString *out;
	guint depth;
	enum block block;
	GString *key; /* before the '=' */
};

static bool is_own(const struct text *text)
{
	if (text->depth == 0 || text->block == BLOCK_OTHER)
		return false;
	return text->block == BLOCK_ENVIRONMENT || g_str_equal(text->key->str, "uuid") ||
	       g_str_equal(text->key->str, "description");
}

/* Quotes and escapes are of the language, and no part of what is written. */
static void put_quoted(GString *out, const char *text)
{
	g_string_append_c(out, '"');
	for (; *text; text++)
		if (*text != '"' && *text != '\\' && (guchar)*text >= 0x20)
			g_string_append_c(out, *text);
	g_string_append_c(out, '"');
}

static void put_token(struct text *text)
{
	const struct dtc_tokens *tokens = &text->tokens;
	if (tokens->token != DTC_TOKEN_TEXT) {
		g_string_append_len(text->out, tokens->text, (gssize)tokens->bytes);
		return;
	}
	if (!is_own(text)) { /* with its quotes */
		g_string_append_len(text->out, tokens->text - 1, (gssize)tokens->bytes + 2);
		return;
	}
	g_autofree char *value = g_strndup(tokens->text, tokens->bytes);
	g_autofree char *described = text->rewrite->describe(text->key->str, value, text->rewrite->data);
	put_quoted(text->out, described);
}

static void follow(struct text *text)
{
	const struct dtc_tokens *tokens = &text->tokens;
	if (tokens->token == DTC_TOKEN_NAME) {
		g_string_truncate(text->key, 0);
		g_string_append_len(text->key, tokens->text, (gssize)tokens->bytes);
		if (text->depth == 0)
			text->block = g_str_equal(text->key->str, "env")     ? BLOCK_ENVIRONMENT
				      : g_str_equal(text->key->str, "clock") ? BLOCK_CLOCK
									     : BLOCK_OTHER;
	} else if (dtc_tokens_is(tokens, "{")) {
		text->depth++;
	} else if (dtc_tokens_is(tokens, "}") && text->depth > 0) {
		text->depth--;
	}
}

/* What is between tokens, without comments; who searches the text for words expects them as they were. */
static void put_space(struct text *text)
{
	const struct dtc_tokens *tokens = &text->tokens;
	const char *end = tokens->token == DTC_TOKEN_TEXT ? tokens->text - 1 : tokens->text;
	for (const char *c = tokens->done; c && c < end; c++) {
		if (*c == '/' && end - c >= 2) {
			const char *close = c[1] == '*' ? g_strstr_len(c + 2, end - c - 2, "*/") : NULL;
			const char *line = c[1] == '/' ? memchr(c, '\n', (gsize)(end - c)) : NULL;
			g_string_append_c(text->out, ' ');
			c = close ? close + 1 : line ? line - 1 : end;
		} else {
			g_string_append_c(text->out, *c);
		}
	}
}

GString *dtc_metadata_text_rewrite(const GString *from, const struct dtc_rewrite *rewrite)
{
	struct text text = { .rewrite = rewrite, .out = g_string_new(SIGNATURE), .key = g_string_new(NULL) };
	dtc_tokens_init(&text.tokens, from->str, from->len);
	while (text.tokens.token != DTC_TOKEN_END && text.tokens.token != DTC_TOKEN_BROKEN) {
		put_space(&text);
		put_token(&text);
		follow(&text);
		dtc_tokens_next(&text.tokens);
	}
	g_string_append_c(text.out, '\n');
	g_string_free(text.key, TRUE);
	return text.out;
}
