//! Moving the content of blocks between pools, or between a pool and a store: who may still touch what, who goes on with a sequence, and
//! what both ends must agree on. The bytes are moved by the engine.
//!
//! | what | where |
//! | --- | --- |
//! | the receiving end, one block's answers | `import`, `arrival` |
//! | the sending end | `export` |
//! | what must agree | `format` |
//! | the cap on bytes under way | `flights` |

mod arrival;
mod error;
mod export;
mod flights;
mod format;
mod import;

pub use self::arrival::MAX_WRITERS;
pub use self::error::{AnswerError, NotOpen};
pub use self::export::{Export, Handover, Phase};
pub(crate) use self::flights::Flight;
pub use self::flights::{Flights, TooManyBytes};
pub use self::format::{ElementType, Incompatible, KvFormat};
pub use self::import::{Answer, Import};

pub(crate) use self::import::Parts;
