//! Serve mode: continuous batching of a trace's requests over one pool and one registry of sequences.
//!
//! In the order in which they use each other:
//!
//! * `step_time`, `draw`, `settings`: the virtual clock, chance by seed, what is asked for;
//! * `fetch`, `overlap`, `pins`, `resize`: writers, the device's last step, what is held for later, the pool's size;
//! * `job`, `queue`, `running`: a request on its way;
//! * `drafts`, `sessions`, `schedule`: guesses, and when requests arrive;
//! * `memory`: the registry as an engine uses it;
//! * `samples`, `figures`, `timeline`, `log`: what is noted;
//! * `world`, `engine` with `plan` and `settle`: what engines share, and one engine's steps;
//! * `simulator` with `place`: engines on one clock; `tree`: one engine for trees of thoughts;
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
mod sweep;
mod timeline;
mod tree;
mod world;

use alloc::format;
use alloc::string::String;
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
use crate::values::Watermark;
use drafts::Drafts;
use figures::Outcome;
use fleet::settings::FleetSettings;
use schedule::{Schedule, nanos};
use sessions::{Place, Sessions};
use settings::{FetchSettings, PinSettings, Settings, resizes, watermark};
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

/// Some options are about requests, and one about sessions.
fn check_rows(args: &ReplayArgs, rows: &Rows) -> Result<(), Failure> {
    let serve = &args.serve;
    let (requests, sessions) = match rows {
        Rows::Trees(_) => (false, false),
        Rows::Requests(requests) => (true, requests.iter().all(|request| request.turn.is_some())),
    };
    for (given, fits, option, about) in [
        (
            args.id_tokens.is_some(),
            requests,
            "--id-tokens",
            "requests",
        ),
        (serve.cancel.is_some(), requests, "--cancel", "requests"),
        (serve.branch.is_some(), requests, "--branch", "requests"),
        (serve.draft.is_some(), requests, "--draft", "requests"),
        (serve.slo.is_some(), requests, "--slo", "requests"),
        (
            serve.concurrent_sessions.is_some(),
            sessions,
            "--concurrent-sessions",
            "sessions",
        ),
        (serve.pin.is_some(), sessions, "--pin", "sessions"),
        (!serve.resize.is_empty(), requests, "--resize", "requests"),
        (serve.overlap, requests, "--overlap", "requests"),
        (serve.fetch.is_some(), requests, "--fetch", "requests"),
        (
            args.fleet.given().is_some(),
            requests,
            args.fleet.given().unwrap_or_default(),
            "requests",
        ),
    ] {
        if given && !fits {
            return Err(Failure::Input(format!(
                "{option} is about {about}, and this trace has none"
            )));
        }
    }
    Ok(())
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

/// The settings of each run; memory is what `--blocks` is in blocks of the first size.
fn settings_of(args: &ReplayArgs) -> Result<Vec<Settings>, Failure> {
    if args.capacity.is_some() {
        return Err(Failure::Input(String::from(
            "--capacity sizes the pool of `--mode sequential`: name its blocks with --blocks",
        )));
    }
    let serve = &args.serve;
    let sizes: Vec<usize> = args.block_size.iter().copied().map(usize::from).collect();
    if let Some(twice) = (1..sizes.len()).find(|&at| sizes[..at].contains(&sizes[at])) {
        return Err(Failure::Input(format!(
            "--block-size names {} twice",
            sizes[twice]
        )));
    }
    let blocks = args.blocks.map_or(8_192, usize::from);
    let fleet = FleetSettings::of(args, blocks)?;
    let blocks = fleet.usable();
    let first = Settings {
        blocks,
        block_size: sizes.first().copied().unwrap_or(16),
        token_budget: serve.token_budget.map_or(2_048, usize::from),
        max_sequences: serve.max_sequences.map_or(256, usize::from),
        growth: serve.growth.unwrap_or(crate::values::GrowthArg::Ahead(2)),
        budget: serve.budget.unwrap_or(crate::values::BudgetArg::Physical),
        watermark: watermark(serve.watermark, blocks),
        watermark_share: match serve.watermark {
            Some(Watermark::Of(share)) => Some(share),
            _ => None,
        },
        named_size: sizes.first().copied().unwrap_or(16),
        cancel: serve.cancel.unwrap_or(crate::values::Share::NONE),
        branches: serve.branch.map_or(1, usize::from),
        drafts: Drafts {
            per_step: serve.draft.unwrap_or(0),
            accept: serve.accept.unwrap_or(crate::values::Share::new(7, 10)),
            seed: args.seed,
        },
        step_time: serve.step_time.unwrap_or(step_time::StepTime::USUAL),
        slo: serve.slo.unwrap_or(crate::values::Slo::USUAL),
        concurrent_sessions: serve.concurrent_sessions.map_or(8, usize::from),
        resizes: resizes(&serve.resize, blocks)?,
        overlap: serve.overlap,
        fetch: FetchSettings {
            share: serve.fetch.unwrap_or(crate::values::Share::NONE),
            writers: serve.writers.map_or(2, usize::from),
            rate: serve.fetch_rate.map_or(64, usize::from),
            aborted: serve.abort_transfers.unwrap_or(crate::values::Share::NONE),
        },
        pins: serve.pin.map(|pin| PinSettings {
            lasts: pin.0,
            budget: match serve.pin_budget {
                Some(budget) => watermark(Some(budget), blocks),
                None => blocks / 4,
            },
        }),
        fleet,
        audit_every: args.audit_every.map(|every| every.get() as u64),
        seed: args.seed,
    };
    if serve.accept.is_some() && serve.draft.is_none() {
        return Err(Failure::Input(String::from(
            "--accept says how often drafts are right, and there are none: name how many with --draft",
        )));
    }
    let transfers = serve.fetch.is_some() || args.fleet.migrate;
    for (given, needed, option, needs) in [
        (
            serve.writers.is_some(),
            transfers,
            "--writers",
            "--fetch or --migrate",
        ),
        (
            serve.fetch_rate.is_some(),
            transfers,
            "--fetch-rate",
            "--fetch or --migrate",
        ),
        (
            serve.abort_transfers.is_some(),
            transfers,
            "--abort-transfers",
            "--fetch or --migrate",
        ),
        (
            serve.pin_budget.is_some(),
            serve.pin.is_some(),
            "--pin-budget",
            "--pin",
        ),
    ] {
        if given && !needed {
            return Err(Failure::Input(format!(
                "{option} says more about {needs}, which is not given"
            )));
        }
    }
    let others = sizes
        .iter()
        .skip(1)
        .map(|size| first.with_block_size(*size));
    Ok(core::iter::once(first.clone()).chain(others).collect())
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
