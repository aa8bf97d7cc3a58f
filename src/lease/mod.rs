//! References held for someone who is not a sequence: a transfer under way, a pin.
//!
//! | what | where |
//! | --- | --- |
//! | who has a lease | `owner` |
//! | one lease: the word that says whether it lives, and what it holds | `handle` |
//! | the leases of a pool: budget, clock, who is there | `table`, `account` |

mod account;
mod error;
mod handle;
mod owner;
mod table;

pub use self::error::{LeaseEnded, LeaseError};
pub use self::handle::Lease;
pub use self::owner::Owner;
pub use self::table::Leases;
