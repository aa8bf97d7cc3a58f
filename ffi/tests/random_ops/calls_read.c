/* Calls that only read. */
#include "model.h"

#include <string.h>

static void read_slots(const struct sequence *seq) {
    const kvb_seqs *seqs = world.registries[seq->registry].it;
    kvb_error error = {.struct_size = sizeof error};
    int64_t slots[POSITIONS];
    size_t shard = below(world.shards), first = below(seq->positions + 1);
    size_t count = below(seq->positions - first + 2);
    struct answer answer = done();
    if (first + count > seq->positions) {
        answer = refused(KVB_ERR_BEYOND, NO_SHARD, first + count, 0, seq->positions);
    }
    expect(kvb_seqs_get_slots(seqs, shard, seq->handle, first, count, slots, &error), answer, &error, "slots");
    for (size_t at = 0; answer.status == KVB_OK && at < count; at++) {
        size_t position = first + at, size = world.block_size;
        uint32_t block = seq->part[shard].table[position / size];
        REQUIRE(slots[at] == (int64_t)(block * size + position % size), "another slot than it should be");
    }
    kvb_status status = kvb_seqs_get_slots(seqs, world.shards, seq->handle, 0, 0, slots, &error);
    expect(status, plainly(KVB_ERR_OUT_OF_RANGE), &error, "slots on no shard");
}

static void read_tables(const struct sequence *seq) {
    kvb_seqs *seqs = world.registries[seq->registry].it;
    kvb_error error = {.struct_size = sizeof error};
    size_t shard = below(world.shards);
    const struct part *part = &seq->part[shard];
    int32_t rows[2][BLOCKS];
    memset(rows, 0x55, sizeof rows);
    kvb_handle handles[2] = {seq->handle, stale_handle(seq->registry)};
    kvb_status status = kvb_seqs_copy_tables(seqs, shard, handles, 2, rows[0], BLOCKS, NULL, &error);
    expect(status, plainly(KVB_ERR_STALE), &error, "tables of nobody");
    REQUIRE(rows[0][0] == 0x55555555, "a refused call wrote a row");
    if (part->entries > 0) {
        status = kvb_seqs_copy_tables(seqs, shard, handles, 1, rows[0], part->entries - 1, NULL, &error);
        REQUIRE(status == KVB_ERR_TOO_SHORT && rows[0][0] == 0x55555555, "a table in too short a row");
    }
    const int32_t *table;
    size_t count;
    expect(kvb_seqs_get_table(seqs, shard, seq->handle, &table, &count), done(), NULL, "table");
    REQUIRE(count == part->entries && memcmp(table, part->table, count * sizeof *table) == 0, "another table");
    kvb_state state = {.struct_size = sizeof state};
    status = kvb_seqs_get_dirty(seqs, shard, handles[1], &count, &count);
    expect(status, plainly(KVB_ERR_STALE), NULL, "dirty of nobody");
    expect(kvb_seqs_get_state(seqs, handles[1], &state), plainly(KVB_ERR_STALE), NULL, "state of nobody");
}

static void check_pool(size_t shard) {
    const struct pool *pool = &world.pools[shard];
    kvb_error error = {.struct_size = sizeof error};
    size_t n = below(pool->limit + 2), left = available(pool);
    struct answer answer = done();
    if (n > pool->limit) {
        answer = refused(KVB_ERR_NEVER_FITS, shard, n, 0, pool->limit);
    } else if (n > left) {
        answer = refused(KVB_ERR_SHORTFALL, shard, n, left, 0);
    }
    expect(kvb_pool_check(pool->it, n, &error), answer, &error, "check of a pool");
}

void call_read(void) {
    const struct sequence *seq = some_sequence();
    check_pool(below(world.shards));
    if (seq != NULL) {
        read_slots(seq);
        read_tables(seq);
    }
}

/* The latest of a label, entered before some other one. */
static const struct sequence *latest(int registry, uint64_t label, uint64_t before) {
    const struct sequence *found = NULL;
    for (size_t at = 0; at < SEQUENCES; at++) {
        const struct sequence *seq = &world.sequences[at];
        if (seq->alive && seq->registry == registry && seq->label == label && seq->entered < before &&
            (found == NULL || seq->entered > found->entered)) {
            found = seq;
        }
    }
    return found;
}

void call_labels(void) {
    int registry = (int)below(REGISTRIES);
    const kvb_seqs *seqs = world.registries[registry].it;
    uint64_t labels[LABELS];
    kvb_handle found[LABELS], listed[SEQUENCES];
    bool missing = false;
    for (size_t label = 0; label < LABELS; label++) {
        labels[label] = label;
        missing |= latest(registry, label, UINT64_MAX) == NULL;
    }
    kvb_status status = kvb_seqs_find(seqs, labels, LABELS, found);
    expect(status, missing ? plainly(KVB_ERR_STALE) : done(), NULL, "find");
    for (size_t label = 0; label < LABELS; label++) {
        const struct sequence *seq = latest(registry, label, UINT64_MAX);
        REQUIRE(found[label].bits == (seq != NULL ? seq->handle.bits : UINT64_MAX), "another sequence of a label");
        size_t count = SIZE_MAX;
        expect(kvb_seqs_list(seqs, &labels[label], listed, SEQUENCES, &count), done(), NULL, "list of a label");
        for (size_t at = 0; at < count; at++) {
            REQUIRE(seq != NULL && listed[at].bits == seq->handle.bits, "another sequence of a label");
            seq = latest(registry, label, seq->entered);
        }
        REQUIRE(seq == NULL, "a sequence of a label is not listed");
    }
    size_t count = SIZE_MAX;
    expect(kvb_seqs_list(seqs, NULL, listed, SEQUENCES, &count), done(), NULL, "list");
    REQUIRE(count == live(registry), "%zu sequences are listed", count);
    for (size_t at = 1; at < count; at++) {
        REQUIRE(kvb_handle_slot(listed[at - 1]) < kvb_handle_slot(listed[at]), "the list is not by slot");
        REQUIRE(kvb_handle_slot(listed[at]) < kvb_seqs_max(seqs), "a slot beyond the last");
    }
}

/* What becomes available on a shard if these end. */
static size_t freed_by(struct sequence *const *named, size_t count, size_t shard) {
    const struct pool *pool = &world.pools[shard];
    int given[BLOCKS] = {0};
    size_t freed = 0;
    for (size_t at = 0; at < count; at++) {
        const struct part *part = &named[at]->part[shard];
        freed += credits(part);
        for (size_t entry = 0; entry < part->entries; entry++) {
            given[part->table[entry]]++;
            if (entry < part->published && part->found[entry] != part->table[entry]) {
                given[part->found[entry]]++;
            }
        }
    }
    for (size_t id = 0; id < pool->limit; id++) {
        freed += given[id] > 0 && given[id] == pool->blocks[id].refs;
    }
    return freed;
}

void call_victims(void) {
    int registry = (int)below(REGISTRIES);
    const kvb_seqs *seqs = world.registries[registry].it;
    struct sequence *named[SEQUENCES], *chosen[SEQUENCES];
    kvb_handle order[SEQUENCES], victims[SEQUENCES];
    size_t count = 0, victim_count = SIZE_MAX, need[SHARDS];
    for (size_t at = 0; at < SEQUENCES; at++) {
        struct sequence *seq = &world.sequences[at];
        if (seq->alive && seq->registry == registry && !one_in(4)) {
            named[count] = seq;
            order[count++] = seq->handle;
        }
    }
    bool possible = true;
    for (size_t shard = 0; shard < world.shards; shard++) {
        need[shard] = below(12);
        possible &= freed_by(named, count, shard) >= need[shard];
    }
    uint32_t enough = 2;
    kvb_error error = {.struct_size = sizeof error};
    kvb_status status =
        kvb_seqs_select_victims(seqs, order, count, need, world.shards, victims, &victim_count, &enough, &error);
    expect(status, done(), NULL, "victims");
    REQUIRE(enough == possible, "whether victims are enough is said to be %u", enough);
    size_t from = 0;
    for (size_t at = 0; at < victim_count; at++) {
        while (from < count && order[from].bits != victims[at].bits) {
            from++;
        }
        REQUIRE(from < count, "a victim is none of those named, or in another order");
        chosen[at] = named[from++];
    }
    for (size_t shard = 0; possible && shard < world.shards; shard++) {
        REQUIRE(freed_by(chosen, victim_count, shard) >= need[shard], "the victims do not free what is needed");
    }
}
