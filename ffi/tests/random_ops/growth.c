/* What appends take, and what a truncation gives back. */
#include "model.h"

#include <string.h>

static size_t blocks_for(size_t positions) {
    return positions / world.block_size + (positions % world.block_size != 0);
}

/* Without a look at what is available. */
static struct need plan_part(const struct sequence *seq, size_t shard, enum growth_kind kind, size_t n) {
    const struct pool *pool = &world.pools[shard];
    const struct part *part = &seq->part[shard];
    struct need need = {done(), 0, false, 0, 0};
    size_t more = kind == APPEND ? n : n > seq->positions ? n - seq->positions : 0;
    size_t asked = more > SIZE_MAX - seq->positions ? SIZE_MAX : seq->positions + more;
    if (asked > seq->cap) {
        need.answer = refused(KVB_ERR_CAP_REACHED, NO_SHARD, asked, 0, seq->cap);
        return need;
    }
    /* What has no number is the largest that has one. */
    size_t offset = seq->positions % world.block_size;
    size_t within = more > SIZE_MAX - offset ? SIZE_MAX : offset + more;
    size_t at = seq->positions / world.block_size;
    size_t blocks = blocks_for(within);
    blocks = blocks > SIZE_MAX - at ? SIZE_MAX : blocks + at;
    if (blocks > pool->limit && blocks > part->entries + part->promise) {
        need.answer = refused(KVB_ERR_NEVER_FITS, shard, blocks, 0, pool->limit);
        return need;
    }
    need.entries = blocks > part->entries ? blocks - part->entries : 0;
    need.copy = kind == APPEND && n > 0 && offset > 0 && !part->open &&
                !is_alone_from(seq->registry, shard, part->table[at], offset);
    need.promised = need.entries < part->promise ? need.entries : part->promise;
    need.unpaid = need.entries - need.promised + (need.copy && !part->copy_credit);
    return need;
}

struct answer plan_growth(const struct sequence *seq, enum growth_kind kind, size_t n, struct need *needs) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        needs[shard] = plan_part(seq, shard, kind, n);
        if (needs[shard].answer.status != KVB_OK) {
            return needs[shard].answer;
        }
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        size_t left = available(&world.pools[shard]);
        if (needs[shard].unpaid > left) {
            return refused(KVB_ERR_SHORTFALL, shard, needs[shard].unpaid, left, 0);
        }
    }
    return done();
}

static void note_ticket(struct sequence *seq, size_t shard, kvb_copy copy) {
    struct pool *pool = &world.pools[shard];
    struct ticket *ticket = world.tickets;
    while (ticket->pending) {
        ticket++;
        REQUIRE(ticket < world.tickets + TICKETS, "too many copies are pending");
    }
    ticket->pending = true;
    ticket->registry = seq->registry;
    ticket->shard = shard;
    ticket->owner = seq->handle;
    ticket->copy = copy;
    ticket->time = device_now(seq->stream);
    ticket->path_length = 0;
    /* The table's own reference of the source is the ticket's now; what a published one hangs under is held with it. */
    if (pool->blocks[copy.src].published) {
        for (int at = pool->blocks[copy.src].parent; at != NOBODY; at = pool->blocks[at].parent) {
            ticket->path[ticket->path_length++] = (uint32_t)at;
            hold(pool, (uint32_t)at);
        }
        for (size_t i = 0; i < ticket->path_length / 2; i++) {
            uint32_t *a = &ticket->path[i], *b = &ticket->path[ticket->path_length - 1 - i], kept = *a;
            *a = *b;
            *b = kept;
        }
        saw("a copy of a published block");
    }
    hold(pool, copy.dst);
    world.registries[seq->registry].copies += 1;
    saw("a copy");
}

void grow_part(struct sequence *seq, size_t shard, enum growth_kind kind, size_t n, const struct need *need,
               const uint32_t *fresh, uint64_t ticket) {
    struct pool *pool = &world.pools[shard];
    struct part *part = &seq->part[shard];
    size_t taken = need->entries + need->copy;
    size_t missing = 0;
    if (seq->growth == KVB_GROWTH_AHEAD && need->entries > 0) {
        missing = seq->amount - (part->promise - need->promised);
    }
    size_t left = available(pool) - need->unpaid;
    size_t made_up = missing < left ? missing : left;
    part->promise = part->promise - need->promised + made_up;
    pool->reserved += made_up;
    pool->reserved -= need->promised + (need->copy && part->copy_credit);
    for (size_t i = 0; i < taken; i++) {
        take(pool, fresh[i]);
    }
    if (need->copy) {
        size_t at = seq->positions / world.block_size;
        kvb_copy copy = {part->table[at], fresh[0], seq->positions % world.block_size, ticket};
        part->copy_credit = false;
        part->table[at] = fresh[0];
        note_ticket(seq, shard, copy);
    }
    for (size_t i = need->copy; i < taken; i++) {
        part->table[part->entries++] = fresh[i];
    }
    if (kind == APPEND && n > 0) {
        part->open = true;
        if (part->copy_credit) {
            /* Its end is its own again, so that nothing is to be copied. */
            part->copy_credit = false;
            pool->reserved--;
        }
    }
}

void add_positions(struct sequence *seq, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t at = seq->positions++;
        seq->text[at] = (uint32_t)below(world.vocabulary);
        uint64_t before = at > 0 ? seq->digest[at - 1] : digest_of_space(seq->space);
        seq->digest[at] = digest_after(before, seq->text[at]);
    }
}

/* What a truncation takes and gives on one shard. */
struct cutback {
    size_t keep;
    size_t whole;
    bool seen;
    bool unpublished;
    bool copies;
    bool copy;
    bool freed_pays;
    size_t sure;
    size_t unsure;
    size_t needed;
    bool later;
};

static struct cutback plan_truncate(const struct sequence *seq, size_t shard, size_t to, const struct lanes *lanes,
                                    uint64_t fence) {
    const struct pool *pool = &world.pools[shard];
    const struct part *part = &seq->part[shard];
    struct cutback cut = {.keep = blocks_for(to), .whole = to / world.block_size};
    size_t rest = to % world.block_size;
    cut.later = lanes != NULL && !has_passed(lanes, shard, fence) && cut.keep < part->entries;
    cut.seen = rest > 0 && !is_alone_from(seq->registry, shard, part->table[cut.whole], rest);
    cut.unpublished = part->published > cut.whole;
    bool paid = cut.unpublished || seq->growth != KVB_GROWTH_ON_DEMAND || part->copy_credit;
    cut.copies = cut.seen && paid && to < seq->cap;
    cut.copy = cut.copies && !part->copy_credit;
    for (size_t at = cut.keep; at < part->entries; at++) {
        cut.sure += !cut.later && is_alone(pool, part->table[at]);
    }
    bool capped = seq->growth == KVB_GROWTH_CAP;
    if (capped) {
        cut.unsure = part->entries - cut.keep - cut.sure;
    }
    cut.freed_pays = cut.copy && cut.sure > 0 && !capped;
    cut.needed = cut.unsure + (cut.copy && !cut.freed_pays);
    return cut;
}

/* Gives back the table from an entry on, with what stands beside it. */
static void drop_entries(struct sequence *seq, size_t shard, const struct cutback *cut, struct lanes *lanes,
                         uint64_t fence) {
    struct pool *pool = &world.pools[shard];
    struct part *part = &seq->part[shard];
    uint32_t ids[2 * BLOCKS + BLOCKS];
    size_t count = 0;
    bool hangs = false;
    for (size_t at = part->entries; at-- > cut->keep;) {
        ids[count++] = part->table[at];
        if (at < part->published && part->found[at] != part->table[at]) {
            ids[count++] = part->found[at];
        }
    }
    for (size_t i = 0; i < count; i++) {
        hangs |= pool->blocks[ids[i]].published;
    }
    if (cut->later && hangs) {
        /* It needs all above it. */
        for (size_t at = cut->keep; at-- > 0;) {
            uint32_t above = at < part->published ? part->found[at] : part->table[at];
            hold(pool, above);
            ids[count++] = above;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (cut->later) {
            let_go_after(lanes, shard, fence, ids[i]);
        } else {
            let_go(pool, ids[i]);
        }
    }
    part->entries = cut->keep < part->entries ? cut->keep : part->entries;
    part->published = cut->keep < part->published ? cut->keep : part->published;
}

static void truncate_part(struct sequence *seq, size_t shard, const struct cutback *cut, struct lanes *lanes,
                          uint64_t fence) {
    struct pool *pool = &world.pools[shard];
    struct part *part = &seq->part[shard];
    pool->reserved += cut->needed;
    size_t before = pool->there;
    drop_entries(seq, shard, cut, lanes, fence);
    if (part->published > cut->whole) {
        /* What stood for the block at the end does so no longer. */
        if (part->found[cut->whole] != part->table[cut->whole]) {
            let_go(pool, part->found[cut->whole]);
        }
        part->published = cut->whole;
    }
    size_t freed = pool->there - before;
    if (cut->freed_pays) {
        freed--;
        pool->reserved++;
    }
    size_t back = 0;
    if (seq->growth == KVB_GROWTH_CAP) {
        back = cut->sure;
    } else if (seq->growth == KVB_GROWTH_AHEAD) {
        back = seq->amount - part->promise;
        back = freed < back ? freed : back;
    }
    pool->reserved += back;
    part->promise += back + cut->unsure;
    if (cut->copy) {
        part->copy_credit = true;
    } else if (!cut->copies && part->copy_credit) {
        part->copy_credit = false;
        pool->reserved--;
    }
    part->open = !cut->seen;
}

struct answer truncate_model(struct sequence *seq, size_t to, struct lanes *lanes, uint64_t fence) {
    struct cutback cuts[SHARDS];
    if (to > seq->positions) {
        return refused(KVB_ERR_BEYOND, NO_SHARD, to, 0, seq->positions);
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        cuts[shard] = plan_truncate(seq, shard, to, lanes, fence);
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        size_t left = available(&world.pools[shard]);
        if (cuts[shard].needed > left) {
            return refused(KVB_ERR_SHORTFALL, shard, cuts[shard].needed, left, 0);
        }
    }
    size_t known = to < seq->known ? to : seq->known;
    for (size_t shard = 0; shard < world.shards; shard++) {
        bool publishes = seq->insert && !seq->part[shard].ended;
        /* Of a digest no token can be had back. */
        if (cuts[shard].unpublished && publishes && world.proof == KVB_PROOF_DIGEST) {
            size_t whole = cuts[shard].whole * world.block_size;
            known = whole < known ? whole : known;
        }
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        truncate_part(seq, shard, &cuts[shard], lanes, fence);
    }
    seq->positions = to;
    seq->known = known;
    seq->computed = to < seq->computed ? to : seq->computed;
    return done();
}
