/* Calls that give back: all of a sequence, its end, its duplicates; and what waits for a fence. */
#include "model.h"

static uint64_t fence_for(const struct sequence *seq) {
    return seq->last_work + below((size_t)(device_now(seq->stream) - seq->last_work) + 2);
}

/* Ends some sequences at once, some of them named wrongly or twice. */
static void release_some(int registry, bool preempt) {
    kvb_handle handles[4];
    struct sequence *named[4] = {NULL, NULL, NULL, NULL};
    size_t count = 1 + below(3);
    bool stale = false;
    for (size_t at = 0; at < count; at++) {
        struct sequence *seq = some_sequence_of(registry);
        if (one_in(8) || seq == NULL) {
            handles[at] = stale_handle(registry);
            stale = true;
            continue;
        }
        handles[at] = seq->handle;
        for (size_t before = 0; before < at; before++) {
            stale |= named[before] == seq;
        }
        named[at] = seq;
        device_run(seq->stream, seq->last_work);
    }
    kvb_seqs *seqs = world.registries[registry].it;
    kvb_status status = preempt ? kvb_seqs_preempt(seqs, handles, count) : kvb_seqs_release(seqs, handles, count);
    look_for_declined();
    expect(status, stale ? plainly(KVB_ERR_STALE) : done(), NULL, "release");
    for (size_t at = 0; at < count; at++) {
        if (named[at] != NULL && named[at]->alive) {
            world.registries[registry].preemptions += preempt;
            buried(named[at]->handle);
            publish(named[at]);
            give_back(named[at], NULL, 0);
            saw("a sequence ended");
        }
    }
}

void call_release(void) {
    struct sequence *seq = some_sequence();
    int registry = seq != NULL ? seq->registry : (int)below(REGISTRIES);
    bool preempt = one_in(3);
    if (seq == NULL || one_in(2)) {
        release_some(registry, preempt);
        return;
    }
    kvb_seqs *seqs = world.registries[registry].it;
    kvb_error error = {.struct_size = sizeof error};
    struct lanes *lanes = &world.lanes[seq->stream];
    uint64_t fence = fence_for(seq);
    bool foreign = one_in(8), stale = one_in(8);
    kvb_handle handle = stale ? stale_handle(registry) : seq->handle;
    kvb_lanes *it = foreign ? world.other_lanes : lanes->it;
    kvb_status status = preempt ? kvb_seqs_preempt_after(seqs, handle, it, fence, &error)
                                : kvb_seqs_release_after(seqs, handle, it, fence, &error);
    look_for_declined();
    struct answer answer = stale ? plainly(KVB_ERR_STALE) : foreign ? plainly(KVB_ERR_WRONG_POOL) : done();
    expect(status, answer, &error, "release after a fence");
    if (answer.status == KVB_OK) {
        world.registries[registry].preemptions += preempt;
        buried(seq->handle);
        publish(seq);
        give_back(seq, lanes, fence);
        saw("a sequence ended after a fence");
    }
}

void call_truncate(void) {
    struct sequence *seq = some_sequence();
    if (seq == NULL) {
        return;
    }
    kvb_seqs *seqs = world.registries[seq->registry].it;
    kvb_error error = {.struct_size = sizeof error};
    size_t few = seq->positions < 4 ? seq->positions : 4;
    size_t to = one_in(3) ? below(seq->positions + 2) : seq->positions - below(few + 1);
    if (one_in(16)) {
        kvb_status status = kvb_seqs_truncate(seqs, stale_handle(seq->registry), 0, &error);
        expect(status, plainly(KVB_ERR_STALE), &error, "truncate nobody");
    }
    struct answer answer;
    if (one_in(2)) {
        device_run(seq->stream, seq->last_work);
        kvb_status status = kvb_seqs_truncate(seqs, seq->handle, to, &error);
        answer = truncate_model(seq, to, NULL, 0);
        expect(status, answer, &error, "truncate");
    } else {
        if (to <= seq->positions && one_in(8)) {
            kvb_status status = kvb_seqs_truncate_after(seqs, seq->handle, to, world.other_lanes, 1, &error);
            expect(status, plainly(KVB_ERR_WRONG_POOL), &error, "truncate after a foreign fence");
        }
        struct lanes *lanes = &world.lanes[seq->stream];
        uint64_t fence = fence_for(seq);
        kvb_status status = kvb_seqs_truncate_after(seqs, seq->handle, to, lanes->it, fence, &error);
        answer = truncate_model(seq, to, lanes, fence);
        expect(status, answer, &error, "truncate after a fence");
    }
    compare_sequence(seq);
    saw(answer.status == KVB_OK ? "truncated" : "a truncation refused");
}

void call_adopt(void) {
    struct sequence *seq = some_sequence();
    for (size_t tries = 0; seq != NULL && tries < 4; tries++) {
        const struct part *part = &seq->part[0];
        bool has_one = false;
        for (size_t at = 0; at < part->published; at++) {
            has_one |= part->table[at] != part->found[at];
        }
        if (has_one) {
            break;
        }
        seq = some_sequence();
    }
    if (seq == NULL) {
        return;
    }
    kvb_seqs *seqs = world.registries[seq->registry].it;
    kvb_error error = {.struct_size = sizeof error};
    struct lanes *lanes = one_in(2) ? &world.lanes[seq->stream] : NULL;
    uint64_t fence = fence_for(seq);
    size_t blocks = SIZE_MAX, want = 0;
    kvb_status status;
    if (lanes != NULL) {
        status = kvb_seqs_adopt_duplicates_after(seqs, seq->handle, world.other_lanes, 1, &blocks, &error);
        expect(status, plainly(KVB_ERR_WRONG_POOL), &error, "adopt after a foreign fence");
        status = kvb_seqs_adopt_duplicates_after(seqs, seq->handle, lanes->it, fence, &blocks, &error);
    } else {
        device_run(seq->stream, seq->last_work);
        status = kvb_seqs_adopt_duplicates(seqs, seq->handle, &blocks, &error);
    }
    expect(status, done(), &error, "adopt");
    for (size_t shard = 0; shard < world.shards; shard++) {
        struct part *part = &seq->part[shard];
        for (size_t at = 0; at < part->published; at++) {
            uint32_t own = part->table[at];
            if (own == part->found[at]) {
                continue;
            }
            part->table[at] = part->found[at];
            want++;
            if (lanes != NULL) {
                let_go_after(lanes, shard, fence, own);
            } else {
                let_go(&world.pools[shard], own);
            }
            saw("a duplicate adopted");
        }
    }
    REQUIRE(blocks == want, "%zu blocks were adopted instead of %zu", blocks, want);
    compare_sequence(seq);
}

void call_complete(void) {
    size_t stream = below(REGISTRIES);
    struct lanes *lanes = &world.lanes[stream];
    uint64_t now = device_now(stream), back = below(6);
    uint64_t fence = one_in(4) ? now + 1 : now > back ? now - back : 0;
    size_t shard = below(world.shards), blocks = SIZE_MAX;
    if (one_in(16)) {
        kvb_status status = kvb_lanes_complete(lanes->it, world.shards, fence, NULL);
        expect(status, plainly(KVB_ERR_OUT_OF_RANGE), NULL, "a fence on no shard");
    }
    device_run(stream, fence);
    device_advance(stream, fence + 1);
    struct pool *pool = &world.pools[shard];
    size_t before = pool->there;
    complete(lanes, shard, fence);
    kvb_status status = kvb_lanes_complete(lanes->it, shard, fence, &blocks);
    expect(status, done(), NULL, "a fence");
    REQUIRE(!pool->exact || blocks == pool->there - before, "a fence gave back %zu blocks instead of %zu", blocks,
            pool->there - before);
    if (pool->there > before) {
        saw("blocks given back by a fence");
    }
}
