//! A stand-in for the CUDA driver on machines without a GPU: the driver's entry points over host memory.
//!
//! It is named libcuda.so, so that cudarc finds it once it is loaded. Its device is called "stand-in (CPU)". It executes
//! PTX with an interpreter, keeps streams asynchronous and as late as they may be, in an order drawn from a seed, and
//! finds accesses out of bounds, after a free, misaligned, and races between operations that nothing orders. Any call can
//! be made to fail.
//!
//! What runs on it shows logic, indexing, order by events and error paths. It does not show what a real driver, its
//! assembler or a GPU does, nor any speed.
//!
//! From below: [`error`], [`random`], [`findings`], [`calls`]; memory ([`mark`], [`pages`], [`region`],
//! [`memory`]) and order ([`order`]); [`ptx`]; work and its queues ([`work`], [`stream`], [`event`], [`capture`],
//! [`graph`], [`module`], [`schedule`]); [`world`], which has them all; on top the functions of the driver ([`api`]) and of
//! tests ([`control`]).

#![allow(non_snake_case, reason = "the driver's functions keep their names")]

mod calls;
mod capture;
mod error;
mod event;
mod findings;
mod graph;
mod mark;
mod memory;
mod module;
mod order;
mod pages;
mod ptx;
mod random;
mod region;
mod schedule;
mod stream;
mod work;
mod world;

mod api;
mod control;
