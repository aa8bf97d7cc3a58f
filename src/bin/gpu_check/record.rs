//! What passed, what failed, and what there was no time for.

use core::fmt::Display;
use core::time::Duration;
use std::process::ExitCode;
use std::time::Instant;

pub(crate) struct Record {
    begun: Instant,
    limit: Duration,
    passed: usize,
    failed: usize,
    left_out: usize,
}

impl Record {
    pub(crate) fn new(begun: Instant, seconds: u64) -> Self {
        Self {
            begun,
            limit: Duration::from_secs(seconds),
            passed: 0,
            failed: 0,
            left_out: 0,
        }
    }

    /// Whether something new may be begun; else it is counted as left out.
    pub(crate) fn has_time(&mut self) -> bool {
        let has = self.begun.elapsed() < self.limit;
        self.left_out += usize::from(!has);
        has
    }

    pub(crate) fn failed(&mut self, what: &str, why: &dyn Display) {
        self.failed += 1;
        println!("FAILED {what}: {why}");
    }

    /// Counts a check, and tells one that failed.
    pub(crate) fn check<E: Display>(&mut self, what: &str, outcome: Result<(), E>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(why) => self.failed(what, &why),
        }
    }

    pub(crate) fn end(&self) -> ExitCode {
        println!();
        if self.left_out > 0 {
            println!(
                "{} checks and rows were left out: the time was up after {} s",
                self.left_out,
                self.limit.as_secs()
            );
        }
        println!(
            "{} passed, {} failed, in {:.1} s",
            self.passed,
            self.failed,
            self.begun.elapsed().as_secs_f64()
        );
        ExitCode::from(u8::from(self.failed > 0))
    }
}
