/* What the library says, beside the model. */
#include "model.h"

#include <inttypes.h>
#include <string.h>

struct answer done(void) {
    struct answer answer = {KVB_OK, NO_SHARD, 0, 0, 0};
    return answer;
}

struct answer plainly(kvb_status status) {
    return refused(status, NO_SHARD, 0, 0, 0);
}

struct answer refused(kvb_status status, size_t shard, size_t needed, size_t available, size_t limit) {
    struct answer answer = {status, shard, needed, available, limit};
    return answer;
}

struct figures {
    kvb_status status;
    uint32_t shard;
    uint64_t needed, available, limit, quarantined;
};

static void expect_figures(struct figures got, struct answer want, const char *what) {
    REQUIRE(got.status == want.status, "%s: %s instead of %s", what, kvb_status_name(got.status),
            kvb_status_name(want.status));
    uint32_t shard = want.shard < world.shards ? world.pools[want.shard].shard : KVB_NO_SHARD;
    REQUIRE(got.shard == shard, "%s: shard %u instead of %u", what, got.shard, shard);
    REQUIRE(got.needed == want.needed && got.available == want.available && got.limit == want.limit,
            "%s: %" PRIu64 " needed, %" PRIu64 " available, at most %" PRIu64 " instead of %zu, %zu, %zu", what,
            got.needed, got.available, got.limit, want.needed, want.available, want.limit);
    if (want.status == KVB_ERR_SHORTFALL) {
        /* Those that come back to be used. */
        const struct pool *pool = &world.pools[want.shard];
        size_t waiting = quarantined(pool, pool->limit);
        REQUIRE(got.quarantined == waiting, "%s: %" PRIu64 " in quarantine instead of %zu", what, got.quarantined,
                waiting);
    }
}

void expect(kvb_status got, struct answer want, const kvb_error *error, const char *what) {
    REQUIRE(got == want.status, "%s: %s instead of %s", what, kvb_status_name(got), kvb_status_name(want.status));
    if (got == KVB_OK || error == NULL) {
        return;
    }
    struct figures figures = {error->status,    error->shard, error->needed,
                              error->available, error->limit, error->quarantined};
    expect_figures(figures, want, what);
    REQUIRE(error->message[0] != 0 && memchr(error->message, 0, sizeof error->message) != NULL, "%s: no message", what);
}

void expect_failure(const kvb_failure *got, struct answer want, const char *what) {
    struct figures figures = {got->status, got->shard, got->needed, got->available, got->limit, got->quarantined};
    expect_figures(figures, want, what);
}

size_t findable(size_t shard, int space, const uint32_t *tokens, size_t count) {
    kvb_prompt prompt = {.space = world.spaces[space], .tokens = tokens, .token_count = count,
                         .flags = KVB_PROMPT_FULL_HIT};
    kvb_probe probe;
    kvb_status status = kvb_pool_probe(world.pools[shard].it, &prompt, &probe, NULL);
    expect(status, done(), NULL, "probe");
    return probe.positions;
}

static kvb_pool_report report_of(const struct pool *pool) {
    kvb_pool_report report = {.struct_size = sizeof report};
    expect(kvb_pool_get_report(pool->it, &report), done(), NULL, "report");
    return report;
}

uint64_t idle_now(const struct pool *pool) {
    return report_of(pool).idle;
}

void look_for_declined(void) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        struct pool *pool = &world.pools[shard];
        pool->declined_now = report_of(pool).declined != pool->declined;
    }
}

static void compare_pool(struct pool *pool) {
    kvb_pool_report report = report_of(pool);
    size_t held = 0, shared = 0, waiting = quarantined(pool, pool->max);
    for (size_t id = 0; id < pool->max; id++) {
        const struct block *block = &pool->blocks[id];
        bool is_held = block->refs > block->fences;
        held += is_held;
        shared += is_held ? (size_t)block->refs - 1 : 0;
    }
#define SAME(what, got, want) \
    REQUIRE((got) == (want), "shard %u: %s is %" PRIu64 " instead of %" PRIu64, pool->shard, what, (uint64_t)(got), \
            (uint64_t)(want))
    SAME("free + idle + held + quarantined", report.free + report.idle + report.held + report.quarantined,
         report.capacity);
    SAME("online + draining", report.online + report.draining, report.capacity);
    SAME("capacity + offline", report.capacity + report.offline, report.max_blocks);
    SAME("available + reserved", report.available + report.reserved, report.free + report.idle);
    SAME("online", report.online, pool->limit);
    SAME("max_blocks", report.max_blocks, pool->max);
    SAME("held", report.held, held);
    SAME("quarantined", report.quarantined, waiting);
    SAME("shared references", report.shared_references, shared);
    SAME("reserved", report.reserved, pool->reserved);
    SAME("stored", report.stored, pool->stored);
    SAME("duplicates", report.duplicates, pool->duplicates);
    SAME("kvb_pool_available", kvb_pool_available(pool->it), report.available);
    SAME("kvb_pool_reserved", kvb_pool_reserved(pool->it), report.reserved);
    SAME("kvb_pool_quarantined", kvb_pool_quarantined(pool->it), quarantined(pool, pool->limit));
    SAME("kvb_pool_capacity", kvb_pool_capacity(pool->it), report.online);
    SAME("idle", report.idle, idle(pool));
    if (pool->exact && report.draining == 0) {
        SAME("free + idle", report.free + report.idle, pool->there);
    }
    /* A block above the limit may leave when it is given back, or later. */
    pool->exact = report.draining == 0;
    pool->there = (size_t)(report.free + report.idle);
    pool->declined = report.declined;
    pool->declined_now = false;
}

/* What is not dirty must be as it was copied. */
static void compare_dirty(kvb_seqs *seqs, const struct sequence *seq, size_t shard) {
    const struct part *part = &seq->part[shard];
    size_t first = SIZE_MAX, count = SIZE_MAX;
    expect(kvb_seqs_get_dirty(seqs, shard, seq->handle, &first, &count), done(), NULL, "dirty");
    REQUIRE(first + count == part->entries, "%zu entries from %zu on are dirty of %zu", count, first, part->entries);
    REQUIRE(first <= part->copied_entries && memcmp(part->copied, part->table, first * sizeof *part->table) == 0,
            "an entry that changed before the one at %zu is not dirty", first);
}

static void compare_tables(size_t registry, size_t shard) {
    struct sequence *all[SEQUENCES];
    kvb_handle handles[SEQUENCES];
    static int32_t rows[SEQUENCES][BLOCKS];
    size_t lengths[SEQUENCES], count = 0;
    kvb_seqs *it = world.registries[registry].it;
    for (size_t at = 0; at < SEQUENCES; at++) {
        struct sequence *seq = &world.sequences[at];
        if (seq->alive && seq->registry == (int)registry) {
            compare_dirty(it, seq, shard);
            handles[count] = seq->handle;
            all[count++] = seq;
        }
    }
    REQUIRE(kvb_seqs_count(it) == count, "%zu sequences instead of %zu", kvb_seqs_count(it), count);
    kvb_status status = kvb_seqs_copy_tables(it, shard, handles, count, rows[0], BLOCKS, lengths, NULL);
    expect(status, done(), NULL, "tables");
    for (size_t at = 0; at < count; at++) {
        struct part *part = &all[at]->part[shard];
        REQUIRE(lengths[at] == part->entries, "a table has %zu entries instead of %zu", lengths[at], part->entries);
        REQUIRE(memcmp(rows[at], part->table, part->entries * sizeof(int32_t)) == 0,
                "a table is another than it should be");
        memcpy(part->copied, part->table, sizeof part->table);
        part->copied_entries = part->entries;
    }
}

void compare(void) {
    if (world.unsure) {
        return;
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        compare_pool(&world.pools[shard]);
        for (size_t registry = 0; registry < REGISTRIES; registry++) {
            compare_tables(registry, shard);
        }
    }
    for (size_t at = 0; at < REGISTRIES; at++) {
        size_t waiting = 0;
        for (size_t shard = 0; shard < world.shards; shard++) {
            waiting += world.lanes[at].count[shard];
        }
        REQUIRE(kvb_lanes_waiting(world.lanes[at].it) == waiting, "%zu references wait instead of %zu",
                kvb_lanes_waiting(world.lanes[at].it), waiting);
    }
}

void compare_content(const struct sequence *seq, size_t positions) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        const struct part *part = &seq->part[shard];
        for (size_t at = 0; at < positions; at++) {
            uint32_t block = part->table[at / world.block_size];
            REQUIRE(device_read(shard, block, at % world.block_size) == seq->digest[at],
                    "shard %u: position %zu of %zu is in block %u, which holds something else",
                    world.pools[shard].shard, at, seq->positions, block);
        }
    }
}

void compare_sequence(const struct sequence *seq) {
    if (device_is_done(seq->stream, seq->last_work)) {
        compare_content(seq, seq->computed);
    }
    if (seq->registry == NOBODY) {
        return;
    }
    kvb_state state = {.struct_size = sizeof state};
    kvb_status status = kvb_seqs_get_state(world.registries[seq->registry].it, seq->handle, &state);
    expect(status, done(), NULL, "state");
    size_t published = SIZE_MAX, blocks = SIZE_MAX, promised = SIZE_MAX;
    for (size_t shard = 0; shard < world.shards; shard++) {
        const struct part *part = &seq->part[shard];
        published = part->published < published ? part->published : published;
        blocks = part->entries < blocks ? part->entries : blocks;
        promised = credits(part) < promised ? credits(part) : promised;
    }
    REQUIRE(state.positions == seq->positions && state.known == seq->known && state.computed == seq->computed,
            "%zu positions, %zu known, %zu computed instead of %zu, %zu, %zu", state.positions, state.known,
            state.computed, seq->positions, seq->known, seq->computed);
    REQUIRE(state.published == published && state.blocks == blocks && state.promised == promised,
            "%zu published, %zu blocks, %zu promised instead of %zu, %zu, %zu", state.published, state.blocks,
            state.promised, published, blocks, promised);
    REQUIRE(state.growth == seq->growth && state.growth_amount == seq->amount && state.label == seq->label,
            "growth or label is another than at admission");
}

static void compare_registry(size_t registry, size_t shard) {
    const struct registry *it = &world.registries[registry];
    kvb_registry_report report = {.struct_size = sizeof report};
    expect(kvb_seqs_get_shard_report(it->it, shard, &report), done(), NULL, "report of a registry");
    size_t entries = 0, promised = 0, positions = 0, held = 0, used = 0, pending = 0;
    size_t most[BLOCKS] = {0};
    bool seen[BLOCKS] = {false};
    for (size_t at = 0; at < SEQUENCES; at++) {
        const struct sequence *seq = &world.sequences[at];
        if (!seq->alive || seq->registry != (int)registry) {
            continue;
        }
        const struct part *part = &seq->part[shard];
        entries += part->entries;
        promised += credits(part);
        positions += seq->positions;
        for (size_t entry = 0; entry < part->entries; entry++) {
            size_t first = entry * world.block_size;
            size_t here = seq->positions > first ? seq->positions - first : 0;
            here = here < world.block_size ? here : world.block_size;
            uint32_t id = part->table[entry];
            most[id] = here > most[id] ? here : most[id];
            seen[id] = true;
        }
    }
    for (size_t id = 0; id < BLOCKS; id++) {
        held += seen[id];
        used += most[id];
    }
    for (size_t at = 0; at < TICKETS; at++) {
        const struct ticket *ticket = &world.tickets[at];
        pending += ticket->pending && ticket->registry == (int)registry && ticket->shard == shard;
    }
    const struct pool *pool = &world.pools[shard];
    SAME("held_blocks", report.held_blocks, held);
    SAME("table_entries", report.table_entries, entries);
    SAME("shared_entries", report.shared_entries, entries - held);
    SAME("promised", report.promised, promised);
    SAME("positions", report.positions, positions);
    SAME("used_positions", report.used_positions, used);
    SAME("unused_positions", report.unused_positions, held * world.block_size - used);
    SAME("pending_copies", report.pending_copies, pending);
    SAME("physical", report.physical, held + promised);
    SAME("conservative", report.conservative, entries + promised);
    SAME("watermark", report.watermark, it->watermark);
    SAME("preemptions", report.preemptions, it->preemptions);
}

void audit(void) {
    kvb_holder others[2 * REGISTRIES + SEQUENCES];
    size_t count = 0;
    for (size_t at = 1; at < REGISTRIES; at++) {
        kvb_holder holder = {KVB_HOLDER_SEQS, 0, world.registries[at].it};
        others[count++] = holder;
    }
    for (size_t at = 0; at < REGISTRIES; at++) {
        kvb_holder holder = {KVB_HOLDER_LANES, 0, world.lanes[at].it};
        others[count++] = holder;
    }
    for (size_t at = 0; at < SEQUENCES; at++) {
        if (world.sequences[at].alive && world.sequences[at].registry == NOBODY) {
            kvb_holder holder = {KVB_HOLDER_DETACHED, 0, world.sequences[at].detached};
            others[count++] = holder;
        }
    }
    kvb_error error = {.struct_size = sizeof error};
    kvb_status status = kvb_seqs_audit(world.registries[0].it, others, count, &error);
    REQUIRE(status == KVB_OK, "audit: %s", error.message);
}

void compare_all(void) {
    if (world.unsure) {
        return;
    }
    for (size_t stream = 0; stream < REGISTRIES; stream++) {
        device_run(stream, device_now(stream));
    }
    /* Nobody may look into what is free, or into what waits for a fence and can't be found. */
    for (size_t shard = 0; shard < world.shards; shard++) {
        const struct pool *pool = &world.pools[shard];
        for (size_t id = 0; id < pool->max; id++) {
            const struct block *block = &pool->blocks[id];
            if (block->refs == block->fences && !block->published) {
                device_scribble(shard, (uint32_t)id);
            }
        }
        for (size_t registry = 0; registry < REGISTRIES; registry++) {
            compare_registry(registry, shard);
        }
    }
    for (size_t at = 0; at < SEQUENCES; at++) {
        if (world.sequences[at].alive) {
            compare_sequence(&world.sequences[at]);
            compare_content(&world.sequences[at], world.sequences[at].positions);
        }
    }
    audit();
}
