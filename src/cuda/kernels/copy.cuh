// A chunk of a block copy: the same bytes on both sides.

#pragma once

#include "words.cuh"

// One chunk of a plane, byte for byte.
template <int W>
__device__ __forceinline__ void move_chunk(const PlaneCopy& plane, u32 source, u32 destination, u32 chunk) {
    constexpr u32 FLIGHT = 4;  // words of a thread under way at once
    constexpr u32 STEP = KVB_THREADS * W;  // bytes from one of them to the next
    constexpr u32 ROUND = FLIGHT * STEP;  // bytes that all threads have under way
    constexpr u32 ROUNDS = KVB_CHUNK / ROUND;  // of a whole chunk
    static_assert(KVB_CHUNK % ROUND == 0, "a chunk is a whole number of rounds");

    const u64 offset = (chunk - plane.first) * KVB_CHUNK;
    const u64 left = plane.bytes - offset;
    const u64 mine = offset + threadIdx.x * W;
    u64 from = global_address(plane.src_base + source * plane.src_stride + mine);
    u64 to = global_address(plane.dst_base + destination * plane.dst_stride + mine);

    Word<W> held[FLIGHT];
    if (left >= KVB_CHUNK) {
#pragma unroll 1
        for (u32 round = 0; round < ROUNDS; ++round) {
#pragma unroll
            for (u32 k = 0; k < FLIGHT; ++k) {
                held[k].load(from + k * STEP);
            }
#pragma unroll
            for (u32 k = 0; k < FLIGHT; ++k) {
                held[k].store(to + k * STEP);
            }
            from += ROUND;
            to += ROUND;
        }
        return;
    }
    // The end of a plane. A word begins inside if any of it is inside, as `bytes` is a multiple of W.
    u32 at = threadIdx.x * W;
    const u32 end = static_cast<u32>(left);
#pragma unroll 1
    for (u32 round = 0; round < ROUNDS; ++round) {
#pragma unroll
        for (u32 k = 0; k < FLIGHT; ++k) {
            if (at + k * STEP < end) {
                held[k].load(from + k * STEP);
            }
        }
#pragma unroll
        for (u32 k = 0; k < FLIGHT; ++k) {
            if (at + k * STEP < end) {
                held[k].store(to + k * STEP);
            }
        }
        at += ROUND;
        from += ROUND;
        to += ROUND;
    }
}
