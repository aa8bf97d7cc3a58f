//! What a program has instead of Rust's own runtime: where memory comes from, and what happens when a bug is found.

mod allocator;
mod hooks;
mod panic;

pub use self::hooks::{kvb_hooks, kvb_set_hooks};
