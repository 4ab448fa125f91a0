/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/arena.h"

#include <string.h>

#define BLOCK_BYTES ((gsize)64 << 10)
#define ALIGNMENT 16

struct block {
	struct block *next;
	gsize used, bytes;
	_Alignas(ALIGNMENT) char data[];
};

struct DtcArena {
	struct block *blocks; /* the first one is filled */
	gsize max_bytes, left;
	bool is_full;
};

DtcArena *dtc_arena_new(gsize max_bytes)
{
	DtcArena *arena = g_new0(DtcArena, 1);
	arena->max_bytes = arena->left = max_bytes;
	return arena;
}

static void free_blocks(struct block *block)
{
	while (block) {
		struct block *next = block->next;
		g_free(block);
		block = next;
	}
}

void dtc_arena_free(DtcArena *arena)
{
	if (!arena)
		return;
	free_blocks(arena->blocks);
	g_free(arena);
}

void dtc_arena_clear(DtcArena *arena)
{
	struct block *kept = arena->blocks;
	if (kept && kept->bytes > BLOCK_BYTES) {
		free_blocks(kept);
		arena->blocks = kept = NULL;
	}
	if (kept) {
		free_blocks(kept->next);
		kept->next = NULL;
		memset(kept->data, 0, kept->used);
		kept->used = 0;
	}
	arena->left = arena->max_bytes;
	arena->is_full = false;
}

static struct block *add_block(DtcArena *arena, gsize bytes)
{
	gsize room = MAX(bytes, MIN(BLOCK_BYTES, arena->left));
	struct block *block = g_malloc0(sizeof(*block) + room);
	block->bytes = room;
	/* a large piece leaves the block before it in use */
	if (arena->blocks && bytes > BLOCK_BYTES / 4) {
		block->next = arena->blocks->next;
		arena->blocks->next = block;
	} else {
		block->next = arena->blocks;
		arena->blocks = block;
	}
	return block;
}

void *dtc_arena_take(DtcArena *arena, gsize bytes)
{
	if (bytes > arena->left) {
		arena->is_full = true;
		return NULL;
	}
	bytes = (bytes + ALIGNMENT - 1) & ~(gsize)(ALIGNMENT - 1);
	struct block *block = arena->blocks;
	if (!block || block->bytes - block->used < bytes)
		block = add_block(arena, bytes);
	void *piece = block->data + block->used;
	block->used += bytes;
	arena->left -= MIN(arena->left, bytes);
	return piece;
}

void *dtc_arena_take_array(DtcArena *arena, gsize count, gsize bytes)
{
	if (count > 0 && bytes > arena->left / count) {
		arena->is_full = true;
		return NULL;
	}
	return dtc_arena_take(arena, count * bytes);
}

char *dtc_arena_take_text(DtcArena *arena, const char *text, gsize bytes)
{
	char *copy = bytes < arena->left ? dtc_arena_take(arena, bytes + 1) : NULL;
	if (copy)
		memcpy(copy, text, bytes);
	else
		arena->is_full = true;
	return copy;
}

bool dtc_arena_is_full(const DtcArena *arena)
{
	return arena->is_full;
}

gsize dtc_arena_get_used(const DtcArena *arena)
{
	return arena->max_bytes - arena->left;
}
