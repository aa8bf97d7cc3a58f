// A chunk of a block copy: the same bytes on both sides.

#pragma once

#include "words.cuh"

// One chunk of a plane, byte for byte.
template <int W>
__device__ __forceinline__ void move_chunk(const PlaneCopy& plane, u32 source, u32 destination, u32 chunk) {
    constexpr u32 FLIGHT = 4;  // words of a thread under way at once
    constexpr u32 ROUND = FLIGHT * KVB_THREADS;
    static_assert(KVB_CHUNK % (ROUND * W) == 0, "a whole chunk is a whole number of rounds");

    const u64 offset = (chunk - plane.first) * KVB_CHUNK;
    const u64 left = plane.bytes - offset;
    const u32 words = (left < KVB_CHUNK ? static_cast<u32>(left) : KVB_CHUNK) / W;
    const u64 mine = offset + threadIdx.x * W;
    u64 from = global_address(plane.src_base + source * plane.src_stride + mine);
    u64 to = global_address(plane.dst_base + destination * plane.dst_stride + mine);

    u32 word = threadIdx.x;
    Word<W> held[FLIGHT];
#pragma unroll 1
    for (; word + (ROUND - KVB_THREADS) < words; word += ROUND) {
#pragma unroll
        for (u32 k = 0; k < FLIGHT; ++k) {
            held[k].load(from + k * (KVB_THREADS * W));
        }
#pragma unroll
        for (u32 k = 0; k < FLIGHT; ++k) {
            held[k].store(to + k * (KVB_THREADS * W));
        }
        from += ROUND * W;
        to += ROUND * W;
    }
    // Less than a round is left for this thread.
#pragma unroll
    for (u32 k = 0; k < FLIGHT - 1; ++k) {
        if (word + k * KVB_THREADS < words) {
            held[k].load(from + k * (KVB_THREADS * W));
        }
    }
#pragma unroll
    for (u32 k = 0; k < FLIGHT - 1; ++k) {
        if (word + k * KVB_THREADS < words) {
            held[k].store(to + k * (KVB_THREADS * W));
        }
    }
}
