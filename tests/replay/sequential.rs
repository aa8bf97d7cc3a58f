//! Sequential mode: exact figures on small traces made here, the reference results on the published traces, errors.

use std::io::{self, Write};
use std::path::Path;

use crate::program::{Replayed, Scratch, lasting_lines, published_traces, run, text};

fn sequential(scratch: &Scratch, trace: &Path, options: &[&str]) -> Replayed {
    scratch.replay(trace, &[&["--mode", "sequential"], options].concat())
}

/// Requests of ids that stand for four tokens each; the figures below are worked out in `figures_are_exact`.
const SYNTHETIC: &str = r#"{"timestamp": 0, "input_length": 12, "output_length": 1, "hash_ids": [0, 1, 2]}
{"timestamp": 1, "input_length": 12, "output_length": 1, "hash_ids": [0, 1, 3]}
{"timestamp": 2, "input_length": 0, "output_length": 1, "hash_ids": []}
{"timestamp": 3, "input_length": 7, "output_length": 1, "hash_ids": [4, 5]}

{"timestamp": 4, "input_length": 9, "output_length": 1, "runs": [[0, 3]]}
{"timestamp": 5, "input_length": 20, "output_length": 1, "hash_ids": [6, 7, 8, 9, 10]}
{"timestamp": 6, "input_length": 4, "output_length": 1, "hash_ids": [4]}
{"timestamp": 7, "input_length": 3, "output_length": 1}
"#;

/// `gzip -9n` of one row: `{"timestamp": 0, "input_length": 8, "output_length": 1, "hash_ids": [0, 1]}`.
const COMPRESSED: &[u8] =
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xabV*\xc9\xccM-.I\xcc-P\xb2R0\xd0QP\xca\xcc+(-\
    \x89\xcfI\xcdK/\xc9\x00\x0aY\x00\x85\xf2KKP\xc4\x0c\x81b\x19\x89\xc5\x19\xf1\x99)\xc5@n4\
    P\x9bal-\x17\x00cg\x10AL\x00\x00\x00";

/// Hits of exact LRU by trace and capacity, and lookups: model A of `../shared/traces/EXPECTED_HIT_RATIOS.md`.
const REFERENCE: [Reference; 3] = [
    Reference {
        trace: "mooncake_conversation_trace.jsonl",
        requests: 12_031,
        lookups: 288_500,
        hits: [
            (5, 56_479),
            (10, 80_466),
            (25, 101_978),
            (50, 104_759),
            (100, 105_710),
        ],
    },
    Reference {
        trace: "mooncake_trace_1000.jsonl",
        requests: 1_000,
        lookups: 19_686,
        hits: [
            (5, 5_545),
            (10, 5_568),
            (25, 5_894),
            (50, 6_811),
            (100, 7_479),
        ],
    },
    Reference {
        trace: "agent_magagent_blk16.jsonl",
        requests: 746,
        lookups: 92_494,
        hits: [
            (5, 63_173),
            (10, 77_737),
            (25, 77_940),
            (50, 77_942),
            (100, 77_942),
        ],
    },
];

struct Reference {
    trace: &'static str,
    requests: u64,
    lookups: u64,
    /// Percent of the distinct ids, hits.
    hits: [(u64, u64); 5],
}

#[test]
fn figures_are_exact() {
    let scratch = Scratch::new("exact");
    let trace = scratch.write("synthetic.jsonl", SYNTHETIC.as_bytes());

    let result = sequential(
        &scratch,
        &trace,
        &[
            "--id-tokens",
            "4",
            "--capacity",
            "40%",
            "--audit-every",
            "1",
        ],
    );

    // 11 distinct ids, 4 blocks. Blocks that are cached before each request, the next to be reclaimed first:
    //   [0 1 2]      nothing                   0 hits
    //   [0 1 3]      2 1 0                     2 hits, 3 takes the free block
    //   []                                     no block
    //   [4 5]        2 3 1 0                   0 hits, reclaims 2 and 3; their parents were hit since
    //   [0 1 2]      1 0 5 4                   2 hits, which hold 1 and 0; reclaims 5
    //   [6 .. 10]    4 2 1 0                   5 blocks never fit into 4
    //   [4]          4 2 1 0                   1 hit
    //   (none)                                 no block
    result.has("trace", "\"synthetic.jsonl\"");
    result.has("mode", "\"sequential\"");
    result.has("block_size", "4");
    result.has("blocks", "4");
    result.has("distinct_blocks", "11");
    result.has("requests", "8");
    result.has("requests_without_blocks", "2");
    result.has("lookups", "17");
    result.has("hits", "5");
    assert_eq!(result.get("hit_ratio").parse(), Ok(5.0 / 17.0), "hit_ratio");
    result.has("reclaims", "3");
    result.has("refused_never", "1");
    result.has("refused_shortfall", "0");
    result.has("longest_refused", "5");
    result.has("held_at_end", "0");
    result.has("audits", "9");
    result.has("audit", "\"ok\"");
    result.said("--blocks 5 admits them all");
}

#[test]
fn another_block_size_cuts_the_prompts_anew() {
    let scratch = Scratch::new("cut");
    let rows = r#"{"timestamp": 0, "input_length": 16, "output_length": 1, "runs": [[0, 2]]}
{"timestamp": 1, "input_length": 15, "output_length": 1, "runs": [[0, 1], [2, 1]]}
"#;
    let trace = scratch.write("rows.jsonl", rows.as_bytes());
    // Ids of 8 tokens: the two prompts share their first 8.
    for (block_size, distinct, lookups, hits) in [
        ("8", "3", "4", "1"),
        ("4", "5", "7", "2"),
        ("16", "1", "1", "0"),
    ] {
        let result = sequential(
            &scratch,
            &trace,
            &[
                "--id-tokens",
                "8",
                "--block-size",
                block_size,
                "--capacity",
                "1",
            ],
        );
        result.has("block_size", block_size);
        result.has("distinct_blocks", distinct);
        result.has("lookups", lookups);
        result.has("hits", hits);
    }
}

#[test]
fn sessions_share_no_ids_and_their_agents_do() {
    let scratch = Scratch::new("sessions");
    let row = |session, agent, runs| {
        format!(
            "{{\"session\":{session},\"agent\":{agent},\"t\":0.5,\"input_length\":200,\"output_length\":1,\"runs\":{runs}}}\n"
        )
    };
    let rows = [
        row(1, 0, "[[1,3]]"),
        row(1, 1, "[[1,2],[9,1]]"),
        row(2, 0, "[[1,3]]"),
    ]
    .concat();
    let trace = scratch.write("rows.jsonl", rows.as_bytes());
    // 64 tokens an id; cut anew, no token of one session is of another.
    for (block_size, distinct, lookups, hits) in [
        ("64", "7", "9", "2"),
        ("200", "3", "3", "0"),
        ("1", "472", "600", "128"),
    ] {
        let options = ["--block-size", block_size, "--capacity", "1"];
        let result = sequential(&scratch, &trace, &options);
        result.has("format", "\"sessions\"");
        result.has("id_tokens", "64");
        result.has("requests", "3");
        result.has("distinct_blocks", distinct);
        result.has("lookups", lookups);
        result.has("hits", hits);
        result.has("held_at_end", "0");
    }
}

#[test]
fn prompts_of_a_csv_trace_share_nothing() {
    let scratch = Scratch::new("azure");
    let row = "2023-11-16 18:15:46.6805900,40,44\r\n";
    let rows = [
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n",
        row,
        row,
        "2023-11-16 18:15:47.0000000,15,1",
    ]
    .concat();
    let trace = scratch.write("azure.csv", rows.as_bytes());
    let result = sequential(&scratch, &trace, &["--capacity", "100%"]);
    result.has("requests", "3");
    result.has("blocks", "4");
    result.has("lookups", "4");
    result.has("hits", "0");
    result.has("held_at_end", "0");
}

#[test]
fn compressed_traces_are_read() {
    let scratch = Scratch::new("gzip");
    let trace = scratch.write("rows.jsonl.gz", COMPRESSED);
    let result = sequential(&scratch, &trace, &["--id-tokens", "4"]);
    result.has("trace", "\"rows.jsonl.gz\"");
    result.has("requests", "1");
    result.has("lookups", "2");
}

#[test]
fn two_runs_differ_in_nothing_but_the_time() {
    let scratch = Scratch::new("twice");
    let results = ["first.json", "second.json"]
        .map(|name| lasting_lines(&scratch.path(name), &["--mode", "sequential"]));
    assert!(results[0].len() > 10, "{:?}", results[0]);
    assert_eq!(results[0], results[1]);
}

#[test]
fn a_malformed_line_is_named_and_ends_the_program_with_code_2() {
    let scratch = Scratch::new("malformed");
    let rows = SYNTHETIC.replace("\"hash_ids\": [0, 1, 3]", "\"hash_ids\": [0, -1, 3]");
    let trace = scratch.write("bad.jsonl", rows.as_bytes());
    let output = run([&trace]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    let place = format!("{}:2: ", trace.display());
    assert!(said.contains(&place) && said.contains("`-1`"), "{said}");
}

#[test]
fn what_cannot_be_replayed_ends_the_program_with_code_2() {
    let scratch = Scratch::new("refused");
    let trace = scratch
        .write("synthetic.jsonl", SYNTHETIC.as_bytes())
        .display()
        .to_string();
    let empty = scratch.write("empty.jsonl", b"\n").display().to_string();
    let node =
        br#"{"problem":0,"step":-1,"node":0,"parent":-1,"new_tokens":7,"value":null,"keep":1}"#;
    let trees = scratch.write("trees.jsonl", node).display().to_string();
    let directory = scratch.directory.display().to_string();
    let unwritable = scratch.path("no/such/directory.json").display().to_string();
    let cases: [(&[&str], &str); 10] = [
        (&[&empty], "no requests"),
        (&[&directory], "cannot be read"),
        (&["no/such/trace.jsonl"], "cannot be read"),
        (&[&trace, "--format", "tree"], "the format `mooncake`"),
        (&[&trees], "need serve mode"),
        (&[&trace, "--format", "sessions"], "the format `mooncake`"),
        (&[&trace, "--json", &unwritable], "cannot be written"),
        (&[&trace, "--json", &trace], "would overwrite the trace"),
        (
            &[&trace, "--blocks", "4", "--capacity", "5%"],
            "cannot be used with",
        ),
        (&[&trace, "--capacity", "5"], "`5%`"),
    ];
    for (arguments, expected) in cases {
        let output = run([arguments, &["--mode", "sequential"]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn hits_on_the_published_traces_come_up_to_exact_lru() {
    let Some(traces) = published_traces("the reference table") else {
        return;
    };
    let scratch = Scratch::new("reference");
    let mut table = format!(
        "{:<34} {:>8} {:>8} {:>8} {:>7}\n",
        "trace", "capacity", "LRU hits", "hits", "of LRU"
    );
    let mut wrong = String::new();
    for reference in &REFERENCE {
        for (percent, lru_hits) in reference.hits {
            let capacity = format!("{percent}%");
            let result = sequential(
                &scratch,
                &traces.join(reference.trace),
                &["--capacity", &capacity],
            );
            result.has("requests", &reference.requests.to_string());
            result.has("lookups", &reference.lookups.to_string());
            result.has("refused_never", "0");
            result.has("refused_shortfall", "0");
            result.has("held_at_end", "0");
            result.has("audit", "\"ok\"");
            let hits: u64 = result.get("hits").parse().expect("a number of blocks");
            let (name, relative) = (reference.trace, hits as f64 / lru_hits as f64);
            let row = format!("{name:<34} {capacity:>8} {lru_hits:>8} {hits:>8} {relative:>7.4}\n");
            let enough = if percent == 100 {
                hits == lru_hits
            } else {
                hits * 100 >= lru_hits * 98
            };
            if !enough {
                wrong.push_str(&row);
            }
            table.push_str(&row);
        }
    }
    let _ = write!(io::stderr(), "{table}");
    assert!(
        wrong.is_empty(),
        "hits below 0.98 of LRU's, or not equal to them at 100 %:\n{wrong}"
    );
}
