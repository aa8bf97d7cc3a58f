/* Registries over two shards each whose blocks are in host memory, so that what a transfer copies can be looked at. Every position
 * has a digest of its token and of all before it in each plane of each shard. */
#ifndef MOVING_H
#define MOVING_H

#include "make.h"
#include "refused.h"

#define BLOCK_SIZE 4
#define SHARDS 2
#define PLANES 2
#define MAX_BLOCKS 32

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

static inline side *make_side(uint32_t first_shard, size_t blocks, size_t max_blocks) {
    side *it = calloc(1, sizeof *it);
    CHECK(it != NULL);
    kvb_pool *pools[SHARDS];
    for (uint32_t s = 0; s < SHARDS; s++) {
        pools[s] = make_pool(first_shard + s, blocks, max_blocks, BLOCK_SIZE);
        const kvb_plane planes[PLANES] = {
            {(uint64_t)(uintptr_t)it->k[s], sizeof it->k[s][0], sizeof it->k[s][0]},
            {(uint64_t)(uintptr_t)it->v[s], sizeof it->v[s][0], sizeof it->v[s][0] / 2},
        };
        CHECK_OK(kvb_layout_create(planes, PLANES, MAX_BLOCKS, &it->layouts[s], NULL));
        CHECK_OK(kvb_layout_format(it->layouts[s], BLOCK_SIZE, 1, &it->formats[s], NULL));
    }
    kvb_seqs_config config = seqs_config(8);
    config.formats = (const kvb_format *const *)it->formats;
    config.format_count = SHARDS;
    CHECK_OK(kvb_seqs_create((const kvb_pool *const *)pools, SHARDS, &config, &it->seqs, NULL));
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
        CHECK_OK(kvb_seqs_get_table(seqs, s, seq, &table, &entries));
        CHECK(to <= entries * BLOCK_SIZE);
        for (size_t p = from; p < to; p++) {
            size_t block = (size_t)table[p / BLOCK_SIZE], offset = p % BLOCK_SIZE;
            CHECK(block < MAX_BLOCKS);
            if (write) {
                it->k[s][block][offset] = digest(tokens, p, s, 0);
                it->v[s][block][offset] = digest(tokens, p, s, 1);
            }
            CHECK_EQ(it->k[s][block][offset], digest(tokens, p, s, 0));
            CHECK_EQ(it->v[s][block][offset], digest(tokens, p, s, 1));
        }
    }
}

/* Admits a prompt and computes it. */
static inline kvb_handle run_prompt(side *it, kvb_seqs *seqs, const uint32_t *tokens, size_t count) {
    kvb_admit asked = request(tokens, count);
    kvb_admitted admitted;
    CHECK_OK(kvb_seqs_admit(seqs, &asked, &admitted, NULL));
    each_position(it, seqs, admitted.seq, tokens, admitted.hit, count, 1);
    CHECK_OK(kvb_seqs_computed(seqs, admitted.seq, count, NULL));
    return admitted.seq;
}

/* Copies what an import lacks from the blocks that an export offers, on one shard, by the runs of both layouts. */
static inline void copy_shard(const side *from, const kvb_export *export, side *to, const kvb_import *import, size_t hit,
                              uint32_t shard) {
    const uint32_t *sources = NULL, *destinations = NULL;
    size_t offered = 0, count = 0, runs = 0;
    CHECK_OK(kvb_export_ids(export, shard, &sources, &offered));
    CHECK_OK(kvb_import_ids(import, shard, &destinations, &count));
    CHECK(hit / BLOCK_SIZE + count <= offered);
    kvb_pair_run run[PLANES * MAX_BLOCKS];
    CHECK_OK(kvb_layout_pair_runs(from->layouts[shard], sources + hit / BLOCK_SIZE, to->layouts[shard], destinations, count, run,
                            LENGTH(run), &runs, NULL));
    uint64_t bytes = 0;
    for (size_t i = 0; i < runs; i++) {
        memcpy((void *)(uintptr_t)run[i].destination, (const void *)(uintptr_t)run[i].source, (size_t)run[i].bytes);
        bytes += run[i].bytes;
    }
    CHECK_EQ(bytes, count * BLOCK_BYTES);
}

static inline size_t available(const kvb_seqs *seqs) {
    size_t first = kvb_pool_available(kvb_seqs_pool(seqs, 0));
    CHECK_EQ(kvb_pool_available(kvb_seqs_pool(seqs, 1)), first);
    return first;
}

static inline kvb_loading loading_of(kvb_seqs *seqs, kvb_handle seq) {
    kvb_loading loading = {.struct_size = sizeof loading};
    CHECK_OK(kvb_seqs_loading(seqs, seq, &loading));
    return loading;
}

#endif
