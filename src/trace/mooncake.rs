//! Rows of the Mooncake traces: one JSON object a line.
//!
//! `{"timestamp": ms, "input_length": tokens, "output_length": tokens, "hash_ids": [id, ..]}`, or `"runs": [[first, count], ..]`
//! in place of `hash_ids`. Other keys are ignored. A row without ids is a request of which only the lengths are known. The
//! number of ids is not checked against `input_length`: the Mooncake files count a partial last block, others don't.
//! Source: <https://github.com/kvcache-ai/Mooncake> (FAST 2025 release of the traces).

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use serde::Deserialize;

use super::error::Reason;
use super::format::Format;
use super::json::parse_object;
use super::request::{Ids, Listing, Request};

#[derive(Deserialize)]
struct Row {
    timestamp: f64,
    input_length: u64,
    output_length: u64,
    hash_ids: Option<Vec<u64>>,
    runs: Option<Vec<(u64, u64)>>,
}

/// Reads one row.
pub(super) fn parse_row(line: &str) -> Result<Request, Reason> {
    let row: Row = parse_object(line, Format::Mooncake)?;
    let timestamp = milliseconds(row.timestamp)?;
    let (ids, listing) = match (row.hash_ids, row.runs) {
        (None, None) => (Ids::new(), Listing::Missing),
        (Some(list), None) => {
            let mut ids = Ids::new();
            for id in list {
                ids.push_run(id, 1)?;
            }
            (ids, Listing::HashIds)
        }
        (None, Some(runs)) => {
            let mut ids = Ids::new();
            for (first, count) in runs {
                ids.push_run(first, count)?;
            }
            (ids, Listing::Runs)
        }
        (Some(_), Some(_)) => return Err(Reason::TwoListings),
    };
    Ok(Request {
        timestamp,
        input_length: row.input_length,
        output_length: row.output_length,
        ids,
        listing,
        turn: None,
    })
}

fn milliseconds(value: f64) -> Result<Duration, Reason> {
    Duration::try_from_secs_f64(value / 1e3).map_err(|_| {
        let expected = "a number of milliseconds, not negative";
        Reason::field("timestamp", expected, &format!("{value:e}"))
    })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    #[test]
    fn hash_ids_and_runs_give_the_same_ids() {
        let listed =
            parse_row(r#"{"timestamp": 1375, "input_length": 9, "output_length": 2, "hash_ids": [4, 5, 6, 2]}"#)
                .unwrap();
        let runs = parse_row(
            r#"{"session":10,"timestamp":1375,"input_length":9,"output_length":2,"runs":[[4,3],[2,1],[8,0]]}"#,
        )
        .unwrap();
        assert_eq!(listed.ids, runs.ids);
        assert_eq!(listed.ids.iter().collect::<Vec<_>>(), vec![4, 5, 6, 2]);
        assert_eq!(listed.timestamp, Duration::from_millis(1375));
        assert_eq!((listed.input_length, listed.output_length), (9, 2));
        assert_eq!(
            (listed.listing, runs.listing),
            (Listing::HashIds, Listing::Runs)
        );
    }

    #[test]
    fn a_row_without_ids_is_a_request() {
        for row in [
            r#"{"timestamp": 0.5, "input_length": 9, "output_length": 2}"#,
            r#"{"timestamp": 0.5, "input_length": 9, "output_length": 2, "hash_ids": []}"#,
            r#"{"timestamp": 0.5, "input_length": 9, "output_length": 2, "runs": null}"#,
        ] {
            let request = parse_row(row).unwrap();
            assert!(request.ids.is_empty());
            assert_eq!(request.timestamp, Duration::from_micros(500));
        }
    }

    #[test]
    fn a_malformed_row_is_refused_with_its_reason() {
        let cases = [
            (
                r#"{"timestamp": 0, "input_length": 1"#,
                "not a row in JSON: EOF while parsing an object at column 34",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1, "hash_ids": [1]}"#,
                "missing field `output_length`",
            ),
            (
                r#"{"timestamp": 0, "input_length": -1, "output_length": 1}"#,
                "invalid value: integer `-1`, expected u64",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1.5, "output_length": 1}"#,
                "invalid type: floating point `1.5`",
            ),
            (
                r#"{"timestamp": NaN, "input_length": 1, "output_length": 1}"#,
                "expected value",
            ),
            (
                r#"{"timestamp": 1e999, "input_length": 1, "output_length": 1}"#,
                "number out of range",
            ),
            (
                r#"{"timestamp": -1, "input_length": 1, "output_length": 1}"#,
                "timestamp must be a number of milliseconds",
            ),
            (
                r#"{"timestamp": 1e300, "input_length": 1, "output_length": 1}"#,
                "timestamp must be a number of milliseconds",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [18446744073709551616]}"#,
                "expected u64",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1, "output_length": 1, "runs": [[18446744073709551615, 2]]}"#,
                "past the largest id",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1, "output_length": 1, "runs": [[0, 4194305]]}"#,
                "more than 4194304 ids",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1, "output_length": 1, "runs": [[1]]}"#,
                "invalid length 1",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1, "output_length": 1, "runs": [[1, 2, 3]]}"#,
                "trailing",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1, "output_length": 1, "runs": [], "hash_ids": []}"#,
                "both `hash_ids` and `runs`",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1, "output_length": 1} {"#,
                "trailing characters",
            ),
            ("[0, 1, 1, [1, 2], null]", "an object is expected"),
            ("17", "an object is expected"),
            (
                r#"{"session":1,"agent":0,"t":0.0,"input_length":7,"output_length":1,"runs":[[1,2]]}"#,
                "the format `sessions`",
            ),
            (
                r#"{"problem":0,"step":-1,"node":0,"parent":-1,"new_tokens":7,"value":null,"keep":1}"#,
                "the format `tree`",
            ),
        ];
        for (row, expected) in cases {
            let reason = parse_row(row).expect_err(row).to_string();
            assert!(
                reason.contains(expected),
                "{row}: `{reason}` does not say `{expected}`"
            );
        }
    }
}
