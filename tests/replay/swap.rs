//! Serve mode where who loses its memory goes to host memory instead of being computed again: figures that are worked out by hand, every
//! feature beside it under audit, errors.

use crate::program::{Replayed, Scratch, lasting_lines, published_traces, run, text};
use crate::serve::{is, is_clean, small};

/// Two requests that have all of five blocks together, and want a third one each: at once, or the older one first.
const ALIKE: &str = r#"{"timestamp": 0, "input_length": 8, "output_length": 6, "hash_ids": [0, 1]}
{"timestamp": 0, "input_length": 8, "output_length": 6, "hash_ids": [2, 3]}
"#;
const OLDER_FIRST: &str = r#"{"timestamp": 0, "input_length": 8, "output_length": 6, "hash_ids": [0, 1]}
{"timestamp": 0, "input_length": 9, "output_length": 6, "hash_ids": [2, 3, 4]}
"#;

/// Steps of ten milliseconds, whatever they compute.
const STEADY: [&str; 6] = [
    "--growth",
    "on-demand",
    "--step-time",
    "10ms,0,0",
    "--audit-every",
    "1",
];

fn count(result: &Replayed, key: &str) -> u64 {
    result.get(key).parse().expect("a count")
}

/// Nothing is left on the device and on the host, whose blocks add up.
fn both_are_clean(result: &Replayed) {
    is_clean(result);
    for key in [
        "host_held_at_end",
        "host_reserved_at_end",
        "host_sequences_at_end",
    ] {
        result.has(key, "0");
    }
    assert_eq!(
        count(result, "host_idle_at_end") + count(result, "host_free_at_end"),
        count(result, "host_capacity"),
    );
    assert_eq!(
        count(result, "preemptions_by_recompute") + count(result, "preemptions_by_swap"),
        count(result, "preemptions"),
    );
}

fn has(result: &Replayed, figures: &[(&str, &str)]) {
    for (key, expected) in figures {
        result.has(key, expected);
    }
}

#[test]
fn a_swap_copies_what_a_recompute_computes_again() {
    let scratch = Scratch::new("swap-alike");
    let trace = scratch.write("pair.jsonl", ALIKE.as_bytes());
    let serve = |options: &[&str]| {
        let blocks = ["--blocks", "5"];
        let result = small(&scratch, &trace, &[&STEADY[..], &blocks, options].concat());
        both_are_clean(&result);
        has(&result, &[("completed", "2"), ("preemptions", "1")]);
        result
    };
    //  step   older one              newer one
    //     1   8 of 8, token 1        8 of 8, token 1
    //     2   takes the fifth block  has none: steps back, two computed blocks, a token that waits
    //  3, 4   tokens 3 and 4         wants three blocks of the two that are available and one that is idle anyway
    //     5   takes a fourth block, the tail of the newer one's cached two; ends with step 6
    let result = serve(&["--on-shortfall", "recompute"]);
    //     7                          finds one block, computes five positions, of which four again; ends with step 11
    has(
        &result,
        &[
            ("on_shortfall", "\"recompute\""),
            ("host_blocks", "null"),
            ("steps", "11"),
            ("computed_tokens", "30"),
            ("preemptions_by_recompute", "1"),
            ("recomputed_tokens", "4"),
            ("returns", "1"),
            ("swapped_out_blocks", "0"),
            ("host_capacity", "0"),
        ],
    );
    is(&result, "time_s", 0.11);

    let result = serve(&["--on-shortfall", "swap"]);
    //     7                          finds one block, the other one is copied back
    //     8                          computes the token that waited; ends with step 12
    has(
        &result,
        &[
            ("on_shortfall", "\"swap\""),
            ("host_blocks", "5"),
            ("swap_rate", "64"),
            ("steps", "12"),
            ("computed_tokens", "26"),
            ("preemptions_by_swap", "1"),
            ("recomputed_tokens", "0"),
            ("returns", "0"),
            ("swapped_out_blocks", "2"),
            ("swap_out_hits", "0"),
            ("swapped_in_blocks", "1"),
            ("swap_in_hits", "1"),
            ("waits_for_swaps", "0"),
            ("swap_steps", "1"),
            ("host_capacity", "5"),
            ("host_held_most", "2"),
            ("host_idle_at_end", "2"),
            ("host_free_at_end", "3"),
        ],
    );
    is(&result, "time_s", 0.12);
    for row in ["swapped out", "host tier", "In host memory:", "on the host"] {
        assert!(result.report.contains(row), "{row}: {}", result.report);
    }

    // One block of host memory has no room for two.
    let result = serve(&["--on-shortfall", "swap", "--host-blocks", "1"]);
    has(
        &result,
        &[
            ("steps", "11"),
            ("computed_tokens", "30"),
            ("preemptions_by_recompute", "1"),
            ("host_was_full", "1"),
            ("recomputed_tokens", "4"),
            ("host_free_at_end", "1"),
        ],
    );
    // Two have, and so has two fifths of the pool.
    for blocks in ["2", "40%", "40.0%"] {
        let result = serve(&["--on-shortfall", "swap", "--host-blocks", blocks]);
        has(
            &result,
            &[("host_blocks", "2"), ("preemptions_by_swap", "1")],
        );
    }
}

#[test]
fn the_older_one_waits_until_the_newer_ones_blocks_are_copied() {
    let scratch = Scratch::new("swap-older-first");
    let trace = scratch.write("pair.jsonl", OLDER_FIRST.as_bytes());
    let serve = |rate: &str| {
        let swap = [
            "--blocks",
            "5",
            "--on-shortfall",
            "swap",
            "--swap-rate",
            rate,
        ];
        let result = small(&scratch, &trace, &[&STEADY[..], &swap].concat());
        both_are_clean(&result);
        has(
            &result,
            &[
                ("completed", "2"),
                ("preemptions_by_swap", "1"),
                // The first blocks of prompts, 5 tokens of the older answer, the one that waited, and 4 more.
                ("computed_tokens", "27"),
                ("recomputed_tokens", "0"),
                ("swapped_out_blocks", "3"),
                ("swapped_in_blocks", "2"),
                ("swap_in_hits", "1"),
                ("host_held_most", "3"),
            ],
        );
        result
    };
    // In step 2 the older one wants a third block, and all three of the newer one go out. It has it when these are copied, and ends
    // five steps later. The newer one finds one block, two come back, and it has five tokens to compute.
    for (rate, waits, only_waited, steps) in [
        ("1", "3", "5", "16"),
        ("2", "2", "3", "14"),
        ("3", "1", "2", "13"),
        ("64", "1", "2", "13"),
    ] {
        let result = serve(rate);
        has(
            &result,
            &[
                ("waits_for_swaps", waits),
                ("swap_steps", only_waited),
                ("steps", steps),
            ],
        );
    }
}

#[test]
fn while_enough_is_on_its_way_nobody_else_is_swapped_out() {
    let scratch = Scratch::new("swap-enough");
    let third = r#"{"timestamp": 0, "input_length": 9, "output_length": 6, "hash_ids": [5, 6, 7]}"#;
    let trace = scratch.write("three.jsonl", format!("{OLDER_FIRST}{third}\n").as_bytes());
    let swap = [
        "--blocks",
        "8",
        "--on-shortfall",
        "swap",
        "--swap-rate",
        "1",
    ];
    let result = small(&scratch, &trace, &[&STEADY[..], &swap].concat());
    // In step 2 the oldest one wants a third block. The newest one's three go out until the end of step 4, and the one in between goes on
    // in its own blocks meanwhile.
    both_are_clean(&result);
    has(
        &result,
        &[
            ("completed", "3"),
            ("preemptions_by_swap", "1"),
            ("preemptions_by_recompute", "0"),
            ("swapped_out_blocks", "3"),
            ("waits_for_swaps", "3"),
            ("recomputed_tokens", "0"),
        ],
    );
}

#[test]
fn swaps_go_beside_every_other_feature_and_leave_nothing() {
    let scratch = Scratch::new("swap-features");
    let json = scratch.path("out.json");
    let (mut called_off, mut full, mut not_ready) = (0, 0, 0);
    for features in [
        "--blocks 600 --branch 2 --resize 60s=-5%,600s=+5% --watermark 5",
        "--blocks 600 --branch 2 --draft 2 --overlap --fetch 20% --abort-transfers 30%",
        "--blocks 600 --branch 3 --swap-rate 1 --host-blocks 150%",
        "--blocks 600 --branch 3 --swap-rate 2 --host-blocks 20% --growth ahead:2",
        "--instances 2 --blocks 560 --branch 3 --scale-out-at 600",
        "--blocks 600 --branch 2 --shards 2 --split",
        "--uneven 550,560",
    ] {
        let mut options = vec![
            "--on-shortfall",
            "swap",
            "--cancel",
            "30%",
            "--audit-every",
            "50",
        ];
        options.extend(features.split(' '));
        if !features.contains("--growth") {
            options.extend(["--growth", "on-demand"]);
        }
        let lines = lasting_lines(&json, &options);
        let result = Replayed {
            json: lines.join("\n"),
            report: String::new(),
            said: String::new(),
        };
        both_are_clean(&result);
        called_off += count(&result, "swaps_called_off");
        full += count(&result, "host_was_full");
        not_ready += count(&result, "swaps_not_ready");
        assert!(count(&result, "preemptions_by_swap") > 0, "{features}");
        assert!(count(&result, "swapped_in_blocks") > 0, "{features}");
    }
    assert!(called_off > 0, "no request ended amid its swap");
    assert!(full > 0 && not_ready > 0, "{full}, {not_ready}");
}

#[test]
fn two_runs_with_swaps_differ_in_nothing_but_the_time() {
    let scratch = Scratch::new("swap-twice");
    let options = "--on-shortfall swap --swap-rate 2 --host-blocks 30% --growth on-demand --blocks 600 --branch 2 --cancel 20%";
    let options: Vec<_> = options.split(' ').collect();
    let results =
        ["first.json", "second.json"].map(|name| lasting_lines(&scratch.path(name), &options));
    assert!(results[0].len() > 100, "{:?}", results[0]);
    assert_eq!(results[0], results[1]);
}

#[test]
fn options_of_swaps_that_do_not_go_together_are_refused() {
    let scratch = Scratch::new("swap-refused");
    let trace = scratch
        .write("pair.jsonl", ALIKE.as_bytes())
        .display()
        .to_string();
    let swap = ["--on-shortfall", "swap"];
    let cases: [(&[&str], &str); 10] = [
        (&["--on-shortfall", "wait"], "recompute, swap"),
        (
            &["--host-blocks", "9"],
            "--host-blocks says more about --on-shortfall swap",
        ),
        (
            &["--on-shortfall", "recompute", "--swap-rate", "9"],
            "--swap-rate says more about --on-shortfall swap",
        ),
        (
            &[&swap[..], &["--host-blocks", "half"]].concat(),
            "such as `50%`",
        ),
        (
            &[&swap[..], &["--host-blocks", "0"]].concat(),
            "a host tier of no blocks takes nothing",
        ),
        (
            &[&swap[..], &["--host-blocks", "4", "--block-size", "16,128"]].concat(),
            "that host memory is less than one block of 128: name more with --host-blocks",
        ),
        (&[&swap[..], &["--swap-rate", "0"]].concat(), "from 1 on"),
        (
            &[&swap[..], &["--instances", "2", "--drain-at", "1"]].concat(),
            "which --drain-at would take it away from",
        ),
        (
            &[&swap[..], &["--scale-out-at", "1", "--migrate"]].concat(),
            "which --migrate would take it away from",
        ),
        (
            &[&swap[..], &["--mode", "sequential"]].concat(),
            "--on-shortfall is of serve mode",
        ),
    ];
    for (options, expected) in cases {
        let output = run([&[trace.as_str()], options].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(said.contains(expected), "{options:?}: {said}");
    }
}

#[test]
fn a_published_trace_is_served_with_swaps() {
    let Some(traces) = published_traces("swaps over a whole trace") else {
        return;
    };
    let scratch = Scratch::new("swap-published");
    let serve = |policy| {
        let result = scratch.replay(
            &traces.join("AzureLLMInferenceTrace_conv.csv"),
            &[
                "--blocks",
                "768",
                "--growth",
                "on-demand",
                "--audit-every",
                "100",
                "--on-shortfall",
                policy,
            ],
        );
        both_are_clean(&result);
        result
    };
    let (recompute, swap) = (serve("recompute"), serve("swap"));
    assert!(count(&recompute, "recomputed_tokens") > 100_000);
    swap.has("recomputed_tokens", "0");
    assert!(count(&swap, "preemptions_by_swap") > 1_000);
    // The same prompts and answers, with nothing computed twice.
    assert_eq!(
        count(&recompute, "computed_tokens") - count(&recompute, "recomputed_tokens"),
        count(&swap, "computed_tokens"),
    );
}
