//! Who a block is: the tokens in it, what else decides their K/V, the namespace, and the block before it.

mod content;
mod hash;
mod namespace;
mod sip;

pub use content::{Contents, ExtraKey, Prompt, Proof};
#[cfg(feature = "xxh3")]
pub use hash::Xxh3Hasher;
pub use hash::{BlockHasher, ConstantHasher, SipHasher13};
pub use namespace::Namespace;

pub(crate) use content::{Evidence, Identity, Space};
pub(crate) use hash::Hasher;
pub(crate) use sip::{Secret, two_tokens};
