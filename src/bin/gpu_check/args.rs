//! The command line.

use core::fmt;

use clap::{Parser, ValueEnum};

/// Checks the copies of blocks on a GPU byte by byte, then says how fast they are.
#[derive(Debug, Parser)]
#[command(
    name = "gpu_check",
    version,
    after_help = "The environment variable SCALE=tiny is the same as --scale tiny.\nExit codes: 0 all passed, 1 a check failed, 2 no device or bad arguments."
)]
pub(crate) struct Args {
    /// Which device
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) device: u32,

    /// How large what is copied is: `tiny` is for devices that a CPU stands in for
    #[arg(long, value_enum, default_value_t = Scale::from_environment())]
    pub(crate) scale: Scale,

    /// Seconds after which nothing new is begun
    #[arg(long, default_value_t = 225, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    /// As production has it.
    Full,
    /// A few kilobytes.
    Tiny,
}

impl Scale {
    fn from_environment() -> Self {
        match std::env::var("SCALE").as_deref() {
            Ok("tiny") => Self::Tiny,
            _ => Self::Full,
        }
    }

    /// One of two values.
    pub(crate) fn pick<T>(self, full: T, tiny: T) -> T {
        match self {
            Self::Full => full,
            Self::Tiny => tiny,
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick("full", "tiny"))
    }
}
