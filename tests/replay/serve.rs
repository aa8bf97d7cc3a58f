//! Serve mode: figures that are worked out by hand, every feature under audit, the published traces, errors.

use core::fmt::Write as _;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::program::{Replayed, Scratch, lasting_lines, published_traces, run, text};

/// Ids of four tokens; the figures are worked out in `figures_are_exact`.
const SYNTHETIC: &str = r#"{"timestamp": 0, "input_length": 12, "output_length": 3, "hash_ids": [0, 1, 2]}
{"timestamp": 1000, "input_length": 12, "output_length": 1, "hash_ids": [0, 1, 3]}
{"timestamp": 2000, "input_length": 20, "output_length": 9, "hash_ids": [5, 6, 7, 8, 9]}
{"timestamp": 2000, "input_length": 3, "output_length": 0, "hash_ids": [4]}
"#;

/// Two requests at once, of two blocks each, that grow by six tokens.
const PAIR: &str = r#"{"timestamp": 0, "input_length": 8, "output_length": 6, "hash_ids": [0, 1]}
{"timestamp": 0, "input_length": 8, "output_length": 6, "hash_ids": [2, 3]}
"#;

const SMALL: [&str; 4] = ["--id-tokens", "4", "--block-size", "4"];

pub(crate) fn small(scratch: &Scratch, trace: &Path, options: &[&str]) -> Replayed {
    scratch.replay(trace, &[&SMALL, options].concat())
}

/// A figure that is no whole number.
pub(crate) fn is(result: &Replayed, key: &str, expected: f64) {
    let found: f64 = result.get(key).parse().expect("a number");
    assert!(
        (found - expected).abs() < 1e-9,
        "{key}: {found} is not {expected}"
    );
}

/// A member of an object in the figures.
fn member(result: &Replayed, object: &str, key: &str) -> f64 {
    let (_, rest) = result
        .json
        .split_once(&format!("\"{object}\": {{"))
        .unwrap_or_else(|| panic!("no `{object}` in {}", result.json));
    let (_, rest) = rest
        .split_once(&format!("\"{key}\": "))
        .unwrap_or_else(|| panic!("no `{key}` in `{object}`"));
    let end = rest.find([',', '\n']).expect("more members or an end");
    rest[..end].parse().expect("a number")
}

/// Nothing is left, every audit was passed, every request has ended.
pub(crate) fn is_clean(result: &Replayed) {
    for key in [
        "held_at_end",
        "reserved_at_end",
        "sequences_at_end",
        "failed",
    ] {
        result.has(key, "0");
    }
    result.has("audit", "\"ok\"");
    let count = |key| result.get(key).parse::<u64>().expect("a count");
    let ended = count("completed") + count("cancelled") + count("refused_never");
    assert_eq!(ended, count("requests"), "{}", result.json);
}

#[test]
fn figures_are_exact() {
    let scratch = Scratch::new("serve-exact");
    let trace = scratch.write("synthetic.jsonl", SYNTHETIC.as_bytes());
    let result = small(
        &scratch,
        &trace,
        &[
            "--blocks",
            "6",
            "--token-budget",
            "8",
            "--growth",
            "cap",
            "--step-time",
            "10ms,1ms,0",
            "--slo",
            "ttft=20ms,gap=100ms",
            "--audit-every",
            "1",
        ],
    );
    // A step takes 10 ms and 1 ms a token.
    //       at ms   computes        blocks  unused
    //           0   8 of 12              3       0
    //          18   4 of 12              3       0   the first token after 32 ms
    //          32   1 token              4       3
    //          43   1 token              4       2   the end
    //       1,000   4 of 12              3       0   8 were found; the only token after 14 ms
    //       2,000                                    5 blocks and 3 for the answer never fit into 6
    //       2,000   3 of 3               1       1   no token
    is_clean(&result);
    for (key, expected) in [
        ("mode", "\"serve\""),
        ("requests", "4"),
        ("completed", "3"),
        ("refused_never", "1"),
        ("refused_shortfall", "0"),
        ("blocks_needed", "8"),
        ("preemptions", "0"),
        ("steps", "6"),
        ("full_steps", "1"),
        ("computed_tokens", "21"),
        ("output_tokens_generated", "4"),
        ("queried_positions", "27"),
        ("hit_positions", "8"),
        ("missed_ttft", "1"),
        ("missed_gap", "0"),
        ("audits", "7"),
    ] {
        result.has(key, expected);
    }
    let busy = 18.0 + 14.0 + 11.0 + 11.0 + 14.0 + 13.0;
    is(&result, "time_s", 2.013);
    is(&result, "busy", busy / 2_013.0);
    is(&result, "hit_ratio", 8.0 / 27.0);
    is(
        &result,
        "offered_tokens_per_s",
        f64::from(15 + 13 + 29 + 3) / 2.0,
    );
    is(
        &result,
        "served_tokens_per_s",
        f64::from(15 + 13 + 3) / 2.013,
    );
    is(&result, "served_output_tokens_per_s", 4.0 / 2.013);
    is(&result, "goodput", 0.5);
    is(
        &result,
        "tail_waste_mean",
        (11.0 * 3.0 + 11.0 * 2.0 + 13.0) / busy,
    );
    let entries = 32.0 * 3.0 + 22.0 * 4.0 + 14.0 * 3.0 + 13.0;
    is(&result, "table_entries_mean", entries / busy);
    is(&result, "held_mean", entries / busy);
    for (object, key, expected) in [
        ("ttft_ms", "p50", 14.0),
        ("ttft_ms", "p99", 32.0),
        ("gap_ms", "p50", 11.0),
        ("input_tokens", "max", 20.0),
        ("output_tokens", "p50", 1.0),
    ] {
        let found = member(&result, object, key);
        assert!((found - expected).abs() < 1e-9, "{object} {key}: {found}");
    }
    result.said("--blocks 8 has room for the longest");
}

#[test]
fn each_growth_policy_keeps_its_word() {
    let scratch = Scratch::new("serve-growth");
    let trace = scratch.write("pair.jsonl", PAIR.as_bytes());
    let serve = |growth, blocks| {
        let options = ["--blocks", blocks, "--growth", growth, "--audit-every", "1"];
        let result = small(&scratch, &trace, &options);
        is_clean(&result);
        result.has("completed", "2");
        result.has("output_tokens_generated", "12");
        result
    };
    // Both have two of five blocks and want a third: the older one gets it, the newer one steps back. The older one's fourth
    // block is the tail of what the newer one left, so that it finds one of its two blocks, with 9 tokens to compute.
    let result = serve("on-demand", "5");
    result.has("preemptions", "1");
    result.has("refused_shortfall", "0");
    result.has("returns", "1");
    is(&result, "returned_hit_ratio", 4.0 / 9.0);

    // Two and two for the answer; then one is left, and the second one waits.
    let result = serve("cap", "5");
    result.has("preemptions", "0");
    result.has("refused_shortfall", "1");

    let result = serve("ahead:1", "5");
    result.has("refused_shortfall", "1");
    for growth in ["cap", "ahead:1", "on-demand"] {
        let result = serve(growth, "8");
        result.has("preemptions", "0");
        result.has("refused_shortfall", "0");
    }
}

#[test]
fn the_conservative_budget_and_the_watermark_keep_the_second_one_waiting() {
    let scratch = Scratch::new("serve-budget");
    let rows = PAIR.replace("[2, 3]", "[0, 1]");
    let trace = scratch.write("same.jsonl", rows.as_bytes());
    // The first is computed alone; then the second shares its first block: 4 + 4 entries, 7 blocks.
    let serve = |options: &[&str]| {
        let budget = ["--blocks", "7", "--growth", "cap", "--token-budget", "8"];
        let result = small(&scratch, &trace, &[&budget, options].concat());
        is_clean(&result);
        result
    };
    serve(&["--budget", "physical"]).has("refused_shortfall", "0");
    serve(&["--budget", "conservative"]).has("refused_shortfall", "1");
    serve(&["--watermark", "1"]).has("refused_shortfall", "1");
    serve(&["--watermark", "10%"]).has("refused_shortfall", "0");
}

#[test]
fn a_sequence_that_outgrows_the_pool_ends_and_is_counted() {
    let scratch = Scratch::new("serve-outgrown");
    let trace = scratch.write("pair.jsonl", PAIR.as_bytes());
    let options = [
        "--blocks",
        "3",
        "--growth",
        "on-demand",
        "--audit-every",
        "1",
    ];
    let result = small(&scratch, &trace, &options);
    // Three blocks hold 12 positions, and the sixth token needs the thirteenth.
    result.has("failed", "2");
    result.has("completed", "0");
    result.has("held_at_end", "0");
    result.has("audit", "\"ok\"");
    result.said("--blocks 4 has room");
}

#[test]
fn branches_share_their_prompt_and_copy_its_end() {
    let scratch = Scratch::new("serve-branch");
    let row = r#"{"timestamp": 0, "input_length": 6, "output_length": 3, "hash_ids": [0, 1]}"#;
    let trace = scratch.write("row.jsonl", row.as_bytes());
    for growth in ["cap", "ahead:1", "on-demand"] {
        let result = small(
            &scratch,
            &trace,
            &[
                "--blocks",
                "16",
                "--branch",
                "3",
                "--growth",
                growth,
                "--audit-every",
                "1",
            ],
        );
        is_clean(&result);
        result.has("forks", "2");
        // While copies are under way nobody is alone with the shared end.
        result.has("copies", "3");
        result.has("output_tokens_generated", "9");
        result.has("computed_tokens", "12");
    }
    // No memory for the branches: they wait, and find the prompt's block.
    let result = small(
        &scratch,
        &trace,
        &[
            "--blocks",
            "3",
            "--branch",
            "3",
            "--growth",
            "cap",
            "--audit-every",
            "1",
        ],
    );
    is_clean(&result);
    result.has("branches_queued", "2");
    result.has("completed", "1");
    // They were never preempted, so they return from nothing.
    result.has("returns", "0");
    is(&result, "returned_hit_ratio", 0.0);
}

#[test]
fn branches_without_a_place_among_the_sequences_wait_for_one() {
    let scratch = Scratch::new("serve-no-place");
    let trace = scratch.write("pair.jsonl", PAIR.as_bytes());
    let result = small(
        &scratch,
        &trace,
        &[
            "--blocks",
            "99",
            "--branch",
            "2",
            "--max-sequences",
            "2",
            "--audit-every",
            "1",
        ],
    );
    is_clean(&result);
    // Both requests run when their prompts are computed, so each one's second branch waits until one has ended.
    result.has("branches_without_slot", "2");
    result.has("branches_queued", "0");
    result.has("completed", "2");
    result.has("preemptions", "0");
    result.has("returns", "0");
    result.said("--max-sequences");
}

#[test]
fn drafts_are_taken_back_from_the_first_that_is_wrong() {
    let scratch = Scratch::new("serve-draft");
    let row = r#"{"timestamp": 0, "input_length": 6, "output_length": 9, "hash_ids": [0, 1]}"#;
    let trace = scratch.write("row.jsonl", row.as_bytes());
    // The prompt gives the first token. Eight more: 3 + 3 + 2, or one by one, with as many drafts as are of use.
    for (accept, steps, rejected) in [("1", "4", "0"), ("0", "9", "13")] {
        for growth in ["cap", "ahead:1", "on-demand"] {
            let result = small(
                &scratch,
                &trace,
                &[
                    "--blocks",
                    "16",
                    "--draft",
                    "2",
                    "--accept",
                    accept,
                    "--growth",
                    growth,
                    "--audit-every",
                    "1",
                ],
            );
            is_clean(&result);
            result.has("steps", steps);
            result.has("rejected_drafts", rejected);
            result.has("output_tokens_generated", "9");
        }
    }
}

/// The rows of a problem of two steps, whose root has so many tokens; each node adds 7.
fn tree_rows(problem: u64, root_tokens: u64) -> String {
    [
        (-1, 0, -1, root_tokens, 1),
        (0, 1, 0, 7, 1),
        (0, 2, 0, 7, 0),
        (1, 3, 1, 7, 0),
        (1, 4, 1, 7, 1),
        (1, 5, 1, 7, 0),
    ]
    .map(|(step, node, parent, tokens, keep)| {
        format!(
            "{{\"problem\":{problem},\"step\":{step},\"node\":{node},\"parent\":{parent},\"new_tokens\":{tokens},\"value\":null,\"keep\":{keep}}}\n"
        )
    })
    .concat()
}

fn tree_has(result: &Replayed, figures: &[(&str, f64)]) {
    for (key, expected) in figures {
        let found = member(result, "tree", key);
        assert!((found - expected).abs() < 1e-9, "{key}: {found}");
    }
}

/// The blocks or sequences that the advice names.
fn named<'a>(result: &'a Replayed, option: &str) -> &'a str {
    let (_, rest) = result
        .said
        .split_once(&format!("{option} "))
        .unwrap_or_else(|| panic!("no {option} in: {}", result.said));
    rest.split_whitespace().next().expect("a number")
}

#[test]
fn trees_are_forked_pruned_and_freed() {
    let scratch = Scratch::new("serve-tree");
    let rows = [tree_rows(0, 7), tree_rows(1, 7)].concat();
    let trace = scratch.write("trees.jsonl", rows.as_bytes());
    let result = scratch.replay(&trace, &["--audit-every", "1"]);
    is_clean(&result);
    result.has("completed", "2");
    tree_has(
        &result,
        &[
            ("problems", 2.0),
            ("solved", 2.0),
            ("failed", 0.0),
            ("nodes", 10.0),
            ("kept", 4.0),
            ("pruned", 6.0),
            ("given_up", 0.0),
            ("judged", 10.0),
            // The root, a node, and its three children.
            ("most_at_once", 5.0),
            ("left", 0.0),
        ],
    );
    result.has("forks", "10");
    // The second problem finds the whole blocks of the prompt that proposes, and of the prompts that judge.
    let whole = |prompt: u64| prompt / 16 * 16;
    let found = whole(161) + 2 * whole(357) + 3 * whole(279);
    result.has("hit_positions", &found.to_string());
    // What only requests have is null, and not in the table.
    for key in [
        "offered_tokens_per_s",
        "served_tokens_per_s",
        "ttft_ms",
        "gap_ms",
        "goodput",
        "good_requests_per_s",
        "missed_ttft",
        "missed_gap",
    ] {
        result.has(key, "null");
    }
    for row in ["goodput", "first token", "offered", "gaps"] {
        assert!(!result.report.contains(row), "{row}: {}", result.report);
    }
    // Five nodes of seven tokens. The first problem computes more of the prompts than the second one.
    for key in ["p50", "max"] {
        let found = member(&result, "output_tokens", key);
        assert!((found - 35.0).abs() < 1e-9, "{key}: {found}");
    }
    let computed: u64 = result.get("computed_tokens").parse().expect("a count");
    let inputs = member(&result, "input_tokens", "p50") + member(&result, "input_tokens", "max");
    assert!((inputs - (computed - 70) as f64).abs() < 1e-9, "{inputs}");
}

#[test]
fn problems_that_fail_are_counted_with_their_reason() {
    let scratch = Scratch::new("serve-tree-failed");
    let rows = [tree_rows(0, 7), tree_rows(1, 7)].concat();
    let trace = scratch.write("trees.jsonl", rows.as_bytes());
    let options = ["--audit-every", "1", "--growth", "cap", "--blocks"];
    let serve = |blocks| scratch.replay(&trace, &[&options, &[blocks][..]].concat());
    // 24 blocks are enough for each text, and not for the first step's judgement beside its nodes.
    let result = serve("24");
    result.has("failed", "2");
    result.has("held_at_end", "0");
    result.has("sequences_at_end", "0");
    tree_has(
        &result,
        &[
            ("problems", 2.0),
            ("solved", 0.0),
            ("failed", 2.0),
            ("short_of_blocks", 2.0),
            ("short_of_sequences", 0.0),
            ("nodes", 10.0),
            ("kept", 0.0),
            ("pruned", 0.0),
            ("given_up", 10.0),
            ("left", 0.0),
        ],
    );
    for row in ["solved", "failed, short of blocks", "given up"] {
        assert!(result.report.contains(row), "{row}: {}", result.report);
    }
    result.said("2 of 2 problems do not fit into 24 blocks");
    is_clean(&serve(named(&result, "--blocks")));

    let result = scratch.replay(&trace, &["--max-sequences", "5"]);
    tree_has(
        &result,
        &[
            ("failed", 2.0),
            ("short_of_blocks", 0.0),
            ("short_of_sequences", 2.0),
            // The root, a node, its three children, and one that judges.
            ("sequences_needed", 6.0),
            ("given_up", 10.0),
        ],
    );
    result.said("2 of 2 problems have more branches at a time than 5 sequences");
    is_clean(&scratch.replay(
        &trace,
        &["--max-sequences", named(&result, "--max-sequences")],
    ));
}

#[test]
fn a_problem_that_never_fits_costs_nothing_and_the_others_are_solved() {
    let scratch = Scratch::new("serve-tree-huge");
    let rows = [(0, 7), (1, 4_294_967_295), (2, 200_000_000), (3, 7)]
        .map(|(problem, root_tokens)| tree_rows(problem, root_tokens))
        .concat();
    let trace = scratch.write("trees.jsonl", rows.as_bytes());
    let result = scratch.replay(&trace, &["--audit-every", "1"]);
    tree_has(
        &result,
        &[
            ("problems", 4.0),
            ("solved", 2.0),
            ("short_of_blocks", 2.0),
            ("nodes", 20.0),
            ("kept", 4.0),
            ("pruned", 6.0),
            ("given_up", 10.0),
        ],
    );
    result.has("failed", "2");
    result.has("held_at_end", "0");
    result.said("it takes a larger --block-size");
    // No token of the two was made.
    let computed: u64 = result.get("computed_tokens").parse().expect("a count");
    assert!(computed < 10_000, "{computed}");
}

#[cfg(unix)]
#[test]
fn trees_are_read_from_a_pipe() {
    let scratch = Scratch::new("serve-tree-pipe");
    let pipe = scratch.path("pipe");
    let _ = fs::remove_file(&pipe);
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, [tree_rows(0, 7), tree_rows(1, 7)].concat())
    });
    let result = scratch.replay(&pipe, &[]);
    writer
        .join()
        .expect("the writer ends")
        .expect("all is read");
    is_clean(&result);
    result.has("completed", "2");
}

#[test]
fn options_of_requests_are_refused_for_trees() {
    let scratch = Scratch::new("serve-tree-options");
    let trace = scratch.write("trees.jsonl", tree_rows(0, 7).as_bytes());
    for (option, value) in [
        ("--id-tokens", "4"),
        ("--cancel", "2%"),
        ("--draft", "2"),
        ("--slo", "ttft=2s,gap=100ms"),
        ("--resize", "1s=-10%"),
        ("--fetch", "10%"),
    ] {
        let arguments = [trace.as_os_str(), OsStr::new(option), OsStr::new(value)];
        let output = run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option}: {said}");
        let expected = format!("{option} is about requests");
        assert!(said.contains(&expected), "{option}: {said}");
    }
}

#[test]
fn sessions_come_one_after_another_at_their_own_pace() {
    let scratch = Scratch::new("serve-sessions");
    let rows = r#"{"session":1,"agent":0,"t":0.0,"input_length":130,"output_length":2,"runs":[[1,2]]}
{"session":1,"agent":0,"t":100.0,"input_length":200,"output_length":2,"runs":[[1,3]]}
{"session":2,"agent":0,"t":0.0,"input_length":130,"output_length":2,"runs":[[1,2]]}
{"session":2,"agent":0,"t":100.0,"input_length":5000,"output_length":2,"runs":[[1,78]]}
"#;
    let trace = scratch.write("sessions.jsonl", rows.as_bytes());
    let serve = |sessions| {
        let result = scratch.replay(
            &trace,
            &[
                "--concurrent-sessions",
                sessions,
                "--blocks",
                "64",
                "--audit-every",
                "1",
            ],
        );
        is_clean(&result);
        result.has("completed", "3");
        result.has("refused_never", "1");
        // The first session's second request finds 128 tokens; the second session has other ones.
        result.has("hit_positions", "128");
        result.get("time_s").parse::<f64>().expect("seconds")
    };
    // The first session starts within a minute, and the second one when it has ended, or within a minute, too.
    assert!((200.0..262.0).contains(&serve("1")));
    assert!((100.0..161.0).contains(&serve("2")));
}

#[test]
fn a_sweep_gives_each_size_the_same_memory() {
    let scratch = Scratch::new("serve-sweep");
    let trace = scratch.write("synthetic.jsonl", SYNTHETIC.as_bytes());
    let options = [
        "--id-tokens",
        "4",
        "--block-size",
        "4,8,16",
        "--blocks",
        "16",
    ];
    let result = scratch.replay(&trace, &options);
    for key in ["\"blocks\": 16,", "\"blocks\": 8,", "\"blocks\": 4,"] {
        assert!(result.json.contains(key), "{key} in {}", result.json);
    }
    assert_eq!(result.json.matches("\"audit\": \"ok\"").count(), 3);
    assert_eq!(result.report.lines().count(), 4, "{}", result.report);
    assert!(result.report.contains("tail waste"), "{}", result.report);
}

#[test]
fn two_runs_differ_in_nothing_but_the_time() {
    let scratch = Scratch::new("serve-twice");
    let options = [
        "--cancel",
        "20%",
        "--branch",
        "2",
        "--draft",
        "2",
        "--growth",
        "on-demand",
        "--blocks",
        "900",
    ];
    let results =
        ["first.json", "second.json"].map(|name| lasting_lines(&scratch.path(name), &options));
    assert!(results[0].len() > 100, "{:?}", results[0]);
    assert_eq!(results[0], results[1]);
}

#[test]
fn what_cannot_be_served_ends_the_program_with_code_2() {
    let scratch = Scratch::new("serve-refused");
    let trace = scratch
        .write("pair.jsonl", PAIR.as_bytes())
        .display()
        .to_string();
    let cases: [(&[&str], &str); 28] = [
        (&["--capacity", "5%"], "--blocks"),
        (&["--growth", "some"], "`ahead:BLOCKS`"),
        (&["--growth", "ahead:0"], "from 1 on"),
        (&["--watermark", "8192"], "--watermark"),
        (&["--watermark", "120%"], "more than all"),
        (&["--cancel", "2"], "`2%`"),
        (&["--branch", "0"], "from 1 on"),
        (&["--branch", "300"], "--max-sequences"),
        (&["--draft", "2048"], "--token-budget"),
        (&["--accept", "0.5"], "--draft"),
        (&["--step-time", "5ms"], "three times"),
        (&["--step-time", "0,0,1ns"], "must take time"),
        (&["--slo", "ttft=2s"], "two limits"),
        (&["--block-size", "16,0"], "from 1 on"),
        (&["--block-size", "100000"], "--block-size"),
        (
            &["--block-size", "16,32", "--mode", "sequential"],
            "serve mode",
        ),
        (&["--mode", "sequential", "--growth", "cap"], "--growth"),
        (&["--concurrent-sessions", "4"], "sessions"),
        (&["--pin", "30s"], "sessions"),
        (&["--pin-budget", "2%"], "--pin"),
        (&["--resize", "60s"], "a time and a change"),
        (&["--resize", "60s=-10,60s=+10"], "order of their times"),
        (&["--resize", "1s=-50%,2s=-50%"], "leave nothing"),
        (
            &["--resize", "1s=-50%", "--watermark", "50%"],
            "--watermark",
        ),
        (&["--writers", "4"], "--fetch"),
        (&["--fetch", "1", "--writers", "64"], "at most 63"),
        (&["--abort-transfers", "1"], "--fetch"),
        (&["--mode", "sequential", "--overlap"], "--overlap"),
    ];
    for (options, expected) in cases {
        let output = run([&[trace.as_str()], options].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(said.contains(expected), "{options:?}: {said}");
    }
}

#[test]
fn the_published_traces_are_served_under_every_growth_policy() {
    let Some(traces) = published_traces("serving whole traces") else {
        return;
    };
    let scratch = Scratch::new("serve-published");
    let mut table = format!(
        "{:<34} {:>10} {:>9} {:>9} {:>11} {:>8} {:>8}\n",
        "trace", "growth", "completed", "cancelled", "preemptions", "goodput", "ms"
    );
    for trace in [
        "mooncake_conversation_trace.jsonl",
        "AzureLLMInferenceTrace_conv.csv",
        "AzureLLMInferenceTrace_code.csv",
    ] {
        for growth in ["cap", "ahead:2", "on-demand"] {
            // The Azure traces share nothing and are short: there the pool is small, or nobody would ever wait.
            let blocks = if trace.starts_with("Azure") {
                "1024"
            } else {
                "8192"
            };
            let result = scratch.replay(
                &traces.join(trace),
                &[
                    "--growth",
                    growth,
                    "--blocks",
                    blocks,
                    "--cancel",
                    "2%",
                    "--audit-every",
                    "100",
                ],
            );
            is_clean(&result);
            if growth == "cap" {
                result.has("preemptions", "0");
            }
            let cancelled: u64 = result.get("cancelled").parse().expect("a count");
            assert!(cancelled > 100, "{trace}: {cancelled} cancelled");
            let _ = writeln!(
                table,
                "{trace:<34} {growth:>10} {:>9} {cancelled:>9} {:>11} {:>8.4} {:>8}",
                result.get("completed"),
                result.get("preemptions"),
                result.get("goodput").parse::<f64>().expect("a share"),
                result.get("elapsed_ms"),
            );
        }
    }
    let _ = write!(io::stderr(), "{table}");
}

#[test]
fn all_published_trees_are_freed() {
    let Some(traces) = published_traces("the trees of thoughts") else {
        return;
    };
    let scratch = Scratch::new("serve-trees");
    let result = scratch.replay(
        &traces.join("tot_game24_tree.jsonl"),
        &["--audit-every", "10"],
    );
    is_clean(&result);
    result.has("completed", "100");
    result.has("forks", "8412");
    tree_has(
        &result,
        &[
            ("problems", 100.0),
            ("solved", 100.0),
            ("kept", 2_000.0),
            ("pruned", 6_412.0),
            ("given_up", 0.0),
            ("left", 0.0),
        ],
    );
}

#[test]
fn published_sessions_are_served_with_their_gaps() {
    let Some(traces) = published_traces("agent sessions") else {
        return;
    };
    let scratch = Scratch::new("serve-weka");
    // Whole sessions of the published file, which has 317.
    let whole =
        fs::read_to_string(traces.join("weka_claude_code_sessions.jsonl")).expect("the sessions");
    let first: Vec<_> = whole
        .lines()
        .take_while(|line| !line.contains("\"session\":9,"))
        .collect();
    let trace = scratch.write("sessions.jsonl", first.join("\n").as_bytes());
    let result = scratch.replay(
        &trace,
        &[
            "--block-size",
            "64",
            "--blocks",
            "16384",
            "--audit-every",
            "100",
        ],
    );
    is_clean(&result);
    let ratio: f64 = result.get("hit_ratio").parse().expect("a ratio");
    assert!(ratio > 0.9, "{ratio}");
}
