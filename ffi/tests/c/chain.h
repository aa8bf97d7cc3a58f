/* Promises and chains of a pool as most tests need them, and looks at blocks. */
#ifndef CHAIN_H
#define CHAIN_H

#include "make.h"

/* A call is refused: its error, a variable `error`, says why, with these figures. */
#define CHECK_REFUSAL(refusal, need, have, most, call)  \
    do {                                                \
        error.status = KVB_OK;                          \
        CHECK_STATUS(call, refusal);                    \
        CHECK_EQ(error.status, refusal);                \
        CHECK_EQ(error.needed, need);                   \
        CHECK_EQ(error.available, have);                \
        CHECK_EQ(error.limit, most);                    \
        CHECK(error.message[0] != 0);                   \
    } while (0)

/* These blocks in this order. */
#define CHECK_IDS(ids, count, ...)                                              \
    do {                                                                        \
        const uint32_t wanted_ids[] = {__VA_ARGS__};                            \
        CHECK_EQ(count, LENGTH(wanted_ids));                                    \
        for (size_t i = 0; i < (count); i++) CHECK_EQ((ids)[i], wanted_ids[i]); \
    } while (0)

/* The table of a chain, of which the first `head` blocks are published. */
#define CHECK_CHAIN(chain, head, ...)                        \
    do {                                                     \
        const uint32_t *table = NULL;                        \
        size_t table_length = 0;                             \
        CHECK_OK(kvb_chain_ids(chain, &table, &table_length)); \
        CHECK_IDS(table, table_length, __VA_ARGS__);         \
        CHECK_EQ(kvb_chain_published(chain), head);          \
    } while (0)

/* The figures of a pool, which add up. */
#define CHECK_POOL(pool, free_blocks, idle_blocks, held_blocks, waiting_blocks, promised_blocks) \
    do {                                                                                         \
        const kvb_pool_report report = pool_report(pool);                                        \
        CHECK_EQ(report.free, free_blocks);                                                      \
        CHECK_EQ(report.idle, idle_blocks);                                                      \
        CHECK_EQ(report.held, held_blocks);                                                      \
        CHECK_EQ(report.quarantined, waiting_blocks);                                            \
        CHECK_EQ(report.reserved, promised_blocks);                                              \
    } while (0)

static inline kvb_worker *make_worker(const kvb_pool *pool) {
    kvb_worker *worker = NULL;
    CHECK_OK(kvb_worker_create(pool, &worker, NULL));
    return worker;
}

static inline kvb_reservation *make_reservation(const kvb_pool *pool, size_t blocks) {
    kvb_reservation *reservation = NULL;
    CHECK_OK(kvb_pool_reserve(pool, blocks, &reservation, NULL));
    return reservation;
}

/* Publishes blocks of 4 positions with the tokens from `first` on. */
static inline kvb_published publish(kvb_chain *chain, kvb_worker *worker, size_t blocks, uint32_t first,
                                    kvb_reservation *pay) {
    uint32_t tokens[256];
    CHECK(4 * blocks <= LENGTH(tokens));
    count_up(tokens, 4 * blocks, first);
    const kvb_contents contents = {tokens, 4 * blocks, NULL, 0, NULL, 0};
    kvb_published done;
    CHECK_OK(kvb_chain_publish(chain, worker, &contents, pay, &done, NULL));
    return done;
}

/* A chain with so many blocks of its own, of which the first `head` are published with the tokens from `first` on. */
static inline kvb_chain *make_chain(const kvb_pool *pool, kvb_worker *worker, size_t blocks, size_t head,
                                    uint32_t first) {
    kvb_chain *chain = NULL;
    CHECK_OK(kvb_pool_chain_create(pool, NULL, &chain));
    kvb_reservation *promise = make_reservation(pool, blocks);
    CHECK_OK(kvb_chain_take(chain, worker, promise, blocks, NULL));
    kvb_reservation_destroy(promise);
    const kvb_published done = publish(chain, worker, head, first, NULL);
    CHECK_EQ(done.stored + done.duplicates, head);
    CHECK_EQ(done.stopped, KVB_STOPPED_NOT);
    return chain;
}

#endif
