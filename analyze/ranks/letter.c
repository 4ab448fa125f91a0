/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "analyze/ranks/letter.h"

#include "analyze/ranks/squeeze.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define SQUEEZE_BYTES_MIN 512

bool dtc_letter_open_pair(int ret_ends[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_ends) == 0;
}

static bool send_as_is(int end, const struct dtc_letter *letter, const void *data)
{
	struct iovec parts[] = { { (void *)letter, sizeof(*letter) }, { (void *)data, letter->bytes } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = letter->bytes ? 2 : 1 };
	ssize_t sent;

	g_assert(letter->bytes <= DTC_LETTER_DATA_MAX);
	do {
		sent = sendmsg(end, &message, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent >= 0;
}

bool dtc_letter_send(int end, const struct dtc_letter *letter, const void *data)
{
	struct dtc_letter sent = *letter;
	g_autofree char *squeezed = NULL;

	if (!letter->is_squeezed)
		return send_as_is(end, letter, data);
	squeezed = g_malloc(letter->bytes + 1);
	bool is_slow = letter->type == DTC_LETTER_ANSWERS;
	gsize bytes = letter->bytes >= SQUEEZE_BYTES_MIN ? dtc_squeeze(data, letter->bytes, is_slow, squeezed) : 0;
	sent.is_squeezed = bytes > 0;
	sent.unsqueezed = letter->bytes;
	sent.bytes = bytes ? (uint32_t)bytes : letter->bytes;
	return send_as_is(end, &sent, bytes ? squeezed : data);
}

bool dtc_letter_unsqueeze(struct dtc_parcel *parcel)
{
	struct dtc_letter *letter = &parcel->letter;

	if (!letter->is_squeezed)
		return true;
	if (letter->unsqueezed > DTC_LETTER_DATA_MAX)
		return false;
	g_autofree char *squeezed = g_memdup2(parcel->data, letter->bytes);
	gsize bytes = letter->bytes;
	letter->bytes = letter->unsqueezed;
	letter->is_squeezed = false;
	return dtc_unsqueeze(squeezed, bytes, parcel->data, letter->unsqueezed);
}

bool dtc_letter_send_message(int end, struct dtc_letter letter, const void *data, gsize bytes)
{
	letter.all = bytes;
	for (letter.at = 0; letter.at < bytes || bytes == 0; letter.at += letter.bytes) {
		letter.bytes = (uint32_t)MIN(bytes - letter.at, DTC_LETTER_DATA_MAX);
		if (!dtc_letter_send(end, &letter, (const char *)data + letter.at))
			return false;
		if (bytes == 0)
			break;
	}
	return true;
}

bool dtc_letter_send_variant(int end, struct dtc_letter letter, GVariant *value)
{
	g_autoptr(GVariant) owned = g_variant_ref_sink(value);

	return dtc_letter_send_message(end, letter, g_variant_get_data(owned), g_variant_get_size(owned));
}

bool dtc_letter_is_for_owner(const struct dtc_letter *letter)
{
	return letter->type <= DTC_LETTER_FETCH;
}

bool dtc_letter_is_about_help(const struct dtc_letter *letter)
{
	return letter->type >= DTC_LETTER_HELP && letter->type <= DTC_LETTER_MADE;
}

int dtc_letter_await(int end)
{
	struct dtc_letter letter;
	ssize_t bytes;

	do {
		bytes = recv(end, &letter, sizeof(letter), MSG_PEEK);
	} while (bytes < 0 && errno == EINTR);
	return bytes == (ssize_t)sizeof(letter) ? (int)letter.type : -1;
}

bool dtc_letter_receive(int end, struct dtc_parcel *ret_parcel)
{
	ssize_t bytes;

	do {
		bytes = recv(end, ret_parcel, sizeof(*ret_parcel), 0);
	} while (bytes < 0 && errno == EINTR);
	return bytes >= (ssize_t)sizeof(ret_parcel->letter) &&
	       (gsize)bytes == sizeof(ret_parcel->letter) + ret_parcel->letter.bytes;
}

struct DtcAssembly {
	GHashTable *begun; /* who sends what to whom, as get_key has it -> GByteArray */
};

static void unref_array(void *array)
{
	g_byte_array_unref(array);
}

DtcAssembly *dtc_assembly_new(void)
{
	DtcAssembly *assembly = g_new0(DtcAssembly, 1);

	assembly->begun = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, unref_array);
	return assembly;
}

void dtc_assembly_free(DtcAssembly *assembly)
{
	if (!assembly)
		return;
	g_hash_table_unref(assembly->begun);
	g_free(assembly);
}

static void *get_key(const struct dtc_letter *letter)
{
	return GSIZE_TO_POINTER((gsize)letter->asker << 33 | (gsize)letter->rank << 1 |
				(gsize)dtc_letter_is_about_help(letter));
}

GBytes *dtc_assembly_add(DtcAssembly *assembly, const struct dtc_parcel *parcel)
{
	const struct dtc_letter *letter = &parcel->letter;
	void *key = get_key(letter);

	if (letter->at == 0)
		g_hash_table_insert(assembly->begun, key, g_byte_array_new());
	GByteArray *array = g_hash_table_lookup(assembly->begun, key);
	if (!array || array->len != letter->at)
		return NULL; /* the rest of one whose begin was for somebody before */
	g_byte_array_append(array, (const guint8 *)parcel->data, letter->bytes);
	if (array->len < letter->all)
		return NULL;
	g_hash_table_steal(assembly->begun, key);
	return g_byte_array_free_to_bytes(array);
}

GVariant *dtc_letter_get_variant(GBytes *message, const char *type)
{
	GVariant *value = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(type), message, FALSE));

	if (g_variant_is_normal_form(value))
		return value;
	g_variant_unref(value);
	return NULL;
}
