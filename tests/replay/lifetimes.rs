//! Serve mode where blocks are bound by more than requests: resizes, transfers, the device's last step, pins.

use std::fs;

use crate::program::{Replayed, Scratch, lasting_lines, published_traces};
use crate::serve::{is, is_clean, small};

/// The figure of this name in each resize, as it is written.
fn of_resizes<'a>(result: &'a Replayed, key: &str) -> Vec<&'a str> {
    let (_, rest) = result
        .json
        .split_once("\"resizes\": [")
        .expect("the resizes");
    let (resizes, _) = rest.split_once(']').expect("an end");
    let member = format!("\"{key}\": ");
    let lines = resizes
        .lines()
        .filter_map(|line| line.trim().strip_prefix(&member));
    lines.map(|value| value.trim_end_matches(',')).collect()
}

fn all_have(result: &Replayed, figures: &[(&str, &str)]) {
    for (key, expected) in figures {
        result.has(key, expected);
    }
}

/// Steps of ten milliseconds, whatever they compute.
const STEADY: [&str; 4] = ["--step-time", "10ms,0,0", "--audit-every", "1"];

#[test]
fn a_shrink_lets_held_blocks_drain_and_a_grow_brings_all_back() {
    let scratch = Scratch::new("lifetimes-resize");
    let rows = r#"{"timestamp": 0, "input_length": 6, "output_length": 2, "hash_ids": [0, 1]}
{"timestamp": 0, "input_length": 6, "output_length": 3, "hash_ids": [2, 3]}
{"timestamp": 100, "input_length": 12, "output_length": 1, "hash_ids": [4, 5, 6]}
{"timestamp": 300, "input_length": 12, "output_length": 1, "hash_ids": [7, 8, 9]}
"#;
    let trace = scratch.write("rows.jsonl", rows.as_bytes());
    let resize = "5ms=-75%,200ms=+75%,900ms=-1";
    let options = ["--blocks", "8", "--growth", "on-demand", "--resize", resize];
    let result = small(&scratch, &trace, &[&options[..], &STEADY].concat());
    // At 10 ms both have two blocks, and the second one's drain until it ends at 30 ms. The third row never fits into two.
    is_clean(&result);
    all_have(
        &result,
        &[
            ("completed", "3"),
            ("refused_never", "1"),
            ("fewest_blocks", "2"),
        ],
    );
    for (key, expected) in [
        ("asked_s", ["0.005", "0.2", "0.9"]),
        ("granted_s", ["0.01", "0.2", "null"]),
        ("from", ["8", "2", "8"]),
        ("to", ["2", "8", "7"]),
        ("refusals", ["0", "0", "0"]),
        ("came_online", ["0", "6", "0"]),
        ("went_offline", ["4", "0", "0"]),
        ("left_draining", ["2", "0", "0"]),
        ("drained_s", ["0.03", "null", "null"]),
    ] {
        assert_eq!(of_resizes(&result, key), expected, "{key}");
    }
    assert!(result.report.contains("draining"), "{}", result.report);
    result.said("--resize must leave 4");
    result.said("1 of 3 resizes were for a time after the end of the run");
}

#[test]
fn a_shrink_is_tried_again_while_promises_stand() {
    let scratch = Scratch::new("lifetimes-refused");
    let row = r#"{"timestamp": 0, "input_length": 8, "output_length": 6, "hash_ids": [0, 1]}"#;
    let trace = scratch.write("row.jsonl", row.as_bytes());
    let serve = |resize| {
        let options = ["--blocks", "8", "--growth", "cap", "--resize", resize];
        let result = small(&scratch, &trace, &[&options[..], &STEADY].concat());
        is_clean(&result);
        result
    };
    // Two blocks below the limit of two are held, and two more are promised until the end at 60 ms.
    let result = serve("5ms=-6");
    assert_eq!(of_resizes(&result, "refusals"), ["5"]);
    assert_eq!(of_resizes(&result, "granted_s"), ["0.06"]);
    assert_eq!(of_resizes(&result, "went_offline"), ["6"]);
    // The next resize supersedes it, and asks for no more than there is.
    let result = serve("5ms=-6,25ms=+6");
    assert_eq!(of_resizes(&result, "refusals"), ["2", "0"]);
    assert_eq!(of_resizes(&result, "granted_s"), ["null", "0.03"]);
    assert_eq!(of_resizes(&result, "came_online"), ["0", "0"]);
    result.said("1 of 2 resizes were never granted");
}

#[test]
fn what_the_device_still_reads_comes_back_a_step_later() {
    let scratch = Scratch::new("lifetimes-overlap");
    let rows = r#"{"timestamp": 0, "input_length": 8, "output_length": 1, "hash_ids": [0, 1]}
{"timestamp": 0, "input_length": 8, "output_length": 2, "hash_ids": [2, 3]}
{"timestamp": 0, "input_length": 2, "output_length": 3, "hash_ids": [4]}
"#;
    let trace = scratch.write("rows.jsonl", rows.as_bytes());
    let serve = |overlap: &[&str]| {
        let options = ["--blocks", "5", "--growth", "on-demand"];
        let result = small(&scratch, &trace, &[&options, overlap, &STEADY].concat());
        is_clean(&result);
        result.has("preemptions", "0");
        result.has("steps", "3");
        result
    };
    // The first one ends in step 1. In step 2 the second one wants a third block, and the first one's come back in step 3.
    let result = serve(&["--overlap"]);
    result.has("waits_for_fences", "1");
    result.has("quarantined_most", "2");
    assert!(result.report.contains("quarantined at most"));
    let result = serve(&[]);
    result.has("waits_for_fences", "0");
    result.has("quarantined_most", "0");
}

#[test]
fn a_fetched_prompt_is_computed_from_its_last_block_on() {
    let scratch = Scratch::new("lifetimes-fetch");
    let rows = r#"{"timestamp": 0, "input_length": 20, "output_length": 1, "hash_ids": [0, 1, 2, 3, 4]}
{"timestamp": 1000, "input_length": 20, "output_length": 1, "hash_ids": [0, 1, 2, 3, 4]}
"#;
    let trace = scratch.write("rows.jsonl", rows.as_bytes());
    let options = ["--blocks", "16", "--fetch", "100%", "--fetch-rate", "1"];
    for writers in ["1", "2", "63"] {
        let writers = ["--writers", writers];
        let result = small(
            &scratch,
            &trace,
            &[&options[..], &writers, &STEADY].concat(),
        );
        // A step for each of four blocks, and one that computes the fifth. The second row finds them.
        is_clean(&result);
        all_have(
            &result,
            &[
                ("steps", "6"),
                ("load_steps", "4"),
                ("computed_tokens", "8"),
                ("transfers_begun", "1"),
                ("transfers_completed", "1"),
                ("transfers_not_needed", "1"),
                ("loaded_blocks", "4"),
                ("loaded_tokens", "16"),
                ("hit_positions", "16"),
                ("late_most", "0"),
            ],
        );
        is(&result, "time_s", 1.01);
    }
}

#[test]
fn an_aborted_transfer_holds_its_blocks_until_its_writers_have_answered() {
    let scratch = Scratch::new("lifetimes-abort");
    let rows: String = (0..8)
        .map(|row| {
            let ids: Vec<_> = (0..5).map(|at| row * 5 + at).collect();
            format!(
                "{{\"timestamp\": {}, \"input_length\": 20, \"output_length\": 3, \"hash_ids\": {ids:?}}}\n",
                row * 10
            )
        })
        .collect();
    let trace = scratch.write("rows.jsonl", rows.as_bytes());
    let options = [
        "--fetch",
        "1",
        "--abort-transfers",
        "1",
        "--fetch-rate",
        "2",
    ];
    let serve = |more: &[&str]| {
        let result = small(&scratch, &trace, &[&options, more, &STEADY].concat());
        is_clean(&result);
        let count = |key| result.get(key).parse::<u64>().expect("a count");
        assert_eq!(count("transfers_begun"), 8);
        assert_eq!(count("transfers_failed") + count("transfers_aborted"), 8);
        assert_eq!(count("completed"), count("transfers_failed"));
        assert_eq!(count("cancelled"), count("transfers_aborted"));
        assert!(count("late_most") > 0, "{}", result.json);
        // Who was let down computes what has not arrived in one piece, and two of its three tokens.
        let computed = count("computed_tokens") + count("loaded_tokens");
        assert_eq!(computed, 22 * count("completed"));
        result
    };
    let result = serve(&["--blocks", "64"]);
    result.has("transfers_failed", "4");
    result.has("late_most", "9");
    result.has("renewals_refused", "0");
    // With memory for one of them there is none to compute beside the writers before these have answered.
    let result = serve(&["--blocks", "6", "--growth", "on-demand"]);
    assert_ne!(result.get("renewals_refused"), "0");
}

#[test]
fn a_pinned_turn_is_found_by_the_next_one() {
    let scratch = Scratch::new("lifetimes-pins");
    let sessions = |flood: u64| {
        let ids = flood / 64;
        format!(
            r#"{{"session":1,"agent":0,"t":0.0,"input_length":130,"output_length":2,"runs":[[1,2]]}}
{{"session":1,"agent":0,"t":1000.0,"input_length":200,"output_length":2,"runs":[[1,3]]}}
{{"session":2,"agent":0,"t":100.0,"input_length":{flood},"output_length":2,"runs":[[1,{ids}]]}}
{{"session":2,"agent":1,"t":300.0,"input_length":{flood},"output_length":2,"runs":[[100,{ids}]]}}
"#
        )
    };
    let serve = |flood, pin: &[&str]| {
        let trace = scratch.write("sessions.jsonl", sessions(flood).as_bytes());
        let options = ["--blocks", "64", "--audit-every", "1"];
        let result = scratch.replay(&trace, &[&options, pin].concat());
        is_clean(&result);
        result.has("completed", "4");
        result.has("later_turns", "1");
        result
    };
    // The other session takes 50 blocks twice, of 64: nothing is left of the first turn's 8.
    let result = serve(800, &[]);
    is(&result, "later_turns_hit_ratio", 0.0);
    result.has("pins", "0");

    // 16 may be pinned: 8 of the first turn, then 12 of the second one, and no 50.
    let result = serve(800, &["--pin", "2000s"]);
    is(&result, "later_turns_hit_ratio", 128.0 / 200.0);
    all_have(
        &result,
        &[
            ("pins", "2"),
            ("pins_refused", "2"),
            ("pins_given_up", "0"),
            ("pinned_most", "12"),
        ],
    );
    result.said("2 of 4 turns found no room");
    is(&serve(800, &["--pin", "1s"]), "later_turns_hit_ratio", 0.0);

    // 57 and 2 do not fit beside 8, and nobody else is there to end.
    let result = serve(900, &["--pin", "2000s"]);
    result.has("pins_given_up", "1");
    is(&result, "later_turns_hit_ratio", 0.0);
}

/// All of it at once.
const ALL: [&str; 12] = [
    "--resize",
    "60s=-25%,120s=+25%",
    "--fetch",
    "20%",
    "--abort-transfers",
    "10%",
    "--cancel",
    "2%",
    "--overlap",
    "--audit-every",
    "100",
    "--seed=3",
];

#[test]
fn two_runs_with_all_of_it_differ_in_nothing_but_the_time() {
    let scratch = Scratch::new("lifetimes-twice");
    let pressed = ["--blocks", "900", "--branch", "2", "--draft", "2"];
    for growth in ["cap", "on-demand"] {
        let options = [&ALL[..], &pressed, &["--growth", growth]].concat();
        let results =
            ["first.json", "second.json"].map(|name| lasting_lines(&scratch.path(name), &options));
        assert!(results[0].len() > 100, "{:?}", results[0]);
        assert_eq!(results[0], results[1]);
    }
}

#[test]
fn a_sweep_converts_the_blocks_of_resizes() {
    let scratch = Scratch::new("lifetimes-sweep");
    let row = r#"{"timestamp": 0, "input_length": 64, "output_length": 9, "hash_ids": [0]}"#;
    let trace = scratch.write("row.jsonl", row.as_bytes());
    let sizes = [
        "--block-size",
        "4,8",
        "--blocks",
        "64",
        "--resize",
        "1ms=-50%",
    ];
    let result = scratch.replay(
        &trace,
        &[&sizes[..], &["--overlap", "--fetch", "1"]].concat(),
    );
    for to in ["\"to\": 32,", "\"to\": 16,"] {
        assert!(result.json.contains(to), "{to} in {}", result.json);
    }
    assert_eq!(result.json.matches("\"audit\": \"ok\"").count(), 2);
}

#[test]
fn the_published_conversations_are_served_with_all_of_it() {
    let Some(traces) = published_traces("resizes and transfers on conversations") else {
        return;
    };
    let scratch = Scratch::new("lifetimes-published");
    let whole = traces.join("mooncake_conversation_trace.jsonl");
    let conversations = if whole.is_file() {
        whole
    } else {
        traces.join("mooncake_conversation_head2000.jsonl")
    };
    let mut preempted = Vec::new();
    for growth in ["cap", "ahead:2", "on-demand"] {
        let options = [&ALL[..], &["--growth", growth]].concat();
        let result = scratch.replay(&conversations, &options);
        is_clean(&result);
        assert!(
            of_resizes(&result, "granted_s")
                .iter()
                .all(|at| *at != "null")
        );
        for key in [
            "transfers_completed",
            "transfers_failed",
            "transfers_aborted",
            "late_most",
            "quarantined_most",
        ] {
            assert_ne!(result.get(key), "0", "{growth}: {key}");
        }
        preempted.push(result.get("preemptions").to_string());
    }
    assert_eq!(preempted[0], "0", "{preempted:?}");
}

#[test]
fn published_sessions_are_served_with_pins() {
    let Some(traces) = published_traces("pinned agent sessions") else {
        return;
    };
    let scratch = Scratch::new("lifetimes-weka");
    let whole =
        fs::read_to_string(traces.join("weka_claude_code_sessions.jsonl")).expect("the sessions");
    let first: Vec<_> = whole
        .lines()
        .take_while(|line| !line.contains("\"session\":9,"))
        .collect();
    let trace = scratch.write("sessions.jsonl", first.join("\n").as_bytes());
    let options = ["--block-size", "64", "--audit-every", "100", "--overlap"];
    let pins = ["--blocks", "16384", "--pin", "60"];
    let result = scratch.replay(&trace, &[&options[..], &pins].concat());
    is_clean(&result);
    assert_ne!(result.get("pins"), "0");
}
