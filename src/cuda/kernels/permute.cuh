// A chunk of a permuting copy: the same runs of bytes on both sides, at other strides.

#pragma once

#include "words.cuh"

// Where a word lies inside a block: digits of its number in the order of the destination, the last one fastest.
// `outer` and `inner` are position and head, or head and position.
struct Place {
    u32 part, outer, inner, word;

    __device__ __forceinline__ Place(u32 number, u32 outers, u32 inners, u32 words) {
        word = number % words;
        number /= words;
        inner = number % inners;
        number /= inners;
        outer = number % outers;
        part = number / outers;
    }

    // Goes on by `step`, digit by digit. No sum is formed that could wrap.
    __device__ __forceinline__ void advance(const Place& step, u32 outers, u32 inners, u32 words) {
        u32 carry = add(word, step.word, words);
        carry = add(inner, step.inner + carry, inners);
        carry = add(outer, step.outer + carry, outers);
        part += step.part + carry;
    }

   private:
    // digit += step in base `radix`, with step <= radix.
    static __device__ __forceinline__ u32 add(u32& digit, u32 step, u32 radix) {
        const u32 room = radix - step;
        const bool carry = digit >= room;
        digit = carry ? digit - room : digit + step;
        return carry ? 1 : 0;
    }
};

// One chunk of a plane in the destination's order: stores are neighbours, loads are where the source has them.
// The words of one block of a plane are below 2^32.
template <int W>
__device__ __forceinline__ void move_chunk(const PlanePermute& plane, u32 source, u32 destination, u32 chunk) {
    constexpr u32 FLIGHT = 4;  // words of a thread under way at once
    constexpr u32 ROUND = FLIGHT * KVB_THREADS;  // words that all threads have under way
    constexpr u32 WORDS = KVB_CHUNK / W;  // of a whole chunk
    static_assert(WORDS % ROUND == 0, "a chunk is a whole number of rounds");

    const bool heads_inner = plane.dst_head <= plane.dst_position;
    const u32 outers = heads_inner ? plane.positions : plane.heads;
    const u32 inners = heads_inner ? plane.heads : plane.positions;
    const u64 src_outer = heads_inner ? plane.src_position : plane.src_head;
    const u64 src_inner = heads_inner ? plane.src_head : plane.src_position;
    const u64 dst_outer = heads_inner ? plane.dst_position : plane.dst_head;
    const u64 dst_inner = heads_inner ? plane.dst_head : plane.dst_position;
    const u64 src_part = plane.src_part;
    const u64 dst_part = plane.dst_part;
    const u32 row = plane.head_bytes / W;

    const u64 from = global_address(plane.src_base + source * plane.src_stride);
    const u64 to = global_address(plane.dst_base + destination * plane.dst_stride);

    const u32 begin = static_cast<u32>(chunk - plane.first) * WORDS;
    const u32 left = plane.parts * outers * inners * row - begin;
    const u32 words = left < WORDS ? left : WORDS;
    Place at(begin + threadIdx.x, outers, inners, row);
    const Place step(KVB_THREADS, outers, inners, row);

    u32 word = threadIdx.x;
#pragma unroll 1
    for (u32 round = 0; round < WORDS / ROUND; ++round) {
        Word<W> held[FLIGHT];
        u64 target[FLIGHT];
#pragma unroll
        for (u32 k = 0; k < FLIGHT; ++k) {
            if (word + k * KVB_THREADS < words) {
                const u64 column = static_cast<u64>(at.word) * W;
                held[k].load_near(from + at.part * src_part + at.outer * src_outer + at.inner * src_inner + column);
                target[k] = to + at.part * dst_part + at.outer * dst_outer + at.inner * dst_inner + column;
                at.advance(step, outers, inners, row);
            }
        }
#pragma unroll
        for (u32 k = 0; k < FLIGHT; ++k) {
            if (word + k * KVB_THREADS < words) {
                held[k].store(target[k]);
            }
        }
        word += ROUND;
    }
}
