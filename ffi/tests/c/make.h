/* Objects as most tests need them, and looks at them. Each of these calls must succeed. */
#ifndef MAKE_H
#define MAKE_H

#include "check.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static inline kvb_pool *make_pool(uint32_t shard, size_t blocks, size_t max_blocks, size_t block_size) {
    kvb_pool_config config;
    memset(&config, 0, sizeof config);
    config.struct_size = sizeof config;
    config.shard = shard;
    config.blocks = blocks;
    config.max_blocks = max_blocks;
    config.block_size = block_size;
    kvb_pool *pool = NULL;
    CHECK_OK(kvb_pool_create(&config, &pool, NULL));
    return pool;
}

static inline kvb_seqs_config seqs_config(size_t max_sequences) {
    kvb_seqs_config config;
    memset(&config, 0, sizeof config);
    config.struct_size = sizeof config;
    config.max_sequences = max_sequences;
    return config;
}

static inline kvb_seqs *make_seqs(const kvb_pool *pool, size_t max_sequences) {
    kvb_seqs_config config = seqs_config(max_sequences);
    kvb_seqs *seqs = NULL;
    CHECK_OK(kvb_seqs_create(&pool, 1, &config, &seqs, NULL));
    return seqs;
}

static inline kvb_step *make_step(const kvb_seqs *seqs) {
    kvb_step *step = NULL;
    CHECK_OK(kvb_step_create(seqs, 16, 64, &step));
    return step;
}

static inline kvb_error no_error(void) {
    kvb_error error;
    memset(&error, 0, sizeof error);
    error.struct_size = sizeof error;
    return error;
}

/* Tokens first, first + 1, ... */
static inline void count_up(uint32_t *tokens, size_t count, uint32_t first) {
    for (size_t i = 0; i < count; i++) tokens[i] = first + (uint32_t)i;
}

static inline kvb_admit request(const uint32_t *tokens, size_t count) {
    kvb_admit admit;
    memset(&admit, 0, sizeof admit);
    admit.struct_size = sizeof admit;
    admit.prompt.tokens = tokens;
    admit.prompt.token_count = count;
    return admit;
}

static inline kvb_admitted admit(kvb_seqs *seqs, const uint32_t *tokens, size_t count, uint64_t label) {
    kvb_admit asked = request(tokens, count);
    asked.label = label;
    kvb_admitted admitted;
    CHECK_OK(kvb_seqs_admit(seqs, &asked, &admitted, NULL));
    return admitted;
}

static inline kvb_state state_of(const kvb_seqs *seqs, kvb_handle seq) {
    kvb_state state;
    memset(&state, 0, sizeof state);
    state.struct_size = sizeof state;
    CHECK_OK(kvb_seqs_get_state(seqs, seq, &state));
    return state;
}

static inline kvb_pool_report pool_report(const kvb_pool *pool) {
    kvb_pool_report report;
    memset(&report, 0, sizeof report);
    report.struct_size = sizeof report;
    CHECK_OK(kvb_pool_get_report(pool, &report));
    CHECK_EQ(report.capacity, report.free + report.idle + report.held + report.quarantined);
    CHECK_EQ(report.capacity, report.online + report.draining);
    CHECK_EQ(report.max_blocks, report.capacity + report.offline);
    CHECK_EQ(report.available, report.free + report.idle - report.reserved);
    return report;
}

static inline kvb_registry_report registry_report(const kvb_seqs *seqs, size_t shard) {
    kvb_registry_report report;
    memset(&report, 0, sizeof report);
    report.struct_size = sizeof report;
    CHECK_OK(kvb_seqs_get_shard_report(seqs, shard, &report));
    return report;
}

static inline kvb_step_lists lists_of(const kvb_step *step, size_t shard) {
    kvb_step_lists lists;
    CHECK_OK(kvb_step_get(step, shard, &lists));
    return lists;
}

/* The entries of a table. */
static inline const int32_t *table_of(const kvb_seqs *seqs, size_t shard, kvb_handle seq, size_t entries) {
    const int32_t *table = NULL;
    size_t count = 0;
    CHECK_OK(kvb_seqs_get_table(seqs, shard, seq, &table, &count));
    CHECK_EQ(count, entries);
    return table;
}

static inline void check_audit(const kvb_seqs *seqs, const kvb_holder *others, size_t count) {
    kvb_error error = no_error();
    kvb_status status = kvb_seqs_audit(seqs, others, count, &error);
    if (status != KVB_OK) fprintf(stderr, "%s\n", error.message);
    CHECK_OK(status);
}

static inline kvb_holder holder(uint32_t kind, const void *object) {
    kvb_holder holder;
    holder.kind = kind;
    holder.reserved = 0;
    holder.object = object;
    return holder;
}

#endif
