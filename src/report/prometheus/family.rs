//! Families of metrics: a name, what it means, and how its figures are taken from a report.
//!
//! A report becomes metrics by a table of families; a [`Section`] keeps the reports of one kind, so that all samples of a family
//! stand together.

use alloc::vec::Vec;
use core::fmt;

use super::error::MetricsError;
use super::labels::Labels;
use crate::array::try_push;
use crate::text::try_to_string;

/// Labels that tell samples of one report apart: no report can have them.
pub(super) const SAMPLE_NAMES: [&str; 6] = ["state", "result", "reason", "lookup", "use", "of"];

/// How a figure behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Goes up and down.
    Gauge,
    /// Only grows, while what is reported lives. Its name ends in `_total`.
    Counter,
}

/// Takes a figure from a report.
pub(super) type Figure<R> = fn(&R) -> u64;

/// The samples that a family has of each report.
pub(super) enum Samples<R: 'static> {
    /// A single one.
    One(Figure<R>),
    /// One for each value of a label.
    By(&'static str, &'static [(&'static str, Figure<R>)]),
}

/// A family of metrics.
pub(super) struct Family<R: 'static> {
    pub(super) name: &'static str,
    /// A line without backslashes.
    pub(super) help: &'static str,
    pub(super) kind: Kind,
    pub(super) samples: Samples<R>,
}

impl<R> Family<R> {
    pub(super) const fn gauge(name: &'static str, help: &'static str, samples: Samples<R>) -> Self {
        Self::new(name, help, Kind::Gauge, samples)
    }

    pub(super) const fn counter(
        name: &'static str,
        help: &'static str,
        samples: Samples<R>,
    ) -> Self {
        Self::new(name, help, Kind::Counter, samples)
    }

    const fn new(name: &'static str, help: &'static str, kind: Kind, samples: Samples<R>) -> Self {
        Self {
            name,
            help,
            kind,
            samples,
        }
    }

    fn write(&self, reports: &[(Labels, R)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name, help, kind, ..
        } = self;
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        writeln!(f, "# HELP {name} {help}")?;
        writeln!(f, "# TYPE {name} {kind}")?;
        for (labels, report) in reports {
            match self.samples {
                Samples::One(figure) => {
                    writeln!(f, "{name}{} {}", labels.set(None), figure(report))?;
                }
                Samples::By(label, samples) => {
                    for (value, figure) in samples {
                        let own = Some((label, *value));
                        writeln!(f, "{name}{} {}", labels.set(own), figure(report))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The reports of one kind, each with labels that no other has.
pub(super) struct Section<R: 'static> {
    families: &'static [Family<R>],
    reports: Vec<(Labels, R)>,
}

/// A report whose figures can be kept without its lists.
pub(super) trait Figures {
    /// The same figures. No allocation.
    fn figures(&self) -> Self;
}

impl<R: Copy> Figures for R {
    fn figures(&self) -> Self {
        *self
    }
}

impl<R: Figures> Section<R> {
    pub(super) const fn new(families: &'static [Family<R>]) -> Self {
        Self {
            families,
            reports: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, labels: &[(&str, &str)], report: &R) -> Result<(), MetricsError> {
        let labels = self.check(labels)?;
        Ok(try_push(&mut self.reports, (labels, report.figures()))?)
    }

    /// Labels that a report can be added with.
    pub(super) fn check(&self, labels: &[(&str, &str)]) -> Result<Labels, MetricsError> {
        let labels = Labels::new(labels, &SAMPLE_NAMES)?;
        if self.reports.iter().any(|(taken, _)| *taken == labels) {
            return Err(MetricsError::Taken {
                labels: try_to_string(labels.set(None))?,
            });
        }
        Ok(labels)
    }

    /// How many reports there are, to [go back](Self::truncate) to.
    pub(super) fn len(&self) -> usize {
        self.reports.len()
    }

    /// Forgets the reports that were added since there were so many.
    pub(super) fn truncate(&mut self, reports: usize) {
        self.reports.truncate(reports);
    }
}

impl<R> fmt::Display for Section<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.reports.is_empty() {
            return Ok(());
        }
        let mut families = self.families.iter();
        families.try_for_each(|family| family.write(&self.reports, f))
    }
}

impl<R> fmt::Debug for Section<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.reports.iter().map(|(labels, _)| labels);
        f.debug_list().entries(labels).finish()
    }
}

/// For the tests of all tables.
#[cfg(all(test, not(loom)))]
impl<R> Section<R> {
    pub(super) const fn families(&self) -> &'static [Family<R>] {
        self.families
    }
}
