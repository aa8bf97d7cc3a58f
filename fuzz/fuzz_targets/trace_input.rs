//! The trace parsers never panic, whatever the bytes: they give requests, or say what is wrong and where.
//!
//! The first byte chooses the format (or none, so that it is detected) and how contents are cut; the rest is the file. What
//! was read must be the same when it is written as rows and read again, and its contents must be whole blocks.
#![no_main]

use std::fmt::Write;

use kvblock::trace::{self, Content, Format, Request};
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
    let requests = match trace::parse(format, bytes) {
        Ok(requests) => requests,
        Err(error) => {
            assert!(!error.reason.to_string().is_empty());
            assert!(error.line.is_none_or(|line| line > 0));
            return;
        }
    };
    if requests
        .iter()
        .map(|request| request.ids.len())
        .sum::<usize>()
        > MOST_IDS
    {
        return;
    }
    for as_runs in [true, false] {
        reads_again_what_it_wrote(&requests, as_runs);
    }
    let (id_tokens, block_size) = CUTS[usize::from(choice / 5) % CUTS.len()];
    has_whole_blocks(
        &requests,
        &Content::new(u64::from(choice), id_tokens, block_size),
        block_size,
    );
});

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
