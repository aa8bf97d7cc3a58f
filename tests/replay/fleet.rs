//! Several instances, and instances of several ranks: placement, scale-out, moves, drains, and what fits only in total.

use crate::program::{Replayed, Scratch, lasting_lines, run, text};
use crate::serve::{is, is_clean, small};

/// Steps of ten milliseconds, whatever they compute.
const STEADY: [&str; 4] = ["--step-time", "10ms,0,0", "--audit-every", "1"];

/// A figure of an instance, as it is written.
fn of_instance<'a>(result: &'a Replayed, instance: usize, key: &str) -> &'a str {
    let (_, instances) = result
        .json
        .split_once("\"instances\": [")
        .expect("the instances");
    let (_, figures) = instances
        .split_once(&format!("\"instance\": {instance},"))
        .unwrap_or_else(|| panic!("no instance {instance} in {}", result.json));
    let (_, rest) = figures
        .split_once(&format!("\"{key}\": "))
        .unwrap_or_else(|| panic!("no `{key}` of instance {instance}"));
    let end = rest.find('\n').expect("more members or an end");
    rest[..end].trim_end_matches(',')
}

/// A figure of each instance.
fn of_each<'a, const N: usize>(result: &'a Replayed, key: &str) -> [&'a str; N] {
    core::array::from_fn(|instance| of_instance(result, instance, key))
}

/// A member of an object of the fleet's figures.
fn of_fleet<'a>(result: &'a Replayed, object: &str, key: &str) -> &'a str {
    let (_, rest) = result
        .json
        .split_once(&format!("\"{object}\": {{"))
        .unwrap_or_else(|| panic!("no `{object}` in {}", result.json));
    let (_, rest) = rest
        .split_once(&format!("\"{key}\": "))
        .unwrap_or_else(|| panic!("no `{key}` in `{object}`"));
    let end = rest.find([',', '\n']).expect("more members or an end");
    &rest[..end]
}

/// What such requests were, the first of them needed, one instance had at most, and all had.
fn fits(result: &Replayed, object: &str) -> [String; 4] {
    ["requests", "needed", "largest", "sum"].map(|key| of_fleet(result, object, key).to_string())
}

/// Everything ended, every audit was passed, and nothing is held on any shard of any instance.
fn is_clean_everywhere<const N: usize>(result: &Replayed) {
    is_clean(result);
    for instance in 0..N {
        let (_, held) = result
            .json
            .split_once(&format!("\"instance\": {instance},"))
            .and_then(|(_, rest)| rest.split_once("\"held_at_end\": ["))
            .expect("what each shard holds");
        let held = &held[..held.find(']').expect("an end")];
        let all = held.split(',').all(|it| it.trim() == "0");
        assert!(all, "instance {instance} holds {held}");
        assert_eq!(of_instance(result, instance, "sequences_at_end"), "0");
    }
}

fn serve(scratch: &Scratch, rows: &str, options: &[&str]) -> Replayed {
    let trace = scratch.write("rows.jsonl", rows.as_bytes());
    small(scratch, &trace, &[options, &STEADY].concat())
}

/// A request with contents of its own, from this id on.
fn row(at_ms: u64, input: u64, output: u64, first_id: u64) -> String {
    let ids: Vec<_> = (first_id..first_id + input.div_ceil(4)).collect();
    format!(
        "{{\"timestamp\": {at_ms}, \"input_length\": {input}, \"output_length\": {output}, \"hash_ids\": {ids:?}}}\n"
    )
}

#[test]
fn each_placement_chooses_by_its_own_measure() {
    let scratch = Scratch::new("fleet-placement");
    // The third one has the first two blocks of the first one, which has ended; the second one still runs.
    let rows = [
        r#"{"timestamp": 0, "input_length": 12, "output_length": 1, "hash_ids": [0, 1, 2]}"#,
        r#"{"timestamp": 1000, "input_length": 8, "output_length": 20, "hash_ids": [5, 6]}"#,
        r#"{"timestamp": 1050, "input_length": 12, "output_length": 1, "hash_ids": [0, 1, 3]}"#,
    ]
    .join("\n");
    for (placement, requests, hits) in [
        ("affinity", ["3", "0"], "8"),
        ("most-free", ["2", "1"], "0"),
        ("round-robin", ["2", "1"], "8"),
    ] {
        let options = [
            "--blocks",
            "32",
            "--instances",
            "2",
            "--placement",
            placement,
        ];
        let result = serve(&scratch, &rows, &options);
        is_clean_everywhere::<2>(&result);
        assert_eq!(of_each(&result, "requests"), requests, "{placement}");
        result.has("hit_positions", hits);
        result.has("completed", "3");
    }
}

#[test]
fn instances_have_their_own_steps_and_share_the_clock() {
    let scratch = Scratch::new("fleet-steps");
    let rows = [row(0, 8, 4, 0), row(0, 8, 4, 9)].concat();
    let trace = scratch.write("rows.jsonl", rows.as_bytes());
    let options = [
        "--blocks",
        "16",
        "--token-budget",
        "8",
        "--audit-every",
        "1",
    ];
    let times = ["--step-time", "10ms,1ms,0"];
    let serve = |instances| {
        let fleet = ["--instances", instances];
        small(&scratch, &trace, &[&options[..], &times, &fleet].concat())
    };
    // Alone: 8 tokens each, then 3 steps of one token each.
    let result = serve("2");
    is_clean_everywhere::<2>(&result);
    is(&result, "time_s", 0.018 + 3.0 * 0.011);
    assert_eq!(of_each(&result, "steps"), ["4", "4"]);
    assert_eq!(of_each(&result, "busy_s"), ["0.051", "0.051"]);
    is(&result, "busy", 1.0);
    // Together: 8; 1 and 7; 1 and the last one; 1 and 1; 1; 1.
    let result = serve("1");
    is_clean_everywhere::<1>(&result);
    is(&result, "time_s", 2.0 * (0.018 + 0.012 + 0.011));
}

#[test]
fn an_instance_with_all_its_sequences_gets_no_more() {
    let scratch = Scratch::new("fleet-full");
    let rows: String = (0..5).map(|at| row(0, 8, 3, 10 * at)).collect();
    let options = ["--blocks", "32", "--instances", "2", "--max-sequences", "2"];
    let result = serve(&scratch, &rows, &options);
    is_clean_everywhere::<2>(&result);
    assert_eq!(of_each(&result, "requests"), ["3", "2"]);
    result.has("refused_shortfall", "0");
    is(&result, "time_s", 0.06);
}

#[test]
fn the_smallest_rank_bounds_the_instance_and_the_others_surplus_is_stranded() {
    let scratch = Scratch::new("fleet-uneven");
    let rows = [row(0, 8, 6, 0), row(0, 8, 6, 9)].concat();
    // As with five blocks: the newer one steps back, and finds one of its blocks again.
    for split in [&[][..], &["--split"]] {
        let options = [&["--uneven", "6,5,9", "--growth", "on-demand"][..], split].concat();
        let result = serve(&scratch, &rows, &options);
        is_clean_everywhere::<1>(&result);
        result.has("blocks", "5");
        result.has("preemptions", "1");
        is(&result, "returned_hit_ratio", 4.0 / 9.0);
        result.has("usable", "5");
        result.has("stranded", if split.is_empty() { "5" } else { "0" });
        assert_eq!(result.report.contains("0 stranded"), split.is_empty());
        assert_eq!(result.report.contains("0.2 held"), !split.is_empty());
    }
    let result = serve(
        &scratch,
        &row(0, 24, 1, 0),
        &["--uneven", "6,5", "--growth", "cap"],
    );
    result.has("refused_never", "1");
    result.said("--uneven with 7 for each rank has room for the longest");
}

#[test]
fn what_fits_into_all_instances_together_and_into_none_is_counted() {
    let scratch = Scratch::new("fleet-total");
    let rows = [
        row(0, 9, 4, 0),
        row(0, 9, 4, 10),
        row(20, 8, 1, 20),
        row(20, 20, 1, 30),
        row(20, 36, 1, 40),
    ]
    .concat();
    let options = ["--blocks", "4", "--instances", "2", "--growth", "on-demand"];
    let result = serve(&scratch, &rows, &options);
    // While each instance holds three of four blocks, the third request needs two. The fourth one needs five of eight, the fifth nine.
    result.has("refused_never", "2");
    assert_eq!(fits(&result, "fits_in_total_now"), ["1", "2", "1", "2"]);
    assert_eq!(fits(&result, "fits_in_total_ever"), ["1", "5", "4", "8"]);
    result.said("1 requests need more blocks than any instance has");
    result.said("fewer --instances with more blocks each (--blocks)");
    result.said("1 requests waited although all instances had the blocks together");
    // What a watermark keeps is in no sum: five of each ten blocks are left, and of eleven and seven only the latter fit into both.
    let long = [row(0, 44, 1, 0), row(0, 28, 1, 20)].concat();
    let kept = ["--blocks", "10", "--watermark", "5"];
    let result = serve(&scratch, &long, &[&options[2..], &kept].concat());
    result.has("refused_never", "2");
    assert_eq!(fits(&result, "fits_in_total_ever"), ["1", "7", "5", "10"]);
    // One instance has no others to look at.
    let options = ["--blocks", "4", "--shards", "2", "--growth", "on-demand"];
    let result = serve(&scratch, &rows, &options);
    assert_eq!(fits(&result, "fits_in_total_now"), ["0", "0", "0", "0"]);
}

#[test]
fn a_new_instance_gets_new_requests_and_moved_sequences_if_asked() {
    let scratch = Scratch::new("fleet-scale-out");
    let rows = [row(0, 8, 100, 0), row(0, 8, 100, 10), row(400, 8, 2, 20)].concat();
    let scale = [
        "--blocks",
        "64",
        "--scale-out-at",
        "0.2",
        "--ready-after",
        "100ms",
    ];
    let result = serve(&scratch, &rows, &scale);
    is_clean_everywhere::<2>(&result);
    assert_eq!(of_instance(&result, 1, "added_s"), "0.2");
    assert_eq!(of_instance(&result, 1, "ready_s"), "0.3");
    assert_eq!(of_instance(&result, 1, "first_request_s"), "0.4");
    assert_eq!(of_each(&result, "requests"), ["2", "1"]);
    assert_eq!(of_fleet(&result, "moves", "begun"), "0");

    // Ten blocks each at 300 ms: one of the two goes there, in two steps of five blocks, and the new request to whoever has more.
    let moves = ["--migrate", "--fetch-rate", "5"];
    let result = serve(&scratch, &rows, &[&scale[..], &moves].concat());
    is_clean_everywhere::<2>(&result);
    assert_eq!(of_each(&result, "moved_in"), ["0", "1"]);
    assert_eq!(of_each(&result, "moved_out"), ["1", "0"]);
    assert_eq!(of_fleet(&result, "moves", "committed"), "1");
    assert_eq!(of_fleet(&result, "moves", "written_blocks"), "10");
    assert_eq!(of_fleet(&result, "moves", "duplicated_most"), "10");
    assert_eq!(of_fleet(&result, "moves", "paused_ms"), "20.0");
    result.has("returns", "0");
    result.has("output_tokens_generated", "202");
    result.has("completed", "3");
}

#[test]
fn an_aborted_move_leaves_the_sequence_to_its_source() {
    let scratch = Scratch::new("fleet-abort");
    let rows = [row(0, 8, 100, 0), row(0, 8, 100, 10)].concat();
    let options = [
        "--blocks",
        "64",
        "--scale-out-at",
        "0.2",
        "--migrate",
        "--fetch-rate",
        "2",
        "--abort-transfers",
        "1",
    ];
    for overlap in [&[][..], &["--overlap"]] {
        let result = serve(&scratch, &rows, &[&options[..], overlap].concat());
        is_clean_everywhere::<2>(&result);
        // Each of the two is tried once.
        assert_eq!(of_fleet(&result, "moves", "begun"), "2");
        assert_eq!(of_fleet(&result, "moves", "aborted"), "2");
        assert_eq!(of_instance(&result, 1, "moves_aborted"), "2");
        assert_ne!(of_fleet(&result, "moves", "late_most"), "0");
        assert_eq!(of_each(&result, "generated_tokens"), ["200", "0"]);
        result.has("completed", "2");
        result.has("preemptions", "0");
    }
}

#[test]
fn a_drained_instance_ends_what_runs_there_or_moves_it() {
    let scratch = Scratch::new("fleet-drain");
    let rows = [row(0, 8, 30, 0), row(0, 8, 30, 10), row(150, 8, 2, 20)].concat();
    let drain = ["--blocks", "64", "--instances", "2", "--drain-at", "0.1"];
    // Each has one of the first two. At 100 ms it has generated 10 tokens, and the last one comes at 300 ms.
    let result = serve(&scratch, &rows, &drain);
    is_clean_everywhere::<2>(&result);
    assert_eq!(of_each(&result, "requests"), ["1", "2"]);
    assert_eq!(of_instance(&result, 0, "drained_from_s"), "0.1");
    assert_eq!(of_instance(&result, 0, "removed_s"), "0.3");
    assert_eq!(of_each(&result, "generated_tokens"), ["30", "32"]);

    let result = serve(&scratch, &rows, &[&drain[..], &["--migrate"]].concat());
    is_clean_everywhere::<2>(&result);
    assert_eq!(of_instance(&result, 0, "removed_s"), "0.11");
    assert_eq!(of_each(&result, "moved_out"), ["1", "0"]);
    assert_eq!(of_each(&result, "generated_tokens"), ["10", "52"]);
    result.has("completed", "3");
}

#[test]
fn requests_wait_while_no_instance_is_ready() {
    let scratch = Scratch::new("fleet-gap");
    let rows = [row(0, 8, 2, 0), row(100, 8, 2, 10)].concat();
    let options = [
        "--blocks",
        "16",
        "--drain-at",
        "0.05",
        "--scale-out-at",
        "0.2",
        "--ready-after",
        "0.3",
    ];
    let result = serve(&scratch, &rows, &options);
    is_clean_everywhere::<2>(&result);
    assert_eq!(of_instance(&result, 0, "removed_s"), "0.05");
    assert_eq!(of_instance(&result, 1, "first_request_s"), "0.5");
    result.has("completed", "2");
    is(&result, "time_s", 0.52);
}

#[test]
fn short_requests_use_all_that_long_survivors_leave() {
    let scratch = Scratch::new("fleet-phases");
    let serve = |name: &str, options: &[&str]| {
        let phases = ["--phases", "long-survivors", "--audit-every", "500"];
        lasting_lines(&scratch.path(name), &[&phases[..], options].concat()).join("\n")
    };
    let has = |json: &str, key: &str, expected: &str| {
        let member = format!("\"{key}\": {expected},");
        assert!(json.contains(&member), "no {member} in {json}");
    };
    let two = serve("two.json", &["--instances", "2"]);
    for (key, expected) in [
        ("requests", "3024"),
        ("completed", "3024"),
        ("refused_shortfall", "0"),
        ("preemptions", "0"),
        ("held_at_end", "0"),
        ("audit", "\"ok\""),
    ] {
        has(&two, key, expected);
    }
    assert_eq!(two, serve("again.json", &["--instances", "2"]));
    assert_ne!(
        two,
        serve("other.json", &["--instances", "2", "--seed", "1"])
    );
}

/// Everything at once, on a workload that is short of memory.
#[test]
fn a_fleet_with_all_of_it_leaves_nothing_behind() {
    let scratch = Scratch::new("fleet-all");
    let all = [
        "--phases",
        "long-survivors",
        "--instances",
        "2",
        "--scale-out-at",
        "20",
        "--ready-after",
        "5",
        "--drain-at",
        "40",
        "--migrate",
        "--abort-transfers",
        "30%",
        "--fetch",
        "20%",
        "--fetch-rate",
        "4",
        "--cancel",
        "10%",
        "--branch",
        "2",
        "--draft",
        "2",
        "--overlap",
        "--audit-every",
        "50",
    ];
    for split in [&[][..], &["--split"]] {
        for growth in ["cap", "on-demand"] {
            let pressed = ["--uneven", "2111,2055", "--growth", growth];
            let options = [&all[..], &pressed, split].concat();
            let lines = ["first.json", "second.json"]
                .map(|name| lasting_lines(&scratch.path(name), &options));
            assert_eq!(lines[0], lines[1]);
            let json = lines[0].join("\n");
            for member in [
                "\"audit\": \"ok\"",
                "\"held_at_end\": 0",
                "\"reserved_at_end\": 0",
                "\"sequences_at_end\": 0",
                "\"migrate\": true",
            ] {
                assert!(json.contains(member), "no {member} in {json}");
            }
            for nothing in ["\"moved_out\": 0,\n", "\"cancelled\": 0,"] {
                let count = json.matches(nothing).count();
                assert!(count < 3, "{nothing} {count} times in {json}");
            }
        }
    }
}

#[test]
fn an_instance_that_comes_with_the_first_request_is_a_new_one() {
    let scratch = Scratch::new("fleet-at-once");
    let rows = [row(0, 8, 2, 0), row(0, 8, 2, 10)].concat();
    let result = serve(&scratch, &rows, &["--blocks", "16", "--scale-out-at", "0"]);
    is_clean_everywhere::<2>(&result);
    assert_eq!(of_each(&result, "requests"), ["1", "1"]);
    assert!(result.report.contains(
        "instance 1 was added at 0.000 s, was ready at 0.000 s and had its first request at 0.000 s"
    ));
    assert!(!result.said.contains("--scale-out-at"), "{}", result.said);
    let late = serve(&scratch, &rows, &["--blocks", "16", "--scale-out-at", "9"]);
    late.said("the run was over before the new instance was added: an earlier --scale-out-at");
}

#[test]
fn the_time_line_shows_each_change_and_the_fullest_moment_of_moves() {
    let scratch = Scratch::new("fleet-moments");
    let rows: String = (0..120).map(|at| row(100 * at, 8, 30, 10 * at)).collect();
    let options = [
        "--blocks",
        "64",
        "--instances",
        "2",
        "--scale-out-at",
        "5.004",
        "--ready-after",
        "1s",
        "--drain-at",
        "7.007",
        "--migrate",
        "--fetch-rate",
        "1",
    ];
    let result = serve(&scratch, &rows, &options);
    is_clean_everywhere::<3>(&result);
    let (_, series) = result
        .json
        .split_once("\"series\": [")
        .expect("a time line");
    let count = |member: &str| series.matches(member).count();
    for time in ["5.004", "6.004", "7.007"] {
        assert_eq!(count(&format!("\"time_s\": {time},")), 1, "{time}");
    }
    let removed = of_instance(&result, 0, "removed_s");
    assert_eq!(count(&format!("\"time_s\": {removed},")), 1);
    let most = of_fleet(&result, "moves", "duplicated_most");
    assert_ne!(most, "0");
    // At both ends of the move.
    assert!(count(&format!("\"duplicated\": {most}\n")) >= 2);
    assert!(result.report.contains("0 duplicated"), "{}", result.report);
}

#[test]
fn advice_names_options_that_go_with_those_given() {
    let scratch = Scratch::new("fleet-advice");
    // Eight of them need more than there is at a time.
    let rows: String = (0..40).map(|at| row(0, 8, 30, 10 * at)).collect();
    let slow = ["--slo", "ttft=50ms,gap=1s"];
    let short = serve(
        &scratch,
        &rows,
        &[&["--uneven", "12,11"][..], &slow].concat(),
    );
    short.said("so name more blocks with --uneven");
    assert!(!short.said.contains("--blocks"), "{}", short.said);

    let rows = [row(0, 8, 2, 0), row(100, 8, 2, 10), row(100, 8, 2, 20)].concat();
    let gap = [
        "--blocks",
        "16",
        "--drain-at",
        "0.05",
        "--scale-out-at",
        "9",
    ];
    let result = serve(&scratch, &rows, &[&gap[..], &slow].concat());
    result.said("no instance was ready from 0.050 s to 9.000 s, and requests waited");
    assert!(!result.said.contains("--step-time"), "{}", result.said);

    // The other one has no room for what runs on the drained one.
    let rows = [row(0, 8, 30, 0), row(0, 8, 30, 10)].concat();
    let full = ["--blocks", "10", "--instances", "2", "--growth", "cap"];
    let drain = ["--drain-at", "0.1", "--migrate"];
    let result = serve(&scratch, &rows, &[&full[..], &drain].concat());
    is_clean_everywhere::<2>(&result);
    assert_eq!(of_fleet(&result, "moves", "begun"), "0");
    result.said(
        "no sequence could move away from instance 0, which was empty 0.200 s after its drain",
    );
}

#[test]
fn what_makes_no_sense_together_is_refused_with_a_word_of_why() {
    let scratch = Scratch::new("fleet-refused");
    let trace = scratch.write("row.jsonl", row(0, 8, 2, 0).as_bytes());
    let trace = trace.to_str().expect("a path in UTF-8");
    for (options, expected) in [
        (&["--uneven", "5,6", "--blocks", "7"][..], "--uneven"),
        (&["--uneven", "5,6", "--shards", "3"], "--shards says 3"),
        (&["--split"], "--split makes a stage of each shard"),
        (&["--ready-after", "1s"], "--scale-out-at adds one"),
        (&["--placement", "affinity"], "there is one"),
        (&["--drain-at", "1"], "--drain-at ends the only instance"),
        (
            &["--instances", "2", "--migrate"],
            "--scale-out-at or --drain-at",
        ),
        (
            &["--instances", "2", "--block-size", "4,8"],
            "several block sizes",
        ),
        (
            &["--shards", "2", "--resize", "1s=-1"],
            "--resize is of one",
        ),
        (&["--abort-transfers", "1"], "--fetch or --migrate"),
        (&["--phases", "long-survivors"], "cannot be used with"),
        (
            &["--instances", "2", "--shards", "2049"],
            "2 instances of 2049 shards are more than 4096 shards",
        ),
        (
            &[
                "--instances",
                "18446744073709551615",
                "--shards",
                "18446744073709551615",
            ],
            "more than 4096 shards",
        ),
        (
            &["--scale-out-at", ""],
            "`` is not a number of seconds such as `1.5`, nor a time with a unit",
        ),
        (
            &["--mode", "sequential", "--instances", "2"],
            "--instances is of serve mode",
        ),
    ] {
        let output = run([&[trace][..], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        let said = text(&output.stderr);
        assert!(said.contains(expected), "{options:?}: {said}");
    }
}

#[test]
fn each_instance_has_its_own_host_tier_and_its_own_swaps() {
    let scratch = Scratch::new("fleet-swaps");
    // Two come to the first instance, whose five blocks are one too few for both; one comes to the second.
    let request = |ids: &str| {
        format!(r#"{{"timestamp": 0, "input_length": 8, "output_length": 6, "hash_ids": [{ids}]}}"#)
    };
    let lines = ["0, 1", "2, 3", "4, 5"].map(request).join("\n");
    let trace = scratch.write("three.jsonl", lines.as_bytes());
    let options = "--blocks 5 --growth on-demand --instances 2 --placement round-robin --on-shortfall swap --host-blocks 4";
    let options: Vec<_> = STEADY.into_iter().chain(options.split(' ')).collect();
    let result = small(&scratch, &trace, &options);
    is_clean_everywhere::<2>(&result);
    result.has("preemptions", "1");
    assert_eq!(of_each(&result, "requests"), ["2", "1"]);
    assert_eq!(of_each(&result, "preemptions"), ["1", "0"]);
    assert_eq!(of_each(&result, "preemptions_by_swap"), ["1", "0"]);
    let host_of = |instance: usize| {
        let tier = result.json.split("\"host\": {").nth(1 + instance);
        let (tier, _) = tier.and_then(|it| it.split_once('}')).expect("one each");
        tier.split_whitespace().collect::<String>()
    };
    let tier = |swaps, held| {
        format!(
            r#""preemptions_by_swap":{swaps},"held_most":{held},"capacity":[4],"held_at_end":[0]"#
        )
    };
    assert_eq!([host_of(0), host_of(1)], [tier(1, 2), tier(0, 0)]);
    let head = result
        .report
        .lines()
        .find(|it| it.contains("by swap  host blocks  held there"));
    assert!(head.is_some(), "{}", result.report);
}
