/* The second tier of a round, for what goes there and comes back. */
#ifndef RANDOM_OPS_TIER_H
#define RANDOM_OPS_TIER_H

#include "model.h"

enum { DEVICE, HOST, MEMORIES };

/* One end of a swap: a registry, the leases on its blocks, the sequence's name there, and where its bytes are. */
struct side {
    kvb_seqs *seqs;
    kvb_leases *leases;
    kvb_handle seq;
    uint32_t memory;
};

struct tier {
    kvb_pool *pools[SHARDS];
    uint32_t names[SHARDS];
    size_t blocks[SHARDS];
    kvb_seqs *seqs;
    kvb_leases *leases;
    kvb_handle resident;
    size_t resident_blocks;
    /* Plans from one memory to the other, of each shard. */
    kvb_copy_plan *plans[SHARDS][MEMORIES];
    kvb_fences *fences;
    /* The timeline of copies, one of others, and the last fence of the former. */
    uint32_t copies;
    uint32_t others;
    uint64_t now;
    uint64_t swapped_out;
    uint64_t swapped_in;
};

extern struct tier tier;

/* Between swaps nothing but the resident is there. */
void tier_compare(void);
/* Copies blocks from a memory to the other one, behind what the table of fences says, as a mover does. */
void tier_copy(size_t shard, uint32_t memory, const uint32_t *sources, const uint32_t *destinations, size_t count);
/* The last copy of a shard has passed: nobody waits for it. */
void tier_passed(size_t shard, uint32_t memory);
uint64_t tier_read(size_t shard, uint32_t block, size_t offset);

#endif
