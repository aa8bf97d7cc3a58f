//! The sweep: one trace through the same memory in blocks of several sizes, side by side.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

use super::summary::Summary;

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
        "do not fit",
    ]);
    for run in runs {
        table.add_row(run.sweep_row());
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}
