// Which units of work a thread block does, and in what order.
//
// A unit is one chunk of one plane of one pair of blocks. Units are numbered pair by pair, and thread block b of a
// grid of g does units b, b + g, b + 2g, ...: any grid does them all, and neighbouring thread blocks move neighbouring
// bytes. Pair and chunk are carried along, so that the walk divides at the start of a launch and never again.
//
// Complexity: one search of the plane table a unit, O(log planes) loads.

#pragma once

#include "copy.cuh"
#include "permute.cuh"

// The plane that has this chunk: the last one whose `first` is not above it.
template <typename Plane>
__device__ __forceinline__ const Plane& plane_of(const Plane* planes, u32 plane_count, u32 chunk) {
    u32 low = 0;
    u32 high = plane_count;
    while (high - low > 1) {
        const u32 middle = (low + high) >> 1;
        if (planes[middle].first <= chunk) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return planes[low];
}

// Does this thread block's share of a copy; `move_chunk<W>(plane, source block, destination block, chunk)` does a unit.
//
// Launch parameters, the same for every kernel:
//   planes       the table, in device memory; its first row has first = 0
//   plane_count  rows of it; the rows' chunks together are below 2^32
//   chunks       of all planes: what one pair is worth
//   src_blocks   ids below this are blocks of the source
//   dst_blocks   ids below this are blocks of the destination
//   pairs        x = source block, y = destination block, in device memory
//   count        how many pairs, in device memory: a graph can be replayed with another list
//   capacity     how many pairs there is room for
//   report       two words in device memory that the host has set to 0xffffffff and 0:
//                [0] becomes the least index of a pair with an id out of range; such a pair is not copied
//                [1] becomes the count, if it is above the capacity; then nothing is copied
template <int W, typename Plane>
__device__ __forceinline__ void move_units(const Plane* planes, u32 plane_count, u32 chunks, u32 src_blocks,
                                           u32 dst_blocks, const uint2* pairs, const u32* count, u32 capacity,
                                           u32* report) {
    const u32 pair_count = *count;
    if (pair_count > capacity) {
        if (threadIdx.x == 0) {
            atomicMax(&report[1], pair_count);
        }
        return;
    }
    if (chunks == 0) {
        return;
    }
    const u32 pair_step = gridDim.x / chunks;
    const u32 chunk_step = gridDim.x % chunks;
    u64 pair = blockIdx.x / chunks;
    u32 chunk = blockIdx.x % chunks;
    while (pair < pair_count) {
        const uint2 blocks = pairs[pair];
        if (blocks.x < src_blocks && blocks.y < dst_blocks) {
            move_chunk<W>(plane_of(planes, plane_count, chunk), blocks.x, blocks.y, chunk);
        } else if (threadIdx.x == 0) {
            atomicMin(&report[0], static_cast<u32>(pair));
        }
        pair += pair_step;
        if (chunk_step >= chunks - chunk) {
            chunk -= chunks - chunk_step;
            pair += 1;
        } else {
            chunk += chunk_step;
        }
    }
}
