/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Other words of the same length for words, made with a key: equal words become equal ones, different words different
 * ones, so that what was told apart still is. Each word is permuted among all words of its kind (a Feistel network over
 * HMAC-SHA256, walked on until the kind is the same again), and not cut from a hash: ids of four figures would meet by
 * chance in a hundred requests. Whoever has the key can turn words back; a key that was drawn here is kept nowhere.
 *
 * The kind of a word is what letters and figures it has: small, capital, figures, hexadecimal with figures. So what
 * looked like a number, a hash or an id does so afterwards, which is how URLs are folded.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_PSEUDONYMS_KEY_MIN 16 /* bytes of a file with a key */
#define DTC_PSEUDONYMS_KEY_MAX 65536

typedef struct DtcPseudonyms DtcPseudonyms;

/* With a key from the kernel's random numbers. Caller owns; not for two threads at once. */
DtcPseudonyms *dtc_pseudonyms_new_random(GError **error);
/* The bytes of a file with a key; free with dtc_pseudonyms_free_key, which overwrites them. NULL with an error. */
uint8_t *dtc_pseudonyms_read_key(const char *path, gsize *ret_count, GError **error);
void dtc_pseudonyms_free_key(uint8_t *bytes, gsize count);
/* With a key made of all bytes of a file. */
DtcPseudonyms *dtc_pseudonyms_new_from_file(const char *path, GError **error);
DtcPseudonyms *dtc_pseudonyms_new(const void *key, gsize bytes);
/* Overwrites the key. NULL is allowed. */
void dtc_pseudonyms_free(DtcPseudonyms *words);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPseudonyms, dtc_pseudonyms_free)

/* Bytes that depend on the key, a purpose and data. */
void dtc_pseudonyms_derive(const DtcPseudonyms *words, char purpose, const void *data, gsize bytes, uint8_t *ret,
			   gsize count);
/* A word (letters, figures, bytes from 0x80 on) in its place. tweak: another permutation for each. */
void dtc_pseudonyms_replace_word(DtcPseudonyms *words, uint8_t *word, gsize count, guint tweak);
/* The same of hexadecimal figures, which they stay, also where none is a figure. Anything else is a text. */
void dtc_pseudonyms_replace_hex(DtcPseudonyms *words, uint8_t *word, gsize count);
/* Each word of a text in its place; what is between words stays. */
void dtc_pseudonyms_replace_text(DtcPseudonyms *words, uint8_t *text, gsize count, guint tweak);
/* What is a word's. */
bool dtc_pseudonyms_is_letter(uint8_t byte);
