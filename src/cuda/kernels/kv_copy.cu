// Copies of KV blocks on a device: `kvb_copy_W` block for block, `kvb_permute_W` between layouts that order the inside
// of a block otherwise (NHD <-> HND) or hold other heads (a slice for another tensor-parallel degree).
//
// W is the width of an access in bytes: both sides' bases, strides and sizes must be multiples of it. The parameters
// are described in units.cuh, the tables in tables.cuh. No shared memory, no barrier, no local memory; any grid is
// correct, so that a small one leaves the device to others.
//
// kv_copy.ptx is made from this file by tests/cuda/compile_ptx.py with NVRTC 11.8.89 for compute_70 and committed; see
// README.md beside it.

#include "units.cuh"

#define KVB_KERNEL(NAME, PLANE, W)                                                                                  \
    extern "C" __global__ void __launch_bounds__(KVB_THREADS)                                                       \
        NAME##_##W(const PLANE* planes, u32 plane_count, u32 chunks, u32 src_blocks, u32 dst_blocks,                \
                   const uint2* pairs, const u32* count, u32 capacity, u32* report) {                               \
        move_units<W>(planes, plane_count, chunks, src_blocks, dst_blocks, pairs, count, capacity, report);         \
    }

KVB_KERNEL(kvb_copy, PlaneCopy, 16)
KVB_KERNEL(kvb_copy, PlaneCopy, 8)
KVB_KERNEL(kvb_copy, PlaneCopy, 4)
KVB_KERNEL(kvb_copy, PlaneCopy, 2)
KVB_KERNEL(kvb_copy, PlaneCopy, 1)

KVB_KERNEL(kvb_permute, PlanePermute, 16)
KVB_KERNEL(kvb_permute, PlanePermute, 8)
KVB_KERNEL(kvb_permute, PlanePermute, 4)
KVB_KERNEL(kvb_permute, PlanePermute, 2)
KVB_KERNEL(kvb_permute, PlanePermute, 1)
