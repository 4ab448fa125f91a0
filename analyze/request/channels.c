/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/channels.h"

/* What stands for streams has numbers behind those of files. */
#define FIRST_CHANNEL 0x80000000u

struct DtcChannels {
	GHashTable *by_channel; /* channel -> struct dtc_channel */
	GHashTable *streams;	/* file -> GHashTable: stream -> channel */
	uint32_t next_channel;
};

static void channel_free(gpointer data)
{
	struct dtc_channel *c = data;

	dtc_in_flight_free(c->in_flight);
	if (c->asked)
		g_array_unref(c->asked);
	g_free(c);
}

DtcChannels *dtc_channels_new(void)
{
	DtcChannels *channels = g_new(DtcChannels, 1);

	channels->by_channel = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, channel_free);
	channels->streams = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL,
						  (GDestroyNotify)(void (*)(void))g_hash_table_unref);
	channels->next_channel = FIRST_CHANNEL;
	return channels;
}

void dtc_channels_free(DtcChannels *channels)
{
	if (!channels)
		return;
	g_hash_table_unref(channels->by_channel);
	g_hash_table_unref(channels->streams);
	g_free(channels);
}

uint32_t dtc_channels_get_number(DtcChannels *channels, uint32_t file, uint32_t stream)
{
	GHashTable *streams = g_hash_table_lookup(channels->streams, GUINT_TO_POINTER(file));

	if (!stream)
		return file;
	if (!streams) {
		streams = g_hash_table_new(g_direct_hash, g_direct_equal);
		g_hash_table_insert(channels->streams, GUINT_TO_POINTER(file), streams);
	}
	uint32_t channel = GPOINTER_TO_UINT(g_hash_table_lookup(streams, GUINT_TO_POINTER(stream)));
	if (!channel) {
		channel = channels->next_channel++;
		g_hash_table_insert(streams, GUINT_TO_POINTER(stream), GUINT_TO_POINTER(channel));
	}
	return channel;
}

struct dtc_channel *dtc_channels_find(const DtcChannels *channels, uint32_t channel)
{
	return g_hash_table_lookup(channels->by_channel, GUINT_TO_POINTER(channel));
}

struct dtc_channel *dtc_channels_add(DtcChannels *channels, uint32_t channel)
{
	struct dtc_channel *c = g_new0(struct dtc_channel, 1);

	g_hash_table_insert(channels->by_channel, GUINT_TO_POINTER(channel), c);
	return c;
}

void dtc_channels_drop(DtcChannels *channels, uint32_t file, void (*tell)(gpointer data, uint32_t channel),
		       gpointer data)
{
	GHashTable *streams = g_hash_table_lookup(channels->streams, GUINT_TO_POINTER(file));
	GHashTableIter iter;
	gpointer channel;

	tell(data, file);
	g_hash_table_remove(channels->by_channel, GUINT_TO_POINTER(file));
	if (!streams)
		return;
	g_hash_table_iter_init(&iter, streams);
	while (g_hash_table_iter_next(&iter, NULL, &channel)) {
		tell(data, GPOINTER_TO_UINT(channel));
		g_hash_table_remove(channels->by_channel, channel);
	}
	g_hash_table_remove(channels->streams, GUINT_TO_POINTER(file));
}

static guint find_asked(const struct dtc_channel *c, guint request)
{
	guint i = 0, count = dtc_channel_count_asked(c);

	while (i < count && dtc_channel_get_asked(c, i) != request)
		i++;
	return i;
}

void dtc_channel_add_asked(struct dtc_channel *c, guint request)
{
	if (dtc_channel_has_asked(c, request))
		return;
	if (!c->asked)
		c->asked = g_array_new(FALSE, FALSE, sizeof(guint));
	g_array_append_val(c->asked, request);
}

void dtc_channel_end_asked(const struct dtc_channel *c, guint request)
{
	guint i = find_asked(c, request);

	if (i < dtc_channel_count_asked(c))
		g_array_remove_index(c->asked, i);
}

bool dtc_channel_has_asked(const struct dtc_channel *c, guint request)
{
	return find_asked(c, request) < dtc_channel_count_asked(c);
}

guint dtc_channel_count_asked(const struct dtc_channel *c)
{
	return c->asked ? c->asked->len : 0;
}

guint dtc_channel_get_asked(const struct dtc_channel *c, guint index)
{
	return g_array_index(c->asked, guint, index);
}

bool dtc_channel_is_mixed(const struct dtc_channel *c)
{
	return c->in_flight && dtc_in_flight_is_mixed(c->in_flight);
}

bool dtc_channel_is_shared(const struct dtc_channel *c)
{
	return dtc_channel_count_asked(c) > 1;
}
