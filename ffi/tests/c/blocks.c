/* Promises, and the private blocks that are taken of them. */
#include "chain.h"

static void promises(void) {
    kvb_pool *pool = make_pool(7, 8, 0, 4);
    kvb_error error = no_error();
    kvb_reservation *first = NULL, *second = NULL;
    CHECK_REFUSAL(KVB_ERR_NEVER_FITS, 9, 0, 8, kvb_pool_reserve(pool, 9, &first, &error));
    CHECK_EQ(error.shard, 7);
    CHECK(first == NULL);
    CHECK_POOL(pool, 8, 0, 0, 0, 0);

    CHECK_OK(kvb_pool_reserve(pool, 5, &first, &error));
    CHECK_POOL(pool, 8, 0, 0, 0, 5);
    CHECK_REFUSAL(KVB_ERR_SHORTFALL, 4, 3, 0, kvb_pool_reserve(pool, 4, &second, &error));
    CHECK_EQ(error.shard, 7);
    CHECK_REFUSAL(KVB_ERR_NEVER_FITS, 9, 0, 8, kvb_reservation_grow(first, 4, &error));
    CHECK_REFUSAL(KVB_ERR_EXCEEDS, 6, 5, 0, kvb_reservation_shrink(first, 6, &error));
    CHECK_REFUSAL(KVB_ERR_EXCEEDS, 6, 5, 0, kvb_reservation_split(first, 6, &second, &error));
    CHECK(second == NULL);
    CHECK_EQ(kvb_reservation_blocks(first), 5);
    CHECK_POOL(pool, 8, 0, 0, 0, 5);

    CHECK_OK(kvb_reservation_grow(first, 3, &error));
    CHECK_OK(kvb_reservation_shrink(first, 2, &error));
    CHECK_OK(kvb_reservation_split(first, 2, &second, &error));
    CHECK_EQ(kvb_reservation_blocks(first), 4);
    CHECK_EQ(kvb_reservation_blocks(second), 2);
    CHECK_POOL(pool, 8, 0, 0, 0, 6);
    CHECK_REFUSAL(KVB_ERR_SHORTFALL, 3, 2, 0, kvb_reservation_grow(second, 3, &error));
    kvb_reservation_destroy(first);
    CHECK_POOL(pool, 8, 0, 0, 0, 2);

    /* A promise keeps its pool. */
    kvb_pool_destroy(pool);
    CHECK_OK(kvb_reservation_grow(second, 6, &error));
    CHECK_EQ(kvb_reservation_blocks(second), 8);
    kvb_reservation_destroy(second);
}

static void blocks_are_taken_and_given_back(void) {
    kvb_pool *pool = make_pool(7, 32, 0, 4), *other = make_pool(7, 32, 0, 4);
    kvb_worker *worker = make_worker(pool), *foreign = make_worker(other);
    kvb_reservation *promise = make_reservation(pool, 24);
    kvb_error error = no_error();
    kvb_blocks *blocks = NULL, *tail = NULL;
    const uint32_t *ids;
    size_t count;

    CHECK_REFUSAL(KVB_ERR_EXCEEDS, 25, 24, 0, kvb_reservation_take(promise, worker, 25, &blocks, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_reservation_take(promise, foreign, 3, &blocks, &error));
    CHECK(blocks == NULL);
    CHECK_POOL(pool, 32, 0, 0, 0, 24);

    CHECK_OK(kvb_reservation_take(promise, worker, 3, &blocks, &error));
    CHECK_POOL(pool, 29, 0, 3, 0, 21);
    CHECK_REFUSAL(KVB_ERR_EXCEEDS, 4, 3, 0, kvb_blocks_split_off(blocks, 4, &tail, &error));
    CHECK(tail == NULL);
    CHECK_OK(kvb_blocks_split_off(blocks, 1, &tail, &error));
    CHECK_OK(kvb_blocks_ids(blocks, &ids, &count));
    CHECK_IDS(ids, count, 0);
    CHECK_OK(kvb_blocks_ids(tail, &ids, &count));
    CHECK_IDS(ids, count, 1, 2);

    CHECK_OK(kvb_blocks_append(tail, blocks, &error));
    CHECK_OK(kvb_blocks_ids(tail, &ids, &count));
    CHECK_IDS(ids, count, 1, 2, 0);
    CHECK_REFUSAL(KVB_ERR_INVALID, 0, 0, 0, kvb_blocks_append(tail, tail, &error));

    kvb_reservation *elsewhere = make_reservation(other, 12);
    kvb_blocks *strangers = NULL;
    CHECK_OK(kvb_reservation_take(elsewhere, foreign, 12, &strangers, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_blocks_append(tail, strangers, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_blocks_release(strangers, worker, &error));
    CHECK_OK(kvb_blocks_ids(strangers, &ids, &count));
    CHECK_IDS(ids, count, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    CHECK_POOL(other, 20, 0, 12, 0, 0);
    CHECK_POOL(pool, 29, 0, 3, 0, 21);
    CHECK_OK(kvb_blocks_release(strangers, foreign, &error));
    CHECK_POOL(other, 32, 0, 0, 0, 0);

    /* More than fit into a short list. */
    CHECK_OK(kvb_reservation_take(promise, worker, 21, &blocks, &error));
    CHECK_OK(kvb_blocks_append(tail, blocks, &error));
    CHECK_OK(kvb_blocks_ids(tail, &ids, &count));
    CHECK_IDS(ids, count, 1, 2, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23);
    CHECK_POOL(pool, 8, 0, 24, 0, 0);
    CHECK_OK(kvb_blocks_split_off(tail, 4, &blocks, &error));
    kvb_blocks_destroy(tail);
    CHECK_POOL(pool, 12, 0, 20, 0, 0);

    /* Blocks keep their pool. */
    kvb_reservation_destroy(promise);
    kvb_reservation_destroy(elsewhere);
    kvb_worker_destroy(foreign);
    kvb_pool_destroy(other);
    kvb_worker_destroy(worker);
    kvb_pool_destroy(pool);
    CHECK_OK(kvb_blocks_ids(blocks, &ids, &count));
    CHECK_EQ(count, 20);
    kvb_blocks_destroy(blocks);
}

static void blocks_wait_for_a_fence(void) {
    kvb_pool *pool = make_pool(7, 8, 0, 4), *other = make_pool(7, 8, 0, 4);
    kvb_worker *worker = make_worker(pool), *foreign = make_worker(other);
    kvb_reservation *promise = make_reservation(pool, 5);
    kvb_error error = no_error();
    kvb_lanes *lanes = NULL, *elsewhere = NULL;
    CHECK_OK(kvb_pool_lanes_create(pool, &lanes));
    CHECK_OK(kvb_pool_lanes_create(other, &elsewhere));
    kvb_blocks *blocks = NULL;
    CHECK_OK(kvb_reservation_take(promise, worker, 3, &blocks, &error));

    CHECK_REFUSAL(KVB_ERR_OUT_OF_RANGE, 0, 0, 0, kvb_blocks_release_after(blocks, worker, lanes, 1, 10, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_blocks_release_after(blocks, worker, elsewhere, 0, 10, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_blocks_release_after(blocks, foreign, lanes, 0, 10, &error));
    CHECK_POOL(pool, 5, 0, 3, 0, 2);
    CHECK_EQ(kvb_lanes_waiting(lanes), 0);

    CHECK_OK(kvb_blocks_release_after(blocks, worker, lanes, 0, 10, &error));
    CHECK_POOL(pool, 5, 0, 0, 3, 2);
    CHECK_STATUS(kvb_reservation_grow(promise, 4, &error), KVB_ERR_SHORTFALL);
    CHECK_EQ(error.quarantined, 3);
    size_t back = 9;
    CHECK_OK(kvb_lanes_complete(lanes, 0, 9, &back));
    CHECK_EQ(back, 0);
    CHECK_OK(kvb_lanes_complete(lanes, 0, 10, &back));
    CHECK_EQ(back, 3);
    CHECK_POOL(pool, 8, 0, 0, 0, 2);

    kvb_lanes_destroy(elsewhere);
    kvb_lanes_destroy(lanes);
    kvb_reservation_destroy(promise);
    kvb_worker_destroy(foreign);
    kvb_worker_destroy(worker);
    kvb_pool_destroy(other);
    kvb_pool_destroy(pool);
}

static void null_is_an_error(void) {
    kvb_pool *pool = make_pool(7, 4, 0, 4);
    kvb_worker *worker = make_worker(pool);
    kvb_reservation *promise = make_reservation(pool, 2), *more = NULL;
    kvb_blocks *blocks = NULL;
    const uint32_t *ids;
    size_t count;
    CHECK_STATUS(kvb_pool_reserve(NULL, 1, &more, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_pool_reserve(pool, 1, NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_reservation_grow(NULL, 1, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_reservation_shrink(NULL, 1, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_reservation_split(NULL, 1, &more, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_reservation_split(promise, 1, NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_reservation_take(NULL, worker, 1, &blocks, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_reservation_take(promise, NULL, 1, &blocks, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_reservation_take(promise, worker, 1, NULL, NULL), KVB_ERR_NULL);
    CHECK_OK(kvb_reservation_take(promise, worker, 1, &blocks, NULL));
    CHECK_STATUS(kvb_blocks_ids(NULL, &ids, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_ids(blocks, NULL, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_ids(blocks, &ids, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_split_off(NULL, 0, &blocks, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_split_off(blocks, 0, NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_append(NULL, blocks, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_append(blocks, NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_append(NULL, NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_release(NULL, worker, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_release(blocks, NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_blocks_release_after(blocks, worker, NULL, 0, 1, NULL), KVB_ERR_NULL);
    CHECK_EQ(kvb_reservation_blocks(NULL), 0);
    CHECK_POOL(pool, 3, 0, 1, 0, 1);
    kvb_blocks_destroy(NULL);
    kvb_reservation_destroy(NULL);
    kvb_blocks_destroy(blocks);
    kvb_reservation_destroy(promise);
    CHECK_POOL(pool, 4, 0, 0, 0, 0);
    kvb_worker_destroy(worker);
    kvb_pool_destroy(pool);
}

int main(void) {
    promises();
    blocks_are_taken_and_given_back();
    blocks_wait_for_a_fence();
    null_is_an_error();
    return 0;
}
