/* NULL for each pointer of the calls on chains, and of what else takes objects away: an error, and everything is as it was. */
#include "make.h"

#define IS_NULL(call) CHECK_STATUS(call, KVB_ERR_NULL)

struct scene {
    kvb_pool *pool;
    kvb_worker *worker;
    kvb_lanes *lanes;
    kvb_leases *leases;
    kvb_reservation *promise;
    kvb_blocks *blocks;
    kvb_chain *chain;
    uint32_t tokens[8];
};

static void chains(struct scene *it) {
    const kvb_prompt prompt = request(it->tokens, 8).prompt;
    const kvb_contents contents = {it->tokens, 4, NULL, 0, NULL, 0};
    kvb_chain *out = NULL;
    kvb_published published;
    size_t count = 77;
    const uint32_t *ids = NULL;
    IS_NULL(kvb_pool_find(NULL, it->worker, &prompt, it->promise, &out, NULL));
    IS_NULL(kvb_pool_find(it->pool, NULL, &prompt, it->promise, &out, NULL));
    IS_NULL(kvb_pool_find(it->pool, it->worker, NULL, it->promise, &out, NULL));
    IS_NULL(kvb_pool_find(it->pool, it->worker, &prompt, NULL, &out, NULL));
    IS_NULL(kvb_pool_find(it->pool, it->worker, &prompt, it->promise, NULL, NULL));
    IS_NULL(kvb_pool_chain_create(NULL, NULL, &out));
    IS_NULL(kvb_pool_chain_create(it->pool, NULL, NULL));
    IS_NULL(kvb_chain_ids(NULL, &ids, &count));
    IS_NULL(kvb_chain_ids(it->chain, NULL, &count));
    IS_NULL(kvb_chain_ids(it->chain, &ids, NULL));
    IS_NULL(kvb_chain_take(NULL, it->worker, it->promise, 1, NULL));
    IS_NULL(kvb_chain_take(it->chain, NULL, it->promise, 1, NULL));
    IS_NULL(kvb_chain_take(it->chain, it->worker, NULL, 1, NULL));
    IS_NULL(kvb_chain_push(NULL, it->blocks, NULL));
    IS_NULL(kvb_chain_push(it->chain, NULL, NULL));
    IS_NULL(kvb_chain_publish(NULL, it->worker, &contents, it->promise, &published, NULL));
    IS_NULL(kvb_chain_publish(it->chain, NULL, &contents, it->promise, &published, NULL));
    IS_NULL(kvb_chain_publish(it->chain, it->worker, NULL, it->promise, &published, NULL));
    IS_NULL(kvb_chain_publish(it->chain, it->worker, &contents, it->promise, NULL, NULL));
    IS_NULL(kvb_chain_fork(NULL, it->worker, &out, NULL));
    IS_NULL(kvb_chain_fork(it->chain, NULL, &out, NULL));
    IS_NULL(kvb_chain_fork(it->chain, it->worker, NULL, NULL));
    IS_NULL(kvb_chain_split_off(NULL, 1, &out, NULL));
    IS_NULL(kvb_chain_split_off(it->chain, 1, NULL, NULL));
    IS_NULL(kvb_chain_adopt_duplicates(NULL, it->worker, &count, NULL));
    IS_NULL(kvb_chain_adopt_duplicates(it->chain, NULL, &count, NULL));
    IS_NULL(kvb_chain_release(NULL, it->worker, NULL));
    IS_NULL(kvb_chain_release(it->chain, NULL, NULL));
    IS_NULL(kvb_chain_release_after(NULL, it->worker, it->lanes, 0, 1, NULL));
    IS_NULL(kvb_chain_release_after(it->chain, NULL, it->lanes, 0, 1, NULL));
    IS_NULL(kvb_chain_release_after(it->chain, it->worker, NULL, 0, 1, NULL));
    IS_NULL(kvb_blocks_release_after(NULL, it->worker, it->lanes, 0, 1, NULL));
    IS_NULL(kvb_blocks_release_after(it->blocks, NULL, it->lanes, 0, 1, NULL));
    IS_NULL(kvb_blocks_release_after(it->blocks, it->worker, NULL, 0, 1, NULL));
    IS_NULL(kvb_leases_keep(NULL, it->chain, 1, 1, NULL, NULL));
    IS_NULL(kvb_leases_keep(it->leases, NULL, 1, 1, NULL, NULL));
    IS_NULL(kvb_pool_audit(NULL, NULL, 0, NULL));
    CHECK_OK(kvb_chain_adopt_duplicates(it->chain, it->worker, NULL, NULL));
    CHECK(out == NULL && ids == NULL && count == 77);
}

/* What sequences are taken away by. */
static void sequences(struct scene *it) {
    kvb_seqs *seqs = make_seqs(it->pool, 1);
    kvb_handle seq = admit(seqs, it->tokens, 8, 1).seq;
    kvb_detached *detached = NULL;
    kvb_handle out = {77};
    kvb_leases *leases = NULL;
    IS_NULL(kvb_seqs_leases_create(NULL, 1, &leases));
    IS_NULL(kvb_seqs_leases_create(seqs, 1, NULL));
    CHECK_OK(kvb_seqs_detach(seqs, seq, &detached, NULL));
    IS_NULL(kvb_seqs_attach(NULL, detached, &out, NULL));
    IS_NULL(kvb_seqs_attach(seqs, detached, NULL, NULL));
    IS_NULL(kvb_detached_release_after(detached, NULL, 1, NULL));
    CHECK(out.bits == 77 && leases == NULL);
    CHECK_OK(kvb_seqs_attach(seqs, detached, &out, NULL));
    CHECK_EQ(state_of(seqs, out).positions, 8);
    kvb_seqs_destroy(seqs);
}

int main(void) {
    struct scene it;
    it.pool = make_pool(0, 12, 0, 4);
    count_up(it.tokens, 8, 1);
    CHECK_OK(kvb_worker_create(it.pool, &it.worker, NULL));
    CHECK_OK(kvb_pool_lanes_create(it.pool, &it.lanes));
    CHECK_OK(kvb_pool_leases_create(it.pool, 8, &it.leases));
    CHECK_OK(kvb_pool_reserve(it.pool, 6, &it.promise, NULL));
    CHECK_OK(kvb_reservation_take(it.promise, it.worker, 2, &it.blocks, NULL));
    CHECK_OK(kvb_pool_chain_create(it.pool, NULL, &it.chain));
    CHECK_OK(kvb_chain_take(it.chain, it.worker, it.promise, 2, NULL));
    kvb_pool_report before = pool_report(it.pool);
    chains(&it);
    kvb_pool_report after = pool_report(it.pool);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    CHECK_EQ(kvb_reservation_blocks(it.promise), 2);
    sequences(&it);
    CHECK_EQ(kvb_lanes_waiting(it.lanes), 0);
    CHECK_OK(kvb_chain_release(it.chain, it.worker, NULL));
    CHECK_OK(kvb_blocks_release(it.blocks, it.worker, NULL));
    kvb_reservation_destroy(it.promise);
    kvb_leases_destroy(it.leases);
    kvb_lanes_destroy(it.lanes);
    kvb_worker_destroy(it.worker);
    CHECK_EQ(pool_report(it.pool).free, 12);
    kvb_pool_destroy(it.pool);
    return 0;
}
