/*
 * A second tier: host memory, a pool for each shard, a registry for one sequence beside one that stays. Each swap is
 * done within one call: out, and in again behind it, with everything that may be refused or called off on the way.
 *
 * What a tier finds of earlier swaps is asked, not modelled; its bytes are: each position has the digest of its text.
 */
#include "tier.h"

#include <string.h>

struct tier tier;

static uint64_t host[SHARDS][BLOCKS][BLOCK];

uint64_t tier_read(size_t shard, uint32_t block, size_t offset) {
    return host[shard][block][offset];
}

static uint64_t address(uint32_t memory, size_t shard) {
    return (uint64_t)(uintptr_t)(memory == DEVICE ? device_memory(shard, 0) : host[shard][0]);
}

static void make_plans(size_t shard) {
    kvb_layout *layouts[MEMORIES];
    const size_t bytes = sizeof host[0][0];
    for (uint32_t memory = 0; memory < MEMORIES; memory++) {
        const kvb_plane plane = {address(memory, shard), bytes, bytes};
        kvb_status status = kvb_layout_create_tiled(&plane, NULL, 1, BLOCKS, (uint32_t)shard * MEMORIES + memory,
                                                    &layouts[memory], NULL);
        expect(status, done(), NULL, "create a layout");
        status = kvb_fences_track(tier.fences, (uint32_t)shard * MEMORIES + memory, BLOCKS, NULL);
        expect(status, done(), NULL, "track a memory");
    }
    for (uint32_t from = 0; from < MEMORIES; from++) {
        kvb_copy_route *route = NULL;
        expect(kvb_copy_route_create(layouts[from], layouts[1 - from], &route, NULL), done(), NULL, "create a route");
        expect(kvb_copy_plan_create(route, 0, &tier.plans[shard][from], NULL), done(), NULL, "create a plan");
        kvb_copy_route_destroy(route);
    }
    kvb_layout_destroy(layouts[DEVICE]);
    kvb_layout_destroy(layouts[HOST]);
}

void tier_open(void) {
    memset(&tier, 0, sizeof tier);
    memset(host, 0, sizeof host);
    const kvb_pool *pools[SHARDS];
    size_t least = SIZE_MAX;
    expect(kvb_fences_create(&tier.fences), done(), NULL, "create fences");
    expect(kvb_fences_add_timeline(tier.fences, &tier.copies, NULL), done(), NULL, "add a timeline");
    expect(kvb_fences_add_timeline(tier.fences, &tier.others, NULL), done(), NULL, "add a timeline");
    for (size_t shard = 0; shard < world.shards; shard++) {
        tier.names[shard] = 5000 + (uint32_t)shard;
        tier.blocks[shard] = 2 + below(one_in(2) ? BLOCKS - 2 : 12);
        least = tier.blocks[shard] < least ? tier.blocks[shard] : least;
        kvb_pool_config config = {.struct_size = sizeof config,
                                  .shard = tier.names[shard],
                                  .blocks = tier.blocks[shard],
                                  .block_size = world.block_size,
                                  .proof = world.proof};
        expect(kvb_pool_create(&config, &tier.pools[shard], NULL), done(), NULL, "create a pool of the tier");
        pools[shard] = tier.pools[shard];
        make_plans(shard);
    }
    kvb_seqs_config config = {.struct_size = sizeof config, .max_sequences = 2};
    expect(kvb_seqs_create(pools, world.shards, &config, &tier.seqs, NULL), done(), NULL, "create a tier");
    expect(kvb_seqs_leases_create(tier.seqs, BLOCKS * 2, &tier.leases), done(), NULL, "leases of a tier");
    /* Of no vocabulary: nobody finds it. */
    static uint32_t tokens[POSITIONS];
    tier.resident_blocks = below(least);
    for (size_t at = 0; at < tier.resident_blocks * world.block_size; at++) {
        tokens[at] = 1000;
    }
    kvb_admit request = {.struct_size = sizeof request, .prompt = {.tokens = tokens}};
    request.prompt.token_count = tier.resident_blocks * world.block_size;
    kvb_admitted admitted;
    expect(kvb_seqs_admit(tier.seqs, &request, &admitted, NULL), done(), NULL, "admit a resident");
    tier.resident = admitted.seq;
}

void tier_compare(void) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        kvb_pool_report report = {.struct_size = sizeof report};
        expect(kvb_pool_get_report(tier.pools[shard], &report), done(), NULL, "report of the tier");
        REQUIRE(report.held == tier.resident_blocks && report.reserved == 0 && report.quarantined == 0 &&
                    report.free + report.idle + report.held == tier.blocks[shard] &&
                    report.available == tier.blocks[shard] - tier.resident_blocks,
                "the tier holds %zu blocks instead of %zu", (size_t)report.held, tier.resident_blocks);
        kvb_registry_report own = {.struct_size = sizeof own};
        expect(kvb_seqs_get_shard_report(tier.seqs, shard, &own), done(), NULL, "report of the tier");
        REQUIRE(own.swapped_out == tier.swapped_out && own.swapped_in == tier.swapped_in,
                "%zu out of the tier and %zu in", (size_t)own.swapped_out, (size_t)own.swapped_in);
        REQUIRE(kvb_leases_used(tier.leases, shard) == 0, "a lease of the tier is left");
        for (size_t at = 0; at < REGISTRIES; at++) {
            REQUIRE(kvb_leases_used(world.leases[at], shard) == 0, "a lease is left");
        }
    }
    kvb_error error = {.struct_size = sizeof error};
    kvb_status status = kvb_seqs_audit(tier.seqs, NULL, 0, &error);
    REQUIRE(status == KVB_OK, "audit of the tier: %s", error.message);
}

void tier_close(void) {
    tier_compare();
    kvb_leases_destroy(tier.leases);
    kvb_seqs_destroy(tier.seqs);
    kvb_fences_destroy(tier.fences);
    for (size_t shard = 0; shard < world.shards; shard++) {
        kvb_copy_plan_destroy(tier.plans[shard][DEVICE]);
        kvb_copy_plan_destroy(tier.plans[shard][HOST]);
        kvb_pool_destroy(tier.pools[shard]);
    }
}

void tier_copy(size_t shard, uint32_t memory, const uint32_t *sources, const uint32_t *destinations, size_t count) {
    kvb_copy_plan *plan = tier.plans[shard][memory];
    expect(kvb_copy_plan_set(plan, sources, destinations, count, NULL), done(), NULL, "set a plan");
    REQUIRE(kvb_copy_plan_waves(plan) == (count > 0) && kvb_copy_plan_pairs(plan) == count &&
                kvb_copy_plan_bytes(plan) == count * sizeof host[0][0],
            "a plan of %zu pairs in %zu waves", kvb_copy_plan_pairs(plan), kvb_copy_plan_waves(plan));
    kvb_waits waits = {.struct_size = sizeof waits};
    expect(kvb_fences_waits_for(tier.fences, plan, tier.copies, &waits, NULL), done(), NULL, "what to wait for");
    REQUIRE(waits.count == 0, "a copy waits for what is in order anyway, or has passed");
    if (count > 0) {
        kvb_pair_run runs[BLOCKS];
        size_t run_count = 0;
        expect(kvb_copy_plan_wave_runs(plan, 0, runs, BLOCKS, &run_count, NULL), done(), NULL, "runs of a plan");
        for (size_t at = run_count; at-- > 0;) {
            memcpy((void *)(uintptr_t)runs[at].destination, (const void *)(uintptr_t)runs[at].source,
                   (size_t)runs[at].bytes);
        }
    }
    tier.now += below(3) + 1;
    expect(kvb_fences_record(tier.fences, plan, tier.copies, tier.now, NULL), done(), NULL, "record a plan");
    /* Who reads a block that was written waits, and who writes one that was read; another reader of it does not. */
    expect(kvb_fences_waits_for(tier.fences, plan, tier.others, &waits, NULL), done(), NULL, "what to wait for");
    REQUIRE(waits.count == (count > 0) && waits.fences[tier.copies] == (count > 0 ? tier.now : 0), "other waits");
    uint32_t read_from = (uint32_t)shard * MEMORIES + memory;
    kvb_status status = kvb_fences_waits_for_blocks(tier.fences, read_from, sources, count, KVB_ACCESS_READ,
                                                    tier.others, &waits, NULL);
    expect(status, done(), NULL, "what a reader waits for");
    REQUIRE(waits.count <= 1 && waits.fences[tier.copies] < tier.now, "a reader waits for another one");
    status = kvb_fences_waits_for_blocks(tier.fences, read_from, sources, count, KVB_ACCESS_WRITE, tier.others, &waits,
                                         NULL);
    expect(status, done(), NULL, "what a writer waits for");
    REQUIRE(waits.fences[tier.copies] == (count > 0 ? tier.now : 0), "a writer does not wait for a reader");
}

void tier_passed(size_t shard, uint32_t memory) {
    kvb_waits waits = {.struct_size = sizeof waits};
    expect(kvb_fences_completed(tier.fences, tier.copies, tier.now, NULL), done(), NULL, "a fence has passed");
    kvb_status status = kvb_fences_waits_for(tier.fences, tier.plans[shard][memory], tier.others, &waits, NULL);
    expect(status, done(), NULL, "what to wait for");
    REQUIRE(waits.count == 0 && waits.fences[tier.copies] == 0, "somebody waits for what has passed");
}
