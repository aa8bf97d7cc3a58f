//! Plans as tables, for people.

use core::fmt::{self, Display};

use super::instance::InstancePlan;
use super::rank::CapacityPlan;
use super::size::{Bytes, Size};

/// Starts a row: what is done with the value, its name, the value and its unit, all aligned.
fn row(
    f: &mut fmt::Formatter<'_>,
    sign: char,
    name: &dyn Display,
    value: u64,
    unit: &str,
) -> fmt::Result {
    write!(f, "  {sign} {name:<16}{value:>18} {unit}")
}

/// A row of bytes, exactly and in a binary unit.
fn bytes(f: &mut fmt::Formatter<'_>, sign: char, name: &dyn Display, value: u64) -> fmt::Result {
    row(f, sign, name, value, "bytes")?;
    if let Some((whole, hundredths, unit)) = Size(value).parts() {
        write!(f, "{whole:>11}.{hundredths:02} {unit}")?;
    }
    writeln!(f)
}

impl Display for CapacityPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    {} layers, {}", self.layers(), self.shape())?;
        bytes(f, ' ', &"device memory", self.device_memory())?;
        for (term, needed) in self.terms() {
            bytes(f, '-', term, *needed)?;
        }
        bytes(f, '=', &"left for K/V", self.cache_bytes())?;
        bytes(f, ' ', &"a block", self.block_bytes())?;
        row(f, ' ', &"blocks", self.blocks() as u64, "blocks")?;
        writeln!(f, " of {} positions", self.block_size())?;
        bytes(f, ' ', &"remainder", self.remainder())?;
        row(
            f,
            ' ',
            &"longest request",
            self.longest_request(),
            "positions",
        )
    }
}

impl Display for InstancePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.ranks() {
            return only.fmt(f);
        }
        let mut first = 0;
        for alike in self.ranks().chunk_by(PartialEq::eq) {
            let Some(plan) = alike.first() else { continue };
            match alike.len() {
                1 => writeln!(f, "rank {first}")?,
                n => writeln!(f, "ranks {first} to {}, each", first + n - 1)?,
            }
            writeln!(f, "{plan}")?;
            let stranded = self.stranded_blocks(first).unwrap_or(0);
            if stranded > 0 {
                row(f, ' ', &"stranded", stranded as u64, "blocks")?;
                let bytes = Bytes(self.stranded_bytes(first).unwrap_or(0));
                writeln!(f, ", {bytes}: rank {} has fewer", self.binding_rank())?;
            }
            first += alike.len();
        }
        writeln!(f, "all {first} ranks in lockstep")?;
        row(f, ' ', &"usable", self.blocks() as u64, "blocks")?;
        if (0..first).all(|rank| self.stranded_blocks(rank) == Some(0)) {
            writeln!(f, ", which each rank has")?;
        } else {
            writeln!(f, ", as many as rank {} has", self.binding_rank())?;
        }
        row(
            f,
            ' ',
            &"longest request",
            self.longest_request(),
            "positions",
        )
    }
}
