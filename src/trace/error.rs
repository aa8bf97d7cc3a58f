//! Why a trace could not be read: the file, the line and the reason.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::error::Error;
use core::fmt;

use super::format::Format;

/// A trace that cannot be read, or a line of it that is malformed. `Display` prints `FILE:LINE: reason`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The file as it was named by the caller; `None` for bytes in memory.
    pub file: Option<String>,
    /// The line, counted from 1 (blank lines count); `None` if no line was reached.
    pub line: Option<u64>,
    /// What is wrong.
    pub reason: Reason,
}

/// What is wrong with a trace or with one of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The file cannot be opened or read, or its gzip data is damaged. The operating system's or the decoder's words.
    Read(String),
    /// The line is longer than `max` bytes.
    LineTooLong {
        /// The longest line that is read, in bytes.
        max: usize,
    },
    /// The line is not UTF-8 from this column on (in bytes, counted from 1).
    NotUtf8 {
        /// Where the first wrong byte stands.
        column: usize,
    },
    /// The line is not the JSON object that the format asks for.
    Json {
        /// Where it was noticed (in bytes, counted from 1; 0 if it is about the whole line).
        column: usize,
        /// The JSON reader's words.
        message: String,
    },
    /// The line has another number of comma-separated fields than the format asks for.
    Fields {
        /// How many there must be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A field has a value that it cannot have.
    Field {
        /// The field's name.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is (cut short if long).
        value: String,
    },
    /// A run of ids goes past the largest id.
    RunOverflows {
        /// The run's first id.
        first: u64,
        /// How many ids it has.
        count: u64,
    },
    /// The row lists more ids than are accepted in one row.
    TooManyIds {
        /// The largest number of ids in a row.
        max: usize,
    },
    /// The row has both `hash_ids` and `runs`.
    TwoListings,
    /// The first line is of no format that is known.
    UnknownFormat,
    /// The row is of another format than the rows before it, or than the one that was asked for.
    OtherFormat {
        /// What the row must be of.
        expected: Format,
        /// What it is of.
        found: Format,
    },
    /// Requests are asked for, and the rows are nodes of trees, which [`TreeReader`](super::TreeReader) reads.
    Trees,
}

impl ParseError {
    pub(super) const fn without_place(reason: Reason) -> Self {
        Self {
            file: None,
            line: None,
            reason,
        }
    }
}

impl Reason {
    /// A field with a value that it cannot have.
    pub(super) fn field(name: &'static str, expected: &'static str, value: &str) -> Self {
        Self::Field {
            name,
            expected,
            value: shorten(value),
        }
    }
}

/// The text, or its first characters if it is long.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => {
            let mut short = text[..end].to_owned();
            short.push_str("...");
            short
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: {}", self.reason),
            (Some(file), None) => write!(f, "{file}: {}", self.reason),
            (None, Some(line)) => write!(f, "line {line}: {}", self.reason),
            (None, None) => self.reason.fmt(f),
        }
    }
}

impl Error for ParseError {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(message) => write!(f, "cannot be read: {message}"),
            Self::LineTooLong { max } => write!(f, "the line is longer than {max} bytes"),
            Self::NotUtf8 { column } => write!(f, "not UTF-8 at column {column}"),
            Self::Json { column: 0, message } => write!(f, "not a row in JSON: {message}"),
            Self::Json { column, message } => write!(f, "not a row in JSON: {message} at column {column}"),
            Self::Fields { expected, found } => {
                write!(f, "{found} comma-separated fields where {expected} are expected")
            }
            Self::Field { name, expected, value } => write!(f, "{name} must be {expected}, and is `{value}`"),
            Self::RunOverflows { first, count } => {
                write!(f, "a run of {count} ids from {first} goes past the largest id")
            }
            Self::TooManyIds { max } => write!(f, "more than {max} ids in one row"),
            Self::TwoListings => f.write_str("both `hash_ids` and `runs`, where one of them is expected"),
            Self::UnknownFormat => f.write_str(
                "the first line is of no known format (JSON lines of Mooncake, of sessions or of trees, or Azure CSV); if it is one of them, name it with --format",
            ),
            Self::OtherFormat { expected, found } => {
                write!(f, "a row of the format `{found}`, where one of the format `{expected}` is expected")
            }
            Self::Trees => f.write_str(
                "rows of the format `tree` are nodes of reasoning trees and not requests: they need serve mode",
            ),
        }
    }
}
