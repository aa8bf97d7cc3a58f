//! The program `kvblock`: drives the allocator with real workloads and reports what it did.
//!
//! `kvblock replay [TRACE]` replays a trace, or a built-in chat workload, through a pool. Exit codes: 0 ok, 1 a leak or an
//! audit that failed, 2 bad arguments or input. `kvblock plan` says how many blocks fit into a device's memory.

#![forbid(unsafe_code)]

extern crate alloc;

mod args;
mod failure;
mod plan;
mod replay;
mod sequential;
mod serve;
mod summary;
mod values;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Replay(args) => replay::run(args),
        Command::Plan(args) => plan::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody is left to tell if standard error is closed.
            let _ = writeln!(std::io::stderr(), "kvblock: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
