/* Registries over several shards: three stages of a pipeline of different sizes, and four ranks in lockstep. */
#include "make.h"

/* What one shard cannot have is had on none, and the error names it. */
static void split(void) {
    kvb_pool *pools[3] = {make_pool(10, 16, 0, 4), make_pool(11, 9, 0, 4), make_pool(12, 12, 0, 4)};
    const kvb_pool *const shards[3] = {pools[0], pools[1], pools[2]};
    kvb_seqs_config config = seqs_config(4);
    config.watermark = 1;
    kvb_seqs *seqs = NULL;
    CHECK_OK(kvb_seqs_create(shards, 3, &config, &seqs, NULL));
    CHECK_EQ(kvb_seqs_shards(seqs), 3);
    CHECK_EQ(kvb_seqs_width(seqs), 3);
    CHECK_EQ(kvb_seqs_free(seqs), 8);
    CHECK_EQ(kvb_seqs_largest(seqs), 8);
    kvb_step *step = make_step(seqs);

    uint32_t tokens[40];
    count_up(tokens, 40, 1);
    kvb_admit asked = request(tokens, 14);
    asked.growth = KVB_GROWTH_CAP;
    asked.growth_amount = 6;
    kvb_cost costs[3];
    CHECK_OK(kvb_seqs_check(seqs, &asked, costs, NULL));
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(costs[i].fresh, 4);
        CHECK_EQ(costs[i].promised, 1);
    }
    kvb_admitted first;
    CHECK_OK(kvb_seqs_admit(seqs, &asked, &first, NULL));
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(kvb_pool_reserved(pools[i]), 1);
        CHECK_EQ(pool_report(pools[i]).held, 4);
        CHECK(kvb_seqs_pool(seqs, i) != NULL);
        CHECK_EQ(kvb_pool_shard(kvb_seqs_pool(seqs, i)), 10 + i);
    }
    CHECK(kvb_seqs_pool(seqs, 3) == NULL);

    /* 16 of other tokens fit on two shards, and not above the watermark of the one in the middle. */
    count_up(tokens, 40, 500);
    asked = request(tokens, 16);
    kvb_error error = no_error();
    kvb_admitted second;
    CHECK_STATUS(kvb_seqs_admit(seqs, &asked, &second, &error), KVB_ERR_SHORTFALL);
    CHECK_EQ(error.shard, 11);
    CHECK_EQ(error.needed, 4);
    CHECK_EQ(error.available, 3);
    asked.prompt.token_count = 36;
    CHECK_STATUS(kvb_seqs_admit(seqs, &asked, &second, &error), KVB_ERR_NEVER_FITS);
    CHECK_EQ(error.shard, 11);
    CHECK_EQ(error.needed, 9);
    CHECK_EQ(error.limit, 8);
    for (size_t i = 0; i < 3; i++) CHECK_EQ(pool_report(pools[i]).held, 4);

    /* Growth within the cap never fails: the last block comes from the promise on each shard. */
    CHECK_OK(kvb_seqs_computed(seqs, first.seq, 14, NULL));
    CHECK_OK(kvb_seqs_append(seqs, first.seq, 6, step, NULL));
    CHECK_STATUS(kvb_seqs_append(seqs, first.seq, 1, step, &error), KVB_ERR_CAP_REACHED);
    CHECK_EQ(error.needed, 21);
    CHECK_EQ(error.limit, 20);
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(kvb_pool_reserved(pools[i]), 0);
        CHECK_EQ(table_of(seqs, i, first.seq, 5) != NULL, 1);
        CHECK_EQ(registry_report(seqs, i).held_blocks, 5);
        CHECK_EQ(registry_report(seqs, i).shard, 10 + i);
    }

    /* Each shard has a copy of its own to make, and is told of it alone. */
    kvb_handle child;
    CHECK_OK(kvb_seqs_truncate(seqs, first.seq, 14, NULL));
    CHECK_OK(kvb_seqs_fork(seqs, first.seq, &child, 1, NULL));
    CHECK_OK(kvb_seqs_append(seqs, child, 1, step, NULL));
    for (size_t i = 0; i < 3; i++) {
        kvb_step_lists lists = lists_of(step, i);
        CHECK_EQ(lists.copy_count, 1);
        CHECK_EQ(lists.copies[0].positions, 2);
        CHECK_STATUS(kvb_seqs_copied(seqs, (i + 1) % 3, lists.copies, 1), KVB_ERR_STALE);
        CHECK_OK(kvb_seqs_copied(seqs, i, lists.copies, 1));
    }
    CHECK_STATUS(kvb_step_get(step, 3, &(kvb_step_lists){0}), KVB_ERR_OUT_OF_RANGE);

    kvb_seqs_report report;
    memset(&report, 0, sizeof report);
    report.struct_size = sizeof report;
    CHECK_OK(kvb_seqs_get_report(seqs, &report));
    CHECK_EQ(report.binding, 11);
    CHECK_EQ(report.lockstep, 0);
    CHECK_EQ(report.block_size, 4);
    CHECK_EQ(report.sequences, 2);
    CHECK_EQ(report.max_sequences, 4);
    CHECK_EQ(report.largest, 8);
    CHECK_EQ(report.held, 5);
    /* Each may grow into one more block, and the parent may have to copy its end. */
    CHECK_EQ(report.conservative, 8 + 3);
    CHECK_EQ(report.physical, 5 + 3);
    CHECK_EQ(report.free, 9 - 5 - 3 - 1);
    check_audit(seqs, NULL, 0);

    /* Each shard has a stream of its own. */
    kvb_lanes *lanes = NULL;
    CHECK_OK(kvb_seqs_lanes_create(seqs, &lanes));
    CHECK_OK(kvb_seqs_release_after(seqs, child, lanes, 1, NULL));
    CHECK_OK(kvb_seqs_release_after(seqs, first.seq, lanes, 2, NULL));
    size_t back = 9;
    CHECK_OK(kvb_lanes_complete(lanes, 1, 2, &back));
    CHECK_EQ(back, 5);
    CHECK_EQ(kvb_pool_quarantined(pools[0]), 5);
    CHECK_EQ(kvb_pool_quarantined(pools[1]), 0);
    CHECK_STATUS(kvb_lanes_complete(lanes, 3, 9, &back), KVB_ERR_OUT_OF_RANGE);
    kvb_lanes_destroy(lanes);
    CHECK_EQ(kvb_pool_quarantined(pools[2]), 0);

    /* Three more on every shard, or on none. */
    CHECK_STATUS(kvb_seqs_grow(seqs, 1, &error), KVB_ERR_BEYOND_MAX);
    CHECK_OK(kvb_seqs_shrink(seqs, 2, NULL));
    CHECK_EQ(kvb_seqs_largest(seqs), 6);
    CHECK_OK(kvb_seqs_resize_rank(seqs, 1, 9, NULL));
    CHECK_EQ(kvb_seqs_largest(seqs), 8);
    kvb_rank_report rank;
    memset(&rank, 0, sizeof rank);
    rank.struct_size = sizeof rank;
    CHECK_OK(kvb_seqs_get_rank_report(seqs, 2, &rank));
    CHECK_EQ(rank.shard, 12);
    CHECK_EQ(rank.blocks, 10);
    CHECK_EQ(rank.usable + rank.stranded, rank.blocks);
    kvb_step_destroy(step);
    kvb_seqs_destroy(seqs);
    for (size_t i = 0; i < 3; i++) kvb_pool_destroy(pools[i]);
}

/* One table for all ranks, which have as many blocks as the smallest; the surplus of the others is stranded. */
static void lockstep(void) {
    const kvb_rank ranks[4] = {{20, 0, 12, 16}, {21, 0, 10, 16}, {22, 0, 12, 16}, {23, 0, 11, 16}};
    kvb_pool_config pool;
    memset(&pool, 0, sizeof pool);
    pool.struct_size = sizeof pool;
    pool.block_size = 4;
    kvb_seqs_config config = seqs_config(2);
    kvb_seqs *seqs = NULL;
    CHECK_OK(kvb_seqs_create_lockstep(ranks, 4, &pool, &config, &seqs, NULL));
    CHECK_EQ(kvb_seqs_shards(seqs), 1);
    CHECK_EQ(kvb_seqs_width(seqs), 4);
    CHECK_EQ(kvb_seqs_largest(seqs), 10);
    CHECK_EQ(kvb_pool_shard(kvb_seqs_pool(seqs, 0)), 21);
    const size_t stranded[4] = {2, 0, 2, 1};
    size_t sum = 0;
    kvb_rank_report rank;
    memset(&rank, 0, sizeof rank);
    rank.struct_size = sizeof rank;
    for (size_t i = 0; i < 4; i++) {
        CHECK_OK(kvb_seqs_get_rank_report(seqs, i, &rank));
        CHECK_EQ(rank.shard, 20 + i);
        CHECK_EQ(rank.usable, 10);
        CHECK_EQ(rank.stranded, stranded[i]);
        sum += stranded[i];
    }
    kvb_seqs_report report;
    memset(&report, 0, sizeof report);
    report.struct_size = sizeof report;
    CHECK_OK(kvb_seqs_get_report(seqs, &report));
    CHECK_EQ(report.lockstep, 1);
    CHECK_EQ(report.stranded, sum);

    uint32_t tokens[10];
    count_up(tokens, 10, 1);
    kvb_handle seq = admit(seqs, tokens, 10, 1).seq;
    table_of(seqs, 0, seq, 3);
    const int32_t *table = NULL;
    size_t count = 0;
    CHECK_STATUS(kvb_seqs_get_table(seqs, 1, seq, &table, &count), KVB_ERR_OUT_OF_RANGE);
    CHECK_OK(kvb_seqs_resize_rank(seqs, 1, 12, NULL));
    CHECK_EQ(kvb_seqs_largest(seqs), 11);
    CHECK_OK(kvb_seqs_get_rank_report(seqs, 1, &rank));
    CHECK_EQ(rank.stranded, 1);
    CHECK_OK(kvb_seqs_grow(seqs, 2, NULL));
    CHECK_EQ(kvb_seqs_largest(seqs), 13);
    kvb_error error = no_error();
    CHECK_STATUS(kvb_seqs_resize_rank(seqs, 4, 12, &error), KVB_ERR_OUT_OF_RANGE);
    CHECK_EQ(error.needed, 4);
    CHECK_EQ(error.limit, 4);
    check_audit(seqs, NULL, 0);
    kvb_seqs_destroy(seqs);
}

int main(void) {
    split();
    lockstep();
    return 0;
}
