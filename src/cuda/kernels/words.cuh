// Loads and stores of one word of W bytes in global memory: W in 16, 8, 4, 2, 1.
//
// The addresses come from a table, so that the compiler does not know that they are global; written in C++ the accesses
// would be generic ones. Bytes read once stay out of the L1 cache (`no_allocate`). Never the read-only path (`.nc`):
// what is read here was written by other kernels, and blocks beside it are being written now.
//
// `load<W>` is for bytes that are read once, `load_near<W>` for those whose neighbours are read by other threads soon.
// A test that compiles the kernels for a CPU brings its own `Word`.

#pragma once

#include "tables.cuh"

template <int W>
struct Word;

#ifdef __CUDACC__

__device__ __forceinline__ u64 global_address(u64 address) {
    return static_cast<u64>(__cvta_generic_to_global(reinterpret_cast<const void*>(address)));
}

template <>
struct Word<16> {
    u32 a, b, c, d;
    __device__ __forceinline__ void load(u64 from) {
        asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                     : "l"(from)
                     : "memory");
    }
    __device__ __forceinline__ void load_near(u64 from) { load(from); }
    __device__ __forceinline__ void store(u64 to) const {
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
    }
};

template <>
struct Word<8> {
    u64 a;
    __device__ __forceinline__ void load(u64 from) {
        asm volatile("ld.global.L1::no_allocate.u64 %0, [%1];" : "=l"(a) : "l"(from) : "memory");
    }
    __device__ __forceinline__ void load_near(u64 from) {
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(a) : "l"(from) : "memory");
    }
    __device__ __forceinline__ void store(u64 to) const {
        asm volatile("st.global.u64 [%0], %1;" ::"l"(to), "l"(a) : "memory");
    }
};

template <>
struct Word<4> {
    u32 a;
    __device__ __forceinline__ void load(u64 from) {
        asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(a) : "l"(from) : "memory");
    }
    __device__ __forceinline__ void load_near(u64 from) {
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(a) : "l"(from) : "memory");
    }
    __device__ __forceinline__ void store(u64 to) const {
        asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(a) : "memory");
    }
};

template <>
struct Word<2> {
    u16 a;
    __device__ __forceinline__ void load(u64 from) {
        asm volatile("ld.global.L1::no_allocate.u16 %0, [%1];" : "=h"(a) : "l"(from) : "memory");
    }
    __device__ __forceinline__ void load_near(u64 from) {
        asm volatile("ld.global.u16 %0, [%1];" : "=h"(a) : "l"(from) : "memory");
    }
    __device__ __forceinline__ void store(u64 to) const {
        asm volatile("st.global.u16 [%0], %1;" ::"l"(to), "h"(a) : "memory");
    }
};

// The smallest register has 16 bits: a byte is loaded into it with zeros above.
template <>
struct Word<1> {
    u16 a;
    __device__ __forceinline__ void load(u64 from) {
        asm volatile("ld.global.L1::no_allocate.u8 %0, [%1];" : "=h"(a) : "l"(from) : "memory");
    }
    __device__ __forceinline__ void load_near(u64 from) {
        asm volatile("ld.global.u8 %0, [%1];" : "=h"(a) : "l"(from) : "memory");
    }
    __device__ __forceinline__ void store(u64 to) const {
        asm volatile("st.global.u8 [%0], %1;" ::"l"(to), "h"(a) : "memory");
    }
};

#endif  // __CUDACC__
