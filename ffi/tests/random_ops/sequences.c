/* Sequences: what they hold, how it is published, how it is shared and given back. */
#include "model.h"

#include <string.h>

size_t credits(const struct part *part) {
    return part->promise + part->copy_credit;
}

size_t live(int registry) {
    size_t count = 0;
    for (size_t at = 0; at < SEQUENCES; at++) {
        count += world.sequences[at].alive && world.sequences[at].registry == registry;
    }
    return count;
}

struct sequence *vacant(void) {
    for (size_t at = 0; at < SEQUENCES; at++) {
        if (!world.sequences[at].alive) {
            return &world.sequences[at];
        }
    }
    fail("too many sequences");
}

bool is_alone_from(int registry, size_t shard, uint32_t id, size_t offset) {
    int into = 0;
    for (size_t at = 0; at < TICKETS; at++) {
        const struct ticket *ticket = &world.tickets[at];
        into += ticket->pending && ticket->registry == registry && ticket->shard == shard && ticket->copy.dst == id &&
                ticket->copy.positions <= offset;
    }
    const struct block *block = &world.pools[shard].blocks[id];
    return !block->published && block->refs == 1 + into;
}

struct answer within_budget(int registry, size_t shard, size_t needed, bool conservative) {
    const struct pool *pool = &world.pools[shard];
    size_t watermark = world.registries[registry].watermark;
    size_t capacity = pool->limit > watermark ? pool->limit - watermark : 0;
    if (needed > capacity) {
        return refused(KVB_ERR_NEVER_FITS, shard, needed, 0, capacity);
    }
    size_t committed = 0;
    for (size_t at = 0; at < SEQUENCES; at++) {
        const struct sequence *seq = &world.sequences[at];
        if (seq->alive && seq->registry == registry) {
            committed += seq->part[shard].entries + credits(&seq->part[shard]);
        }
    }
    size_t left = capacity > committed ? capacity - committed : 0;
    if (conservative && needed > left) {
        return refused(KVB_ERR_SHORTFALL, shard, needed, left, 0);
    }
    return done();
}

void publish_part(struct sequence *seq, size_t shard) {
    struct pool *pool = &world.pools[shard];
    struct part *part = &seq->part[shard];
    size_t size = world.block_size;
    size_t sealed = (seq->known < seq->computed ? seq->known : seq->computed) / size;
    if (!seq->insert || part->ended) {
        return;
    }
    for (; part->published < sealed; part->published++) {
        size_t at = part->published;
        const uint32_t *tokens = &seq->text[at * size];
        for (size_t above = 0; above < at; above++) {
            part->ended |= pool->blocks[part->found[above]].cut;
        }
        if (part->ended) {
            saw("publishing ended by a cut");
            return;
        }
        uint32_t own = part->table[at];
        int parent = at > 0 ? (int)part->found[at - 1] : NOBODY;
        int known = find_child(pool, parent, seq->space, tokens);
        if (known != NOBODY && (uint32_t)known != own) {
            if (pool->blocks[known].refs == 0 && available(pool) == 0) {
                part->ended = true;
                saw("a duplicate that could not be paid");
                return;
            }
            hit(pool, (uint32_t)known);
            part->found[at] = (uint32_t)known;
            pool->duplicates++;
            saw("a duplicate");
            continue;
        }
        if (pool->blocks[own].refs > 1 || pool->blocks[own].published) {
            /* Its other owners do not hold what it would hang under. */
            return;
        }
        if (own >= pool->limit) {
            saw("not published above the limit");
            return;
        }
        if (pool->declined_now && findable(shard, seq->space, seq->text, sealed * size) / size <= at) {
            part->ended = true;
            saw("publishing ended by a full index");
            return;
        }
        store(pool, own, parent, seq->space, tokens);
        part->found[at] = own;
    }
}

void publish(struct sequence *seq) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        publish_part(seq, shard);
    }
}

void give_back(struct sequence *seq, struct lanes *lanes, uint64_t fence) {
    for (size_t shard = 0; shard < world.shards; shard++) {
        struct pool *pool = &world.pools[shard];
        struct part *part = &seq->part[shard];
        for (size_t at = part->entries; at-- > 0;) {
            uint32_t ids[2] = {part->table[at], at < part->published ? part->found[at] : part->table[at]};
            for (size_t i = 0; i < (ids[0] == ids[1] ? 1u : 2u); i++) {
                if (lanes != NULL) {
                    let_go_after(lanes, shard, fence, ids[i]);
                } else {
                    let_go(pool, ids[i]);
                }
            }
        }
        pool->reserved -= credits(part);
    }
    seq->alive = false;
}

void give_back_ticket(struct ticket *ticket) {
    struct pool *pool = &world.pools[ticket->shard];
    let_go(pool, ticket->copy.dst);
    let_go(pool, ticket->copy.src);
    for (size_t at = ticket->path_length; at-- > 0;) {
        let_go(pool, ticket->path[at]);
    }
    ticket->pending = false;
}

/* Whether each owner of the end is promised a copy of it. */
static bool is_promised_copy(const struct sequence *seq) {
    return seq->positions % world.block_size != 0 && seq->positions < seq->cap && seq->growth != KVB_GROWTH_ON_DEMAND;
}

/* Entries of a branch's table, and its promise on a shard. */
static size_t shared_entries(const struct sequence *seq) {
    return (seq->positions + world.block_size - 1) / world.block_size;
}

static size_t inherited_promise(const struct sequence *seq, size_t shard) {
    const struct part *part = &seq->part[shard];
    /* Lookahead stays the parent's; within a cap it still has to come for the children. */
    size_t lookahead = seq->growth == KVB_GROWTH_CAP ? part->entries - shared_entries(seq) : 0;
    return part->promise + lookahead;
}

struct answer plan_fork(const struct sequence *seq, size_t children) {
    const struct registry *registry = &world.registries[seq->registry];
    if (live(seq->registry) + children > registry->max) {
        return refused(KVB_ERR_TOO_MANY_SEQUENCES, NO_SHARD, 0, 0, registry->max);
    }
    if (children == 0) {
        return done();
    }
    for (size_t shard = 0; shard < world.shards; shard++) {
        bool copies = is_promised_copy(seq);
        size_t each = inherited_promise(seq, shard) + copies;
        size_t needed = children * each + (copies && !seq->part[shard].copy_credit);
        struct answer answer = done();
        if (seq->conservative) {
            answer = within_budget(seq->registry, shard, children * shared_entries(seq) + needed, true);
        }
        const struct pool *pool = &world.pools[shard];
        if (answer.status == KVB_OK && needed > pool->limit) {
            answer = refused(KVB_ERR_NEVER_FITS, shard, needed, 0, pool->limit);
        }
        if (answer.status == KVB_OK && needed > available(pool)) {
            answer = refused(KVB_ERR_SHORTFALL, shard, needed, available(pool), 0);
        }
        if (answer.status != KVB_OK) {
            return answer;
        }
    }
    return done();
}

void fork_one(struct sequence *seq, struct sequence *child) {
    kvb_handle handle = child->handle;
    *child = *seq;
    child->handle = handle;
    child->entered = ++world.entered;
    for (size_t shard = 0; shard < world.shards; shard++) {
        struct pool *pool = &world.pools[shard];
        struct part *part = &child->part[shard];
        part->promise = inherited_promise(seq, shard);
        part->copy_credit = is_promised_copy(seq);
        part->open = false;
        part->copied_entries = 0;
        part->entries = shared_entries(seq);
        pool->reserved += credits(part);
        for (size_t at = 0; at < part->entries; at++) {
            hold(pool, part->table[at]);
            if (at < part->published && part->found[at] != part->table[at]) {
                hold(pool, part->found[at]);
            }
        }
    }
}

void finish_fork(struct sequence *seq) {
    bool copies = is_promised_copy(seq);
    for (size_t shard = 0; shard < world.shards; shard++) {
        struct part *part = &seq->part[shard];
        world.pools[shard].reserved += copies && !part->copy_credit;
        part->copy_credit |= copies;
        part->open &= seq->positions % world.block_size == 0;
    }
}
