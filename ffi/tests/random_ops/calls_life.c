/* Calls that begin sequences, and that take them elsewhere. */
#include "model.h"

#include <string.h>

size_t blocks_of(size_t positions) {
    return (positions + world.block_size - 1) / world.block_size;
}

static void draw_tokens(struct asked *asked) {
    asked->count = one_in(24) ? below(POSITIONS) : below(6 * world.block_size + 2);
    asked->space = (int)below(SPACES);
    for (size_t at = 0; at < asked->count; at++) {
        asked->tokens[at] = (uint32_t)below(world.vocabulary);
    }
    const struct sequence *like = some_sequence();
    if (like != NULL && one_in(2)) {
        size_t same = like->positions < asked->count ? like->positions : asked->count;
        memcpy(asked->tokens, like->text, same * sizeof *asked->tokens);
        asked->space = like->space;
    }
}

void draw_terms(struct asked *asked) {
    asked->registry = (int)below(REGISTRIES);
    kvb_admit *request = &asked->request;
    memset(request, 0, sizeof *request);
    request->struct_size = sizeof *request;
    request->prompt.space = world.spaces[asked->space];
    request->prompt.tokens = asked->tokens;
    request->prompt.token_count = asked->count;
    request->prompt.flags = one_in(4) ? KVB_PROMPT_FULL_HIT : 0;
    request->label = below(LABELS);
    asked->conservative = one_in(4);
    request->flags = (asked->conservative ? KVB_ADMIT_CONSERVATIVE : 0) | (one_in(8) ? KVB_ADMIT_UNPUBLISHED : 0) |
                     (one_in(8) ? KVB_ADMIT_RETURNING : 0);
    request->growth = (uint32_t)below(3);
    if (request->growth != KVB_GROWTH_ON_DEMAND) {
        request->growth_amount = below(request->growth == KVB_GROWTH_CAP ? 3 * world.block_size + 1 : 4);
    }
    asked->promised = request->growth_amount;
    if (request->growth == KVB_GROWTH_CAP) {
        asked->promised = blocks_of(asked->count + request->growth_amount) - blocks_of(asked->count);
    }
    set_matchable(asked, request->prompt.flags != 0);
}

void set_matchable(struct asked *asked, bool full) {
    size_t count = full || asked->count == 0 ? asked->count : asked->count - 1;
    asked->matchable = count / world.block_size;
}

/* The blocks that are found on one shard. */
static size_t match(const struct asked *asked, size_t shard, size_t most, uint32_t *found) {
    const struct pool *pool = &world.pools[shard];
    int parent = NOBODY;
    size_t count = 0;
    while (count < most) {
        int child = find_child(pool, parent, asked->space, &asked->tokens[count * world.block_size]);
        if (child == NOBODY) {
            break;
        }
        found[count++] = (uint32_t)child;
        parent = child;
    }
    return count;
}

size_t match_all(const struct asked *asked, uint32_t found[SHARDS][BLOCKS]) {
    size_t most = asked->matchable < BLOCKS ? asked->matchable : BLOCKS;
    for (size_t shard = 0; shard < world.shards; shard++) {
        size_t count = match(asked, shard, most, found[shard]);
        most = count < most ? count : most;
    }
    return most;
}

kvb_cost cost_of(const struct asked *asked, size_t shard, const uint32_t *found, size_t hits) {
    kvb_cost cost = {.blocks = blocks_of(asked->count), .promised = asked->promised};
    for (size_t at = 0; at < hits; at++) {
        if (world.pools[shard].blocks[found[at]].refs > 0) {
            cost.hit_held++;
        } else {
            cost.hit_idle++;
        }
    }
    cost.fresh = cost.blocks - hits;
    return cost;
}

struct answer plan_admission(const struct asked *asked, const kvb_cost *costs) {
    const struct registry *registry = &world.registries[asked->registry];
    size_t whole = blocks_of(asked->count) + asked->promised;
    for (size_t shard = 0; shard < world.shards; shard++) {
        struct answer answer = within_budget(asked->registry, shard, whole, false);
        if (answer.status != KVB_OK) {
            return answer;
        }
    }
    if (live(asked->registry) == registry->max) {
        return refused(KVB_ERR_TOO_MANY_SEQUENCES, NO_SHARD, 0, 0, registry->max);
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        struct answer answer = within_budget(asked->registry, shard, whole, asked->conservative);
        size_t left = available(&world.pools[shard]);
        left = left > registry->watermark ? left - registry->watermark : 0;
        size_t needed = costs[shard].hit_idle + costs[shard].fresh + asked->promised;
        if (answer.status == KVB_OK && needed > left) {
            answer = refused(KVB_ERR_SHORTFALL, shard, needed, left, 0);
        }
        if (answer.status != KVB_OK) {
            return answer;
        }
    }
    return done();
}

struct sequence *enter(const struct asked *asked, const kvb_admitted *admitted, uint32_t found[SHARDS][BLOCKS],
                       size_t hits) {
    struct sequence *seq = vacant();
    seq->alive = true;
    seq->registry = asked->registry;
    seq->handle = admitted->seq;
    seq->label = asked->request.label;
    seq->entered = ++world.entered;
    seq->space = asked->space;
    seq->growth = asked->request.growth;
    seq->amount = asked->request.growth_amount;
    seq->cap = seq->growth == KVB_GROWTH_CAP ? asked->count + seq->amount : SIZE_MAX;
    seq->conservative = asked->conservative;
    seq->insert = (asked->request.flags & KVB_ADMIT_UNPUBLISHED) == 0;
    seq->positions = seq->known = asked->count;
    seq->computed = hits * world.block_size;
    seq->stream = (size_t)asked->registry;
    seq->last_work = device_next(seq->stream);
    memcpy(seq->text, asked->tokens, asked->count * sizeof *seq->text);
    for (size_t at = 0; at < asked->count; at++) {
        seq->digest[at] = digest_after(at > 0 ? seq->digest[at - 1] : digest_of_space(seq->space), seq->text[at]);
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        struct pool *pool = &world.pools[shard];
        struct part *part = &seq->part[shard];
        const int32_t *table;
        memset(part, 0, sizeof *part);
        kvb_status status =
            kvb_seqs_get_table(world.registries[seq->registry].it, shard, seq->handle, &table, &part->entries);
        expect(status, done(), NULL, "table");
        REQUIRE(part->entries == blocks_of(asked->count), "a table of %zu blocks for %zu positions", part->entries,
                asked->count);
        part->open = true;
        part->promise = asked->promised;
        part->published = hits;
        for (size_t at = 0; at < hits; at++) {
            REQUIRE(table[at] == (int32_t)found[shard][at], "block %d was found instead of %u", table[at],
                    found[shard][at]);
            part->table[at] = part->found[at] = found[shard][at];
            hit(pool, found[shard][at]);
        }
        for (size_t at = hits; at < part->entries; at++) {
            part->table[at] = (uint32_t)table[at];
            take(pool, part->table[at]);
            device_zero(seq->stream, shard, part->table[at]);
        }
        pool->reserved += asked->promised;
        for (size_t at = seq->computed; at < asked->count; at++) {
            uint32_t block = part->table[at / world.block_size];
            device_write(seq->stream, shard, block, at % world.block_size, seq->digest[at]);
        }
    }
    compare_content(seq, seq->computed);
    compare_sequence(seq);
    return seq;
}

void call_admit(void) {
    static struct asked asked;
    static uint32_t found[SHARDS][BLOCKS];
    draw_tokens(&asked);
    draw_terms(&asked);
    size_t hits = match_all(&asked, found);
    kvb_cost want[SHARDS], costs[SHARDS];
    for (size_t shard = 0; shard < world.shards; shard++) {
        want[shard] = cost_of(&asked, shard, found[shard], hits);
    }
    struct answer answer = plan_admission(&asked, want);
    kvb_extra_key extra = {1, 2};
    if (one_in(32) && asked.count / world.block_size != 1) {
        asked.request.prompt.extra = &extra;
        asked.request.prompt.extra_count = 1;
        answer = refused(KVB_ERR_LENGTH_MISMATCH, NO_SHARD, asked.count / world.block_size, 1, 0);
    }
    kvb_seqs *seqs = world.registries[asked.registry].it;
    size_t positions = 0;
    kvb_status probed = kvb_seqs_probe(seqs, &asked.request.prompt, &positions, NULL);
    REQUIRE(probed == (answer.status == KVB_ERR_LENGTH_MISMATCH ? KVB_ERR_LENGTH_MISMATCH : KVB_OK) &&
                (probed != KVB_OK || positions == hits * world.block_size),
            "%zu positions are found instead of %zu", positions, hits * world.block_size);
    kvb_error error = {.struct_size = sizeof error};
    expect(kvb_seqs_check(seqs, &asked.request, costs, &error), answer, &error, "check");
    for (size_t shard = 0; answer.status == KVB_OK && shard < world.shards; shard++) {
        REQUIRE(memcmp(&costs[shard], &want[shard], sizeof want[shard]) == 0, "another cost than it should be");
    }
    kvb_admitted admitted = {{1}, 2, 3};
    expect(kvb_seqs_admit(seqs, &asked.request, &admitted, &error), answer, &error, "admit");
    if (answer.status != KVB_OK) {
        REQUIRE(admitted.seq.bits == 1 && admitted.hit == 2 && admitted.fresh == 3, "a refused call wrote a result");
        saw("an admission refused");
        return;
    }
    REQUIRE(admitted.hit == hits * world.block_size && admitted.fresh == want[0].fresh, "%zu hit and %zu fresh",
            admitted.hit, admitted.fresh);
    enter(&asked, &admitted, found, hits);
    saw(hits > 0 ? "an admission with hits" : "an admission");
}

void call_fork(void) {
    struct sequence *seq = some_sequence();
    kvb_handle children[4] = {{7}, {7}, {7}, {7}};
    kvb_error error = {.struct_size = sizeof error};
    if (seq == NULL) {
        return;
    }
    kvb_seqs *seqs = world.registries[seq->registry].it;
    if (one_in(10)) {
        kvb_status status = kvb_seqs_fork(seqs, stale_handle(seq->registry), children, 1, &error);
        expect(status, plainly(KVB_ERR_STALE), &error, "fork of nobody");
        return;
    }
    size_t count = below(4);
    struct answer answer = plan_fork(seq, count);
    expect(kvb_seqs_fork(seqs, seq->handle, children, count, &error), answer, &error, "fork");
    if (answer.status != KVB_OK) {
        REQUIRE(children[0].bits == 7, "a refused call wrote a result");
        saw("a fork refused");
        return;
    }
    for (size_t at = 0; at < count; at++) {
        struct sequence *child = vacant();
        child->handle = children[at];
        fork_one(seq, child);
        saw("a branch");
    }
    if (count > 0) {
        finish_fork(seq);
    }
}

static void detach(struct sequence *seq) {
    kvb_error error = {.struct_size = sizeof error};
    struct answer answer = done();
    for (size_t at = 0; at < TICKETS; at++) {
        const struct ticket *ticket = &world.tickets[at];
        if (!ticket->pending || ticket->registry != seq->registry) {
            continue;
        }
        const struct part *part = &seq->part[ticket->shard];
        for (size_t entry = 0; entry < part->entries; entry++) {
            if (part->table[entry] == ticket->copy.dst) {
                answer = plainly(KVB_ERR_COPY_PENDING);
            }
        }
    }
    kvb_detached *detached = NULL;
    kvb_seqs *seqs = world.registries[seq->registry].it;
    expect(kvb_seqs_detach(seqs, seq->handle, &detached, &error), answer, &error, "detach");
    if (answer.status != KVB_OK) {
        return;
    }
    REQUIRE(kvb_seqs_detach(seqs, seq->handle, &detached, NULL) == KVB_ERR_STALE, "it was detached twice");
    buried(seq->handle);
    seq->registry = NOBODY;
    seq->detached = detached;
    saw("detached");
}

static void attach(struct sequence *seq) {
    kvb_error error = {.struct_size = sizeof error};
    int registry = (int)below(REGISTRIES);
    kvb_handle handle = {0};
    kvb_status status = kvb_seqs_attach(world.other, seq->detached, &handle, &error);
    expect(status, plainly(KVB_ERR_WRONG_POOL), &error, "attach to other shards");
    struct answer answer = done();
    if (live(registry) == world.registries[registry].max) {
        answer = refused(KVB_ERR_TOO_MANY_SEQUENCES, NO_SHARD, 0, 0, world.registries[registry].max);
    }
    status = kvb_seqs_attach(world.registries[registry].it, seq->detached, &handle, &error);
    expect(status, answer, &error, "attach");
    if (answer.status == KVB_OK) {
        /* Its next work is another stream's. */
        device_run(seq->stream, seq->last_work);
        seq->stream = (size_t)registry;
        seq->last_work = 0;
        seq->registry = registry;
        seq->handle = handle;
        seq->entered = ++world.entered;
        seq->detached = NULL;
        for (size_t shard = 0; shard < world.shards; shard++) {
            seq->part[shard].copied_entries = 0;
        }
        saw("attached");
    }
}

void call_detach(void) {
    size_t count = 0;
    for (size_t at = 0; at < SEQUENCES; at++) {
        count += world.sequences[at].alive && world.sequences[at].registry == NOBODY;
    }
    struct sequence *seq = some_sequence();
    if (seq != NULL && (count == 0 || (count < 4 && one_in(2)))) {
        detach(seq);
        return;
    }
    seq = some_detached();
    if (seq == NULL) {
        return;
    }
    if (!one_in(4)) {
        attach(seq);
    } else if (one_in(2)) {
        device_run(seq->stream, seq->last_work);
        kvb_detached_destroy(seq->detached);
        give_back(seq, NULL, 0);
        saw("a detached one ended");
    } else {
        struct lanes *lanes = &world.lanes[seq->stream];
        kvb_error error = {.struct_size = sizeof error};
        kvb_status status = kvb_detached_release_after(seq->detached, world.other_lanes, 1, &error);
        expect(status, plainly(KVB_ERR_WRONG_POOL), &error, "end after a foreign fence");
        status = kvb_detached_release_after(seq->detached, lanes->it, seq->last_work, &error);
        expect(status, done(), NULL, "end of a detached one");
        give_back(seq, lanes, seq->last_work);
        saw("a detached one ended after a fence");
    }
}
