//! Why the program ends without success, and the exit code that says so.

use alloc::format;
use alloc::string::String;
use core::fmt::{self, Display};

/// What went wrong, in words for the user.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Arguments, the trace, or a file that cannot be written.
    Input(String),
    /// The pool did what it must never do: blocks left held, accounts that disagree, a call refused that cannot fail.
    Defect(String),
}

impl Failure {
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Defect(_) => 1,
            Self::Input(_) => 2,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Input(message) | Self::Defect(message)) = self;
        f.write_str(message)
    }
}

/// For calls whose arguments are right by construction.
pub(crate) fn cannot_fail<E: Display>(call: &'static str) -> impl Fn(E) -> Failure {
    move |error| {
        Failure::Defect(format!(
            "`{call}` was refused, which is a defect of kvblock: {error}"
        ))
    }
}
