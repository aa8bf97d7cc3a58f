//! Builds and runs the program as a user would, and reads what it writes.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The directory of the published traces, or a word on standard error that `what` is not run.
pub(crate) fn published_traces(what: &str) -> Option<PathBuf> {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    if traces.is_dir() {
        return Some(traces);
    }
    // Past the test harness, which shows nothing of what a test that passes prints.
    let _ = writeln!(
        io::stderr(),
        "NOT RUN: {what}, as there are no traces in {}",
        traces.display()
    );
    None
}

/// Runs `kvblock replay` with these arguments, after building it where that is needed.
pub(crate) fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    run_command("replay", arguments)
}

/// Runs `kvblock` with this subcommand and these arguments, after building it where that is needed.
pub(crate) fn run_command<A: AsRef<OsStr>>(
    subcommand: &str,
    arguments: impl IntoIterator<Item = A>,
) -> Output {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    Command::new(cargo)
        .args([
            "run",
            "--quiet",
            "--release",
            "--features",
            "cli",
            "--bin",
            "kvblock",
            "--manifest-path",
        ])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay"))
        .args(["--", subcommand])
        .args(arguments)
        .output()
        .expect("cargo runs")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The lines of the figures that a replay with these options writes to `json`, but for the time that it took.
pub(crate) fn lasting_lines(json: &Path, options: &[&str]) -> Vec<String> {
    let mut arguments = vec![OsStr::new("--json"), json.as_os_str()];
    arguments.extend(options.iter().map(OsStr::new));
    let output = run(arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result = fs::read_to_string(json).expect("the figures are written");
    let lasting = result
        .lines()
        .filter(|line| !line.contains("\"elapsed_ms\""));
    lasting.map(String::from).collect()
}

/// A directory for the files of one test.
pub(crate) struct Scratch {
    pub(crate) directory: PathBuf,
}

impl Scratch {
    pub(crate) fn new(test: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{test}"));
        fs::create_dir_all(&directory).expect("a directory for files of the test");
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("a file of the test");
        path
    }

    /// Replays a trace that must be replayed without complaint.
    pub(crate) fn replay(&self, trace: &Path, options: &[&str]) -> Replayed {
        let json = self.path("out.json");
        let mut arguments = vec![trace.as_os_str(), OsStr::new("--json"), json.as_os_str()];
        arguments.extend(options.iter().map(OsStr::new));
        let output = run(&arguments);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        let json = fs::read_to_string(json).expect("the figures are written");
        Replayed {
            json,
            report: text(&output.stdout),
            said,
        }
    }
}

/// The figures of a replay, its report, and what it said on standard error.
pub(crate) struct Replayed {
    pub(crate) json: String,
    /// Standard output.
    pub(crate) report: String,
    pub(crate) said: String,
}

impl Replayed {
    /// A figure, as it is written. The object is flat and has one member a line.
    pub(crate) fn get(&self, key: &str) -> &str {
        let member = format!("\"{key}\":");
        let line = self
            .json
            .lines()
            .find_map(|line| line.trim().strip_prefix(&member));
        let value = line.unwrap_or_else(|| panic!("no `{key}` in {}", self.json));
        value.trim().trim_end_matches(',')
    }

    pub(crate) fn has(&self, key: &str, expected: &str) {
        assert_eq!(self.get(key), expected, "{key} in {}", self.json);
    }

    pub(crate) fn said(&self, expected: &str) {
        assert!(
            self.said.contains(expected),
            "`{expected}` is not in: {}",
            self.said
        );
    }
}
