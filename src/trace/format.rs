//! Which row format a trace has, told from its first line.
//!
//! The row formats are those of the published traces: Mooncake's JSON lines, the CSV of the Azure LLM inference traces,
//! and JSON lines of agent sessions and of reasoning trees. The rows of all but the last are requests.

use core::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// A row format. `Display` gives the name that the program's `--format` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// JSON lines with `timestamp`, `input_length`, `output_length` and `hash_ids` or `runs`.
    Mooncake,
    /// CSV with `TIMESTAMP,ContextTokens,GeneratedTokens`; each request has a content of its own.
    Azure,
    /// JSON lines with the nodes of reasoning trees, which are no requests: [`TreeReader`](super::TreeReader) reads them.
    Tree,
    /// JSON lines with the requests of agent sessions; ids are local to a session, and each request knows its
    /// [`Turn`](super::Turn).
    Sessions,
}

impl Format {
    /// The format whose rows look like `line` (the first one that is not blank), or `None`.
    ///
    /// A line that opens an object but is no valid JSON counts as [`Mooncake`](Self::Mooncake), whose parser says what is
    /// wrong with it. O(length of the line).
    #[must_use]
    pub fn detect(line: &str) -> Option<Self> {
        let line = line.trim();
        if !line.starts_with('{') {
            return Self::of_csv(line);
        }
        let Ok(keys) = serde_json::from_str::<Keys>(line) else {
            return Some(Self::Mooncake);
        };
        keys.format()
            .or_else(|| keys.has_request().then_some(Self::Mooncake))
    }

    /// The format that `line` is a row of beyond doubt, or `None`. O(length of the line).
    pub(super) fn of_row(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('{') {
            serde_json::from_str::<Keys>(line).ok()?.format()
        } else {
            Self::of_csv(line)
        }
    }

    fn of_csv(line: &str) -> Option<Self> {
        let mut fields = line.split(',');
        let first = fields.next().unwrap_or_default();
        let is_csv = fields.count() == 2 && (is_azure_header(line) || starts_with_date(first));
        is_csv.then_some(Self::Azure)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mooncake => "mooncake",
            Self::Azure => "azure",
            Self::Tree => "tree",
            Self::Sessions => "sessions",
        })
    }
}

/// Whether `line` is the header of an Azure trace.
pub(super) fn is_azure_header(line: &str) -> bool {
    line.trim()
        .eq_ignore_ascii_case("TIMESTAMP,ContextTokens,GeneratedTokens")
}

/// Whether `field` begins like `2023-11-16`.
fn starts_with_date(field: &str) -> bool {
    let bytes = field.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| {
            if at == 4 || at == 7 {
                *byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        })
}

/// The keys that tell the JSON formats apart; their values are skipped.
#[derive(Deserialize)]
struct Keys {
    timestamp: Option<IgnoredAny>,
    input_length: Option<IgnoredAny>,
    hash_ids: Option<IgnoredAny>,
    runs: Option<IgnoredAny>,
    session: Option<IgnoredAny>,
    t: Option<IgnoredAny>,
    problem: Option<IgnoredAny>,
    node: Option<IgnoredAny>,
}

impl Keys {
    /// The format that has these keys and that no other one has.
    const fn format(&self) -> Option<Format> {
        if self.problem.is_some() && self.node.is_some() {
            Some(Format::Tree)
        } else if self.timestamp.is_some() {
            Some(Format::Mooncake)
        } else if self.session.is_some() && self.t.is_some() {
            Some(Format::Sessions)
        } else {
            None
        }
    }

    /// Whether there is anything of a request, its time aside.
    const fn has_request(&self) -> bool {
        self.input_length.is_some() || self.hash_ids.is_some() || self.runs.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_format() {
        let cases = [
            (
                r#"{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0]}"#,
                Some(Format::Mooncake),
            ),
            (
                r#"{"session":10,"timestamp":0,"input_length":3,"output_length":1,"runs":[[0,19]]}"#,
                Some(Format::Mooncake),
            ),
            (
                r#"{"session":1,"agent":0,"t":0.0,"input_length":7,"output_length":1,"runs":[[1,2]]}"#,
                Some(Format::Sessions),
            ),
            (
                r#"{"problem":0,"step":-1,"node":0,"parent":-1,"new_tokens":7,"value":null,"keep":1}"#,
                Some(Format::Tree),
            ),
            (
                "TIMESTAMP,ContextTokens,GeneratedTokens\r",
                Some(Format::Azure),
            ),
            ("2023-11-16 18:17:03.9799600,4808,10", Some(Format::Azure)),
            ("{ not json", Some(Format::Mooncake)),
            (r#"{"other": 1}"#, None),
            ("start_s,requests_per_s", None),
            ("hello", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(Format::detect(line), expected, "line: {line}");
        }
    }
}
