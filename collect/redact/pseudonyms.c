/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include "collect/redact/pseudonyms.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES 32
#define ROUNDS 8
#define KEPT_WORDS (1u << 18)
#define KEPT_WORD_BYTES 64
#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define CAPITAL "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define FIGURES "0123456789"

enum word_kind {
	KIND_SMALL = 1,
	KIND_CAPITAL = 2,
	KIND_FIGURE = 4,
	KIND_HEX = 8, /* no letter behind f, and a figure, or so it is said */
	KIND_OTHER = 16,
};

struct DtcPseudonyms {
	uint8_t key[KEY_BYTES];
	GHmac *hmac;	   /* with the key, of nothing yet */
	GHashTable *known; /* word -> what it becomes, without a tweak */
};

DtcPseudonyms *dtc_pseudonyms_new(const void *key, gsize bytes)
{
	DtcPseudonyms *words = g_new0(DtcPseudonyms, 1);
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	gsize length = KEY_BYTES;

	g_checksum_update(sum, key, (gssize)bytes);
	g_checksum_get_digest(sum, words->key, &length);
	words->hmac = g_hmac_new(G_CHECKSUM_SHA256, words->key, KEY_BYTES);
	words->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return words;
}

DtcPseudonyms *dtc_pseudonyms_new_random(GError **error)
{
	uint8_t key[KEY_BYTES];
	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO,
			    "cannot draw a key: %s\ngive one with --redact-key FILE", g_strerror(errno));
		return NULL;
	}
	DtcPseudonyms *words = dtc_pseudonyms_new(key, sizeof(key));
	explicit_bzero(key, sizeof(key));
	return words;
}

static uint8_t *set_unreadable(const char *path, const char *reason, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
		    "cannot read the key '%s': %s\nmake one with: head -c 32 /dev/urandom >FILE", path, reason);
	return NULL;
}

/* Of a file that is open; what has no end, or makes its reader wait, is none. */
static uint8_t *read_key(int fd, const char *path, gsize *ret_count, GError **error)
{
	struct stat info;
	gsize done = 0;
	ssize_t got = 1;

	if (fstat(fd, &info) != 0)
		return set_unreadable(path, g_strerror(errno), error);
	if (!S_ISREG(info.st_mode))
		return set_unreadable(path, "it is no file", error);
	if (info.st_size < DTC_PSEUDONYMS_KEY_MIN || info.st_size > DTC_PSEUDONYMS_KEY_MAX) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "the key '%s' has %lld bytes, not %d to %d\n"
			    "make one with: head -c 32 /dev/urandom >FILE",
			    path, (long long)info.st_size, DTC_PSEUDONYMS_KEY_MIN, DTC_PSEUDONYMS_KEY_MAX);
		return NULL;
	}
	*ret_count = (gsize)info.st_size;
	uint8_t *bytes = g_malloc(*ret_count);
	for (; got > 0 && done < *ret_count; done += (gsize)MAX(got, 0))
		got = read(fd, bytes + done, *ret_count - done);
	if (done == *ret_count)
		return bytes;
	dtc_pseudonyms_free_key(bytes, *ret_count);
	return set_unreadable(path, got < 0 ? g_strerror(errno) : "it becomes shorter while it is read", error);
}

uint8_t *dtc_pseudonyms_read_key(const char *path, gsize *ret_count, GError **error)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return set_unreadable(path, g_strerror(errno), error);
	uint8_t *bytes = read_key(fd, path, ret_count, error);
	close(fd);
	return bytes;
}

void dtc_pseudonyms_free_key(uint8_t *bytes, gsize count)
{
	explicit_bzero(bytes, count);
	g_free(bytes);
}

DtcPseudonyms *dtc_pseudonyms_new_from_file(const char *path, GError **error)
{
	gsize count;
	uint8_t *bytes = dtc_pseudonyms_read_key(path, &count, error);
	if (!bytes)
		return NULL;
	DtcPseudonyms *words = dtc_pseudonyms_new(bytes, count);
	dtc_pseudonyms_free_key(bytes, count);
	return words;
}

void dtc_pseudonyms_free(DtcPseudonyms *words)
{
	if (!words)
		return;
	g_hmac_unref(words->hmac);
	g_hash_table_unref(words->known);
	explicit_bzero(words->key, sizeof(words->key));
	g_free(words);
}

/* ---- bytes that only the key tells ---- */

struct seed {
	char purpose;
	uint8_t kind;
	uint8_t round;
	uint8_t tweak;
	uint32_t count;
	uint32_t block;
};

static void derive(const DtcPseudonyms *words, const struct seed *seed, const void *data, gsize bytes, uint8_t *ret,
		   gsize count)
{
	struct seed at = *seed;
	uint32_t block = 0;
	at.count = GUINT32_TO_LE(seed->count); /* nodes of either order agree */
	for (gsize done = 0; done < count; block++) {
		uint8_t digest[KEY_BYTES];
		gsize length = sizeof(digest);
		at.block = GUINT32_TO_LE(block);
		GHmac *hmac = g_hmac_copy(words->hmac);
		g_hmac_update(hmac, (const guchar *)&at, sizeof(at));
		g_hmac_update(hmac, data, (gssize)bytes);
		g_hmac_get_digest(hmac, digest, &length);
		g_hmac_unref(hmac);
		gsize taken = MIN(count - done, sizeof(digest));
		memcpy(ret + done, digest, taken);
		done += taken;
	}
}

void dtc_pseudonyms_derive(const DtcPseudonyms *words, char purpose, const void *data, gsize bytes, uint8_t *ret,
			   gsize count)
{
	const struct seed seed = { .purpose = purpose, .count = (uint32_t)count };
	derive(words, &seed, data, bytes, ret, count);
}

/* ---- words ---- */

bool dtc_pseudonyms_is_letter(uint8_t byte)
{
	return g_ascii_isalnum(byte) || byte >= 0x80;
}

static uint8_t find_kind(const uint8_t *word, gsize count)
{
	uint8_t kind = 0;
	bool is_hex = true;
	for (gsize i = 0; i < count; i++) {
		uint8_t c = word[i];
		kind |= c >= 0x80	     ? KIND_OTHER
			: g_ascii_isdigit(c) ? KIND_FIGURE
			: g_ascii_islower(c) ? KIND_SMALL
					     : KIND_CAPITAL;
		is_hex = is_hex && g_ascii_isxdigit(c);
	}
	return is_hex && kind & KIND_FIGURE && kind != KIND_FIGURE ? kind | KIND_HEX : kind;
}

struct alphabet {
	char letters[64];
	uint8_t numbers[128];
	guint size;
};

static void add_letters(struct alphabet *alphabet, const char *letters, guint count)
{
	for (guint i = 0; i < count; i++) {
		alphabet->numbers[(uint8_t)letters[i]] = (uint8_t)alphabet->size;
		alphabet->letters[alphabet->size++] = letters[i];
	}
}

static void make_alphabet(uint8_t kind, struct alphabet *ret)
{
	guint letters = kind & KIND_HEX ? 6 : 26;
	ret->size = 0;
	if (kind & KIND_FIGURE)
		add_letters(ret, FIGURES, 10);
	if (kind & KIND_SMALL)
		add_letters(ret, SMALL, letters);
	if (kind & KIND_CAPITAL)
		add_letters(ret, CAPITAL, letters);
}

/* Adds to the numbers of one half what the other half and the key tell. */
static void add_half(const DtcPseudonyms *words, const struct seed *seed, guint size, uint8_t *to, gsize to_count,
		     const uint8_t *from, gsize from_count)
{
	g_autofree uint8_t *noise = g_malloc(to_count * 2);
	derive(words, seed, from, from_count, noise, to_count * 2);
	for (gsize i = 0; i < to_count; i++)
		to[i] = (uint8_t)((to[i] + (noise[2 * i] | (guint)noise[2 * i + 1] << 8)) % size);
}

static void permute(const DtcPseudonyms *words, uint8_t kind, guint tweak, const struct alphabet *alphabet,
		    uint8_t *word, gsize count)
{
	struct seed seed = { .purpose = 'w', .kind = kind, .tweak = (uint8_t)tweak, .count = (uint32_t)count };
	gsize left = count / 2, right = count - left;
	for (gsize i = 0; i < count; i++)
		word[i] = alphabet->numbers[word[i]];
	for (; seed.round < ROUNDS; seed.round++) {
		if (seed.round % 2 && left)
			add_half(words, &seed, alphabet->size, word, left, word + left, right);
		else if (seed.round % 2 == 0)
			add_half(words, &seed, alphabet->size, word + left, right, word, left);
	}
	for (gsize i = 0; i < count; i++)
		word[i] = (uint8_t)alphabet->letters[word[i]];
}

/* Of what is beyond ASCII: small letters, of which two words are the same by chance only. */
static void replace_other(const DtcPseudonyms *words, uint8_t *word, gsize count)
{
	g_autofree uint8_t *noise = g_malloc(count);
	dtc_pseudonyms_derive(words, 'o', word, count, noise, count);
	for (gsize i = 0; i < count; i++)
		word[i] = (uint8_t)SMALL[noise[i] % 26];
}

/* A permutation comes back to where it began, which is of that kind: so the walk ends. */
static void walk(const DtcPseudonyms *words, uint8_t kind, guint tweak, uint8_t *word, gsize count)
{
	struct alphabet alphabet;
	make_alphabet(kind, &alphabet);
	do
		permute(words, kind, tweak, &alphabet, word, count);
	while ((find_kind(word, count) | (kind & KIND_HEX)) != kind);
}

void dtc_pseudonyms_replace_word(DtcPseudonyms *words, uint8_t *word, gsize count, guint tweak)
{
	char key[KEPT_WORD_BYTES + 1];
	bool is_kept = !tweak && count <= KEPT_WORD_BYTES;

	if (is_kept) {
		memcpy(key, word, count);
		key[count] = 0;
		const char *known = g_hash_table_lookup(words->known, key);
		if (known) {
			memcpy(word, known, count);
			return;
		}
	}
	uint8_t kind = find_kind(word, count);
	if (kind & KIND_OTHER)
		replace_other(words, word, count);
	else if (kind)
		walk(words, kind, tweak, word, count);
	if (is_kept && g_hash_table_size(words->known) < KEPT_WORDS)
		g_hash_table_insert(words->known, g_strdup(key), g_strndup((const char *)word, count));
}

void dtc_pseudonyms_replace_hex(DtcPseudonyms *words, uint8_t *word, gsize count)
{
	uint8_t kind = find_kind(word, count);
	for (gsize i = 0; i < count; i++)
		if (!g_ascii_isxdigit(word[i])) {
			dtc_pseudonyms_replace_text(words, word, count, 0);
			return;
		}
	if (kind == KIND_SMALL || kind == KIND_CAPITAL || kind == (KIND_SMALL | KIND_CAPITAL))
		walk(words, kind | KIND_HEX, 0, word, count);
	else
		dtc_pseudonyms_replace_word(words, word, count, 0);
}

void dtc_pseudonyms_replace_text(DtcPseudonyms *words, uint8_t *text, gsize count, guint tweak)
{
	for (gsize at = 0; at < count;) {
		gsize end = at;
		while (end < count && dtc_pseudonyms_is_letter(text[end]))
			end++;
		if (end > at)
			dtc_pseudonyms_replace_word(words, text + at, end - at, tweak);
		at = end + 1;
	}
}
