/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* memfd_create */
#include "analyze/ranks/losses.h"

#include <sys/mman.h>
#include <unistd.h>

#define BUNDLES 2 /* `compare` has two */

struct loss {
	bool is_lost;
	char why[255];
};

struct shared {
	guint rank_count;
	guint generation;
	struct loss losses[];
};

struct DtcLosses {
	struct shared *shared;
	int owners[BUNDLES]; /* files, each empty or a variant */
};

DtcLosses *dtc_losses_new(guint rank_count)
{
	gsize bytes = sizeof(struct shared) + rank_count * sizeof(struct loss);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	DtcLosses *losses = g_new0(DtcLosses, 1);
	losses->shared = memory;
	losses->shared->rank_count = rank_count;
	for (guint i = 0; i < BUNDLES; i++)
		losses->owners[i] = memfd_create("owners", MFD_CLOEXEC);
	return losses;
}

guint dtc_losses_get_rank_count(const DtcLosses *losses)
{
	return losses->shared->rank_count;
}

const char *dtc_losses_get(const DtcLosses *losses, guint rank)
{
	const struct loss *loss = &losses->shared->losses[rank];

	return loss->is_lost ? loss->why : NULL;
}

void dtc_losses_set(DtcLosses *losses, guint rank, const char *why)
{
	struct loss *loss = &losses->shared->losses[rank];

	if (loss->is_lost)
		return;
	g_strlcpy(loss->why, why, sizeof(loss->why));
	loss->is_lost = true;
}

guint dtc_losses_get_generation(const DtcLosses *losses)
{
	return losses->shared->generation;
}

void dtc_losses_begin_again(DtcLosses *losses)
{
	losses->shared->generation++;
}

void dtc_losses_set_generation(DtcLosses *losses, guint generation)
{
	losses->shared->generation = generation;
}

GVariant *dtc_losses_get_owners(const DtcLosses *losses, guint bundle)
{
	off_t bytes = bundle < BUNDLES ? lseek(losses->owners[bundle], 0, SEEK_END) : 0;

	if (bytes <= 0)
		return NULL;
	g_autofree char *data = g_malloc((gsize)bytes);
	if (pread(losses->owners[bundle], data, (gsize)bytes, 0) != bytes)
		return NULL;
	g_autoptr(GBytes) copy = g_bytes_new_take(g_steal_pointer(&data), (gsize)bytes);
	return g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE("a(ayu)"), copy, FALSE));
}

void dtc_losses_set_owners(DtcLosses *losses, guint bundle, GVariant *owners)
{
	gsize bytes = g_variant_get_size(owners);

	if (bundle >= BUNDLES || ftruncate(losses->owners[bundle], 0) != 0)
		return;
	/* half of it would be none: then nodes of the lost are given to others, or are not there */
	if (pwrite(losses->owners[bundle], g_variant_get_data(owners), bytes, 0) != (ssize_t)bytes &&
	    ftruncate(losses->owners[bundle], 0) != 0)
		return;
}
