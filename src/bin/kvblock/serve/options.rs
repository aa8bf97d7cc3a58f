//! The settings that the arguments ask for, or why they cannot be.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::drafts::Drafts;
use super::fleet::settings::FleetSettings;
use super::settings::{FetchSettings, PinSettings, Settings, resizes, watermark};
use super::step_time::StepTime;
use super::swap::SwapSettings;
use crate::args::{OnShortfall, ReplayArgs};
use crate::failure::Failure;
use crate::replay::Rows;
use crate::values::{BudgetArg, GrowthArg, Share, Slo, Watermark};

/// Some options are about requests, and one about sessions.
pub(super) fn check_rows(args: &ReplayArgs, rows: &Rows) -> Result<(), Failure> {
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
            serve.on_shortfall.is_some(),
            requests,
            "--on-shortfall",
            "requests",
        ),
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

/// The host tier that is asked for, if one is, beside so many blocks.
fn swap_of(args: &ReplayArgs, blocks: usize) -> Result<Option<SwapSettings>, Failure> {
    let (serve, fleet) = (&args.serve, &args.fleet);
    if serve.on_shortfall != Some(OnShortfall::Swap) {
        return Ok(None);
    }
    let leaves = if fleet.migrate {
        Some("--migrate")
    } else {
        fleet.drain_at.map(|_| "--drain-at")
    };
    if let Some(option) = leaves {
        return Err(Failure::Input(format!(
            "--on-shortfall swap keeps a sequence in its instance's host memory, which {option} would take it away from: name one of the two"
        )));
    }
    let host_blocks = serve.host_blocks.map_or(blocks, |it| it.of(blocks));
    if host_blocks == 0 {
        return Err(Failure::Input(format!(
            "a host tier of no blocks takes nothing: name more than none of {blocks} with --host-blocks, or `--on-shortfall recompute`"
        )));
    }
    Ok(Some(SwapSettings {
        host_blocks,
        rate: serve.swap_rate.map_or(64, usize::from),
    }))
}

/// The settings of each run; memory is what `--blocks` is in blocks of the first size.
pub(super) fn settings_of(args: &ReplayArgs) -> Result<Vec<Settings>, Failure> {
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
        growth: serve.growth.unwrap_or(GrowthArg::Ahead(2)),
        budget: serve.budget.unwrap_or(BudgetArg::Physical),
        watermark: watermark(serve.watermark, blocks),
        watermark_share: match serve.watermark {
            Some(Watermark::Of(share)) => Some(share),
            _ => None,
        },
        named_size: sizes.first().copied().unwrap_or(16),
        cancel: serve.cancel.unwrap_or(Share::NONE),
        branches: serve.branch.map_or(1, usize::from),
        drafts: Drafts {
            per_step: serve.draft.unwrap_or(0),
            accept: serve.accept.unwrap_or(Share::new(7, 10)),
            seed: args.seed,
        },
        step_time: serve.step_time.unwrap_or(StepTime::USUAL),
        slo: serve.slo.unwrap_or(Slo::USUAL),
        concurrent_sessions: serve.concurrent_sessions.map_or(8, usize::from),
        resizes: resizes(&serve.resize, blocks)?,
        overlap: serve.overlap,
        fetch: FetchSettings {
            share: serve.fetch.unwrap_or(Share::NONE),
            writers: serve.writers.map_or(2, usize::from),
            rate: serve.fetch_rate.map_or(64, usize::from),
            aborted: serve.abort_transfers.unwrap_or(Share::NONE),
        },
        pins: serve.pin.map(|pin| PinSettings {
            lasts: pin.0,
            budget: match serve.pin_budget {
                Some(budget) => watermark(Some(budget), blocks),
                None => blocks / 4,
            },
        }),
        swap: swap_of(args, blocks)?,
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
        (
            serve.host_blocks.is_some(),
            first.swap.is_some(),
            "--host-blocks",
            "--on-shortfall swap",
        ),
        (
            serve.swap_rate.is_some(),
            first.swap.is_some(),
            "--swap-rate",
            "--on-shortfall swap",
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
