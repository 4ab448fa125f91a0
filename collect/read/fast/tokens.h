/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TSDL's words, one by one; comments and white space are passed over. Linear, and nothing is copied. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum dtc_token {
	DTC_TOKEN_END,
	DTC_TOKEN_NAME,	  /* identifiers and keywords */
	DTC_TOKEN_NUMBER, /* value, is_negative not included: '-' is a sign of its own */
	DTC_TOKEN_TEXT,	  /* between quotes of either kind, escapes not resolved */
	DTC_TOKEN_DOTS,	  /* ... */
	DTC_TOKEN_ASSIGN, /* := */
	DTC_TOKEN_ARROW,  /* -> */
	DTC_TOKEN_SIGN,	  /* one character: text[0] */
	DTC_TOKEN_BROKEN, /* a text or comment without an end, an escape that is none, a number too large */
};

struct dtc_tokens {
	const char *begin, *at, *end;
	const char *done;     /* where the token before the current one ends */
	enum dtc_token token; /* the current one */
	const char *text;
	gsize bytes;
	uint64_t value;
};

void dtc_tokens_init(struct dtc_tokens *tokens, const char *text, gsize bytes);
void dtc_tokens_next(struct dtc_tokens *tokens);
/* Whether the current token is this name, or this sign. */
static inline bool dtc_tokens_is(const struct dtc_tokens *tokens, const char *word)
{
	return tokens->bytes == strlen(word) && (tokens->token == DTC_TOKEN_NAME || tokens->token == DTC_TOKEN_SIGN) &&
	       memcmp(tokens->text, word, tokens->bytes) == 0;
}

/* The same, and then goes on. */
static inline bool dtc_tokens_skip(struct dtc_tokens *tokens, const char *word)
{
	bool is_word = dtc_tokens_is(tokens, word);
	if (is_word)
		dtc_tokens_next(tokens);
	return is_word;
}

/* From 1. */
void dtc_tokens_locate(const struct dtc_tokens *tokens, guint *ret_line, guint *ret_column);
