//! The program `gpu_check`: checks the copies of blocks on a GPU byte by byte, then says how fast they are.
//!
//! It ends by itself within the time it is given and 15 seconds, with a line `N passed, 0 failed`. `SCALE=tiny` is quick enough for
//! NVIDIA's `compute-sanitizer`, and for a device that a CPU stands in for. Exit codes: 0 all passed, 1 a check failed, 2 no device
//! or bad arguments.

#![deny(unsafe_code)]

extern crate alloc;

mod args;
mod beside;
mod bus;
mod bytes;
mod graph;
#[allow(unsafe_code)]
mod raw;
mod record;
mod shapes;
mod speed;
mod world;

use core::time::Duration;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use kvblock::cuda::{CudaDevice, CudaError};

use args::{Args, Scale};
use record::Record;

fn main() -> ExitCode {
    let begun = Instant::now();
    let args = Args::parse();
    let device = match CudaDevice::open(args.device) {
        Ok(device) => device,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "gpu_check: {error}");
            return ExitCode::from(2);
        }
    };
    let mut record = Record::new(begun, args.seconds);
    end_a_hang(args.seconds);
    match check(&args, &device, &mut record) {
        Ok(()) => {}
        Err(error) => record.failed("gpu_check", &error),
    }
    record.end()
}

fn check(args: &Args, device: &CudaDevice, record: &mut Record) -> Result<(), CudaError> {
    let (free, total) = device.memory()?;
    println!("device: {}", device.name()?);
    println!(
        "memory: {:.1} GiB free of {:.1} GiB, {} scale, {} s at most",
        gib(free),
        gib(total),
        args.scale,
        args.seconds
    );
    if args.scale == Scale::Tiny {
        println!("tiny scale: the times below mean nothing");
    }
    if let Err(error) = raw::bind(args.device) {
        record.failed("context", &error);
        return Ok(());
    }
    bytes::section(args, device, record);
    graph::section(args, device, record);
    speed::section(args, device, record);
    bus::section(args, device, record);
    beside::section(args, device, record);
    record.check("context", raw::unbind(args.device));
    device.check_alive()
}

/// A device that does not come back must not keep the machine: ends the program a while after nothing new is begun.
fn end_a_hang(seconds: u64) {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds + 14));
        let _ = writeln!(
            std::io::stderr(),
            "gpu_check: the device has not come back; nothing more can be said"
        );
        std::process::exit(1);
    });
}

#[allow(clippy::cast_precision_loss, reason = "a figure with one decimal")]
fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}
