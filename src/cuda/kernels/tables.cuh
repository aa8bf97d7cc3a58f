// What the host and the kernels agree on: constants and the rows of the plane tables.
//
// The Rust side writes the same rows and asserts the same numbers; neither side is generated from the other.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// Macros, as constants would become variables of the module.

// Threads of a thread block. Every kernel is launched with exactly so many.
#define KVB_THREADS 256u

// Bytes of a plane that one unit of work moves; the last unit of a plane moves what is left.
#define KVB_CHUNK 16384u

// One plane of a block copy: `bytes` bytes of each block, at any place in both memories. The numbers are offsets.
struct PlaneCopy {
    u64 src_base;    //  0  address of block 0
    u64 src_stride;  //  8  bytes from one block to the next
    u64 dst_base;    // 16
    u64 dst_stride;  // 24
    u64 bytes;       // 32  of this plane in one block: a multiple of W, not 0
    u64 first;       // 40  chunks of all planes before this one
};

// One plane of a permuting copy: parts x positions x heads runs of `head_bytes` bytes, each at its own strides.
//
// A head slice is a row whose bases are moved to the slice's first head on each side, with `heads` the heads of the
// slice; the strides are those of the whole tensor. Its chunks are those of parts x positions x heads x head_bytes
// bytes, in the destination's order. Its words (those bytes / W) are below 2^32.
struct PlanePermute {
    u64 src_base;      //   0
    u64 src_stride;    //   8
    u64 dst_base;      //  16
    u64 dst_stride;    //  24
    u64 first;         //  32
    u32 parts;         //  40  K and V: 2
    u32 positions;     //  44  of a block
    u32 heads;         //  48
    u32 head_bytes;    //  52  a multiple of W; none of these four is 0
    u64 src_part;      //  56  bytes from one part to the next, and so on
    u64 src_position;  //  64
    u64 src_head;      //  72
    u64 dst_part;      //  80
    u64 dst_position;  //  88
    u64 dst_head;      //  96
};

// The sizes are the sums of the fields' sizes: there are no gaps, and every offset above follows. (NVRTC has no
// offsetof; tests/cuda/host asserts each offset.)
static_assert(sizeof(PlaneCopy) == 6 * 8 && alignof(PlaneCopy) == 8, "a row is 48 bytes");
static_assert(sizeof(PlanePermute) == 11 * 8 + 4 * 4 && alignof(PlanePermute) == 8, "a row is 104 bytes");
