// Just enough of CUDA's language for the kernels to be compiled as C++ for a CPU: the threads of a grid run one after
// another. That is faithful to these kernels, which share no memory between threads and have no barrier; it shows
// indexing and bounds, and nothing about PTX, the memory model or speed.
//
// Included before the kernel source. Every word goes through `Word`, which refuses addresses that a GPU would fault on
// and counts the bytes; memory that is not ours to touch is AddressSanitizer's business.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads)

struct Index {
    unsigned x, y, z;
};
inline Index gridDim{1, 1, 1}, blockIdx{0, 0, 0}, threadIdx{0, 0, 0};

struct alignas(8) uint2 {
    unsigned x, y;
};

inline unsigned atomicMin(unsigned* at, unsigned value) {
    const unsigned old = *at;
    *at = value < old ? value : old;
    return old;
}

inline unsigned atomicMax(unsigned* at, unsigned value) {
    const unsigned old = *at;
    *at = value > old ? value : old;
    return old;
}

#include "words.cuh"

inline u64 global_address(u64 address) { return address; }

inline u64 loaded_bytes = 0, stored_bytes = 0;

template <int W>
struct Word {
    unsigned char bytes[W];

    void load(u64 from) {
        std::memcpy(bytes, pointer(from), W);
        loaded_bytes += W;
    }
    void load_near(u64 from) { load(from); }
    void store(u64 to) const {
        std::memcpy(pointer(to), bytes, W);
        stored_bytes += W;
    }

   private:
    static void* pointer(u64 address) {
        if (address % W != 0) {
            std::fprintf(stderr, "an access of %d bytes at %#llx, which is not a multiple of it\n", W, address);
            std::abort();
        }
        return reinterpret_cast<void*>(address);
    }
};

// Calls `kernel(arguments...)` once for each thread of `grid` thread blocks; with `backwards` the last one first.
template <typename Kernel, typename... Arguments>
void launch(unsigned grid, bool backwards, Kernel kernel, Arguments... arguments) {
    gridDim.x = grid;
    for (unsigned block = 0; block < grid; ++block) {
        blockIdx.x = backwards ? grid - 1 - block : block;
        for (unsigned thread = 0; thread < KVB_THREADS; ++thread) {
            threadIdx.x = backwards ? KVB_THREADS - 1 - thread : thread;
            kernel(arguments...);
        }
    }
}
