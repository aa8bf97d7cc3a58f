//! The published traces, read whole: as many requests, sessions, nodes and blocks as their description counts.
//!
//! They lie beside the checkout, in `../shared/traces`, and are not part of the repository; where they are absent, nothing is
//! read, and the tests say so.
#![cfg(all(feature = "cli", not(loom)))]

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kvblock::trace::{self, Content, Format, Reader, Reason, Request, Stop, TreeReader, Turn};

/// The trace's path, or `None` after saying that it is not there.
fn published(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/traces")
        .join(name);
    if path.is_file() {
        return Some(path);
    }
    // Past the test harness, which shows nothing of what a test that passes prints.
    let _ = writeln!(io::stderr(), "NOT READ: there is no {}", path.display());
    None
}

#[test]
fn the_published_sessions_are_as_described() {
    let Some(path) = published("weka_claude_code_sessions.jsonl") else {
        return;
    };
    let mut reader = Reader::open(&path, None).expect("a trace");
    let requests: Vec<Request> = reader
        .by_ref()
        .collect::<Result<_, _>>()
        .expect("well-formed rows");
    assert_eq!(reader.format(), Some(Format::Sessions));
    assert_eq!(requests.len(), 19_039);

    let turns: Vec<Turn> = requests
        .iter()
        .map(|request| request.turn.expect("of a session"))
        .collect();
    assert_eq!(trace::sessions(&requests).count(), 317);
    let of_sub_agents = || turns.iter().filter(|turn| turn.agent > 0);
    assert_eq!(of_sub_agents().count(), 676);
    let sub_agents: HashSet<_> = of_sub_agents()
        .map(|turn| (turn.session, turn.agent))
        .collect();
    assert_eq!(sub_agents.len(), 63);
    let stopped = |stop| turns.iter().filter(|turn| turn.stop == stop).count();
    assert_eq!(stopped(Some(Stop::ToolUse)), 15_441);
    assert_eq!(stopped(Some(Stop::EndTurn)), 1_186);
    assert_eq!(stopped(None), 2_412);
    let untimed = turns.iter().filter(|turn| turn.api_time.is_none());
    assert_eq!(untimed.count(), 2_402);

    let content = Content::new(0, 64, 64);
    let lookups: u64 = requests.iter().map(|request| content.blocks(request)).sum();
    assert_eq!(lookups, 37_450_911);
    assert_eq!(content.distinct_blocks(&requests), Some(1_630_994));
    for request in &requests {
        assert_eq!(request.ids.len() as u64, request.input_length / 64);
    }
}

#[test]
fn an_agents_requests_come_by_time_and_a_session_begins_at_its_zero() {
    let Some(path) = published("weka_claude_code_sessions.jsonl") else {
        return;
    };
    let requests: Vec<Request> = Reader::open(&path, Some(Format::Sessions))
        .and_then(Iterator::collect)
        .expect("well-formed rows");
    for session in trace::sessions(&requests) {
        assert!(session[0].timestamp.is_zero());
        let agents: HashSet<_> = session.iter().map(agent).collect();
        for one in agents {
            let times = session.iter().filter(|request| agent(request) == one);
            assert!(times.is_sorted_by_key(|request| request.timestamp));
        }
    }
}

fn agent(request: &Request) -> Option<u32> {
    request.turn.map(|turn| turn.agent)
}

#[test]
fn the_published_trees_are_as_described() {
    let Some(path) = published("tot_game24_tree.jsonl") else {
        return;
    };
    let refused = Reader::open(&path, None)
        .expect("a trace")
        .next()
        .expect("a row")
        .expect_err("a node is no request");
    assert_eq!(refused.reason, Reason::Trees);

    let mut problems = 0;
    let mut steps = 0;
    let mut nodes = 0;
    let mut kept = 0;
    for problem in TreeReader::open(&path).expect("a trace") {
        let problem = problem.expect("well-formed rows");
        assert_eq!(problem.number(), problems);
        assert!(problem.nodes()[0].keep);
        problems += 1;
        for step in problem.steps() {
            let step = &problem.nodes()[step];
            steps += 1;
            nodes += step.len();
            let survivors = step.iter().filter(|node| node.keep).count();
            assert_eq!(survivors, 5);
            kept += survivors;
        }
    }
    assert_eq!((problems, steps, nodes), (100, 400, 8_412));
    assert_eq!((kept, nodes - kept), (2_000, 6_412));
}
