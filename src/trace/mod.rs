//! Traces of real workloads, read into requests, and the contents that stand for them (feature `cli`).
//!
//! The program `kvblock replay` drives a pool with these. In the order in which they use each other:
//!
//! * [`Format`]: which row format a trace has;
//! * [`ParseError`], [`Reason`]: the file, the line and what is wrong with it;
//! * [`Request`], [`Ids`], [`Turn`]: one request, and its place in a session;
//! * [`sessions()`]: the requests of each session;
//! * [`Reader`], [`parse`]: requests from a file or from memory, plain or compressed;
//! * [`Problem`], [`Node`]: one reasoning tree;
//! * [`TreeReader`], [`parse_trees`]: the same for trees;
//! * [`chat()`]: a workload made from a seed, for those who have no trace;
//! * [`Content`]: the tokens of a request and of its answers, and how many blocks it has;
//! * [`Random`]: numbers from a seed.
//!
//! No input makes a parser panic, and what it costs is bounded by the size of the input.

#![forbid(unsafe_code)]

mod azure;
mod chat;
mod content;
mod error;
mod format;
mod json;
mod lines;
mod mooncake;
mod random;
mod reader;
mod request;
mod sessions;
mod tree;
mod tree_reader;

use alloc::vec::Vec;

pub use chat::chat;
pub use content::Content;
pub use error::{ParseError, Reason};
pub use format::Format;
pub use lines::MAX_LINE_BYTES;
pub use random::Random;
pub use reader::Reader;
pub use request::{Ids, Listing, Request, Run, Stop, Turn};
pub use sessions::sessions;
pub use tree::{Node, Problem};
pub use tree_reader::TreeReader;

/// Reads a whole trace from memory, plain or compressed with gzip; `format` is detected if it is `None`.
///
/// ```
/// use kvblock::trace;
///
/// let text = br#"{"timestamp": 0, "input_length": 700, "output_length": 3, "hash_ids": [0, 1]}"#;
/// let requests = trace::parse(None, text).expect("a row of a Mooncake trace");
/// assert_eq!(requests[0].ids.iter().collect::<Vec<_>>(), [0, 1]);
/// ```
///
/// # Errors
/// The first line that is malformed, with its reason; [`Reason::Trees`] for trees, which are no requests.
pub fn parse(format: Option<Format>, bytes: &[u8]) -> Result<Vec<Request>, ParseError> {
    Reader::new(bytes, format)?.collect()
}

/// Reads a whole trace of trees from memory, plain or compressed with gzip.
///
/// ```
/// use kvblock::trace;
///
/// let text = br#"{"problem": 0, "step": -1, "node": 0, "parent": -1, "new_tokens": 7, "value": null, "keep": 1}
/// {"problem": 0, "step": 0, "node": 1, "parent": 0, "new_tokens": 17, "value": 3, "keep": 1}"#;
/// let problems = trace::parse_trees(text).expect("the rows of one tree");
/// assert_eq!(problems[0].nodes()[1].tokens, 24);
/// ```
///
/// # Errors
/// The first line that is malformed or does not fit to those before it, with its reason.
pub fn parse_trees(bytes: &[u8]) -> Result<Vec<Problem>, ParseError> {
    TreeReader::new(bytes)?.collect()
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};
    use std::io::Write;

    use super::*;

    const ROWS: &str = "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [1]}\n\
                        \n\
                        {\"timestamp\": 1, \"input_length\": 1, \"output_length\": 1, \"runs\": [[1, 2]]}";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn plain_and_compressed_trees_are_the_same() {
        let text =
            br#"{"problem":0,"step":-1,"node":0,"parent":-1,"new_tokens":7,"value":null,"keep":1}"#;
        let plain = parse_trees(text).unwrap();
        assert_eq!(plain.len(), 1);
        assert_eq!(parse_trees(&gzip(text)).unwrap(), plain);
    }

    #[test]
    fn trees_are_read_from_the_row_that_told_them() {
        let root = |problem| {
            alloc::format!(
                "{{\"problem\":{problem},\"step\":-1,\"node\":0,\"parent\":-1,\"new_tokens\":7,\"value\":null,\"keep\":1}}\n"
            )
        };
        let text = ["\u{feff}\n", &root(3), &root(4), "{}"].concat();
        let mut reader = Reader::new(text.as_bytes(), None).unwrap();
        let refused = reader.next().unwrap().unwrap_err();
        assert_eq!(refused.reason, Reason::Trees);
        assert!(reader.next().is_none());
        let mut trees = reader.into_trees();
        assert_eq!(trees.next().unwrap().unwrap().number(), 3);
        let error = trees.next().unwrap().unwrap_err();
        assert_eq!(error.line, Some(4));
        assert!(trees.next().is_none());
    }

    fn message(format: Option<Format>, bytes: &[u8]) -> String {
        parse(format, bytes).unwrap_err().to_string()
    }

    #[test]
    fn plain_and_compressed_text_give_the_same_requests() {
        let plain = parse(None, ROWS.as_bytes()).unwrap();
        assert_eq!(plain.len(), 2);
        assert_eq!(
            parse(Some(Format::Mooncake), &gzip(ROWS.as_bytes())).unwrap(),
            plain
        );
        let mut two_members = gzip(&ROWS.as_bytes()[..30]);
        two_members.extend(gzip(&ROWS.as_bytes()[30..]));
        assert_eq!(parse(None, &two_members).unwrap(), plain);
    }

    #[test]
    fn csv_is_read_with_and_without_header_and_with_any_line_ends() {
        let row = "2023-11-16 18:15:46.6805900,374,44";
        let header = "TIMESTAMP,ContextTokens,GeneratedTokens";
        for text in [
            [header, row, row].join("\r\n"),
            [header, row, row, ""].join("\n"),
            [row, row].join("\n"),
            ["\u{feff}TIMESTAMP,ContextTokens,GeneratedTokens", row, row].join("\r\n"),
        ] {
            assert_eq!(parse(None, text.as_bytes()).unwrap().len(), 2, "{text}");
        }
        assert_eq!(
            message(None, [row, header].join("\n").as_bytes()),
            "line 2: TIMESTAMP must be a time such as 2023-11-16 18:15:46.6805900, and is `TIMESTAMP`"
        );
    }

    #[test]
    fn an_error_names_its_line_and_ends_the_reading() {
        let text = [ROWS, "{}", ROWS].join("\n");
        assert_eq!(
            message(None, text.as_bytes()),
            "line 4: not a row in JSON: missing field `timestamp` at column 2"
        );
        let mut reader = Reader::new(text.as_bytes(), None).unwrap();
        assert_eq!(reader.by_ref().count(), 3);
        assert!(reader.next().is_none());
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        assert!(message(None, b"hello\n").contains("no known format"));
        assert_eq!(
            message(Some(Format::Mooncake), b"{\"a\": \"\xff\"}"),
            "line 1: not UTF-8 at column 8"
        );
        let node =
            br#"{"problem":0,"step":-1,"node":0,"parent":-1,"new_tokens":7,"value":null,"keep":1}"#;
        for said in [message(Some(Format::Tree), b""), message(None, node)] {
            assert!(said.contains("need serve mode"), "{said}");
        }
        assert_eq!(
            message(None, br#"{"session":1,"t":0.0,"runs":[[1,2]]}"#),
            "line 1: not a row in JSON: missing field `agent` at column 36"
        );
        let mut cut = gzip(ROWS.as_bytes());
        cut.truncate(cut.len() - 12);
        assert!(message(None, &cut).contains("cannot be read"));
        assert!(message(None, b"\x1f\x8b").contains("cannot be read"));
        let directory = Reader::open(std::path::Path::new("/"), None)
            .map(|_| ())
            .unwrap_err();
        assert!(
            directory.to_string().starts_with("/: cannot be read"),
            "{directory}"
        );
        let absent = Reader::open(std::path::Path::new("/no/such/file"), None)
            .map(|_| ())
            .unwrap_err();
        assert!(
            absent
                .to_string()
                .starts_with("/no/such/file: cannot be read"),
            "{absent}"
        );
    }

    #[test]
    fn an_empty_trace_has_no_requests() {
        for bytes in [
            &b""[..],
            b"\n\r\n  \n",
            b"TIMESTAMP,ContextTokens,GeneratedTokens\r\n",
        ] {
            assert_eq!(parse(None, bytes), Ok(Vec::new()));
        }
        for bytes in [&b""[..], b"\n\r\n  \n"] {
            assert_eq!(parse_trees(bytes), Ok(Vec::new()));
        }
    }

    #[test]
    fn a_line_past_the_limit_is_refused_before_it_is_in_memory() {
        let endless = std::io::Read::take(std::io::repeat(b' '), 1 << 40);
        let error = Reader::new(endless, None)
            .unwrap()
            .next()
            .unwrap()
            .unwrap_err();
        assert_eq!(
            error.reason,
            Reason::LineTooLong {
                max: MAX_LINE_BYTES
            }
        );
    }
}
