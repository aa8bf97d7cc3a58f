//! The sweep: one trace through the same memory in blocks of several sizes, side by side.

use alloc::format;
use alloc::string::ToString;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

use super::summary::Summary;
use crate::summary::grouped;

/// Prints a row for each run.
pub(crate) fn write(runs: &[Summary], out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.add_row([
        "block size",
        "blocks",
        "tail waste",
        "of held",
        "table entries",
        "hit ratio",
        "held blocks",
        "held positions",
        "preemptions",
    ]);
    for run in runs {
        let size = run.block_size as f64;
        table.add_row([
            run.block_size.to_string(),
            grouped(run.blocks as u64),
            format!("{:.1}", run.tail_waste_mean),
            format!("{:.2} %", run.tail_waste_share * 100.0),
            format!("{:.1}", run.table_entries_mean),
            format!("{:.4}", run.hit_ratio),
            format!("{:.1}", run.held_mean),
            format!("{:.0}", run.held_mean * size),
            grouped(run.preemptions),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}
