/* The life of sequences over one pool, with exact figures: 16 blocks of 4 positions. */
#include "make.h"

enum { BLOCKS = 16, BLOCK_SIZE = 4 };

struct scene {
    kvb_pool *pool;
    kvb_seqs *seqs;
    kvb_step *step;
    uint32_t prompt[10];
};

static void check_blocks(const struct scene *it, size_t free_blocks, size_t idle, size_t held, size_t shared) {
    kvb_pool_report report = pool_report(it->pool);
    CHECK_EQ(report.free, free_blocks);
    CHECK_EQ(report.idle, idle);
    CHECK_EQ(report.held, held);
    CHECK_EQ(report.shared_references, shared);
    CHECK_EQ(kvb_pool_available(it->pool), report.available);
    CHECK_EQ(kvb_pool_reserved(it->pool), report.reserved);
    CHECK_EQ(kvb_pool_quarantined(it->pool), report.quarantined);
}

/* Ten tokens take three blocks. Once they are computed the two whole ones are findable. */
static kvb_handle first_sequence(struct scene *it) {
    kvb_admit asked = request(it->prompt, 10);
    asked.label = 7;
    kvb_cost cost;
    CHECK_OK(kvb_seqs_check(it->seqs, &asked, &cost, NULL));
    CHECK_EQ(cost.blocks, 3);
    CHECK_EQ(cost.fresh, 3);
    CHECK_EQ(cost.hit_held + cost.hit_idle + cost.promised, 0);
    kvb_admitted admitted;
    CHECK_OK(kvb_seqs_admit(it->seqs, &asked, &admitted, NULL));
    CHECK_EQ(admitted.hit, 0);
    CHECK_EQ(admitted.fresh, 3);
    check_blocks(it, 13, 0, 3, 0);

    kvb_state state = state_of(it->seqs, admitted.seq);
    CHECK_EQ(state.label, 7);
    CHECK_EQ(state.growth, KVB_GROWTH_ON_DEMAND);
    CHECK_EQ(state.positions, 10);
    CHECK_EQ(state.known, 10);
    CHECK_EQ(state.computed, 0);
    CHECK_EQ(state.published, 0);
    CHECK_EQ(state.blocks, 3);
    CHECK_EQ(state.promised, 0);

    const int32_t *table = table_of(it->seqs, 0, admitted.seq, 3);
    int64_t slots[10];
    CHECK_OK(kvb_seqs_get_slots(it->seqs, 0, admitted.seq, 0, 10, slots, NULL));
    for (size_t i = 0; i < 10; i++) CHECK_EQ(slots[i], table[i / BLOCK_SIZE] * BLOCK_SIZE + (int64_t)(i % BLOCK_SIZE));

    CHECK_OK(kvb_seqs_computed(it->seqs, admitted.seq, 7, NULL));
    CHECK_EQ(state_of(it->seqs, admitted.seq).published, 1);
    CHECK_OK(kvb_seqs_computed(it->seqs, admitted.seq, 10, NULL));
    CHECK_EQ(state_of(it->seqs, admitted.seq).published, 2);
    return admitted.seq;
}

/* The same prompt again holds the two findable blocks and takes one of its own. */
static kvb_handle prefix_hit(struct scene *it, kvb_handle first) {
    kvb_prompt prompt = request(it->prompt, 10).prompt;
    kvb_probe found;
    CHECK_OK(kvb_pool_probe(it->pool, &prompt, &found, NULL));
    CHECK_EQ(found.positions, 8);
    CHECK_EQ(found.held, 2);
    CHECK_EQ(found.idle, 0);
    size_t positions = 0;
    CHECK_OK(kvb_seqs_probe(it->seqs, &prompt, &positions, NULL));
    CHECK_EQ(positions, 8);
    /* Of eight tokens one block may match, so that something is left to compute: two if that is not wanted. */
    prompt.token_count = 8;
    CHECK_OK(kvb_seqs_probe(it->seqs, &prompt, &positions, NULL));
    CHECK_EQ(positions, 4);
    prompt.flags = KVB_PROMPT_FULL_HIT;
    CHECK_OK(kvb_seqs_probe(it->seqs, &prompt, &positions, NULL));
    CHECK_EQ(positions, 8);

    kvb_admitted second = admit(it->seqs, it->prompt, 10, 8);
    CHECK_EQ(second.hit, 8);
    CHECK_EQ(second.fresh, 1);
    check_blocks(it, 12, 0, 4, 2);
    const int32_t *mine = table_of(it->seqs, 0, second.seq, 3);
    const int32_t *theirs = table_of(it->seqs, 0, first, 3);
    CHECK(mine[0] == theirs[0] && mine[1] == theirs[1] && mine[2] != theirs[2]);
    CHECK_EQ(state_of(it->seqs, second.seq).computed, 8);
    CHECK_OK(kvb_seqs_computed(it->seqs, second.seq, 10, NULL));
    return second.seq;
}

/* Three decode steps of a batch of two: within the last block, to its end, and into a new one. */
static void decode(struct scene *it, kvb_handle first, kvb_handle second) {
    const kvb_append batch[2] = {{first, 1}, {second, 1}};
    for (size_t at = 10; at < 13; at++) {
        CHECK_OK(kvb_seqs_step(it->seqs, batch, 2, it->step));
        kvb_step_lists lists = lists_of(it->step, 0);
        const int32_t *tables[2] = {table_of(it->seqs, 0, first, at / 4 + 1), table_of(it->seqs, 0, second, at / 4 + 1)};
        CHECK_EQ(lists.slot_count, 2);
        for (size_t i = 0; i < 2; i++) CHECK_EQ(lists.slots[i], tables[i][at / 4] * BLOCK_SIZE + (int64_t)(at % 4));
        CHECK_EQ(lists.copy_count, 0);
        CHECK_EQ(lists.fresh_count, at == 12 ? 2 : 0);
        CHECK_EQ(lists.change_count, at == 12 ? 2 : 0);
        for (size_t i = 0; i < lists.change_count; i++) {
            CHECK_EQ(lists.changes[i].index, i);
            CHECK_EQ(lists.changes[i].entry, 3);
            CHECK_EQ(lists.changes[i].block, tables[i][3]);
            CHECK_EQ(lists.fresh[i], tables[i][3]);
        }
        const uint32_t token = 1000 + (uint32_t)at;
        const uint32_t other = 2000 + (uint32_t)at;
        const kvb_progress done[2] = {{first, at, &token, 1, at + 1}, {second, at, &other, 1, at + 1}};
        kvb_failure failures[2];
        size_t failed = 9;
        CHECK_OK(kvb_seqs_advance(it->seqs, done, 2, failures, &failed));
        CHECK_EQ(failed, 0);
    }
    const kvb_failure *failures = NULL;
    size_t failed = 9;
    CHECK_OK(kvb_step_failures(it->step, &failures, &failed));
    CHECK_EQ(failed, 0);
    CHECK_EQ(state_of(it->seqs, first).published, 3);
    CHECK_EQ(state_of(it->seqs, second).positions, 13);
    check_blocks(it, 10, 0, 6, 2);
}

/* A branch shares the partial block; who writes first gets a copy, and both stay held until it is told as made. */
static kvb_handle branch(struct scene *it, kvb_handle parent) {
    kvb_handle child;
    CHECK_OK(kvb_seqs_fork(it->seqs, parent, &child, 1, NULL));
    CHECK_EQ(state_of(it->seqs, child).positions, 13);
    CHECK_EQ(state_of(it->seqs, child).label, 7);
    check_blocks(it, 10, 0, 6, 6);
    const int32_t shared = table_of(it->seqs, 0, parent, 4)[3];

    CHECK_OK(kvb_seqs_append(it->seqs, parent, 1, it->step, NULL));
    kvb_step_lists lists = lists_of(it->step, 0);
    CHECK_EQ(lists.copy_count, 1);
    kvb_copy copy = lists.copies[0];
    CHECK_EQ(copy.src, shared);
    CHECK_EQ(copy.positions, 1);
    CHECK_EQ(lists.fresh_count, 1);
    CHECK_EQ(lists.fresh[0], copy.dst);
    CHECK_EQ(lists.change_count, 1);
    CHECK_EQ(lists.changes[0].entry, 3);
    CHECK_EQ(lists.changes[0].block, copy.dst);
    CHECK_EQ(table_of(it->seqs, 0, parent, 4)[3], copy.dst);
    CHECK_EQ(table_of(it->seqs, 0, child, 4)[3], shared);
    CHECK_EQ(registry_report(it->seqs, 0).pending_copies, 1);
    CHECK_OK(kvb_seqs_copied(it->seqs, 0, &copy, 1));
    CHECK_STATUS(kvb_seqs_copied(it->seqs, 0, &copy, 1), KVB_ERR_STALE);
    CHECK_EQ(registry_report(it->seqs, 0).pending_copies, 0);
    CHECK_EQ(registry_report(it->seqs, 0).copies, 1);

    /* The child is alone with the old block now, and writes into it. */
    CHECK_OK(kvb_seqs_append(it->seqs, child, 1, it->step, NULL));
    CHECK_EQ(lists_of(it->step, 0).copy_count, 0);
    CHECK_EQ(lists_of(it->step, 0).slots[0], shared * BLOCK_SIZE + 1);
    check_blocks(it, 9, 0, 7, 5);
    return child;
}

/* Drafts are appended and not computed; what is rejected goes back. Into a published block it costs a copy later. */
static void drafts(struct scene *it, kvb_handle seq) {
    CHECK_OK(kvb_seqs_ensure(it->seqs, seq, 20, it->step, NULL));
    CHECK_EQ(state_of(it->seqs, seq).blocks, 5);
    CHECK_EQ(state_of(it->seqs, seq).positions, 13);
    size_t blocks = 9;
    CHECK_OK(kvb_seqs_check_append(it->seqs, seq, 7, &blocks, NULL));
    CHECK_EQ(blocks, 0);
    CHECK_OK(kvb_seqs_check_append(it->seqs, seq, 8, &blocks, NULL));
    CHECK_EQ(blocks, 1);
    CHECK_OK(kvb_seqs_append(it->seqs, seq, 7, it->step, NULL));
    CHECK_EQ(lists_of(it->step, 0).fresh_count, 0);
    CHECK_OK(kvb_seqs_truncate(it->seqs, seq, 13, NULL));
    CHECK_EQ(state_of(it->seqs, seq).blocks, 4);
    check_blocks(it, 9, 0, 7, 5);

    CHECK_OK(kvb_seqs_truncate(it->seqs, seq, 10, NULL));
    CHECK_EQ(state_of(it->seqs, seq).positions, 10);
    CHECK_EQ(state_of(it->seqs, seq).computed, 10);
    CHECK_EQ(state_of(it->seqs, seq).promised, 1);
    CHECK_EQ(kvb_pool_reserved(it->pool), 1);
    CHECK_OK(kvb_seqs_append(it->seqs, seq, 1, it->step, NULL));
    CHECK_EQ(kvb_pool_reserved(it->pool), 0);
    kvb_step_lists lists = lists_of(it->step, 0);
    CHECK_EQ(lists.copy_count, 1);
    CHECK_EQ(lists.copies[0].positions, 2);
    CHECK_OK(kvb_seqs_copied(it->seqs, 0, lists.copies, lists.copy_count));
}

/* Who is preempted comes back to what is still findable. */
static void preempt_and_return(struct scene *it, kvb_handle seq) {
    CHECK_OK(kvb_seqs_preempt(it->seqs, &seq, 1));
    CHECK_STATUS(kvb_seqs_preempt(it->seqs, &seq, 1), KVB_ERR_STALE);
    CHECK_STATUS(kvb_seqs_computed(it->seqs, seq, 1, NULL), KVB_ERR_STALE);
    CHECK_EQ(kvb_seqs_count(it->seqs), 2);
    kvb_admit again = request(it->prompt, 10);
    again.flags = KVB_ADMIT_RETURNING;
    again.label = 8;
    kvb_admitted admitted;
    CHECK_OK(kvb_seqs_admit(it->seqs, &again, &admitted, NULL));
    CHECK_EQ(admitted.hit, 8);
    CHECK_EQ(kvb_handle_slot(admitted.seq), kvb_handle_slot(seq));
    CHECK(kvb_handle_epoch(admitted.seq) > kvb_handle_epoch(seq));
    kvb_registry_report report = registry_report(it->seqs, 0);
    CHECK_EQ(report.preemptions, 1);
    CHECK_EQ(report.first.requests, 2);
    CHECK_EQ(report.first.queried, 20);
    CHECK_EQ(report.first.hit, 8);
    CHECK_EQ(report.returned.requests, 1);
    CHECK_EQ(report.returned.queried, 10);
    CHECK_EQ(report.returned.hit, 8);
    CHECK_OK(kvb_seqs_release(it->seqs, &admitted.seq, 1));
}

/* Blocks that a device may still read come back when its stream has passed the fence. */
static void fences(struct scene *it, kvb_handle parent, kvb_handle child) {
    kvb_lanes *lanes = NULL;
    CHECK_OK(kvb_seqs_lanes_create(it->seqs, &lanes));
    CHECK_OK(kvb_seqs_truncate_after(it->seqs, child, 12, lanes, 4, NULL));
    CHECK_EQ(kvb_pool_quarantined(it->pool), 1);
    CHECK_OK(kvb_seqs_release_after(it->seqs, parent, lanes, 5, NULL));
    CHECK_STATUS(kvb_seqs_release_after(it->seqs, parent, lanes, 5, NULL), KVB_ERR_STALE);
    CHECK_OK(kvb_seqs_preempt_after(it->seqs, child, lanes, 6, NULL));
    CHECK_EQ(kvb_seqs_count(it->seqs), 0);
    kvb_pool_report report = pool_report(it->pool);
    CHECK_EQ(report.held, 0);
    /* The first three blocks, which both had, the copy and the old end. */
    CHECK_EQ(report.quarantined, 5);
    CHECK_EQ(kvb_lanes_waiting(lanes), 8);
    kvb_holder other = holder(KVB_HOLDER_LANES, lanes);
    check_audit(it->seqs, &other, 1);

    size_t back = 9;
    CHECK_OK(kvb_lanes_complete(lanes, 0, 4, &back));
    CHECK_EQ(back, 1);
    CHECK_OK(kvb_lanes_complete(lanes, 0, 5, &back));
    CHECK_EQ(back, 1);
    CHECK_OK(kvb_lanes_complete(lanes, 0, 3, &back));
    CHECK_EQ(back, 0);
    CHECK_OK(kvb_lanes_complete(lanes, 0, 6, NULL));
    CHECK_EQ(kvb_lanes_waiting(lanes), 0);
    CHECK_EQ(kvb_pool_quarantined(it->pool), 0);
    kvb_lanes_destroy(lanes);
}

int main(void) {
    struct scene it;
    it.pool = make_pool(0, BLOCKS, 0, BLOCK_SIZE);
    it.seqs = make_seqs(it.pool, 4);
    it.step = make_step(it.seqs);
    count_up(it.prompt, 10, 1);

    kvb_handle first = first_sequence(&it);
    kvb_handle second = prefix_hit(&it, first);
    decode(&it, first, second);
    kvb_handle child = branch(&it, first);
    drafts(&it, second);
    check_audit(it.seqs, NULL, 0);
    preempt_and_return(&it, second);
    fences(&it, first, child);
    check_audit(it.seqs, NULL, 0);

    /* All is free or findable again. */
    kvb_pool_report report = pool_report(it.pool);
    CHECK_EQ(report.held, 0);
    CHECK_EQ(report.available, BLOCKS);
    CHECK_EQ(report.idle, report.stored - report.reclaims);
    kvb_step_destroy(it.step);
    kvb_seqs_destroy(it.seqs);
    kvb_pool_destroy(it.pool);
    return 0;
}
