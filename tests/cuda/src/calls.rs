//! The calls made, and those that are to fail.

use std::collections::BTreeMap;

use crate::error::Code;

/// A failure that was asked for.
#[derive(Debug)]
struct Planned {
    /// `None`: any function.
    function: Option<String>,
    /// Calls until it happens.
    left: u64,
    code: Code,
}

/// A log of calls and the plan of failures.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    log: Vec<&'static str>,
    counts: BTreeMap<&'static str, u64>,
    planned: Vec<Planned>,
    failed: u64,
}

impl Calls {
    /// Notes a call; answers the code with which it is to fail.
    pub(crate) fn enter(&mut self, name: &'static str) -> Option<Code> {
        self.log.push(name);
        *self.counts.entry(name).or_insert(0) += 1;
        let mut code = None;
        for planned in &mut self.planned {
            if planned.left > 0
                && planned
                    .function
                    .as_deref()
                    .is_none_or(|function| same(function, name))
            {
                planned.left -= 1;
                if planned.left == 0 && code.is_none() {
                    code = Some(planned.code);
                }
            }
        }
        self.planned.retain(|planned| planned.left > 0);
        self.failed += u64::from(code.is_some());
        code
    }

    /// The `nth` call from now on (1: the next one) of a function, or of any, fails with `code`.
    pub(crate) fn fail(&mut self, function: Option<String>, nth: u64, code: Code) {
        self.planned.push(Planned {
            function,
            left: nth,
            code,
        });
    }

    pub(crate) fn forget_failures(&mut self) {
        self.planned.clear();
    }

    pub(crate) fn count(&self, function: &str) -> u64 {
        self.counts
            .iter()
            .filter(|(name, _)| same(function, name))
            .map(|(_, count)| count)
            .sum()
    }

    pub(crate) fn log(&self) -> &[&'static str] {
        &self.log
    }

    /// Failures that were asked for and have happened.
    pub(crate) fn failed(&self) -> u64 {
        self.failed
    }
}

/// Whether the names mean the same function: `_v2` may be left out.
fn same(asked: &str, name: &str) -> bool {
    asked == name || name.strip_suffix("_v2") == Some(asked)
}
