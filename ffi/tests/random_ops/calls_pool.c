/* Calls to a pool itself: what is kept of it, and how large it is. */
#include "model.h"

/* Which idle blocks an eviction took shows who can still be found. */
static size_t learn_evicted(size_t shard) {
    struct pool *pool = &world.pools[shard];
    size_t evicted = 0;
    bool more = true;
    while (more) {
        more = false;
        for (size_t id = 0; id < pool->max; id++) {
            const struct block *block = &pool->blocks[id];
            if (block->refs > 0 || !block->published || block->cut || block->children > 0) {
                continue;
            }
            uint32_t tokens[POSITIONS];
            size_t depth = 0;
            for (int at = (int)id; at != NOBODY; at = pool->blocks[at].parent) {
                depth++;
            }
            size_t place = depth;
            for (int at = (int)id; at != NOBODY; at = pool->blocks[at].parent) {
                place--;
                for (size_t i = 0; i < world.block_size; i++) {
                    tokens[place * world.block_size + i] = pool->blocks[at].tokens[i];
                }
            }
            size_t positions = depth * world.block_size;
            if (findable(shard, block->space, tokens, positions) < positions) {
                unpublish(pool, (uint32_t)id);
                evicted++;
                more = true;
            }
        }
    }
    return evicted;
}

static void evict(size_t shard) {
    struct pool *pool = &world.pools[shard];
    kvb_error error = {.struct_size = sizeof error};
    size_t n = below(6), evicted = SIZE_MAX, want = idle(pool), left = available(pool);
    want = n < want ? n : want;
    want = want < left ? want : left;
    bool hidden = idle_cut(pool) > 0;
    expect(kvb_pool_evict(pool->it, pool->worker, n, &evicted, &error), done(), NULL, "evict");
    size_t learned = learn_evicted(shard);
    world.unsure |= hidden && evicted > 0;
    REQUIRE(!pool->exact || (evicted == want && (hidden || learned == want)),
            "%zu blocks were evicted and %zu are gone, instead of %zu", evicted, learned, want);
    if (learned > 0) {
        saw("blocks evicted");
    }
}

static void clear(size_t shard) {
    struct pool *pool = &world.pools[shard];
    int space = one_in(3) ? NOBODY : (int)below(SPACES);
    size_t freed = SIZE_MAX, want = 0;
    kvb_error error = {.struct_size = sizeof error};
    kvb_status status = space == NOBODY ? kvb_pool_clear_all(pool->it, pool->worker, &freed, &error)
                                        : kvb_pool_clear(pool->it, pool->worker, world.spaces[space], &freed, &error);
    expect(status, done(), NULL, "clear");
    cut_space(pool, space);
    /* Where everything is promised it stays until somebody needs it. */
    if (available(pool) > 0) {
        want = free_cut(pool);
    }
    REQUIRE(freed == want, "%zu blocks were freed instead of %zu", freed, want);
    saw("a namespace cleared");
}

void call_pool(void) {
    size_t shard = below(world.shards);
    struct pool *pool = &world.pools[shard];
    kvb_error error = {.struct_size = sizeof error};
    switch (below(5)) {
    case 0:
    case 1:
        evict(shard);
        break;
    case 2:
        clear(shard);
        break;
    case 3:
        expect(kvb_pool_maintain(pool->it, pool->worker, below(8), NULL, &error), done(), NULL, "maintain");
        break;
    default: {
        size_t evicted = 3;
        kvb_status status = kvb_pool_evict(world.other_pool, pool->worker, 1, &evicted, &error);
        expect(status, plainly(KVB_ERR_WRONG_POOL), &error, "evict with a foreign worker");
        REQUIRE(evicted == 3, "a refused call wrote a result");
        break;
    }
    }
}

static void grow(struct pool *pool) {
    size_t n = below(pool->max - pool->limit + 2);
    kvb_resized resized = {0, 0, 0};
    kvb_error error = {.struct_size = sizeof error};
    struct answer answer = done();
    if (pool->limit + n > pool->max) {
        answer = refused(KVB_ERR_BEYOND_MAX, NO_SHARD, pool->limit + n, 0, pool->max);
    }
    expect(kvb_pool_grow(pool->it, n, &resized, &error), answer, &error, "grow");
    if (answer.status != KVB_OK) {
        return;
    }
    REQUIRE(resized.blocks + resized.taken_back == n, "%zu blocks and %zu instead of %zu", resized.blocks,
            resized.taken_back, n);
    pool->limit += n;
    for (size_t id = 0; id < pool->limit; id++) {
        pool->blocks[id].offline = false;
    }
    pool->there += resized.blocks;
    saw("grown");
}

static void shrink(struct pool *pool) {
    size_t n = one_in(8) ? pool->limit : below(pool->limit / 2 + 1), needed = 0, left = available(pool);
    kvb_resized resized = {0, 0, 0};
    kvb_error error = {.struct_size = sizeof error};
    struct answer answer = done();
    for (size_t id = pool->limit - n; id < pool->limit; id++) {
        needed += pool->blocks[id].refs == 0;
    }
    if (n >= pool->limit) {
        answer = refused(KVB_ERR_NOTHING_LEFT, NO_SHARD, n, pool->limit, 0);
    } else if (needed > left) {
        answer = refused(KVB_ERR_SHORTFALL, (size_t)(pool - world.pools), needed, left, 0);
    }
    kvb_status status = kvb_pool_shrink(pool->it, pool->worker, n, &resized, &error);
    if (pool->exact || answer.status == KVB_ERR_NOTHING_LEFT) {
        expect(status, answer, &error, "shrink");
    } else {
        /* What drains may have gone or not. */
        REQUIRE(status == KVB_OK || status == KVB_ERR_SHORTFALL, "shrink: %s", kvb_status_name(status));
    }
    if (status != KVB_OK) {
        saw("a shrink refused");
        return;
    }
    pool->limit -= n;
    cut_above(pool, pool->limit);
    free_cut(pool);
    /* Where everything is promised, some of it stays until somebody needs it. */
    world.unsure |= idle_now(pool) != idle(pool);
    for (size_t id = pool->limit; pool->exact && id < pool->max; id++) {
        struct block *block = &pool->blocks[id];
        block->offline |= block->refs == 0 && !block->published;
    }
    pool->exact = false;
    saw("shrunk");
}

void call_resize(void) {
    struct pool *pool = &world.pools[below(world.shards)];
    if (one_in(2)) {
        grow(pool);
    } else {
        shrink(pool);
    }
}
