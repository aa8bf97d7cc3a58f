/*
 * The device of an engine: memory, and for each registry a stream that does its work later than it was told, in order.
 *
 * Work has the point of its stream at which it was told; a fence at that point or later has passed when it is done. One
 * stream does not wait for the other: what is reused before its fence is written to by both.
 */
#include "model.h"

#include <string.h>

enum { WORK = 1 << 15 };

enum kind { ZERO, COPY, WRITE };

struct work {
    uint64_t point;
    enum kind kind;
    size_t shard;
    uint32_t block;
    uint32_t from;
    size_t positions;
    uint64_t digest;
};

struct stream {
    struct work queue[WORK];
    size_t head;
    size_t length;
    uint64_t now;
};

static struct stream streams[REGISTRIES];
static uint64_t memory[SHARDS][BLOCKS][BLOCK];

void device_reset(void) {
    for (size_t at = 0; at < REGISTRIES; at++) {
        streams[at].head = streams[at].length = 0;
        streams[at].now = 1;
    }
    memset(memory, 0, sizeof memory);
}

uint64_t device_now(size_t stream) {
    return streams[stream].now;
}

void device_advance(size_t stream, uint64_t to) {
    struct stream *it = &streams[stream];
    it->now = to > it->now ? to : it->now;
}

uint64_t device_next(size_t stream) {
    return ++streams[stream].now;
}

static void push(size_t stream, struct work work) {
    struct stream *it = &streams[stream];
    if (it->length == WORK) {
        device_run(stream, it->now);
    }
    work.point = it->now;
    it->queue[(it->head + it->length++) % WORK] = work;
}

void device_zero(size_t stream, size_t shard, uint32_t block) {
    struct work work = {.kind = ZERO, .shard = shard, .block = block};
    push(stream, work);
}

void device_copy(size_t stream, size_t shard, uint32_t src, uint32_t dst, size_t positions) {
    struct work work = {.kind = COPY, .shard = shard, .block = dst, .from = src, .positions = positions};
    push(stream, work);
}

void device_write(size_t stream, size_t shard, uint32_t block, size_t offset, uint64_t digest) {
    struct work work = {.kind = WRITE, .shard = shard, .block = block, .positions = offset, .digest = digest};
    push(stream, work);
}

void device_run(size_t stream, uint64_t until) {
    struct stream *it = &streams[stream];
    while (it->length > 0 && it->queue[it->head].point <= until) {
        const struct work *work = &it->queue[it->head];
        uint64_t *block = memory[work->shard][work->block];
        switch (work->kind) {
        case ZERO:
            memset(block, 0, sizeof memory[0][0]);
            break;
        case COPY:
            memcpy(block, memory[work->shard][work->from], work->positions * sizeof *block);
            break;
        case WRITE:
            block[work->positions] = work->digest;
            break;
        }
        it->head = (it->head + 1) % WORK;
        it->length--;
    }
}

bool device_is_done(size_t stream, uint64_t until) {
    const struct stream *it = &streams[stream];
    return it->length == 0 || it->queue[it->head].point > until;
}

uint64_t device_read(size_t shard, uint32_t block, size_t offset) {
    return memory[shard][block][offset];
}

void *device_memory(size_t shard, uint32_t block) {
    return memory[shard][block];
}

void device_scribble(size_t shard, uint32_t block) {
    for (size_t offset = 0; offset < BLOCK; offset++) {
        memory[shard][block][offset] = draw() | 1;
    }
}

uint64_t digest_after(uint64_t before, uint32_t token) {
    uint64_t mixed = (before ^ (token + UINT64_C(0x9E3779B97F4A7C15))) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 29)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 32);
}

uint64_t digest_of_space(int space) {
    return digest_after(1, (uint32_t)space);
}
