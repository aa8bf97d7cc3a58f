/* Registries over two shards each whose blocks are in host memory, so that what a transfer copies can be looked at. Every position
 * has a digest of its token and of all before it in each plane of each shard. */
#ifndef MOVING_H
#define MOVING_H

#include <kvblock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 4
#define SHARDS 2
#define PLANES 2
#define MAX_BLOCKS 32
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static inline void fail(const char *file, int line, const char *text) {
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
    exit(1);
}

#define CHECK(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, #condition))
#define OK(call) CHECK((call) == KVB_OK)

static inline void equal_at(uint64_t got, uint64_t wanted, const char *file, int line, const char *text) {
    if (got != wanted) {
        fprintf(stderr, "%" PRIu64 " for %" PRIu64 ", ", got, wanted);
        fail(file, line, text);
    }
}

#define EQUAL(got, wanted) equal_at((uint64_t)(got), (uint64_t)(wanted), __FILE__, __LINE__, #got)

static inline void refused_at(kvb_status got, kvb_status wanted, const kvb_error *error, const char *file, int line,
                              const char *text) {
    if (got != wanted) {
        fprintf(stderr, "%s for %s (%s), ", kvb_status_name(got), kvb_status_name(wanted), error->message);
        fail(file, line, text);
    }
    if (error->status != wanted || error->message[0] == '\0') fail(file, line, "the error says so, too");
}

/* A call that gets `&error` is refused. */
#define REFUSED(wanted, call) refused_at((call), (wanted), &error, __FILE__, __LINE__, #call)

typedef struct side {
    kvb_seqs *seqs;
    kvb_layout *layouts[SHARDS];
    kvb_format *formats[SHARDS];
    /* K without gaps, V with a gap behind each block. */
    uint64_t k[SHARDS][MAX_BLOCKS][BLOCK_SIZE];
    uint64_t v[SHARDS][MAX_BLOCKS][2 * BLOCK_SIZE];
} side;

/* Bytes of a block on a shard. */
#define BLOCK_BYTES (PLANES * BLOCK_SIZE * sizeof(uint64_t))

static inline kvb_pool *make_pool(uint32_t shard, size_t blocks, size_t max_blocks) {
    kvb_pool_config config = {.struct_size = sizeof config};
    config.shard = shard;
    config.blocks = blocks;
    config.max_blocks = max_blocks;
    config.block_size = BLOCK_SIZE;
    kvb_pool *pool = NULL;
    OK(kvb_pool_create(&config, &pool, NULL));
    return pool;
}

static inline side *make_side(uint32_t first_shard, size_t blocks, size_t max_blocks) {
    side *it = calloc(1, sizeof *it);
    CHECK(it != NULL);
    kvb_pool *pools[SHARDS];
    for (uint32_t s = 0; s < SHARDS; s++) {
        pools[s] = make_pool(first_shard + s, blocks, max_blocks);
        const kvb_plane planes[PLANES] = {
            {(uint64_t)(uintptr_t)it->k[s], sizeof it->k[s][0], sizeof it->k[s][0]},
            {(uint64_t)(uintptr_t)it->v[s], sizeof it->v[s][0], sizeof it->v[s][0] / 2},
        };
        OK(kvb_layout_create(planes, PLANES, MAX_BLOCKS, &it->layouts[s], NULL));
        OK(kvb_layout_format(it->layouts[s], BLOCK_SIZE, 1, &it->formats[s], NULL));
    }
    kvb_seqs_config config = {.struct_size = sizeof config};
    config.max_sequences = 8;
    config.formats = (const kvb_format *const *)it->formats;
    config.format_count = SHARDS;
    OK(kvb_seqs_create((const kvb_pool *const *)pools, SHARDS, &config, &it->seqs, NULL));
    for (uint32_t s = 0; s < SHARDS; s++) kvb_pool_destroy(pools[s]);
    return it;
}

/* The registry may be gone already. */
static inline void destroy_side(side *it) {
    kvb_seqs_destroy(it->seqs);
    for (uint32_t s = 0; s < SHARDS; s++) {
        kvb_layout_destroy(it->layouts[s]);
        kvb_format_destroy(it->formats[s]);
    }
    free(it);
}

static inline void count_up(uint32_t *tokens, size_t count, uint32_t first) {
    for (size_t i = 0; i < count; i++) tokens[i] = first + (uint32_t)i;
}

static inline kvb_admit request_of(const uint32_t *tokens, size_t count) {
    kvb_admit request = {.struct_size = sizeof request};
    request.prompt.tokens = tokens;
    request.prompt.token_count = count;
    return request;
}

static inline uint64_t digest(const uint32_t *tokens, size_t position, uint64_t shard, uint64_t plane) {
    uint64_t value = UINT64_C(0xcbf29ce484222325) ^ (shard << 8 | plane);
    for (size_t i = 0; i <= position; i++) value = (value ^ tokens[i]) * UINT64_C(0x100000001b3);
    return value;
}

/* Each position of a sequence in each plane: it is written, or it must be there already. */
static inline void each_position(side *it, kvb_seqs *seqs, kvb_handle seq, const uint32_t *tokens, size_t from, size_t to,
                                 int write) {
    for (uint32_t s = 0; s < SHARDS; s++) {
        const int32_t *table = NULL;
        size_t entries = 0;
        OK(kvb_seqs_get_table(seqs, s, seq, &table, &entries));
        CHECK(to <= entries * BLOCK_SIZE);
        for (size_t p = from; p < to; p++) {
            size_t block = (size_t)table[p / BLOCK_SIZE], offset = p % BLOCK_SIZE;
            CHECK(block < MAX_BLOCKS);
            if (write) {
                it->k[s][block][offset] = digest(tokens, p, s, 0);
                it->v[s][block][offset] = digest(tokens, p, s, 1);
            }
            EQUAL(it->k[s][block][offset], digest(tokens, p, s, 0));
            EQUAL(it->v[s][block][offset], digest(tokens, p, s, 1));
        }
    }
}

/* Admits a prompt and computes it. */
static inline kvb_handle run_prompt(side *it, kvb_seqs *seqs, const uint32_t *tokens, size_t count) {
    kvb_admit request = request_of(tokens, count);
    kvb_admitted admitted;
    OK(kvb_seqs_admit(seqs, &request, &admitted, NULL));
    each_position(it, seqs, admitted.seq, tokens, admitted.hit, count, 1);
    OK(kvb_seqs_computed(seqs, admitted.seq, count, NULL));
    return admitted.seq;
}

/* Copies what an import lacks from the blocks that an export offers, on one shard, by the runs of both layouts. */
static inline void copy_shard(const side *from, const kvb_export *export, side *to, const kvb_import *import, size_t hit,
                              uint32_t shard) {
    const uint32_t *sources = NULL, *destinations = NULL;
    size_t offered = 0, count = 0, runs = 0;
    OK(kvb_export_ids(export, shard, &sources, &offered));
    OK(kvb_import_ids(import, shard, &destinations, &count));
    CHECK(hit / BLOCK_SIZE + count <= offered);
    kvb_pair_run run[PLANES * MAX_BLOCKS];
    OK(kvb_layout_pair_runs(from->layouts[shard], sources + hit / BLOCK_SIZE, to->layouts[shard], destinations, count, run,
                            COUNT(run), &runs, NULL));
    uint64_t bytes = 0;
    for (size_t i = 0; i < runs; i++) {
        memcpy((void *)(uintptr_t)run[i].destination, (const void *)(uintptr_t)run[i].source, (size_t)run[i].bytes);
        bytes += run[i].bytes;
    }
    EQUAL(bytes, count * BLOCK_BYTES);
}

static inline size_t available(const kvb_seqs *seqs) {
    size_t first = kvb_pool_available(kvb_seqs_pool(seqs, 0));
    EQUAL(kvb_pool_available(kvb_seqs_pool(seqs, 1)), first);
    return first;
}

static inline kvb_loading loading_of(kvb_seqs *seqs, kvb_handle seq) {
    kvb_loading loading = {.struct_size = sizeof loading};
    OK(kvb_seqs_loading(seqs, seq, &loading));
    return loading;
}

static inline kvb_state state_of(const kvb_seqs *seqs, kvb_handle seq) {
    kvb_state state = {.struct_size = sizeof state};
    OK(kvb_seqs_get_state(seqs, seq, &state));
    return state;
}

#endif
