//! Any list of calls of the C API with arguments as a careless C program may give them: null, absurd counts, structs of other sizes,
//! handles of others and of the dead, objects of other pools.
//!
//! What must hold: nothing crashes; a call that fails says so in one way and writes no result; the figures of each pool add up after
//! every call; handles that ended stay stale; at the end the audit agrees, and when all is destroyed nothing is held. What moves content
//! has a model beside it: swaps, and layouts, routes, plans and fences.
//!
//! The first six bytes choose the pools, then each call is one byte that names it and the bytes of its arguments.
#![no_main]

#[path = "ffi_ops/arguments.rs"]
mod arguments;
#[path = "ffi_ops/calls.rs"]
mod calls;
#[path = "ffi_ops/chains.rs"]
mod chains;
#[path = "ffi_ops/fences.rs"]
mod fences;
#[path = "ffi_ops/growth.rs"]
mod growth;
#[path = "ffi_ops/imports.rs"]
mod imports;
#[path = "ffi_ops/layouts.rs"]
mod layouts;
#[path = "ffi_ops/leases.rs"]
mod leases;
#[path = "ffi_ops/plans.rs"]
mod plans;
#[path = "ffi_ops/pools.rs"]
mod pools;
#[path = "ffi_ops/reads.rs"]
mod reads;
#[path = "ffi_ops/routes.rs"]
mod routes;
#[path = "ffi_ops/sequences.rs"]
mod sequences;
#[path = "ffi_ops/swaps.rs"]
mod swaps;
#[path = "ffi_ops/world.rs"]
mod world;

use libfuzzer_sys::fuzz_target;

use arguments::Bytes;
use world::World;

/// Longer lists find nothing that shorter ones don't, only later.
const MOST_CALLS: usize = 200;

fuzz_target!(|input: &[u8]| {
    let mut bytes = Bytes::new(input);
    let mut world = World::new(&mut bytes);
    for _ in 0..MOST_CALLS {
        if bytes.is_empty() {
            break;
        }
        calls::one(&mut world, &mut bytes);
        world.check();
    }
    world.end();
});
