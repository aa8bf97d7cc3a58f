//! Why a report is not among the metrics.

use alloc::string::String;
use core::error::Error;
use core::fmt;

use crate::error::OutOfMemory;

/// Why a report was not added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricsError {
    /// No name of a label: a letter or `_`, then letters, digits and `_`.
    LabelName {
        /// What was given.
        name: String,
    },
    /// A name that Prometheus keeps to itself (`__` in front), or that tells samples of one report apart.
    Reserved {
        /// The name.
        name: String,
    },
    /// A label was given twice.
    Repeated {
        /// Its name.
        name: String,
    },
    /// Another report of this kind has the same labels.
    Taken {
        /// The labels, as they would be written.
        labels: String,
    },
    /// The allocator of the host had no memory for the labels, for a list, or for the words of another error.
    OutOfMemory,
}

impl From<OutOfMemory> for MetricsError {
    fn from(OutOfMemory: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

impl fmt::Display for MetricsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LabelName { name } => write!(
                f,
                "`{name}` is no name of a label: a letter or `_`, then letters, digits and `_`"
            ),
            Self::Reserved { name } => {
                write!(f, "the label `{name}` is reserved: choose another name")
            }
            Self::Repeated { name } => write!(f, "the label `{name}` is given twice"),
            Self::Taken { labels } if labels.is_empty() => {
                f.write_str("another report of this kind has no labels, too")
            }
            Self::Taken { labels } => {
                write!(f, "another report of this kind has the labels {labels}")
            }
            Self::OutOfMemory => f.write_str("no memory for labels and figures"),
        }
    }
}
impl Error for MetricsError {}
