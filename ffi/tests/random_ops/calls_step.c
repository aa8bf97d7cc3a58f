/* Calls of a step's cycle: positions, what they are, that they are computed, and that copies were made. */
#include "model.h"

#include <string.h>

/* One item of a batch. */
struct item {
    struct sequence *seq;
    enum growth_kind kind;
    size_t n;
};

/* What was read of a shard's lists so far. */
struct reader {
    kvb_step_lists lists;
    size_t slots, fresh, copies, changes;
};

static size_t pending(void) {
    size_t count = 0;
    for (size_t at = 0; at < TICKETS; at++) {
        count += world.tickets[at].pending;
    }
    return count;
}

/* Zeroes what is new and makes the copies. */
static void prepare(size_t stream, size_t shard, const kvb_step_lists *lists) {
    for (size_t at = 0; at < lists->fresh_count; at++) {
        device_zero(stream, shard, lists->fresh[at]);
    }
    for (size_t at = 0; at < lists->copy_count; at++) {
        const kvb_copy *copy = &lists->copies[at];
        REQUIRE(copy->src < BLOCKS && copy->dst < BLOCKS && copy->positions < world.block_size, "a copy of nothing");
        device_copy(stream, shard, copy->src, copy->dst, copy->positions);
    }
}

/* Reads what the lists of a shard say of one item. */
static void read_item(struct reader *reader, size_t index, size_t shard, const struct item *item,
                      const struct need *need) {
    struct sequence *seq = item->seq;
    struct part *part = &seq->part[shard];
    const kvb_step_lists *lists = &reader->lists;
    size_t taken = need->entries + need->copy, n = item->kind == APPEND ? item->n : 0, size = world.block_size;
    REQUIRE(reader->fresh + taken <= lists->fresh_count && reader->changes + taken <= lists->change_count &&
                reader->copies + need->copy <= lists->copy_count && reader->slots + n <= lists->slot_count,
            "the lists of a step are too short");
    size_t tail = seq->positions / size, entry = part->entries;
    const uint32_t *fresh = &lists->fresh[reader->fresh];
    uint64_t ticket = 0;
    if (need->copy) {
        const kvb_copy *copy = &lists->copies[reader->copies];
        REQUIRE(copy->src == part->table[tail] && copy->dst == fresh[0] && copy->positions == seq->positions % size,
                "another copy than of block %u", part->table[tail]);
        ticket = copy->ticket;
    }
    for (size_t at = 0; at < taken; at++) {
        const kvb_change *change = &lists->changes[reader->changes + at];
        size_t place = need->copy && at == 0 ? tail : entry++;
        REQUIRE(change->index == index && change->entry == place && change->block == fresh[at],
                "another change than of entry %zu", place);
    }
    grow_part(seq, shard, item->kind, item->n, need, fresh, ticket);
    for (size_t at = 0; at < n; at++) {
        size_t position = seq->positions + at;
        int64_t slot = (int64_t)part->table[position / size] * (int64_t)size + (int64_t)(position % size);
        REQUIRE(lists->slots[reader->slots + at] == slot, "position %zu has another slot", position);
    }
    reader->slots += n;
    reader->fresh += taken;
    reader->copies += need->copy;
    reader->changes += taken;
}

/* Writes what was appended to the slots that were given. */
static void write_item(struct reader *readers, const struct item *item, size_t before) {
    for (size_t at = before; at < item->seq->positions; at++) {
        for (size_t shard = 0; shard < world.shards; shard++) {
            int64_t slot = readers[shard].lists.slots[readers[shard].slots - (item->seq->positions - at)];
            size_t block = (size_t)slot / world.block_size, offset = (size_t)slot % world.block_size;
            device_write(item->seq->stream, shard, (uint32_t)block, offset, item->seq->digest[at]);
        }
    }
}

static void open_lists(const kvb_step *step, struct reader *readers) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        memset(&readers[shard], 0, sizeof readers[shard]);
        expect(kvb_step_get(step, shard, &readers[shard].lists), done(), NULL, "lists of a step");
    }
    kvb_step_lists none;
    expect(kvb_step_get(step, world.shards, &none), plainly(KVB_ERR_OUT_OF_RANGE), NULL, "lists of no shard");
}

static void close_lists(const struct reader *readers) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        const struct reader *reader = &readers[shard];
        REQUIRE(reader->slots == reader->lists.slot_count && reader->fresh == reader->lists.fresh_count &&
                    reader->copies == reader->lists.copy_count && reader->changes == reader->lists.change_count,
                "the lists of a step have something that belongs to nobody");
    }
}

/* One item that was not refused. */
static void apply(struct reader *readers, size_t index, const struct item *item, const struct need *needs) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        read_item(&readers[shard], index, shard, item, &needs[shard]);
    }
    item->seq->last_work = device_now(item->seq->stream);
    if (item->kind == APPEND) {
        size_t before = item->seq->positions;
        add_positions(item->seq, item->n);
        write_item(readers, item, before);
    }
}

static size_t some_positions(void) {
    if (one_in(64)) {
        return SIZE_MAX / (1 + below(4));
    }
    return one_in(4) ? below(2 * world.block_size + 2) : 1;
}

void call_step(void) {
    if (pending() + BATCH * SHARDS > TICKETS) {
        call_copied();
        return;
    }
    int registry = (int)below(REGISTRIES);
    struct item items[BATCH];
    kvb_append batch[BATCH];
    size_t most = 2 * live(registry) + 1, count = below((most < BATCH ? most : BATCH) + 1);
    for (size_t at = 0; at < count; at++) {
        struct sequence *seq = some_sequence_of(registry);
        bool stale = seq == NULL || one_in(16);
        items[at].seq = stale ? NULL : seq;
        items[at].kind = APPEND;
        items[at].n = some_positions();
        batch[at].seq = stale ? stale_handle(registry) : seq->handle;
        batch[at].positions = items[at].n;
    }
    kvb_step *step = world.registries[registry].step;
    kvb_status status = kvb_seqs_step(world.registries[registry].it, batch, count, step);
    const kvb_failure *failures;
    size_t failure_count, failed = 0;
    expect(kvb_step_failures(step, &failures, &failure_count), done(), NULL, "failures of a step");
    struct reader readers[SHARDS];
    open_lists(step, readers);
    device_next((size_t)registry);
    for (size_t shard = 0; shard < world.shards; shard++) {
        prepare((size_t)registry, shard, &readers[shard].lists);
    }
    for (size_t at = 0; at < count; at++) {
        struct need needs[SHARDS];
        struct answer answer = plainly(KVB_ERR_STALE);
        if (items[at].seq != NULL) {
            answer = plan_growth(items[at].seq, APPEND, items[at].n, needs);
        }
        if (answer.status == KVB_OK) {
            apply(readers, at, &items[at], needs);
            saw("an item of a step");
            continue;
        }
        REQUIRE(failed < failure_count && failures[failed].index == at, "item %zu of a step did not fail with %s", at,
                kvb_status_name(answer.status));
        expect_failure(&failures[failed++], answer, "step");
        saw("an item of a step refused");
    }
    REQUIRE(failed == failure_count, "an item of a step failed that should not have");
    expect(status, failed > 0 ? plainly(KVB_ERR_PARTIAL) : done(), NULL, "step");
    close_lists(readers);
    for (size_t at = 0; at < count; at++) {
        if (items[at].seq != NULL) {
            compare_sequence(items[at].seq);
        }
    }
}

void call_append(void) {
    struct sequence *seq = some_sequence();
    if (seq == NULL || pending() + SHARDS > TICKETS) {
        return;
    }
    kvb_seqs *seqs = world.registries[seq->registry].it;
    kvb_step *step = world.registries[seq->registry].step;
    kvb_error error = {.struct_size = sizeof error};
    struct item item = {seq, one_in(3) ? COVER : APPEND, some_positions()};
    if (item.kind == COVER && item.n < POSITIONS) {
        item.n = seq->positions + below(3 * world.block_size);
    }
    struct need needs[SHARDS];
    struct answer answer = plan_growth(seq, item.kind, item.n, needs);
    if (item.kind == APPEND) {
        size_t blocks = 0, want = 0;
        expect(kvb_seqs_check_append(seqs, seq->handle, item.n, &blocks, &error), answer, &error, "check_append");
        for (size_t shard = 0; answer.status == KVB_OK && shard < world.shards; shard++) {
            size_t here = needs[shard].entries + needs[shard].copy;
            want = here > want ? here : want;
        }
        REQUIRE(blocks == want, "an append would take %zu blocks instead of %zu", blocks, want);
    }
    kvb_status status = item.kind == APPEND ? kvb_seqs_append(seqs, seq->handle, item.n, step, &error)
                                            : kvb_seqs_ensure(seqs, seq->handle, item.n, step, &error);
    expect(status, answer, &error, item.kind == APPEND ? "append" : "ensure");
    struct reader readers[SHARDS];
    open_lists(step, readers);
    if (answer.status == KVB_OK) {
        device_next(seq->stream);
        for (size_t shard = 0; shard < world.shards; shard++) {
            prepare(seq->stream, shard, &readers[shard].lists);
        }
        apply(readers, 0, &item, needs);
    }
    close_lists(readers);
    compare_sequence(seq);
    saw(answer.status == KVB_OK ? "an append" : "an append refused");
}

static struct answer tell(struct sequence *seq, size_t at, size_t count) {
    if (at != seq->known) {
        return refused(KVB_ERR_NOT_NEXT, NO_SHARD, seq->known, at, 0);
    }
    if (at + count > seq->positions) {
        return refused(KVB_ERR_BEYOND, NO_SHARD, at + count, 0, seq->positions);
    }
    seq->known += count;
    publish(seq);
    return done();
}

static struct answer mark(struct sequence *seq, size_t positions) {
    if (positions > seq->positions) {
        return refused(KVB_ERR_BEYOND, NO_SHARD, positions, 0, seq->positions);
    }
    seq->computed = positions > seq->computed ? positions : seq->computed;
    publish(seq);
    return done();
}

/* Of the next positions some, and rarely wrong ones. */
static void draw_telling(const struct sequence *seq, size_t *at, size_t *count) {
    size_t left = seq->positions - seq->known;
    *at = seq->known;
    *count = one_in(3) ? below(left + 1) : left;
    if (one_in(32)) {
        *at += 1 + below(3);
    } else if (one_in(32)) {
        *count = left + 1;
    }
    size_t room = POSITIONS > seq->known + 4 ? POSITIONS - seq->known - 4 : 0;
    *count = *count < room ? *count : room;
}

static size_t draw_computed(const struct sequence *seq) {
    return one_in(16) ? seq->positions + 1 : one_in(3) ? below(seq->positions + 1) : seq->positions;
}

void call_tokens(void) {
    struct sequence *seq = some_sequence();
    if (seq == NULL) {
        return;
    }
    kvb_seqs *seqs = world.registries[seq->registry].it;
    kvb_error error = {.struct_size = sizeof error};
    if (one_in(2)) {
        size_t at, count;
        draw_telling(seq, &at, &count);
        kvb_contents contents = {.tokens = &seq->text[at], .token_count = count};
        kvb_extra_key extra = {0, 0};
        size_t size = world.block_size, filled = (seq->known + count) / size - seq->known / size;
        if (one_in(32) && at == seq->known && at + count <= seq->positions && filled != 1) {
            contents.extra = &extra;
            contents.extra_count = 1;
            kvb_status status = kvb_seqs_tokens(seqs, seq->handle, at, &contents, &error);
            expect(status, refused(KVB_ERR_LENGTH_MISMATCH, NO_SHARD, filled, 1, 0), &error, "extra keys of nothing");
            return;
        }
        kvb_status status = kvb_seqs_tokens(seqs, seq->handle, at, &contents, &error);
        look_for_declined();
        expect(status, tell(seq, at, count), &error, "tokens");
    } else {
        size_t positions = draw_computed(seq);
        device_run(seq->stream, seq->last_work);
        kvb_status status = kvb_seqs_computed(seqs, seq->handle, positions, &error);
        look_for_declined();
        expect(status, mark(seq, positions), &error, "computed");
    }
    compare_sequence(seq);
}

void call_advance(void) {
    int registry = (int)below(REGISTRIES);
    struct sequence *named[BATCH];
    kvb_progress batch[BATCH];
    kvb_failure failures[BATCH];
    size_t most = 2 * live(registry) + 1, count = below((most < BATCH ? most : BATCH) + 1);
    size_t failure_count = SIZE_MAX, failed = 0;
    for (size_t at = 0; at < count; at++) {
        struct sequence *seq = one_in(16) ? NULL : some_sequence_of(registry);
        memset(&batch[at], 0, sizeof batch[at]);
        named[at] = seq;
        if (named[at] == NULL) {
            batch[at].seq = stale_handle(registry);
            batch[at].computed = 1;
            continue;
        }
        batch[at].seq = seq->handle;
        draw_telling(seq, &batch[at].at, &batch[at].token_count);
        batch[at].tokens = &seq->text[batch[at].at];
        batch[at].computed = draw_computed(seq);
        device_run(seq->stream, seq->last_work);
    }
    kvb_status status = kvb_seqs_advance(world.registries[registry].it, batch, count, failures, &failure_count);
    look_for_declined();
    for (size_t at = 0; at < count; at++) {
        struct answer answer = plainly(KVB_ERR_STALE);
        if (named[at] != NULL) {
            answer = batch[at].token_count > 0 ? tell(named[at], batch[at].at, batch[at].token_count) : done();
            if (answer.status == KVB_OK && batch[at].computed > 0) {
                answer = mark(named[at], batch[at].computed);
            }
        }
        if (answer.status == KVB_OK) {
            saw("an item of an advance");
            continue;
        }
        REQUIRE(failed < failure_count && failures[failed].index == at, "item %zu did not fail with %s", at,
                kvb_status_name(answer.status));
        expect_failure(&failures[failed++], answer, "advance");
        saw("an item of an advance refused");
    }
    REQUIRE(failed == failure_count, "an item failed that should not have");
    expect(status, failed > 0 ? plainly(KVB_ERR_PARTIAL) : done(), NULL, "advance");
    for (size_t at = 0; at < count; at++) {
        if (named[at] != NULL) {
            compare_sequence(named[at]);
        }
    }
}

static void copied(struct ticket *ticket) {
    give_back_ticket(ticket);
    for (size_t at = 0; at < SEQUENCES; at++) {
        struct sequence *seq = &world.sequences[at];
        if (seq->alive && seq->registry == ticket->registry && seq->handle.bits == ticket->owner.bits) {
            publish_part(seq, ticket->shard);
        }
    }
}

void call_copied(void) {
    kvb_copy last = world.last_copy;
    int registry = (int)below(REGISTRIES);
    size_t shard = below(world.shards), count = 0;
    kvb_copy copies[TICKETS + 1];
    struct ticket *named[TICKETS + 1];
    bool stale = false;
    for (size_t at = 0; at < TICKETS; at++) {
        struct ticket *ticket = &world.tickets[at];
        if (!ticket->pending || (!one_in(2) && pending() < TICKETS / 2)) {
            continue;
        }
        /* Another shard's or registry's is none of this one's. */
        bool here = ticket->registry == registry && ticket->shard == shard;
        if (here || one_in(8)) {
            stale |= !here;
            named[count] = here ? ticket : NULL;
            copies[count++] = ticket->copy;
            device_run((size_t)ticket->registry, ticket->time);
        }
    }
    if (one_in(8)) {
        named[count] = NULL;
        copies[count++] = last;
        stale = true;
    }
    kvb_status status = kvb_seqs_copied(world.registries[registry].it, shard, copies, count);
    look_for_declined();
    expect(status, stale ? plainly(KVB_ERR_STALE) : done(), NULL, "copied");
    for (size_t at = 0; at < count; at++) {
        if (named[at] != NULL) {
            copied(named[at]);
            world.last_copy = copies[at];
        }
    }
}
