//! The trace parsers never panic, whatever the bytes: they give requests, or say what is wrong and where.
//!
//! The first byte chooses the format (or none, so that it is detected) and how contents are cut; the rest is the file, read
//! as requests and as trees. What was read must be the same when it is written as rows and read again, contents must be
//! whole blocks, and a tree must be one.
#![no_main]

use std::fmt::Write;
use std::time::Duration;

use kvblock::trace::{self, Content, Format, Node, ParseError, Problem, Request, Stop, Turn};
use libfuzzer_sys::fuzz_target;

/// Tokens of an id, tokens of a block.
const CUTS: [(usize, usize); 6] = [(16, 16), (512, 512), (512, 16), (16, 48), (1, 1), (7, 3)];
/// Beyond these the checks would only be slow: a row of twenty bytes may stand for millions of ids.
const MOST_IDS: usize = 4_096;
const MOST_BLOCKS: u64 = 64;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let format = match choice % 5 {
        0 => None,
        1 => Some(Format::Mooncake),
        2 => Some(Format::Azure),
        3 => Some(Format::Tree),
        _ => Some(Format::Sessions),
    };
    match trace::parse_trees(bytes) {
        Ok(problems) => {
            problems.iter().for_each(is_a_tree);
            reads_trees_again(&problems);
        }
        Err(error) => says_what_and_where(&error),
    }
    match trace::parse(format, bytes) {
        Ok(requests) => check_requests(choice, &requests),
        Err(error) => says_what_and_where(&error),
    }
});

fn says_what_and_where(error: &ParseError) {
    assert!(!error.reason.to_string().is_empty());
    assert!(error.line.is_none_or(|line| line > 0));
}

fn check_requests(choice: u8, requests: &[Request]) {
    let mut sessions: Vec<_> = trace::sessions(requests)
        .filter_map(|session| session[0].turn)
        .map(|turn| turn.session)
        .collect();
    sessions.sort_unstable();
    assert!(sessions.windows(2).all(|pair| pair[0] != pair[1]));
    if requests
        .iter()
        .map(|request| request.ids.len())
        .sum::<usize>()
        > MOST_IDS
    {
        return;
    }
    for as_runs in [true, false] {
        reads_again_what_it_wrote(requests, as_runs);
    }
    reads_sessions_again(requests);
    let (id_tokens, block_size) = CUTS[usize::from(choice / 5) % CUTS.len()];
    has_whole_blocks(
        requests,
        &Content::new(u64::from(choice), id_tokens, block_size),
        block_size,
    );
}

fn reads_again_what_it_wrote(requests: &[Request], as_runs: bool) {
    let mut text = String::new();
    for request in requests {
        let ids = if as_runs {
            let runs = request.ids.runs().iter();
            let list: Vec<_> = runs
                .map(|run| format!("[{},{}]", run.first(), run.count()))
                .collect();
            format!("\"runs\":[{}]", list.join(","))
        } else {
            let list: Vec<_> = request.ids.iter().map(|id| id.to_string()).collect();
            format!("\"hash_ids\":[{}]", list.join(","))
        };
        let (input, output) = (request.input_length, request.output_length);
        writeln!(
            text,
            "{{\"timestamp\":0,\"input_length\":{input},\"output_length\":{output},{ids}}}"
        )
        .expect("a string takes all");
    }
    let again = trace::parse(None, text.as_bytes()).expect("well-formed rows");
    assert_eq!(again.len(), requests.len());
    for (again, request) in again.iter().zip(requests) {
        assert_eq!(again.ids, request.ids);
        assert_eq!(again.input_length, request.input_length);
        assert_eq!(again.output_length, request.output_length);
    }
}

/// The requests that are of sessions; times are left out, as reading a decimal may round it.
fn reads_sessions_again(requests: &[Request]) {
    let mut text = String::new();
    let mut written = Vec::new();
    for request in requests {
        let Some(turn) = request.turn else {
            continue;
        };
        let stop = match turn.stop {
            Some(Stop::ToolUse) => "tool_use",
            Some(Stop::EndTurn) => "end_turn",
            _ => "",
        };
        let runs = request.ids.runs().iter();
        let runs: Vec<_> = runs
            .map(|run| {
                assert_eq!(run.first() >> 32, u64::from(turn.session));
                assert_eq!(run.last() >> 32, u64::from(turn.session));
                format!("[{},{}]", run.first() & 0xffff_ffff, run.count())
            })
            .collect();
        let (Turn { session, agent, .. }, runs) = (turn, runs.join(","));
        let (input, output) = (request.input_length, request.output_length);
        writeln!(
            text,
            "{{\"session\":{session},\"agent\":{agent},\"t\":0,\"input_length\":{input},\"output_length\":{output},\"stop\":\"{stop}\",\"runs\":[{runs}]}}"
        )
        .expect("a string takes all");
        let mut request = request.clone();
        request.timestamp = Duration::ZERO;
        request.turn = Some(Turn {
            api_time: None,
            ..turn
        });
        written.push(request);
    }
    assert_eq!(trace::parse(None, text.as_bytes()), Ok(written));
}

fn is_a_tree(problem: &Problem) {
    let nodes = problem.nodes();
    assert_eq!(nodes[0].parent, None);
    assert_eq!(nodes[0].tokens, u64::from(nodes[0].new_tokens));
    let mut before = 0..1;
    for step in problem.steps() {
        assert_eq!(step.start, before.end);
        assert!(!step.is_empty());
        for node in &nodes[step.clone()] {
            let parent = node.parent.expect("a node that is not the root");
            assert!(before.contains(&parent) && nodes[parent].keep);
            assert_eq!(
                node.tokens,
                nodes[parent].tokens + u64::from(node.new_tokens)
            );
        }
        before = step;
    }
    assert_eq!(before.end, nodes.len());
}

/// Values are left out, as reading a decimal may round it.
fn reads_trees_again(problems: &[Problem]) {
    let mut text = String::new();
    for problem in problems {
        let nodes = problem.nodes();
        let steps = problem.steps().enumerate();
        let steps = steps.flat_map(|(step, places)| places.map(move |_| step.to_string()));
        for (node, step) in nodes
            .iter()
            .zip(["-1".to_string()].into_iter().chain(steps))
        {
            let parent = node
                .parent
                .map_or("-1".to_string(), |parent| nodes[parent].number.to_string());
            writeln!(
                text,
                "{{\"problem\":{},\"step\":{step},\"node\":{},\"parent\":{parent},\"new_tokens\":{},\"value\":null,\"keep\":{}}}",
                problem.number(),
                node.number,
                node.new_tokens,
                u8::from(node.keep)
            )
            .expect("a string takes all");
        }
    }
    let again = trace::parse_trees(text.as_bytes()).expect("well-formed rows");
    assert_eq!(again.len(), problems.len());
    for (again, problem) in again.iter().zip(problems) {
        assert_eq!(again.number(), problem.number());
        assert!(again.steps().eq(problem.steps()));
        let without_value = |node: &Node| Node {
            value: None,
            ..*node
        };
        let expected = problem.nodes().iter().map(without_value);
        assert!(again.nodes().iter().copied().eq(expected));
    }
}

fn has_whole_blocks(requests: &[Request], content: &Content, block_size: usize) {
    let mut tokens = Vec::new();
    let mut sum = 0_u64;
    for (index, request) in (0..).zip(requests) {
        let blocks = content.blocks(request);
        sum = sum.saturating_add(blocks);
        let some = usize::try_from(blocks.min(MOST_BLOCKS)).expect("few");
        content
            .fill(request, index, some, &mut tokens)
            .expect("little memory");
        assert_eq!(tokens.len(), some * block_size);
    }
    let distinct = content.distinct_blocks(requests).expect("few ids");
    assert!(distinct <= sum, "{distinct} different blocks among {sum}");
}
