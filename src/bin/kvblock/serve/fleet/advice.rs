//! What to do next where a fleet's figures suffer from the options.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::summary::{FleetSummary, Instance, first_of, seconds};
use crate::summary::grouped;

impl FleetSummary {
    /// From when on the only instance took no more, and when the next one was ready, if that was later.
    pub(crate) fn gap_in_service(&self) -> Option<(f64, f64)> {
        if self.asked.instances > 1 {
            return None;
        }
        let figures = |it: &Instance| it.figures;
        let from = self.instances.first().map(figures)?.drained_from?;
        let to = self.instances.iter().skip(1).map(|it| it.figures.ready);
        let to = to.flatten().min()?;
        (to > from).then(|| (seconds(from), seconds(to)))
    }

    /// What to do next, one sentence each.
    pub(crate) fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let (now, ever) = (&self.fits_in_total_now, &self.fits_in_total_ever);
        if ever.requests > 0 {
            advice.push(format!(
                "{} requests need more blocks than any instance has, and not more than all have{}: fewer --instances with more blocks each ({})",
                grouped(ever.requests),
                first_of(ever),
                self.blocks_option()
            ));
        }
        if now.requests > 0 {
            let cap = if self.growth == "cap" {
                ", or `--growth ahead:2`, which promises less"
            } else {
                ""
            };
            advice.push(format!(
                "{} requests waited although all instances had the blocks together{}: fewer and larger instances strand less{cap}",
                grouped(now.requests),
                first_of(now)
            ));
        }
        if let Some((from, to)) = self.gap_in_service() {
            advice.push(format!(
                "no instance was ready from {from:.3} s to {to:.3} s, and requests waited: a later --drain-at, an earlier --scale-out-at or a shorter --ready-after"
            ));
        }
        let added = |it: &Instance| it.figures.is_new;
        if self.asked.scale_out.is_some() && !self.instances.iter().any(added) {
            advice.push(String::from(
                "the run was over before the new instance was added: an earlier --scale-out-at",
            ));
        }
        for it in self.instances.iter().filter(|it| added(it)) {
            if it.figures.ready.is_none() {
                advice.push(String::from(
                    "the run was over before the new instance was ready: a shorter --ready-after, or an earlier --scale-out-at",
                ));
            } else if it.figures.first_request.is_none() && it.figures.moved_in == 0 {
                advice.push(String::from(
                    "the new instance got nothing: `--placement most-free` sends it requests, and --migrate sequences that run",
                ));
            }
        }
        if self.asked.drain_at.is_some() {
            let drained = self.instances.first().map(|it| it.figures);
            if drained.is_some_and(|it| it.drained_from.is_none()) {
                advice.push(String::from(
                    "the run was over before instance 0 was drained: an earlier --drain-at",
                ));
            }
            let alone = self.gap_in_service().is_some();
            let none = self.migrate && self.moves.begun == 0 && !alone;
            let stayed = drained.filter(|it| none && it.removed > it.drained_from);
            if let Some((from, to)) = stayed.and_then(|it| Some((it.drained_from?, it.removed?))) {
                advice.push(format!(
                    "no sequence could move away from instance 0, which was empty {:.3} s after its drain: others with more blocks ({}) or --max-sequences have room for them",
                    seconds(to - from),
                    self.blocks_option()
                ));
            }
        }
        advice
    }
}
