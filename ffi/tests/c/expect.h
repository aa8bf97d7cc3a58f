/* What the tests in C expect, exactly. The first thing that is otherwise is printed, and ends the program. */
#ifndef KVB_TESTS_EXPECT_H
#define KVB_TESTS_EXPECT_H

#include <kvblock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two integers are equal. */
#define SAME(got, expected) expect_same(__FILE__, __LINE__, #got, (uint64_t)(got), (uint64_t)(expected))
/* A condition holds. */
#define HOLDS(condition) expect_same(__FILE__, __LINE__, #condition, (condition) ? 1 : 0, 1)
/* A call succeeds, or fails like this. */
#define OK(call) expect_status(__FILE__, __LINE__, #call, (call), KVB_OK)
#define FAILS(status, call) expect_status(__FILE__, __LINE__, #call, (call), (status))
/* A call fails like this, and its error says so and has these figures. `error` must be in scope, and the call's. */
#define FAILS_WITH(code, need, have, most, call)                                                                    \
    do {                                                                                                            \
        error.status = KVB_OK;                                                                                      \
        FAILS(code, call);                                                                                          \
        SAME(error.status, code);                                                                                   \
        SAME(error.needed, need);                                                                                   \
        SAME(error.available, have);                                                                                \
        SAME(error.limit, most);                                                                                    \
        HOLDS(error.message[0] != 0);                                                                               \
    } while (0)
/* These blocks, in this order. */
#define IDS(ids, count, ...)                                                                                        \
    do {                                                                                                            \
        const uint32_t expected_ids[] = {__VA_ARGS__};                                                              \
        expect_ids(__FILE__, __LINE__, (ids), (count), expected_ids, sizeof expected_ids / sizeof *expected_ids);   \
    } while (0)
/* The figures of a pool, which add up. */
#define POOL(pool, free, idle, held, quarantined, reserved)                                                         \
    expect_pool(__FILE__, __LINE__, (pool), (free), (idle), (held), (quarantined), (reserved))

static inline void expect_same(const char *file, int line, const char *what, uint64_t got, uint64_t expected) {
    if (got != expected) {
        fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, what, (long long)got, (long long)expected);
        exit(1);
    }
}

static inline void expect_status(const char *file, int line, const char *call, kvb_status got, kvb_status expected) {
    if (got != expected) {
        fprintf(stderr, "%s:%d: %s is %s, not %s\n", file, line, call, kvb_status_name(got), kvb_status_name(expected));
        exit(1);
    }
}

static inline void expect_ids(const char *file, int line, const uint32_t *ids, size_t count, const uint32_t *expected,
                              size_t expected_count) {
    expect_same(file, line, "number of blocks", count, expected_count);
    for (size_t at = 0; at < count; at++) {
        expect_same(file, line, "a block", ids[at], expected[at]);
    }
}

static inline void expect_pool(const char *file, int line, const kvb_pool *pool, uint64_t free_blocks, uint64_t idle,
                               uint64_t held, uint64_t quarantined, uint64_t reserved) {
    kvb_pool_report report = {0};
    report.struct_size = sizeof report;
    expect_status(file, line, "kvb_pool_get_report", kvb_pool_get_report(pool, &report), KVB_OK);
    expect_same(file, line, "free", report.free, free_blocks);
    expect_same(file, line, "idle", report.idle, idle);
    expect_same(file, line, "held", report.held, held);
    expect_same(file, line, "quarantined", report.quarantined, quarantined);
    expect_same(file, line, "reserved", report.reserved, reserved);
    expect_same(file, line, "free + idle + held + quarantined", free_blocks + idle + held + quarantined,
                report.capacity);
    expect_same(file, line, "available", report.available, free_blocks + idle - reserved);
}

/* A pool of shard 7 with blocks of 4 positions, and the last so many events. */
static inline kvb_pool *make_pool(size_t blocks, size_t events) {
    kvb_pool_config config = {0};
    config.struct_size = sizeof config;
    config.shard = 7;
    config.blocks = blocks;
    config.block_size = 4;
    config.events = events;
    kvb_pool *pool = NULL;
    OK(kvb_pool_create(&config, &pool, NULL));
    return pool;
}

static inline kvb_worker *make_worker(const kvb_pool *pool) {
    kvb_worker *worker = NULL;
    OK(kvb_worker_create(pool, &worker, NULL));
    return worker;
}

static inline kvb_error make_error(void) {
    kvb_error error = {0};
    error.struct_size = sizeof error;
    return error;
}

static inline kvb_reservation *make_reservation(const kvb_pool *pool, size_t blocks) {
    kvb_reservation *reservation = NULL;
    OK(kvb_pool_reserve(pool, blocks, &reservation, NULL));
    return reservation;
}

/* The tokens first, first + 1, and so on. */
static inline void count_from(uint32_t *tokens, size_t count, uint32_t first) {
    for (size_t at = 0; at < count; at++) {
        tokens[at] = first + (uint32_t)at;
    }
}

/* A chain of its own with so many blocks, of which the first `published` contain the tokens from `first` on. */
static inline kvb_chain *make_chain(const kvb_pool *pool, kvb_worker *worker, size_t blocks, size_t published,
                                    uint32_t first) {
    kvb_chain *chain = NULL;
    OK(kvb_pool_chain_create(pool, NULL, &chain));
    kvb_reservation *promise = make_reservation(pool, blocks);
    OK(kvb_chain_take(chain, worker, promise, blocks, NULL));
    kvb_reservation_destroy(promise);
    uint32_t tokens[256];
    HOLDS(4 * published <= 256);
    count_from(tokens, 4 * published, first);
    kvb_contents contents = {0};
    contents.tokens = tokens;
    contents.token_count = 4 * published;
    kvb_published done;
    OK(kvb_chain_publish(chain, worker, &contents, NULL, &done, NULL));
    SAME(done.stored + done.duplicates, published);
    SAME(done.stopped, KVB_STOPPED_NOT);
    return chain;
}

#endif
