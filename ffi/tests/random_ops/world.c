/* The world of a round: one or two shards, two registries with their lanes; made at random, given back at its end. */
#include "model.h"

#include <string.h>

struct world world;

static size_t between(size_t least, size_t most) {
    return least + below(most - least + 1);
}

static kvb_pool *make_pool(uint32_t shard, size_t blocks, size_t max_blocks) {
    kvb_pool_config config = {.struct_size = sizeof config,
                              .shard = shard,
                              .blocks = blocks,
                              .max_blocks = max_blocks,
                              .block_size = world.block_size,
                              .proof = world.proof,
                              .hash = one_in(2) ? KVB_HASH_XXH3 : KVB_HASH_SIP,
                              .hash_seed = draw()};
    kvb_pool *pool = NULL;
    expect(kvb_pool_create(&config, &pool, NULL), done(), NULL, "create a pool");
    return pool;
}

static void make_registry(size_t at) {
    struct registry *registry = &world.registries[at];
    registry->max = between(1, 12);
    size_t watermark = one_in(3) ? below(4) : 0;
    const kvb_pool *pools[SHARDS];
    for (size_t shard = 0; shard < world.shards; shard++) {
        pools[shard] = world.pools[shard].it;
        size_t blocks = world.pools[shard].limit;
        watermark = watermark < blocks ? watermark : blocks - 1;
    }
    registry->watermark = watermark;
    kvb_seqs_config config = {.struct_size = sizeof config, .max_sequences = registry->max, .watermark = watermark};
    config.positions = one_in(2) ? below(64) : 0;
    kvb_status status = at > 0 && one_in(2)
                            ? kvb_seqs_create_another(world.registries[0].it, &config, &registry->it, NULL)
                            : kvb_seqs_create(pools, world.shards, &config, &registry->it, NULL);
    expect(status, done(), NULL, "create a registry");
    status = kvb_step_create(registry->it, below(4), below(8), &registry->step);
    expect(status, done(), NULL, "create a step");
}

void begin_round(void) {
    memset(&world, 0, sizeof world);
    world.last_copy.ticket = UINT64_MAX;
    device_reset();
    world.shards = one_in(3) ? 2 : 1;
    world.block_size = between(1, BLOCK);
    world.proof = one_in(3) ? KVB_PROOF_DIGEST : KVB_PROOF_TOKENS;
    world.vocabulary = (uint32_t)between(1, 3);
    kvb_namespace_parts parts = {.struct_size = sizeof parts, .salt = (const unsigned char *)"salt", .salt_size = 4};
    expect(kvb_namespace_create(&parts, &world.spaces[1]), done(), NULL, "create a namespace");
    for (size_t shard = 0; shard < world.shards; shard++) {
        struct pool *pool = &world.pools[shard];
        pool->shard = (uint32_t)below(1000) * SHARDS + (uint32_t)shard;
        pool->max = between(4, BLOCKS);
        pool->limit = one_in(2) ? pool->max : between(4, pool->max);
        pool->there = pool->limit;
        pool->exact = true;
        pool->it = make_pool(pool->shard, pool->limit, pool->max);
        expect(kvb_worker_create(pool->it, &pool->worker, NULL), done(), NULL, "create a worker");
        for (size_t id = pool->limit; id < pool->max; id++) {
            pool->blocks[id].offline = true;
        }
    }
    for (size_t at = 0; at < REGISTRIES; at++) {
        make_registry(at);
    }
    for (size_t at = 0; at < REGISTRIES; at++) {
        kvb_status status = kvb_seqs_lanes_create(world.registries[at].it, &world.lanes[at].it);
        expect(status, done(), NULL, "create lanes");
    }
    for (size_t at = 0; at < REGISTRIES; at++) {
        expect(kvb_seqs_leases_create(world.registries[at].it, BLOCKS * 2, &world.leases[at]), done(), NULL, "leases");
    }
    tier_open();
    world.other_pool = make_pool(7777, 3, 3);
    const kvb_pool *pools[] = {world.other_pool};
    kvb_seqs_config config = {.struct_size = sizeof config, .max_sequences = 2};
    expect(kvb_seqs_create(pools, 1, &config, &world.other, NULL), done(), NULL, "create another registry");
    expect(kvb_pool_lanes_create(world.other_pool, &world.other_lanes), done(), NULL, "create other lanes");
    compare();
}

static void end_registry(size_t at) {
    struct registry *registry = &world.registries[at];
    struct lanes *lanes = &world.lanes[at];
    bool after = one_in(2);
    if (after) {
        kvb_status status = kvb_seqs_close_after(registry->it, world.other_lanes, 1, NULL);
        expect(status, plainly(KVB_ERR_WRONG_POOL), NULL, "close after a foreign fence");
        status = kvb_seqs_close_after(registry->it, lanes->it, device_now(at), NULL);
        expect(status, done(), NULL, "close after a fence");
    } else {
        device_run(at, device_now(at));
        kvb_seqs_destroy(registry->it);
    }
    kvb_step_destroy(registry->step);
}

/* All holders are gone: nothing may be held, promised or in quarantine. */
static void require_empty(const struct pool *pool) {
    kvb_pool_report report = {.struct_size = sizeof report};
    expect(kvb_pool_get_report(pool->it, &report), done(), NULL, "report");
    REQUIRE(report.held == 0 && report.quarantined == 0 && report.reserved == 0 && report.shared_references == 0 &&
                report.free + report.idle == report.capacity && report.available == report.capacity,
            "shard %u: something was not given back", pool->shard);
    REQUIRE(kvb_pool_evict(pool->it, pool->worker, SIZE_MAX, NULL, NULL) == KVB_OK, "evict");
    expect(kvb_pool_get_report(pool->it, &report), done(), NULL, "report");
    REQUIRE(report.idle == 0 && report.free == report.capacity, "shard %u: something can't be evicted", pool->shard);
}

void end_round(void) {
    compare_all();
    for (size_t at = 0; at < SEQUENCES; at++) {
        struct sequence *seq = &world.sequences[at];
        if (seq->alive && seq->registry == NOBODY) {
            kvb_detached_destroy(seq->detached);
        }
    }
    tier_close();
    /* In any order. */
    size_t first = below(REGISTRIES);
    for (size_t at = 0; at < REGISTRIES; at++) {
        end_registry((first + at) % REGISTRIES);
    }
    for (size_t at = 0; at < REGISTRIES; at++) {
        kvb_lanes_destroy(world.lanes[at].it);
        kvb_leases_destroy(world.leases[at]);
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        require_empty(&world.pools[shard]);
        kvb_worker_destroy(world.pools[shard].worker);
        kvb_pool_destroy(world.pools[shard].it);
    }
    kvb_lanes_destroy(world.other_lanes);
    kvb_seqs_destroy(world.other);
    kvb_pool_destroy(world.other_pool);
    kvb_namespace_destroy(world.spaces[1]);
}

struct sequence *some_sequence(void) {
    struct sequence *seq = some_sequence_of((int)below(REGISTRIES));
    for (int registry = 0; seq == NULL && registry < REGISTRIES; registry++) {
        seq = some_sequence_of(registry);
    }
    return seq;
}

struct sequence *some_sequence_of(int registry) {
    size_t from = below(SEQUENCES);
    for (size_t i = 0; i < SEQUENCES; i++) {
        struct sequence *seq = &world.sequences[(from + i) % SEQUENCES];
        if (seq->alive && seq->registry == registry) {
            return seq;
        }
    }
    return NULL;
}

struct sequence *some_detached(void) {
    for (size_t at = 0; at < SEQUENCES; at++) {
        if (world.sequences[at].alive && world.sequences[at].registry == NOBODY) {
            return &world.sequences[at];
        }
    }
    return NULL;
}

void buried(kvb_handle handle) {
    size_t places = sizeof world.dead / sizeof *world.dead;
    world.dead[world.dead_count++ % places] = handle;
}

kvb_handle stale_handle(int registry) {
    size_t places = sizeof world.dead / sizeof *world.dead;
    size_t count = world.dead_count < places ? world.dead_count : places;
    kvb_handle handle = {UINT64_MAX};
    if (count > 0 && !one_in(4)) {
        handle = world.dead[below(count)];
    } else if (one_in(3)) {
        handle.bits = draw();
    } else {
        /* Another registry's, or the right slot at another time. */
        const struct sequence *seq = some_sequence();
        if (seq != NULL) {
            handle.bits = seq->handle.bits + (seq->registry == registry) * (UINT64_C(1) << 24) * (1 + below(3));
        }
    }
    for (size_t at = 0; at < SEQUENCES; at++) {
        const struct sequence *seq = &world.sequences[at];
        if (seq->alive && seq->registry == registry && seq->handle.bits == handle.bits) {
            handle.bits = UINT64_MAX;
        }
    }
    return handle;
}
