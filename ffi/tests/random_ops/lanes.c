/* What waits for fences. */
#include "model.h"

bool has_passed(const struct lanes *lanes, size_t shard, uint64_t fence) {
    return lanes->begun[shard] && lanes->completed[shard] >= fence;
}

void let_go_after(struct lanes *lanes, size_t shard, uint64_t fence, uint32_t id) {
    struct pool *pool = &world.pools[shard];
    if (has_passed(lanes, shard, fence)) {
        let_go(pool, id);
        return;
    }
    REQUIRE(lanes->count[shard] < WAITING, "too much waits");
    struct waiting waiting = {fence, id};
    lanes->waiting[shard][lanes->count[shard]++] = waiting;
    pool->blocks[id].fences++;
}

void complete(struct lanes *lanes, size_t shard, uint64_t fence) {
    if (has_passed(lanes, shard, fence)) {
        return;
    }
    lanes->begun[shard] = true;
    lanes->completed[shard] = fence;
    struct pool *pool = &world.pools[shard];
    size_t kept = 0;
    for (size_t at = 0; at < lanes->count[shard]; at++) {
        struct waiting waiting = lanes->waiting[shard][at];
        if (waiting.fence <= fence) {
            pool->blocks[waiting.id].fences--;
            let_go(pool, waiting.id);
        } else {
            lanes->waiting[shard][kept++] = waiting;
        }
    }
    lanes->count[shard] = kept;
}
