// Runs a copy by its kernel and compares every byte of the destination with the plain copy; a difference ends the
// program with the first byte that is wrong.

#pragma once

#include <cstdlib>
#include <initializer_list>
#include <memory>

#include "copies.hpp"
#include "kv_copy.cu"

[[noreturn]] inline void wrong(const std::string& name, unsigned grid, const std::string& what) {
    std::fprintf(stderr, "FAILED: %s, grid %u: %s\n", name.c_str(), grid, what.c_str());
    std::exit(1);
}

// Exactly so many bytes, at a multiple of 64: AddressSanitizer sees the first one too many.
class Memory {
   public:
    explicit Memory(u64 bytes) : size_(bytes) {
        void* start = nullptr;
        if (posix_memalign(&start, 64, bytes) != 0) std::abort();
        start_.reset(static_cast<unsigned char*>(start));
    }
    unsigned char* data() const { return start_.get(); }
    u64 address() const { return reinterpret_cast<u64>(start_.get()); }
    u64 size() const { return size_; }

    // Noise that differs from byte to byte and from seed to seed.
    void fill(u64 seed) const {
        u64 state = seed * 0x9e3779b97f4a7c15 + 1;
        u64 i = 0;
        for (; i + 8 <= size_; i += 8) {
            state += 0x9e3779b97f4a7c15;
            u64 word = (state ^ (state >> 29)) * 0xbf58476d1ce4e5b9;
            word ^= word >> 32;
            std::memcpy(data() + i, &word, 8);
        }
        for (; i < size_; ++i) data()[i] = static_cast<unsigned char>(seed + i * 41);
    }

   private:
    struct Free {
        void operator()(unsigned char* start) const { std::free(start); }
    };
    std::unique_ptr<unsigned char, Free> start_;
    u64 size_;
};

using CopyKernel = void (*)(const PlaneCopy*, u32, u32, u32, u32, const uint2*, const u32*, u32, u32*);
using PermuteKernel = void (*)(const PlanePermute*, u32, u32, u32, u32, const uint2*, const u32*, u32, u32*);

inline CopyKernel kernel_of(const Copy<PlaneCopy>& copy) {
    switch (copy.width) {
        case 16: return kvb_copy_16;
        case 8: return kvb_copy_8;
        case 4: return kvb_copy_4;
        case 2: return kvb_copy_2;
        default: return kvb_copy_1;
    }
}

inline PermuteKernel kernel_of(const Copy<PlanePermute>& copy) {
    switch (copy.width) {
        case 16: return kvb_permute_16;
        case 8: return kvb_permute_8;
        case 4: return kvb_permute_4;
        case 2: return kvb_permute_2;
        default: return kvb_permute_1;
    }
}

// What the host put in device memory for one launch.
struct Launch {
    Pairs pairs;
    u32 count;     // may differ from the pairs there are, if above the capacity
    u32 capacity;
};

template <typename Row>
void check(const Copy<Row>& copy, const Launch& launched, std::initializer_list<unsigned> grids) {
    const Memory source(copy.source_bytes), destination(copy.destination_bytes), expected(copy.destination_bytes);
    source.fill(1);
    expected.fill(2);
    u32 bad = 0xffffffff, moved = 0;
    const bool too_many = launched.count > launched.capacity;
    for (u32 i = 0; i < launched.count && !too_many; ++i) {
        const uint2 pair = launched.pairs[i];
        if (pair.x >= copy.source_blocks || pair.y >= copy.destination_blocks) {
            bad = i < bad ? i : bad;
        } else {
            copy.plainly(source.data(), expected.data(), pair);
            ++moved;
        }
    }

    // Vectors of exact size, for AddressSanitizer.
    std::vector<Row> table(copy.table);
    for (Row& row : table) {
        row.src_base += source.address();
        row.dst_base += destination.address();
    }
    const Pairs pairs(launched.pairs);
    bool backwards = false;
    for (const unsigned grid : grids) {
        destination.fill(2);
        const std::unique_ptr<u32> count(new u32(launched.count));
        const std::unique_ptr<u32[]> report(new u32[2]{0xffffffff, 0});
        loaded_bytes = stored_bytes = 0;
        launch(grid, backwards, kernel_of(copy), table.data(), static_cast<u32>(table.size()),
               static_cast<u32>(copy.chunks), copy.source_blocks, copy.destination_blocks, pairs.data(), count.get(),
               launched.capacity, report.get());
        backwards = !backwards;
        if (std::memcmp(destination.data(), expected.data(), expected.size()) != 0) {
            u64 at = 0;
            while (destination.data()[at] == expected.data()[at]) ++at;
            wrong(copy.name, grid, "byte " + std::to_string(at) + " of the destination is wrong");
        }
        const u64 bytes = copy.pair_bytes * moved;
        if (loaded_bytes != bytes || stored_bytes != bytes) {
            wrong(copy.name, grid,
                  std::to_string(loaded_bytes) + " bytes were read and " + std::to_string(stored_bytes) +
                      " written, wanted " + std::to_string(bytes));
        }
        if (report[0] != bad) {
            wrong(copy.name, grid, "bad pair " + std::to_string(report[0]) + ", wanted " + std::to_string(bad));
        }
        const u32 over = too_many ? launched.count : 0;
        if (report[1] != over) {
            wrong(copy.name, grid, "count " + std::to_string(report[1]) + ", wanted " + std::to_string(over));
        }
    }
}

template <typename Row>
void check(const Copy<Row>& copy, const Pairs& pairs, std::initializer_list<unsigned> grids) {
    const u32 count = static_cast<u32>(pairs.size());
    check(copy, Launch{pairs, count, count}, grids);
}
