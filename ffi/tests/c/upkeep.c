/* Duplicates, bad content, victims, reclaim and elastic capacity of one pool of blocks of 4 positions. */
#include "make.h"

/* Two that compute the same at the same time: the second's blocks are duplicates, until it adopts the first's. */
static void duplicates(int fenced) {
    kvb_pool *pool = make_pool(0, 16, 0, 4);
    kvb_seqs *seqs = make_seqs(pool, 2);
    kvb_lanes *lanes = NULL;
    CHECK_OK(kvb_seqs_lanes_create(seqs, &lanes));
    uint32_t tokens[10];
    count_up(tokens, 10, 1);
    kvb_handle first = admit(seqs, tokens, 10, 1).seq;
    kvb_handle second = admit(seqs, tokens, 10, 2).seq;
    CHECK_EQ(pool_report(pool).held, 6);
    CHECK_OK(kvb_seqs_computed(seqs, first, 10, NULL));
    CHECK_OK(kvb_seqs_computed(seqs, second, 10, NULL));
    kvb_pool_report report = pool_report(pool);
    CHECK_EQ(report.stored, 2);
    CHECK_EQ(report.duplicates, 2);
    CHECK_EQ(report.held, 6);
    /* Its chain goes on the findable ones. */
    CHECK_EQ(report.shared_references, 2);

    size_t adopted = 9;
    if (fenced) {
        CHECK_OK(kvb_seqs_adopt_duplicates_after(seqs, second, lanes, 1, &adopted, NULL));
        CHECK_EQ(kvb_pool_quarantined(pool), 2);
        size_t back = 9;
        CHECK_OK(kvb_lanes_complete(lanes, 0, 1, &back));
        CHECK_EQ(back, 2);
    } else {
        CHECK_OK(kvb_seqs_adopt_duplicates(seqs, second, &adopted, NULL));
    }
    CHECK_EQ(adopted, 2);
    report = pool_report(pool);
    CHECK_EQ(report.held, 4);
    CHECK_EQ(report.shared_references, 2);
    CHECK_EQ(registry_report(seqs, 0).adopted, 2);
    const int32_t *mine = table_of(seqs, 0, second, 3);
    const int32_t *theirs = table_of(seqs, 0, first, 3);
    CHECK(mine[0] == theirs[0] && mine[1] == theirs[1] && mine[2] != theirs[2]);
    CHECK_OK(kvb_seqs_adopt_duplicates(seqs, second, &adopted, NULL));
    CHECK_EQ(adopted, 0);
    check_audit(seqs, NULL, 0);
    kvb_lanes_destroy(lanes);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

/* A bad block is found no more; who has it computes from there on, in blocks of its own. */
static void bad_content(void) {
    kvb_pool *pool = make_pool(0, 16, 0, 4);
    kvb_seqs *seqs = make_seqs(pool, 3);
    kvb_step *step = make_step(seqs);
    uint32_t tokens[14];
    count_up(tokens, 14, 1);
    kvb_handle first = admit(seqs, tokens, 14, 1).seq;
    CHECK_OK(kvb_seqs_computed(seqs, first, 14, NULL));
    kvb_handle second = admit(seqs, tokens, 14, 2).seq;
    count_up(tokens, 14, 100);
    kvb_handle third = admit(seqs, tokens, 14, 3).seq;
    CHECK_OK(kvb_seqs_computed(seqs, third, 14, NULL));

    uint32_t bad = (uint32_t)table_of(seqs, 0, first, 4)[1];
    kvb_handle affected[1];
    size_t count = 9;
    CHECK_OK(kvb_seqs_invalidate(seqs, 0, bad, affected, 1, &count, NULL));
    CHECK_EQ(count, 2);
    CHECK_EQ(affected[0].bits, first.bits);
    CHECK_EQ(state_of(seqs, first).computed, 4);
    CHECK_EQ(state_of(seqs, second).computed, 4);
    CHECK_EQ(state_of(seqs, third).computed, 14);
    count_up(tokens, 14, 1);
    kvb_prompt prompt = request(tokens, 14).prompt;
    size_t found = 9;
    CHECK_OK(kvb_seqs_probe(seqs, &prompt, &found, NULL));
    CHECK_EQ(found, 4);

    CHECK_OK(kvb_seqs_renew(seqs, second, step, NULL));
    kvb_step_lists lists = lists_of(step, 0);
    CHECK_EQ(lists.slot_count, 0);
    const int32_t *mine = table_of(seqs, 0, second, 4);
    CHECK_EQ(lists.change_count, lists.fresh_count);
    CHECK_EQ(lists.fresh_count, 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ(lists.changes[i].entry, i + 1);
        CHECK_EQ(lists.changes[i].block, mine[i + 1]);
        CHECK(mine[i + 1] != table_of(seqs, 0, first, 4)[i + 1]);
    }
    CHECK_OK(kvb_seqs_computed(seqs, second, 14, NULL));
    CHECK_EQ(state_of(seqs, second).published, 3);
    CHECK_OK(kvb_seqs_probe(seqs, &prompt, &found, NULL));
    CHECK_EQ(found, 12);
    CHECK_OK(kvb_seqs_renew(seqs, first, step, NULL));
    check_audit(seqs, NULL, 0);
    kvb_step_destroy(step);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

/* Who must go, in the caller's order, for blocks that somebody needs: shared blocks free nothing. */
static void victims(void) {
    kvb_pool *pool = make_pool(0, 12, 0, 4);
    kvb_seqs *seqs = make_seqs(pool, 4);
    uint32_t tokens[16];
    count_up(tokens, 16, 1);
    kvb_handle parent = admit(seqs, tokens, 16, 1).seq;
    kvb_handle child;
    CHECK_OK(kvb_seqs_fork(seqs, parent, &child, 1, NULL));
    count_up(tokens, 16, 100);
    kvb_handle alone = admit(seqs, tokens, 16, 2).seq;

    const kvb_handle order[3] = {child, alone, parent};
    kvb_handle chosen[3];
    size_t count = 9;
    uint32_t enough = 9;
    const size_t three = 3, twenty = 20;
    CHECK_OK(kvb_seqs_select_victims(seqs, order, 3, &three, 1, chosen, &count, &enough, NULL));
    CHECK_EQ(enough, 1);
    CHECK_EQ(count, 1);
    CHECK_EQ(chosen[0].bits, alone.bits);
    CHECK_OK(kvb_seqs_select_victims(seqs, order, 3, &twenty, 1, chosen, &count, &enough, NULL));
    CHECK_EQ(enough, 0);
    CHECK_OK(kvb_seqs_select_victims(seqs, order, 3, NULL, 0, chosen, &count, &enough, NULL));
    CHECK_EQ(enough, 1);
    CHECK_EQ(count, 0);
    CHECK_OK(kvb_seqs_select_victims(seqs, order, 0, &three, 1, NULL, &count, &enough, NULL));
    CHECK_EQ(enough, 0);
    CHECK_EQ(count, 0);
    CHECK_EQ(kvb_seqs_count(seqs), 3);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

/* What is findable goes when it is evicted, cleared by its namespace, or invalidated; upkeep changes nothing to see. */
static void reclaim(void) {
    kvb_pool *pool = make_pool(3, 12, 0, 4);
    kvb_seqs *seqs = make_seqs(pool, 2);
    kvb_worker *worker = NULL;
    CHECK_OK(kvb_worker_create(pool, &worker, NULL));
    kvb_namespace_parts parts;
    memset(&parts, 0, sizeof parts);
    parts.struct_size = sizeof parts;
    parts.salt = (const unsigned char *)"pepper";
    parts.salt_size = 6;
    kvb_namespace *space = NULL;
    CHECK_OK(kvb_namespace_create(&parts, &space));

    uint32_t tokens[12];
    count_up(tokens, 12, 1);
    for (int salted = 0; salted < 2; salted++) {
        kvb_admit asked = request(tokens, 12);
        asked.prompt.space = salted ? space : NULL;
        kvb_admitted admitted;
        CHECK_OK(kvb_seqs_admit(seqs, &asked, &admitted, NULL));
        CHECK_EQ(admitted.hit, 0);
        CHECK_OK(kvb_seqs_computed(seqs, admitted.seq, 12, NULL));
        CHECK_OK(kvb_seqs_release(seqs, &admitted.seq, 1));
    }
    CHECK_EQ(pool_report(pool).idle, 6);
    size_t count = 99;
    CHECK_OK(kvb_pool_maintain(pool, worker, 4, &count, NULL));
    CHECK(count <= 4);
    CHECK_EQ(pool_report(pool).idle, 6);
    /* The tail of the one that was released first. */
    CHECK_OK(kvb_pool_evict(pool, worker, 1, &count, NULL));
    CHECK_EQ(count, 1);
    CHECK_EQ(pool_report(pool).idle, 5);
    kvb_prompt prompt = request(tokens, 12).prompt;
    prompt.flags = KVB_PROMPT_FULL_HIT;
    prompt.space = space;
    kvb_probe found;
    CHECK_OK(kvb_pool_probe(pool, &prompt, &found, NULL));
    size_t salted_positions = found.positions;
    prompt.space = NULL;
    CHECK_OK(kvb_pool_probe(pool, &prompt, &found, NULL));
    CHECK_EQ(found.positions + salted_positions, 5 * 4);
    CHECK_EQ(found.held, 0);

    CHECK_OK(kvb_pool_clear(pool, worker, space, &count, NULL));
    CHECK_EQ(count, salted_positions / 4);
    CHECK_OK(kvb_pool_probe(pool, &prompt, &found, NULL));
    CHECK(found.positions > 0);
    kvb_handle again = admit(seqs, tokens, 12, 0).seq;
    uint32_t second = (uint32_t)table_of(seqs, 0, again, 3)[1];
    CHECK_OK(kvb_seqs_computed(seqs, again, 12, NULL));
    CHECK_OK(kvb_seqs_release(seqs, &again, 1));
    CHECK_OK(kvb_pool_invalidate(pool, worker, second, &count, NULL));
    CHECK_EQ(count, 2);
    CHECK_STATUS(kvb_pool_invalidate(pool, worker, second, &count, NULL), KVB_ERR_NOT_PUBLISHED);
    CHECK_OK(kvb_pool_clear_all(pool, worker, &count, NULL));
    CHECK_EQ(count, 1);
    CHECK_EQ(pool_report(pool).free, 12);
    CHECK_OK(kvb_pool_evict(pool, worker, SIZE_MAX, &count, NULL));
    CHECK_EQ(count, 0);
    check_audit(seqs, NULL, 0);
    kvb_namespace_destroy(space);
    kvb_worker_destroy(worker);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

/* Blocks come and go while sequences run; what is held drains, and no block moves. */
static void elastic(void) {
    kvb_pool *pool = make_pool(0, 8, 12, 4);
    kvb_seqs *seqs = make_seqs(pool, 2);
    kvb_worker *worker = NULL;
    CHECK_OK(kvb_worker_create(pool, &worker, NULL));
    kvb_resized resized;
    CHECK_EQ(kvb_pool_capacity(pool), 8);
    CHECK_OK(kvb_pool_grow(pool, 4, &resized, NULL));
    CHECK_EQ(resized.blocks, 4);
    CHECK_EQ(resized.taken_back, 0);
    CHECK_EQ(kvb_pool_capacity(pool), 12);

    uint32_t tokens[40];
    count_up(tokens, 40, 1);
    kvb_handle seq = admit(seqs, tokens, 40, 1).seq;
    kvb_error error = no_error();
    CHECK_STATUS(kvb_pool_shrink(pool, worker, 3, &resized, &error), KVB_OK);
    CHECK_EQ(resized.blocks + resized.draining, 3);
    CHECK_EQ(resized.blocks, 2);
    CHECK_EQ(kvb_pool_capacity(pool), 9);
    CHECK_EQ(pool_report(pool).draining, 1);
    CHECK_EQ(kvb_seqs_draining(seqs), 1);
    CHECK_OK(kvb_pool_grow(pool, 1, &resized, NULL));
    CHECK_EQ(resized.taken_back, 1);
    CHECK_OK(kvb_seqs_shrink(seqs, 5, NULL));
    CHECK_EQ(kvb_seqs_draining(seqs), 5);
    CHECK_OK(kvb_seqs_release(seqs, &seq, 1));
    CHECK_OK(kvb_pool_shrink(pool, worker, 0, &resized, NULL));
    CHECK_EQ(kvb_seqs_draining(seqs), 0);
    CHECK_EQ(kvb_pool_capacity(pool), 5);
    CHECK_OK(kvb_seqs_grow(seqs, 7, NULL));
    CHECK_EQ(kvb_pool_capacity(pool), 12);
    CHECK_OK(kvb_seqs_resize_rank(seqs, 0, 6, NULL));
    CHECK_EQ(kvb_pool_capacity(pool), 6);
    check_audit(seqs, NULL, 0);
    kvb_worker_destroy(worker);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

int main(void) {
    duplicates(0);
    duplicates(1);
    bad_content();
    victims();
    reclaim();
    elastic();
    return 0;
}
