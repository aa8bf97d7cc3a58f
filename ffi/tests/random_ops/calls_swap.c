/* Swaps to the other tier and back: what each answers, lists, and leaves. */
#include "tier.h"

#include <string.h>

/* Refused by the tier: the shard's name is not one of the world's. */
static void expect_of_tier(kvb_status got, struct answer want, const kvb_error *error, const char *what) {
    REQUIRE(got == want.status, "%s: %s instead of %s", what, kvb_status_name(got), kvb_status_name(want.status));
    if (got == KVB_OK) {
        return;
    }
    uint32_t shard = want.shard < world.shards ? tier.names[want.shard] : KVB_NO_SHARD;
    REQUIRE(error->status == got && error->shard == shard && error->needed == want.needed &&
                error->available == want.available && error->limit == want.limit && error->quarantined == 0,
            "%s: other figures than should be: %s", what, error->message);
}

static bool copy_is_pending(const struct sequence *seq) {
    for (size_t at = 0; at < TICKETS; at++) {
        const struct ticket *ticket = &world.tickets[at];
        if (!ticket->pending || ticket->registry != seq->registry) {
            continue;
        }
        const struct part *part = &seq->part[ticket->shard];
        for (size_t entry = 0; entry < blocks_of(seq->computed); entry++) {
            if (part->table[entry] == ticket->copy.dst) {
                return true;
            }
        }
    }
    return false;
}

static struct answer room_of_tier(size_t blocks) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        if (blocks > tier.blocks[shard]) {
            return refused(KVB_ERR_NEVER_FITS, shard, blocks, 0, tier.blocks[shard]);
        }
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        size_t left = tier.blocks[shard] - tier.resident_blocks;
        if (blocks > left) {
            return refused(KVB_ERR_SHORTFALL, shard, blocks, left, 0);
        }
    }
    return done();
}

/* What a swap lists on a shard is what both tables say. */
static size_t pairs_of(const kvb_swap *swap, const struct side *from, const struct side *to, size_t shard, size_t found,
                       uint32_t *sources, uint32_t *destinations) {
    size_t count = SIZE_MAX, entries[2];
    const int32_t *tables[2];
    kvb_error error = {.struct_size = sizeof error};
    expect(kvb_swap_pairs(swap, shard, sources, destinations, BLOCKS, &count, &error), done(), NULL, "pairs of a swap");
    expect(kvb_seqs_get_table(from->seqs, shard, from->seq, &tables[0], &entries[0]), done(), NULL, "table");
    expect(kvb_seqs_get_table(to->seqs, shard, to->seq, &tables[1], &entries[1]), done(), NULL, "table");
    for (size_t at = 0; at < count; at++) {
        REQUIRE(found + at < entries[0] && found + at < entries[1] && sources[at] == (uint32_t)tables[0][found + at] &&
                    destinations[at] == (uint32_t)tables[1][found + at],
                "pair %zu is another than in the tables", at);
    }
    if (count > 0) {
        size_t before = count;
        kvb_status status = kvb_swap_pairs(swap, shard, sources, destinations, count - 1, &count, &error);
        expect(status, refused(KVB_ERR_TOO_SHORT, NO_SHARD, count, count - 1, 0), &error, "pairs without room");
        REQUIRE(count == before, "a refused call wrote a result");
    }
    kvb_status status = kvb_swap_pairs(swap, world.shards, sources, destinations, BLOCKS, &count, &error);
    expect(status, plainly(KVB_ERR_OUT_OF_RANGE), &error, "pairs of no shard");
    return count;
}

/* Launches the copy of all shards, in any order, and lets it pass unless it is called off. True: all has passed. */
static void copy_all(kvb_swap *swap, const struct side *from, const struct side *to, size_t found, size_t count,
                     bool passes) {
    static uint32_t sources[BLOCKS], destinations[BLOCKS];
    kvb_error error = {.struct_size = sizeof error};
    size_t first = below(world.shards);
    for (size_t i = 0; i < world.shards; i++) {
        size_t shard = (first + i) % world.shards;
        size_t pairs = pairs_of(swap, from, to, shard, found, sources, destinations);
        REQUIRE(pairs == count, "%zu pairs instead of %zu", pairs, count);
        tier_copy(shard, from->memory, sources, destinations, count);
        /* In two parts: the later one counts, whichever is told first. */
        uint64_t early = tier.now - below(2);
        expect(kvb_swap_copying(swap, shard, tier.now, &error), done(), NULL, "a copy is launched");
        expect(kvb_swap_copying(swap, shard, early, &error), done(), NULL, "a part of it is launched");
        if (passes) {
            REQUIRE(count == 0 || !kvb_swap_complete(swap, shard, tier.now - 1), "passed before its fence");
            bool all = kvb_swap_complete(swap, shard, tier.now);
            REQUIRE(all == (count == 0 || i + 1 == world.shards), "whether all has passed");
            tier_passed(shard, from->memory);
        }
    }
    kvb_status status = kvb_swap_copying(swap, world.shards, tier.now, &error);
    struct answer answer = refused(KVB_ERR_OUT_OF_RANGE, NO_SHARD, world.shards, 0, world.shards);
    expect(status, answer, &error, "a copy of no shard");
}

static kvb_swap_info info_of(const kvb_swap *swap) {
    kvb_swap_info info = {.struct_size = sizeof info};
    expect(kvb_swap_get_info(swap, &info), done(), NULL, "info of a swap");
    REQUIRE(info.shards == world.shards, "%u shards", info.shards);
    return info;
}

/* Calls a swap off before its copy, or amid it: the destination has its blocks back when nothing touches them. */
static void call_off(kvb_swap *swap, const struct side *from, const struct side *to, size_t found, size_t count) {
    kvb_error error = {.struct_size = sizeof error};
    bool amid = one_in(2) && count > 0;
    if (amid) {
        copy_all(swap, from, to, found, count, false);
    }
    if (one_in(2)) {
        expect(kvb_swap_abort(swap, to->seqs, &error), done(), NULL, "abort a swap");
        expect(kvb_swap_abort(swap, to->seqs, &error), plainly(KVB_ERR_SWAP_OVER), &error, "abort a swap twice");
        expect(kvb_swap_copying(swap, 0, 1, &error), plainly(KVB_ERR_SWAP_OVER), &error, "launch a copy of none");
        for (size_t shard = 0; shard < world.shards; shard++) {
            bool all = kvb_swap_complete(swap, shard, tier.now);
            REQUIRE(all == (!amid || shard + 1 == world.shards), "whether all has passed");
        }
        saw(amid ? "a swap aborted amid its copy" : "a swap aborted");
    } else {
        kvb_import *import = NULL;
        expect(kvb_swap_import(swap, &import), done(), NULL, "import of a swap");
        REQUIRE(kvb_import_left(import) == count * world.shards, "%zu blocks left", kvb_import_left(import));
        kvb_swap_destroy(swap);
        expect(kvb_seqs_release(to->seqs, &to->seq, 1), done(), NULL, "release what was not finished");
        size_t left = kvb_import_left(import);
        REQUIRE(left == (amid ? count * world.shards : 0), "%zu blocks left", left);
        for (size_t shard = 0; shard < world.shards; shard++) {
            kvb_status status = kvb_import_end(import, shard, 0, NULL, &error);
            /* What was not launched was answered for. */
            REQUIRE(amid ? status == KVB_OK : status == KVB_OK || status == KVB_ERR_WRITER_ENDED, "end of a copy: %s",
                    kvb_status_name(status));
        }
        kvb_import_destroy(import);
        swap = NULL;
        saw(amid ? "a swap given back amid its copy" : "a swap given back");
    }
    kvb_swap_destroy(swap);
    expect(kvb_fences_completed(tier.fences, tier.copies, tier.now, NULL), done(), NULL, "a fence has passed");
}

static void finish(kvb_swap *swap, const struct side *from, const struct side *to) {
    kvb_error error = {.struct_size = sizeof error};
    kvb_handle seq = {7};
    kvb_status status = kvb_swap_finish(swap, to->seqs, from->seqs, &seq, &error);
    expect(status, plainly(KVB_ERR_WRONG_POOL), &error, "finish the wrong way round");
    status = kvb_swap_finish(swap, from->seqs, to->seqs, &seq, &error);
    expect(status, done(), NULL, "finish a swap");
    REQUIRE(seq.bits == to->seq.bits, "another name than it was begun with");
    status = kvb_swap_finish(swap, from->seqs, to->seqs, &seq, &error);
    expect(status, plainly(KVB_ERR_SWAP_OVER), &error, "finish a swap twice");
    size_t left = SIZE_MAX;
    expect(kvb_swap_pairs(swap, 0, NULL, NULL, 0, &left, NULL), done(), NULL, "pairs of a swap that is over");
    REQUIRE(left == 0 && info_of(swap).seq.bits == seq.bits, "%zu pairs of a swap that is over", left);
    kvb_swap_destroy(swap);
}

/* Asks for a swap with a mistake, mostly for none. True: it was asked for so. */
static bool wrong_swap(const struct sequence *seq, kvb_admit *request) {
    kvb_error error = {.struct_size = sizeof error};
    kvb_seqs *from = world.registries[seq->registry].it;
    kvb_leases *leases = world.leases[seq->registry];
    kvb_swap *swap = NULL;
    switch (below(12)) {
    case 0: {
        kvb_status status = kvb_seqs_swap_to(from, seq->handle, from, request, leases, 1, &swap, &error);
        expect(status, plainly(KVB_ERR_SAME_INSTANCE), &error, "swap to where it is");
        break;
    }
    case 1: {
        kvb_handle stale = stale_handle(seq->registry);
        kvb_status status = kvb_seqs_swap_to(from, stale, tier.seqs, request, leases, 1, &swap, &error);
        expect(status, plainly(KVB_ERR_STALE), &error, "swap of nobody");
        break;
    }
    case 2: {
        if (seq->positions == 0) {
            return false;
        }
        request->prompt.token_count = seq->positions - 1;
        kvb_status status = kvb_seqs_swap_to(from, seq->handle, tier.seqs, request, leases, 1, &swap, &error);
        struct answer want = refused(KVB_ERR_LENGTH_MISMATCH, NO_SHARD, seq->positions, seq->positions - 1, 0);
        expect(status, want, &error, "swap with too few tokens");
        break;
    }
    case 3: {
        request->prompt.space = world.spaces[1 - seq->space];
        kvb_status status = kvb_seqs_swap_to(from, seq->handle, tier.seqs, request, leases, 1, &swap, &error);
        expect(status, plainly(KVB_ERR_OTHER_NAMESPACE), &error, "swap in another namespace");
        break;
    }
    case 4: {
        kvb_status status = kvb_seqs_swap_to(from, seq->handle, world.other, request, leases, 1, &swap, &error);
        /* A few blocks of one shard: what does not fit there is refused, for one reason or another. */
        REQUIRE(status != KVB_OK || (world.shards == 1 && blocks_of(seq->positions) <= 3), "a swap that can't be");
        if (status == KVB_OK) {
            expect(kvb_swap_abort(swap, world.other, &error), done(), NULL, "abort a swap");
            kvb_swap_destroy(swap);
            swap = NULL;
        }
        break;
    }
    default:
        return false;
    }
    REQUIRE(swap == NULL, "a refused call wrote a result");
    return true;
}

/* The tier has all that was computed. */
static void compare_host(const struct sequence *seq, kvb_handle handle, size_t computed) {
    kvb_state state = {.struct_size = sizeof state};
    expect(kvb_seqs_get_state(tier.seqs, handle, &state), done(), NULL, "state in the tier");
    REQUIRE(state.positions == seq->positions && state.computed == computed, "%zu positions, %zu computed in the tier",
            (size_t)state.positions, (size_t)state.computed);
    for (size_t shard = 0; shard < world.shards; shard++) {
        const int32_t *table;
        size_t entries;
        expect(kvb_seqs_get_table(tier.seqs, shard, handle, &table, &entries), done(), NULL, "table in the tier");
        for (size_t at = 0; at < computed; at++) {
            uint64_t digest = tier_read(shard, (uint32_t)table[at / world.block_size], at % world.block_size);
            REQUIRE(digest == seq->digest[at], "position %zu is not as it was in the tier", at);
        }
    }
}

/* Out of the world. False: the sequence is where it was. */
static bool swap_out(struct sequence *seq, struct side *there) {
    kvb_error error = {.struct_size = sizeof error};
    kvb_admit request = {.struct_size = sizeof request};
    request.prompt.space = world.spaces[seq->space];
    request.prompt.tokens = seq->text;
    request.prompt.token_count = seq->positions;
    if (wrong_swap(seq, &request)) {
        saw("a swap asked for wrongly");
        return false;
    }
    struct side here = {world.registries[seq->registry].it, world.leases[seq->registry], seq->handle, DEVICE};
    struct answer answer = room_of_tier(blocks_of(seq->positions));
    answer = copy_is_pending(seq) ? plainly(KVB_ERR_COPY_PENDING) : answer;
    kvb_prompt prompt = request.prompt;
    prompt.flags = seq->computed == seq->positions ? KVB_PROMPT_FULL_HIT : 0;
    size_t hit = 0;
    expect(kvb_seqs_probe(tier.seqs, &prompt, &hit, NULL), done(), NULL, "probe of the tier");
    kvb_swap *swap = NULL;
    kvb_status status =
        kvb_seqs_swap_to(here.seqs, seq->handle, tier.seqs, &request, here.leases, draw(), &swap, &error);
    expect_of_tier(status, answer, &error, "swap out");
    if (status != KVB_OK) {
        saw("a swap out refused");
        return false;
    }
    kvb_swap_info info = info_of(swap);
    REQUIRE(info.source.bits == seq->handle.bits && info.hit == hit, "%zu positions found instead of %zu",
            (size_t)info.hit, hit);
    struct side to = {tier.seqs, tier.leases, info.seq, HOST};
    *there = to;
    size_t offered = blocks_of(seq->computed), found = hit / world.block_size;
    size_t count = offered > found ? offered - found : 0;
    status = kvb_seqs_append(here.seqs, seq->handle, 1, world.registries[seq->registry].step, &error);
    REQUIRE(status == KVB_ERR_LEAVING || status == KVB_ERR_CAP_REACHED, "append amid a swap: %s",
            kvb_status_name(status));
    if (count > 0) {
        status = kvb_swap_finish(swap, here.seqs, to.seqs, NULL, &error);
        expect(status, refused(KVB_ERR_NOT_COPIED, NO_SHARD, count, 0, 0), &error, "finish what is not copied");
    }
    if (one_in(4)) {
        call_off(swap, &here, &to, found, count);
        return false;
    }
    copy_all(swap, &here, &to, found, count, true);
    finish(swap, &here, &to);
    look_for_declined();
    buried(seq->handle);
    publish(seq);
    give_back(seq, NULL, 0);
    tier.swapped_in++;
    saw(hit > 0 ? "a swap out with hits" : "a swap out");
    return true;
}

/* And back, into any registry; what is told of the sequence is a copy of it. */
static void swap_in(const struct sequence *seq, const struct side *here, size_t computed) {
    static struct asked asked;
    static uint32_t found[SHARDS][BLOCKS];
    kvb_error error = {.struct_size = sizeof error};
    memcpy(asked.tokens, seq->text, sizeof asked.tokens);
    asked.space = seq->space;
    asked.count = seq->positions + below(4);
    asked.count = asked.count < POSITIONS ? asked.count : seq->positions;
    for (size_t at = seq->positions; at < asked.count; at++) {
        asked.tokens[at] = (uint32_t)below(world.vocabulary);
    }
    draw_terms(&asked);
    set_matchable(&asked, asked.request.prompt.flags != 0 || computed == asked.count);
    size_t hits = match_all(&asked, found);
    kvb_cost costs[SHARDS];
    for (size_t shard = 0; shard < world.shards; shard++) {
        costs[shard] = cost_of(&asked, shard, found[shard], hits);
    }
    struct registry *registry = &world.registries[asked.registry];
    kvb_swap *swap = NULL;
    kvb_status status =
        kvb_seqs_swap_to(here->seqs, here->seq, registry->it, &asked.request, here->leases, 1, &swap, &error);
    expect(status, plan_admission(&asked, costs), &error, "swap in");
    if (status != KVB_OK) {
        REQUIRE(swap == NULL, "a refused call wrote a result");
        saw("a swap in refused");
        return;
    }
    kvb_swap_info info = info_of(swap);
    REQUIRE(info.source.bits == here->seq.bits && info.hit == hits * world.block_size, "another hit");
    kvb_admitted admitted = {info.seq, hits * world.block_size, 0};
    struct sequence *it = enter(&asked, &admitted, found, hits);
    struct side there = {registry->it, world.leases[asked.registry], info.seq, DEVICE};
    size_t offered = blocks_of(computed), count = offered > hits ? offered - hits : 0;
    device_run(it->stream, device_now(it->stream));
    if (one_in(6)) {
        call_off(swap, here, &there, hits, count);
        buried(it->handle);
        give_back(it, NULL, 0);
        return;
    }
    /* What is copied was never written here. */
    for (size_t shard = 0; shard < world.shards; shard++) {
        for (size_t at = hits; at < hits + count; at++) {
            device_scribble(shard, it->part[shard].table[at]);
        }
    }
    copy_all(swap, here, &there, hits, count, true);
    finish(swap, here, &there);
    look_for_declined();
    for (size_t shard = 0; shard < world.shards; shard++) {
        for (size_t at = computed; at < it->positions; at++) {
            uint32_t block = it->part[shard].table[at / world.block_size];
            device_write(it->stream, shard, block, at % world.block_size, it->digest[at]);
        }
    }
    it->last_work = device_next(it->stream);
    it->computed = computed > it->computed ? computed : it->computed;
    publish(it);
    tier.swapped_out++;
    saw("a swap in");
}

void call_swap(void) {
    static struct sequence before;
    struct sequence *seq = some_sequence();
    struct side there;
    if (seq == NULL) {
        return;
    }
    /* The copies come behind everything that was to be done. */
    for (size_t at = 0; at < REGISTRIES; at++) {
        device_run(at, device_now(at));
    }
    before = *seq;
    if (swap_out(seq, &there)) {
        kvb_state state = {.struct_size = sizeof state};
        expect(kvb_seqs_get_state(tier.seqs, there.seq, &state), done(), NULL, "state in the tier");
        size_t computed = state.computed;
        REQUIRE(computed >= before.computed, "%zu positions came instead of %zu", computed, before.computed);
        compare_host(&before, there.seq, computed);
        compare();
        swap_in(&before, &there, computed);
        /* Gone if it came back. */
        kvb_status status = kvb_seqs_release(tier.seqs, &there.seq, 1);
        REQUIRE(status == KVB_OK || status == KVB_ERR_STALE, "release in the tier: %s", kvb_status_name(status));
    }
    tier_compare();
}
