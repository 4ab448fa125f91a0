/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/tokens.h"

/* What a character can be part of: a look at a table for each of them is what parsing costs. */
enum { IS_SPACE = 1, IS_NAME = 2 };

static const uint8_t classes[256] = {
	['\t'] = IS_SPACE,	 ['\n'] = IS_SPACE,	  ['\f'] = IS_SPACE, ['\r'] = IS_SPACE,	      [' '] = IS_SPACE,
	['0' ... '9'] = IS_NAME, ['A' ... 'Z'] = IS_NAME, ['_'] = IS_NAME,   ['a' ... 'z'] = IS_NAME,
};

static bool is_name(char c)
{
	return classes[(uint8_t)c] & IS_NAME;
}

/* To the next token's first character; false in a comment without an end. */
static bool skip_space(struct dtc_tokens *tokens)
{
	for (;;) {
		while (tokens->at < tokens->end && classes[(uint8_t)*tokens->at] & IS_SPACE)
			tokens->at++;
		gsize left = (gsize)(tokens->end - tokens->at);
		if (left < 2 || *tokens->at != '/')
			break;
		if (tokens->at[1] == '*') {
			const char *close = g_strstr_len(tokens->at + 2, (gssize)left - 2, "*/");
			tokens->at = close ? close + 2 : tokens->end;
			if (!close)
				return false;
		} else if (tokens->at[1] == '/') {
			const char *line = memchr(tokens->at, '\n', left);
			tokens->at = line ? line : tokens->end;
		} else {
			break;
		}
	}
	return true;
}

static enum dtc_token take_text(struct dtc_tokens *tokens)
{
	char quote = *tokens->at;
	const char *c = tokens->at + 1;
	bool is_sound = true;
	while (c < tokens->end && *c != quote && *c != '\n' && *c != 0) {
		bool is_escape = *c == '\\' && c + 1 < tokens->end;
		is_sound = is_sound && (!is_escape || (c[1] && strchr("abfnrtv\\'\"?01234567x", c[1])));
		c += is_escape ? 2 : 1;
	}
	tokens->text = tokens->at + 1;
	tokens->bytes = (gsize)(c - tokens->text);
	tokens->at = MIN(c + 1, tokens->end);
	return is_sound && c < tokens->end && *c == quote ? DTC_TOKEN_TEXT : DTC_TOKEN_BROKEN;
}

/* C's decimal, octal and hexadecimal numbers with their suffixes. */
static enum dtc_token take_number(struct dtc_tokens *tokens)
{
	const char *c = tokens->at;
	guint base = 10;
	uint64_t value = 0;
	if (*c == '0' && c + 1 < tokens->end && (c[1] == 'x' || c[1] == 'X')) {
		base = 16;
		c += 2;
	} else if (*c == '0' && c + 1 < tokens->end && (c[1] == 'b' || c[1] == 'B')) {
		base = 2;
		c += 2;
	} else if (*c == '0') {
		base = 8;
	}
	const char *first = c;
	bool fits = true;
	for (; c < tokens->end && g_ascii_isxdigit(*c); c++) {
		guint digit = (guint)g_ascii_xdigit_value(*c);
		if (digit >= base)
			break;
		fits = fits && value <= (UINT64_MAX - digit) / base;
		value = value * base + digit;
	}
	fits = fits && c > first;
	while (c < tokens->end && strchr("uUlL", *c) && *c)
		c++;
	tokens->bytes = (gsize)(c - tokens->at);
	tokens->at = c;
	tokens->value = value;
	return fits && (c == tokens->end || !is_name(*c)) ? DTC_TOKEN_NUMBER : DTC_TOKEN_BROKEN;
}

static enum dtc_token take_name(struct dtc_tokens *tokens)
{
	while (tokens->at < tokens->end && is_name(*tokens->at))
		tokens->at++;
	tokens->bytes = (gsize)(tokens->at - tokens->text);
	return DTC_TOKEN_NAME;
}

static enum dtc_token take_sign(struct dtc_tokens *tokens)
{
	static const struct {
		const char *text;
		enum dtc_token token;
	} longer[] = { { "...", DTC_TOKEN_DOTS }, { ":=", DTC_TOKEN_ASSIGN }, { "->", DTC_TOKEN_ARROW } };
	bool is_longer = *tokens->at == '.' || *tokens->at == ':' || *tokens->at == '-';
	for (gsize i = 0; is_longer && i < G_N_ELEMENTS(longer); i++) {
		gsize bytes = strlen(longer[i].text);
		if ((gsize)(tokens->end - tokens->at) < bytes || memcmp(tokens->at, longer[i].text, bytes) != 0)
			continue;
		tokens->at += bytes;
		tokens->bytes = bytes;
		return longer[i].token;
	}
	tokens->at++;
	tokens->bytes = 1;
	return DTC_TOKEN_SIGN;
}

void dtc_tokens_next(struct dtc_tokens *tokens)
{
	tokens->done = tokens->at;
	bool is_sound = skip_space(tokens);
	tokens->text = tokens->at;
	tokens->bytes = 0;
	if (!is_sound)
		tokens->token = DTC_TOKEN_BROKEN;
	else if (tokens->at == tokens->end)
		tokens->token = DTC_TOKEN_END;
	else if (*tokens->at == '"' || *tokens->at == '\'')
		tokens->token = take_text(tokens);
	else if (g_ascii_isdigit(*tokens->at))
		tokens->token = take_number(tokens);
	else if (is_name(*tokens->at))
		tokens->token = take_name(tokens);
	else
		tokens->token = take_sign(tokens);
}

void dtc_tokens_init(struct dtc_tokens *tokens, const char *text, gsize bytes)
{
	*tokens = (struct dtc_tokens){ .begin = text, .at = text, .end = text + bytes };
	dtc_tokens_next(tokens);
}

void dtc_tokens_locate(const struct dtc_tokens *tokens, guint *ret_line, guint *ret_column)
{
	const char *line = tokens->begin;
	*ret_line = 1;
	for (const char *c = tokens->begin; c < tokens->text; c++) {
		if (*c != '\n')
			continue;
		++*ret_line;
		line = c + 1;
	}
	*ret_column = (guint)(tokens->text - line) + 1;
}
