// Copies to check: planes of blocks in two memories, what a kernel must do with them, and the same written plainly.
//
// The plain copy shares nothing with the kernels but the meaning: it goes through parts, positions and heads one by one
// and computes each place from the whole tensor of a side.

#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shim.hpp"

using Pairs = std::vector<uint2>;

// Where a plane lies in its memory: the offset of block 0, and bytes from one block to the next.
struct Side {
    u64 base, stride;
};

// The inside of a block: parts x (positions x heads or heads x positions) x head_bytes, dense.
struct Tile {
    enum Order { nhd, hnd } order;
    u32 parts, positions, heads, head_bytes;

    u64 bytes() const { return u64{parts} * positions * heads * head_bytes; }
    u64 at(u64 part, u64 position, u64 head) const {
        const u64 run = order == nhd ? position * heads + head : head * positions + position;
        return (part * positions * heads + run) * head_bytes;
    }
};

// Lays planes of blocks out in a memory. `apart`: one plane behind the other, each block by block (tensors of layers).
// `block_first`: all planes of a block, then the next block. `gap` bytes are left free behind each block's plane.
struct Layout {
    enum Kind { apart, block_first } kind;
    u64 blocks;
    u64 gap;
    u64 bytes = 0;  // of the memory, once the planes are placed

    std::vector<Side> place(const std::vector<u64>& planes) {
        std::vector<Side> sides;
        u64 all = 0;
        for (const u64 plane : planes) all += plane + gap;
        u64 offset = gap;
        for (const u64 plane : planes) {
            const u64 stride = kind == apart ? plane + gap : all;
            sides.push_back({offset, stride});
            offset += kind == apart ? stride * blocks : plane + gap;
        }
        bytes = gap + all * blocks;
        return sides;
    }
};

// A copy: the table of a kernel with offsets where the addresses will be, and the plain way to do one pair.
template <typename Row>
struct Copy {
    std::string name;
    int width;
    std::vector<Row> table;
    u64 chunks = 0;
    u64 pair_bytes = 0;
    u64 source_bytes = 0, destination_bytes = 0;
    u32 source_blocks = 0, destination_blocks = 0;
    std::function<void(const unsigned char* source, unsigned char* destination, uint2 pair)> plainly;
};

inline u64 chunks_of(u64 bytes) { return bytes / KVB_CHUNK + (bytes % KVB_CHUNK != 0); }

// Block for block: `planes` are the bytes of each plane in a block.
inline Copy<PlaneCopy> block_copy(std::string name, int width, const std::vector<u64>& planes, Layout source,
                                  Layout destination) {
    Copy<PlaneCopy> copy;
    const auto from = source.place(planes), to = destination.place(planes);
    for (std::size_t i = 0; i < planes.size(); ++i) {
        copy.table.push_back({from[i].base, from[i].stride, to[i].base, to[i].stride, planes[i], copy.chunks});
        copy.chunks += chunks_of(planes[i]);
        copy.pair_bytes += planes[i];
    }
    copy.name = std::move(name);
    copy.width = width;
    copy.source_bytes = source.bytes;
    copy.destination_bytes = destination.bytes;
    copy.source_blocks = static_cast<u32>(source.blocks);
    copy.destination_blocks = static_cast<u32>(destination.blocks);
    copy.plainly = [from, to, planes](const unsigned char* in, unsigned char* out, uint2 pair) {
        for (std::size_t i = 0; i < planes.size(); ++i) {
            std::memcpy(out + to[i].base + pair.y * to[i].stride, in + from[i].base + pair.x * from[i].stride,
                        planes[i]);
        }
    };
    return copy;
}

// Heads `source_first..` of each block go to heads `destination_first..`.
struct Heads {
    u32 source_first, destination_first, count;
};

inline Copy<PlanePermute> permuting_copy(std::string name, int width, std::size_t planes, Tile in, Tile out,
                                         Heads slice, Layout source, Layout destination) {
    Copy<PlanePermute> copy;
    const auto from = source.place(std::vector<u64>(planes, in.bytes()));
    const auto to = destination.place(std::vector<u64>(planes, out.bytes()));
    const u64 bytes = u64{in.parts} * in.positions * slice.count * in.head_bytes;
    for (std::size_t i = 0; i < planes; ++i) {
        PlanePermute row{};
        row.src_base = from[i].base + in.at(0, 0, slice.source_first);
        row.src_stride = from[i].stride;
        row.dst_base = to[i].base + out.at(0, 0, slice.destination_first);
        row.dst_stride = to[i].stride;
        row.first = copy.chunks;
        row.parts = in.parts;
        row.positions = in.positions;
        row.heads = slice.count;
        row.head_bytes = in.head_bytes;
        row.src_part = in.at(1, 0, 0);
        row.src_position = in.at(0, 1, 0);
        row.src_head = in.at(0, 0, 1);
        row.dst_part = out.at(1, 0, 0);
        row.dst_position = out.at(0, 1, 0);
        row.dst_head = out.at(0, 0, 1);
        copy.table.push_back(row);
        copy.chunks += chunks_of(bytes);
        copy.pair_bytes += bytes;
    }
    copy.name = std::move(name);
    copy.width = width;
    copy.source_bytes = source.bytes;
    copy.destination_bytes = destination.bytes;
    copy.source_blocks = static_cast<u32>(source.blocks);
    copy.destination_blocks = static_cast<u32>(destination.blocks);
    copy.plainly = [=](const unsigned char* data, unsigned char* result, uint2 pair) {
        for (std::size_t i = 0; i < planes; ++i) {
            const unsigned char* block = data + from[i].base + pair.x * from[i].stride;
            unsigned char* target = result + to[i].base + pair.y * to[i].stride;
            for (u32 part = 0; part < in.parts; ++part)
                for (u32 position = 0; position < in.positions; ++position)
                    for (u32 head = 0; head < slice.count; ++head)
                        std::memcpy(target + out.at(part, position, slice.destination_first + head),
                                    block + in.at(part, position, slice.source_first + head), in.head_bytes);
        }
    };
    return copy;
}

// `count` pairs of random sources and different destinations.
inline Pairs random_pairs(std::mt19937_64& random, std::size_t count, u32 source_blocks, u32 destination_blocks) {
    std::vector<u32> targets(destination_blocks);
    for (u32 i = 0; i < destination_blocks; ++i) targets[i] = i;
    Pairs pairs;
    for (std::size_t i = 0; i < count; ++i) {
        std::swap(targets[i], targets[i + random() % (targets.size() - i)]);
        pairs.push_back({static_cast<u32>(random() % source_blocks), targets[i]});
    }
    return pairs;
}
