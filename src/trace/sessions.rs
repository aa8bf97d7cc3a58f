//! Rows of agent sessions: one JSON object a line, the rows of a session together.
//!
//! `{"session": number, "agent": number, "t": seconds, "input_length": tokens, "output_length": tokens, "stop": "tool_use",
//! "api_time": seconds, "runs": [[first, count], ..]}`. The time is the session's own. An id stands for 64 tokens, only
//! full ones are listed, and it is local to its session; the agents of one session share its ids. `stop` may be empty, it
//! and `api_time` may be `null` or missing. Other keys are ignored.
//! Made from <https://github.com/callanjfox/kv-cache-tester>, its traces of coding agents.
//!
//! A request's ids stand for the same content in the whole trace, so the session becomes part of them:
//!
//! ```text
//!  63                              32 31                               0
//! +----------------------------------+----------------------------------+
//! |             session              |        id in the session         |
//! +----------------------------------+----------------------------------+
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use std::collections::HashSet;

use serde::Deserialize;

use super::error::Reason;
use super::format::Format;
use super::json::parse_object;
use super::request::{Ids, Listing, Request, Stop, Turn};

#[derive(Deserialize)]
struct Row {
    session: u32,
    agent: u32,
    t: f64,
    input_length: u64,
    output_length: u64,
    stop: Option<String>,
    api_time: Option<f64>,
    runs: Vec<(u64, u64)>,
}

/// Reads rows and sees to it that those of a session stand together.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    last: Option<u32>,
    /// All sessions so far, the last one included.
    seen: HashSet<u32>,
}

impl Sessions {
    /// Reads one row, which comes after those that were read before.
    pub(super) fn parse_row(&mut self, line: &str) -> Result<Request, Reason> {
        let row: Row = parse_object(line, Format::Sessions)?;
        let turn = Turn {
            session: row.session,
            agent: row.agent,
            stop: parse_stop(row.stop.as_deref())?,
            api_time: row
                .api_time
                .map(|time| seconds("api_time", time))
                .transpose()?,
        };
        let request = Request {
            timestamp: seconds("t", row.t)?,
            input_length: row.input_length,
            output_length: row.output_length,
            ids: ids_of(row.session, &row.runs)?,
            listing: Listing::SessionRuns,
            turn: Some(turn),
        };
        self.enter(row.session)?;
        Ok(request)
    }

    fn enter(&mut self, session: u32) -> Result<(), Reason> {
        if self.last == Some(session) {
            return Ok(());
        }
        if !self.seen.insert(session) {
            let expected = "that of the row before, or one that no row before has";
            return Err(Reason::field("session", expected, &format!("{session}")));
        }
        self.last = Some(session);
        Ok(())
    }
}

/// The requests of each session, in file order. Requests of no session are each on their own.
///
/// Within a session, file order is not time order: a sub-agent's requests come where its call stands.
pub fn sessions(requests: &[Request]) -> impl Iterator<Item = &[Request]> {
    requests.chunk_by(|request, next| match (&request.turn, &next.turn) {
        (Some(turn), Some(next)) => turn.session == next.session,
        _ => false,
    })
}

fn parse_stop(text: Option<&str>) -> Result<Option<Stop>, Reason> {
    match text {
        None | Some("") => Ok(None),
        Some("tool_use") => Ok(Some(Stop::ToolUse)),
        Some("end_turn") => Ok(Some(Stop::EndTurn)),
        Some(other) => {
            let expected = "`tool_use`, `end_turn` or empty";
            Err(Reason::field("stop", expected, other))
        }
    }
}

fn seconds(name: &'static str, value: f64) -> Result<Duration, Reason> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        let expected = "a number of seconds, not negative";
        Reason::field(name, expected, &format!("{value:e}"))
    })
}

/// The ids of all sessions' numbering; those of a session are below 2^32.
fn ids_of(session: u32, runs: &[(u64, u64)]) -> Result<Ids, Reason> {
    let mut ids = Ids::new();
    for &(first, count) in runs {
        let end = first.checked_add(count);
        if count > 0 && end.is_none_or(|end| end > 1 << 32) {
            return Err(Reason::RunOverflows { first, count });
        }
        ids.push_run(u64::from(session) << 32 | first, count)?;
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn parse_row(line: &str) -> Result<Request, Reason> {
        Sessions::default().parse_row(line)
    }

    fn row_of(session: u32, runs: &str) -> Request {
        let row = format!(
            "{{\"session\":{session},\"agent\":0,\"t\":0,\"input_length\":9,\"output_length\":1,\"runs\":{runs}}}"
        );
        parse_row(&row).unwrap()
    }

    #[test]
    fn a_row_gives_a_request_and_its_turn() {
        let request = parse_row(
            r#"{"session":4,"agent":1,"t":440243.409,"input_length":18297,"output_length":177,"stop":"tool_use","api_time":3.25,"runs":[[9,2],[7,1]]}"#,
        )
        .unwrap();
        assert_eq!(request.timestamp, Duration::from_millis(440_243_409));
        assert_eq!((request.input_length, request.output_length), (18_297, 177));
        assert_eq!(
            request.ids.iter().collect::<Vec<_>>(),
            [(4 << 32) + 9, (4 << 32) + 10, (4 << 32) + 7]
        );
        assert_eq!(request.listing.usual_id_tokens(), Some(64));
        assert_eq!(
            request.turn,
            Some(Turn {
                session: 4,
                agent: 1,
                stop: Some(Stop::ToolUse),
                api_time: Some(Duration::from_millis(3_250)),
            })
        );
    }

    #[test]
    fn what_was_not_recorded_is_missing() {
        for rest in [
            r#""stop":"","api_time":null"#,
            r#""stop":null"#,
            r#""other":[]"#,
        ] {
            let row = format!(
                "{{\"session\":1,\"agent\":0,\"t\":0,\"input_length\":9,\"output_length\":1,\"runs\":[],{rest}}}"
            );
            let turn = parse_row(&row).unwrap().turn.unwrap();
            assert_eq!((turn.stop, turn.api_time), (None, None), "{row}");
        }
    }

    #[test]
    fn equal_ids_of_different_sessions_are_different_ids() {
        let (one, two) = (row_of(1, "[[0,3]]"), row_of(2, "[[0,3]]"));
        assert_eq!(one.ids, row_of(1, "[[0,1],[1,2]]").ids);
        assert!(
            one.ids
                .iter()
                .all(|id| two.ids.iter().all(|of_two| id != of_two))
        );
        assert_eq!(
            row_of(u32::MAX, "[[4294967295,1],[0,0]]").ids.iter().last(),
            Some(u64::MAX)
        );
    }

    #[test]
    fn a_session_that_comes_back_is_refused() {
        let row = |session| {
            format!(
                "{{\"session\":{session},\"agent\":0,\"t\":0,\"input_length\":9,\"output_length\":1,\"runs\":[]}}"
            )
        };
        let mut sessions = Sessions::default();
        for session in [3, 3, 1, 7, 7] {
            sessions.parse_row(&row(session)).unwrap();
        }
        assert_eq!(
            sessions.parse_row(&row(3)).unwrap_err().to_string(),
            "session must be that of the row before, or one that no row before has, and is `3`"
        );
    }

    #[test]
    fn requests_are_told_apart_by_session() {
        let none = Request::default();
        let requests = [
            row_of(2, "[]"),
            row_of(2, "[]"),
            row_of(5, "[]"),
            none.clone(),
            none,
        ];
        let lengths: Vec<_> = sessions(&requests).map(<[Request]>::len).collect();
        assert_eq!(lengths, [2, 1, 1, 1]);
    }

    #[test]
    fn a_malformed_row_is_refused_with_its_reason() {
        let cases = [
            (
                r#"{"session":1,"agent":0,"input_length":7,"output_length":1,"runs":[[1,2]]}"#,
                "missing field `t`",
            ),
            (
                r#"{"session":1,"agent":0,"t":0,"input_length":7,"output_length":1,"hash_ids":[1]}"#,
                "missing field `runs`",
            ),
            (
                r#"{"session":4294967296,"agent":0,"t":0,"input_length":7,"output_length":1,"runs":[]}"#,
                "`4294967296`, expected u32",
            ),
            (
                r#"{"session":1,"agent":-1,"t":0,"input_length":7,"output_length":1,"runs":[]}"#,
                "`-1`, expected u32",
            ),
            (
                r#"{"session":1,"agent":0,"t":-0.5,"input_length":7,"output_length":1,"runs":[]}"#,
                "t must be a number of seconds, not negative, and is `-5e-1`",
            ),
            (
                r#"{"session":1,"agent":0,"t":0,"input_length":7,"output_length":1,"api_time":1e300,"runs":[]}"#,
                "api_time must be a number of seconds",
            ),
            (
                r#"{"session":1,"agent":0,"t":0,"input_length":7,"output_length":1,"stop":"\u0041 refusal that goes on and on and on and on","runs":[]}"#,
                "stop must be `tool_use`, `end_turn` or empty, and is `A refusal that goes on and on and on and...`",
            ),
            (
                r#"{"session":1,"agent":0,"t":0,"input_length":7,"output_length":1,"runs":[[4294967295,2]]}"#,
                "a run of 2 ids from 4294967295 goes past the largest id",
            ),
            (
                r#"{"session":1,"agent":0,"t":0,"input_length":7,"output_length":1,"runs":[[18446744073709551615,1]]}"#,
                "past the largest id",
            ),
            (
                r#"{"session":1,"agent":0,"t":0,"input_length":7,"output_length":1,"runs":[[0,4194305]]}"#,
                "more than 4194304 ids",
            ),
            (
                r#"{"timestamp":0,"input_length":7,"output_length":1,"hash_ids":[1]}"#,
                "a row of the format `mooncake`, where one of the format `sessions` is expected",
            ),
            (
                "2023-11-16 18:15:46.68,1,1",
                "a row of the format `azure`, where one of the format `sessions` is expected",
            ),
            ("17", "an object is expected"),
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
