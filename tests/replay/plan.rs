//! `kvblock plan`: exact plans, what to do where there is none, and the one that README shows.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::program::{Scratch, run_command, text};

/// Llama 3 70B, blocks of 16 positions.
const MODEL: [&str; 6] = ["--layers", "80", "--kv-heads", "8", "--head-size", "128"];

fn run(options: &[&str]) -> Output {
    run_command("plan", options)
}

/// Plans, and has the line of this name end so.
#[track_caller]
fn shows(output: &Output, lines: &[&str]) {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let mut found = shown.lines();
    for line in lines {
        assert!(
            found.any(|it| it == *line),
            "`{line}` is not there, or not in order: {shown}"
        );
    }
}

#[track_caller]
fn fails(options: &[&str], says: &str) {
    let output = run(options);
    assert_eq!(output.status.code(), Some(2), "{options:?}");
    let said = text(&output.stderr);
    assert!(said.contains(says), "`{says}` is not in: {said}");
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn readme_shows_what_the_program_says() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).expect("README");
    let (_, rest) = readme
        .split_once("```sh\nkvblock plan ")
        .expect("the command");
    let (command, rest) = rest.split_once("```\n```text\n").expect("its output");
    let (shown, _) = rest.split_once("```\n").expect("the end of it");
    let output = run_command("plan", command.replace("\\\n", " ").split_whitespace());
    assert_eq!(text(&output.stdout), shown);
    assert_eq!(text(&output.stderr), "");
    shows(
        &output,
        &[
            "    a block                    1310720 bytes          1.25 MiB",
            "    blocks                       32768 blocks of 16 positions",
            "    at a time                       64 sequences of 8192 positions",
        ],
    );
}

#[test]
fn stages_differ_and_the_shortest_binds() {
    let scratch = Scratch::new("plan-stages");
    let json = scratch.path("plan.json");
    let options = [
        "--device-memory",
        "80GiB",
        "--weights",
        "34GiB,34GiB,37GiB,31GiB",
        "--margin",
        "5%",
        "--layers",
        "20,20,22,18",
        "--kv-heads",
        "8",
        "--head-size",
        "128",
        "--length",
        "100000",
        "--length",
        "3000000",
        "--json",
    ];
    let arguments = options.iter().map(OsStr::new).chain([json.as_os_str()]);
    let output = run_command("plan", arguments);
    shows(
        &output,
        &[
            "ranks 0 to 1, each",
            "    20 layers, 8 K/V heads of 128 elements of 16 bits",
            "  - margin                  4294967296 bytes          4.00 GiB",
            "    blocks                       34406 blocks of 16 positions",
            "    stranded                      5362 blocks, 7028080640 bytes (6.55 GiB): rank 2 has fewer",
            "rank 2",
            "    blocks                       29044 blocks of 16 positions",
            "rank 3",
            "    a block                    1179648 bytes          1.13 MiB",
            "    blocks                       40960 blocks of 16 positions",
            "all 4 ranks in lockstep",
            "    usable                       29044 blocks, as many as rank 2 has",
            "    at a time                        4 sequences of 100000 positions",
            "    at a time                        0 sequences of 3000000 positions",
            "next: kvblock replay TRACE --uneven 34406,34406,29044,40960 --block-size 16",
        ],
    );
    assert_eq!(
        text(&output.stderr),
        "kvblock: up to 14056685568 bytes of a rank (rank 3) are never used, as rank 2 has fewer blocks: give that one more memory, \
         fewer layers (--layers) or fewer weights\n\
         kvblock: no sequence of 3000000 positions fits: the longest has 464704\n"
    );
    let json = fs::read_to_string(json).expect("the plan is written");
    let mut lines = json.lines().map(str::trim);
    for line in [
        r#""tensor_parallel": 1,"#,
        r#""pipeline_parallel": 4,"#,
        r#""blocks": 29044,"#,
        r#""binding_rank": 2,"#,
        r#""rank": 3,"#,
        r#""stranded_blocks": 11916,"#,
        r#""stranded_bytes": 14056685568,"#,
        r#""device_memory_bytes": 85899345920,"#,
        r#""weights_bytes": 33285996544,"#,
        r#""workspaces_bytes": 0,"#,
        r#""staging_bytes": 0,"#,
        r#""margin_bytes": 4294967296,"#,
        r#""cache_bytes": 48318382080,"#,
        r#""layers": 18,"#,
        r#""kv_heads": 8,"#,
        r#""head_size": 128,"#,
        r#""element_bits": 16,"#,
        r#""block_bytes": 1179648,"#,
        r#""blocks": 40960,"#,
        r#""remainder_bytes": 0,"#,
        r#""positions": 100000,"#,
        r#""sequences": 4"#,
    ] {
        assert!(
            lines.any(|it| it == line),
            "`{line}` is not there, or not in order: {json}"
        );
    }
}

#[test]
fn latents_heads_and_scales_of_known_models() {
    // 61 layers of 512 bytes, 16 of scales and 128 of the rotary part; 64 positions.
    let fp8 = run(&[
        "--device-memory",
        "141GiB",
        "--weights",
        "80GiB",
        "--layers",
        "61",
        "--mla-latent",
        "512",
        "--element-bytes",
        "1",
        "--scale-bytes",
        "144",
        "--tensor-parallel",
        "8",
        "--block-size",
        "64",
    ]);
    shows(
        &fp8,
        &["    a block                    2561024 bytes          2.44 MiB"],
    );
    assert_eq!(
        text(&fp8.stderr),
        "kvblock: each of 8 ranks has the whole latent: blocks become no smaller with --tensor-parallel\n"
    );

    let copies = run(&[
        &MODEL[..],
        &[
            "--device-memory",
            "80GiB",
            "--weights",
            "20GiB",
            "--tensor-parallel",
            "16",
        ],
    ]
    .concat());
    shows(
        &copies,
        &["    80 layers, 1 K/V heads of 128 elements of 16 bits"],
    );
    assert_eq!(
        text(&copies.stderr),
        "kvblock: each of 16 ranks has a copy of one of 8 K/V heads: from --tensor-parallel 8 on blocks become no smaller\n"
    );

    // Three ranks have 3, 3 and 2 of the 8 heads; two stages of 40 layers.
    let uneven = run(&[
        &MODEL[..],
        &[
            "--device-memory",
            "80GiB",
            "--weights",
            "60GiB",
            "--tensor-parallel",
            "3",
            "--pipeline-parallel",
            "2",
            "--element-bytes",
            "0.5",
            "--block-scale-bytes",
            "100",
        ],
    ]
    .concat());
    shows(
        &uneven,
        &[
            "ranks 0 to 1, each",
            "    40 layers, 3 K/V heads of 128 elements of 4 bits, 100 bytes of scales a block",
            "    a block                     249760 bytes        243.91 KiB",
            "rank 2",
            "    a block                     167840 bytes        163.91 KiB",
            "ranks 3 to 4, each",
            "rank 5",
            "all 6 ranks in lockstep",
        ],
    );
}

#[test]
fn where_nothing_fits_it_says_what_to_change() {
    let with = |options: &[&'static str]| [&MODEL[..], options].concat();
    let device = ["--device-memory", "80GiB", "--weights", "34GiB"];
    let and = |options: &[&'static str]| with(&[&device[..], options].concat());
    fails(
        &with(&["--device-memory", "80GiB", "--weights", "134GiB"]),
        "kvblock: weights do not fit: 143881404416 bytes (134.00 GiB) needed, 85899345920 bytes (80.00 GiB) left: raise \
         --tensor-parallel or --pipeline-parallel so that a rank holds less of them, and name with --weights what it then holds",
    );
    fails(
        &with(&[
            "--tensor-parallel",
            "2",
            "--device-memory",
            "80GiB,30GiB",
            "--weights",
            "34GiB",
        ]),
        "kvblock: rank 1: weights do not fit: 36507222016 bytes (34.00 GiB) needed, 32212254720 bytes (30.00 GiB) left",
    );
    fails(&and(&["--workspace", "47GiB"]), "left: lower --workspace");
    fails(&and(&["--staging", "47GiB"]), "left: lower --staging");
    fails(&and(&["--margin", "90%"]), "left: lower --margin");
    fails(
        &with(&["--device-memory", "1000", "--weights", "0"]),
        "less than one block is left: 1000 bytes of the 5242880 bytes (5.00 MiB) of a block: it takes 5241880 bytes more: lower \
         --workspace, --staging or --margin, take smaller blocks with --block-size",
    );
    fails(
        &[
            "--device-memory",
            "1TiB",
            "--weights",
            "0",
            "--layers",
            "1",
            "--kv-heads",
            "1",
            "--head-size",
            "64",
            "--block-size",
            "1",
        ],
        "4294967296 blocks are more than the 33554431 ids of a shard: raise --block-size to 129 or more",
    );
    fails(
        &with(&["--device-memory", "0", "--weights", "0"]),
        "the device memory is 0: name it with --device-memory",
    );
    fails(
        &and(&["--block-size", "65537"]),
        "block size 65537 is not between 1 and 65536 positions",
    );
    fails(
        &and(&["--pipeline-parallel", "3"]),
        "80 layers are not spread evenly over 3 stages, and engines differ in which has more: name the layers of each with --layers",
    );
    fails(
        &and(&["--tensor-parallel", "3", "--margin", "1%,2%"]),
        "--margin has 2 values for 3 ranks: name one for all, or one for each",
    );
    fails(
        &and(&["--tensor-parallel", "70000"]),
        "a plan is made for at most 65536 ranks",
    );
    fails(
        &[
            &device[..],
            &[
                "--layers",
                "40,40",
                "--pipeline-parallel",
                "3",
                "--mla-latent",
                "576",
            ],
        ]
        .concat(),
        "--layers names 2 stages, --pipeline-parallel 3: leave one of them out",
    );
    fails(
        &[&device[..], &["--layers", "40"]].concat(),
        "--kv-heads <N>",
    );
    fails(&and(&["--mla-latent", "576"]), "cannot be used with");
    fails(
        &and(&["--workspace", "3GB"]),
        "`3GB` is not a size such as `80GiB`",
    );
}
