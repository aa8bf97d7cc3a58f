/* The blocks of one shard: who refers to them, and what they were published as. */
#include "model.h"

#include <string.h>

size_t available(const struct pool *pool) {
    REQUIRE(pool->there >= pool->reserved, "shard %u: %zu blocks are promised of %zu", pool->shard, pool->reserved,
            pool->there);
    return pool->there - pool->reserved;
}

size_t quarantined(const struct pool *pool, size_t limit) {
    size_t count = 0;
    for (size_t id = 0; id < limit; id++) {
        const struct block *block = &pool->blocks[id];
        count += block->refs > 0 && block->refs == block->fences;
    }
    return count;
}

bool is_alone(const struct pool *pool, uint32_t id) {
    return pool->blocks[id].refs == 1 && !pool->blocks[id].published;
}

int find_child(const struct pool *pool, int parent, int space, const uint32_t *tokens) {
    size_t bytes = world.block_size * sizeof *tokens;
    for (size_t id = 0; id < pool->max; id++) {
        const struct block *block = &pool->blocks[id];
        if (block->published && !block->cut && block->parent == parent && block->space == space &&
            memcmp(block->tokens, tokens, bytes) == 0) {
            return (int)id;
        }
    }
    return NOBODY;
}

void hold(struct pool *pool, uint32_t id) {
    REQUIRE(pool->blocks[id].refs > 0, "block %u is held by nobody and is to be held again", id);
    pool->blocks[id].refs++;
}

void unpublish(struct pool *pool, uint32_t id) {
    struct block *block = &pool->blocks[id];
    REQUIRE(block->published && block->refs == 0 && block->children == 0, "block %u is no idle leaf", id);
    if (block->parent != NOBODY) {
        pool->blocks[block->parent].children--;
    }
    block->published = false;
    block->cut = false;
}

void let_go(struct pool *pool, uint32_t id) {
    struct block *block = &pool->blocks[id];
    REQUIRE(block->refs > 0, "block %u is given back once too often", id);
    if (--block->refs > 0) {
        return;
    }
    pool->there++;
    if (block->published && block->cut && block->children == 0) {
        unpublish(pool, id);
    }
}

/* Blocks that are free for sure. */
static size_t surely_free(const struct pool *pool) {
    size_t count = 0;
    for (size_t id = 0; id < pool->limit; id++) {
        const struct block *block = &pool->blocks[id];
        count += block->refs == 0 && !block->published;
    }
    return count;
}

void take(struct pool *pool, uint32_t id) {
    REQUIRE(id < pool->max, "shard %u: block %u was taken of %zu", pool->shard, id, pool->max);
    struct block *block = &pool->blocks[id];
    REQUIRE(block->refs == 0, "shard %u: block %u was taken and is held", pool->shard, id);
    REQUIRE(!block->offline, "shard %u: block %u was taken and is offline", pool->shard, id);
    REQUIRE(id < pool->limit || !pool->exact, "shard %u: block %u was taken above %zu", pool->shard, id, pool->limit);
    if (block->published) {
        REQUIRE(surely_free(pool) == 0, "shard %u: block %u was reclaimed while others were free", pool->shard, id);
        REQUIRE(block->children == 0, "shard %u: block %u was reclaimed before what is below it", pool->shard, id);
        unpublish(pool, id);
        saw("a block reclaimed");
    }
    block->refs = 1;
    REQUIRE(pool->there > 0, "shard %u: a block was taken where none is", pool->shard);
    pool->there--;
}

void hit(struct pool *pool, uint32_t id) {
    if (pool->blocks[id].refs++ == 0) {
        pool->there--;
    }
}

void store(struct pool *pool, uint32_t id, int parent, int space, const uint32_t *tokens) {
    struct block *block = &pool->blocks[id];
    block->published = true;
    block->cut = false;
    block->parent = parent;
    block->space = space;
    memcpy(block->tokens, tokens, world.block_size * sizeof *tokens);
    if (parent != NOBODY) {
        pool->blocks[parent].children++;
    }
    pool->stored++;
}

size_t idle(const struct pool *pool) {
    size_t count = 0;
    for (size_t id = 0; id < pool->max; id++) {
        count += pool->blocks[id].refs == 0 && pool->blocks[id].published;
    }
    return count;
}

size_t idle_cut(const struct pool *pool) {
    size_t count = 0;
    for (size_t id = 0; id < pool->max; id++) {
        const struct block *block = &pool->blocks[id];
        count += block->refs == 0 && block->published && block->cut;
    }
    return count;
}

/* Cuts what is below cut ones. */
static void cut_below(struct pool *pool) {
    bool more = true;
    while (more) {
        more = false;
        for (size_t id = 0; id < pool->max; id++) {
            struct block *block = &pool->blocks[id];
            if (block->published && !block->cut && block->parent != NOBODY && pool->blocks[block->parent].cut) {
                block->cut = true;
                more = true;
            }
        }
    }
}

size_t free_cut(struct pool *pool) {
    size_t freed = 0;
    bool more = true;
    while (more) {
        more = false;
        for (size_t id = 0; id < pool->max; id++) {
            struct block *block = &pool->blocks[id];
            if (block->published && block->cut && block->refs == 0 && block->children == 0) {
                unpublish(pool, (uint32_t)id);
                freed++;
                more = true;
            }
        }
    }
    return freed;
}

void cut_space(struct pool *pool, int space) {
    for (size_t id = 0; id < pool->max; id++) {
        struct block *block = &pool->blocks[id];
        block->cut |= block->published && (space == NOBODY || block->space == space);
    }
    cut_below(pool);
}

void cut_above(struct pool *pool, size_t limit) {
    for (size_t id = limit; id < pool->max; id++) {
        pool->blocks[id].cut |= pool->blocks[id].published;
    }
    cut_below(pool);
}
