//! Serve mode: continuous batching of a trace's requests, by one instance or by several behind a router.
//!
//! In the order in which they use each other:
//!
//! * `step_time`, `draw`, `settings` from `options`: the virtual clock, chance by seed, what is asked for;
//! * `fetch`, `overlap`, `pins`, `resize`: writers, the device's last step, what is held for later, the pool's size;
//! * `job`, `queue`, `running`: a request on its way;
//! * `swap`: host memory for who loses its memory, and the bus to it;
//! * `drafts`, `sessions`, `schedule`: guesses, and when requests arrive;
//! * `memory`: the registry as an engine uses it, over all shards of its instance;
//! * `samples`, `figures`, `timeline`, `log`: what is noted;
//! * `world`, `engine` with `plan`, `swapping` and `settle`: what engines share, and one engine's steps;
//! * `simulator` with `place` and `fleet`: engines on one clock; `tree`: one engine for trees of thoughts;
//! * `summary`, `sweep`: what is reported.

mod drafts;
mod draw;
mod engine;
mod fetch;
mod figures;
mod fleet;
mod job;
mod log;
mod memory;
mod options;
mod overlap;
mod pins;
mod place;
mod plan;
mod queue;
mod resize;
mod running;
mod samples;
mod schedule;
mod sessions;
mod settings;
mod settle;
mod simulator;
pub(crate) mod step_time;
mod summary;
mod swap;
mod swapping;
mod sweep;
mod timeline;
mod tree;
mod world;

use alloc::vec::Vec;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Instant;

use indicatif::ProgressBar;
use kvblock::trace::Request;
use serde::Serialize;

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::replay::{self, Rows, Workload};
use figures::Outcome;
use options::{check_rows, settings_of};
use schedule::{Schedule, nanos};
use sessions::{Place, Sessions};
use settings::Settings;
use simulator::Simulator;
use summary::{Source, Summary};

pub(crate) use fleet::phases::Phases;
pub(crate) use fleet::settings::Placement;
pub(crate) use settings::secret;

/// Serves the trace, once for each block size, and reports.
pub(crate) fn run(args: &ReplayArgs, workload: Workload) -> Result<(), Failure> {
    check_rows(args, &workload.rows)?;
    let runs = settings_of(args)?;
    for settings in &runs {
        settings.check()?;
    }
    let source = Source {
        trace: workload.name,
        format: workload.format,
        mode: args.mode.name(),
        seed: args.seed,
        id_tokens: args.id_tokens.map_or_else(
            || match &workload.rows {
                Rows::Requests(requests) => replay::usual_id_tokens(requests),
                Rows::Trees(_) => 1,
            },
            usize::from,
        ),
    };
    // Before the work, so that it is not in vain.
    let json = replay::create_json(args)?;
    let progress = replay::progress_bar(workload.rows.len() * runs.len());
    let mut summaries = Vec::new();
    for settings in &runs {
        let start = Instant::now();
        let outcome = serve(settings, &workload.rows, source.id_tokens, &progress)?;
        let elapsed = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        summaries.push(Summary::new(&source, settings, outcome, elapsed));
    }
    progress.finish_and_clear();
    print(&summaries);
    let written = match (json, &args.json) {
        (Some(file), Some(path)) => write_json(replay::emptied(file), &summaries)
            .map_err(|error| replay::cannot_write(path, &error)),
        _ => Ok(()),
    };
    // A defect of the pool weighs more than a full disk.
    summaries
        .iter()
        .find_map(Summary::defect)
        .map_or(written, |defect| Err(Failure::Defect(defect)))
}

fn serve(
    settings: &Settings,
    rows: &Rows,
    id_tokens: usize,
    progress: &ProgressBar,
) -> Result<Outcome, Failure> {
    let mut on_end = || progress.inc(1);
    match rows {
        Rows::Trees(problems) => tree::run(settings, problems, &mut on_end),
        Rows::Requests(requests) => {
            let schedule = schedule_of(settings, requests);
            Simulator::new(settings, requests, id_tokens, schedule, &mut on_end)?.run()
        }
    }
}

/// Requests of sessions come at their session's pace, others at their time stamps.
fn schedule_of(settings: &Settings, requests: &[Request]) -> Schedule {
    let places: Option<Vec<_>> = requests
        .iter()
        .map(|request| {
            request.turn.map(|turn| Place {
                session: turn.session.into(),
                agent: turn.agent.into(),
                at: nanos(request.timestamp),
            })
        })
        .collect();
    match places {
        Some(places) => {
            let sessions = Sessions::new(&places, settings.concurrent_sessions, settings.seed);
            Schedule::by_session(sessions)
        }
        None => Schedule::by_timestamp(requests),
    }
}

/// The report of a run, or the table of several; advice on standard error. Nobody is left to tell if these are closed, so
/// errors are ignored; the exit code stands.
fn print(summaries: &[Summary]) {
    let mut out = Vec::new();
    if let [only] = summaries {
        let _ = only.write(&mut out);
    } else {
        let _ = sweep::write(summaries, &mut out);
    }
    let _ = io::stdout().lock().write_all(&out);
    for summary in summaries {
        for advice in summary.advice() {
            let _ = match summaries.len() {
                1 => writeln!(io::stderr(), "kvblock: {advice}"),
                _ => writeln!(
                    io::stderr(),
                    "kvblock: blocks of {}: {advice}",
                    summary.block_size()
                ),
            };
        }
    }
}

/// One object for one run, and one with all of them under `sweep` for several.
fn write_json(file: File, summaries: &[Summary]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Sweep<'a> {
        sweep: &'a [Summary],
    }
    let mut out = BufWriter::new(file);
    match summaries {
        [only] => serde_json::to_writer_pretty(&mut out, only)?,
        sweep => serde_json::to_writer_pretty(&mut out, &Sweep { sweep })?,
    }
    writeln!(out)?;
    out.flush()
}
