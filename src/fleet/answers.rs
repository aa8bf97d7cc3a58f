//! The answers of the instances that refused a request, and what they come to.

use super::member::{Entry, InstanceId, InstanceState};
use super::refusal::NoPlace;
use crate::error::Refused;
use crate::sequence::AdmitError;

/// Why one instance does not take a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// The answer of its registry.
    Admit(AdmitError),
    /// More would be demanded of it than may be.
    ServiceFull { needed: u64, demanded: u64 },
}

/// The answers so far.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Instances of the model.
    instances: usize,
    /// Positions that these can have together ever, and now.
    capacity: usize,
    available: usize,
    /// Some take no request yet, and could have it.
    starting: bool,
    /// Who is the largest that is too small.
    never: Option<Nearest>,
    /// Who lacks the least memory.
    later: Option<Nearest>,
    /// Who lacks the least service.
    service: Option<(u64, NoPlace)>,
    other: Option<AdmitError>,
}

/// The instance that comes nearest to having the memory.
#[derive(Clone, Copy, Debug)]
struct Nearest {
    instance: InstanceId,
    block_size: usize,
    /// Positions that it has, or lacks.
    positions: usize,
    refused: Refused,
}

impl Answers {
    /// One more serves the model.
    pub(super) fn count(&mut self, entry: &Entry) {
        self.instances += 1;
        if entry.state != InstanceState::Draining {
            let largest = entry.positions(entry.instance.largest());
            self.capacity = self.capacity.saturating_add(largest);
        }
    }

    /// One takes no request yet; this is what it would answer.
    pub(super) fn starting(&mut self, entry: &Entry, answer: Option<Answer>) {
        match answer {
            Some(Answer::Admit(AdmitError::Refused(refused @ Refused::NeverFits { .. }))) => {
                self.refused(entry, refused, 0);
            }
            _ => self.starting = true,
        }
    }

    /// One does not take it.
    pub(super) fn refuse(&mut self, entry: &Entry, answer: Answer) {
        let mut available = entry.instance.free();
        match answer {
            Answer::Admit(AdmitError::Refused(refused)) => {
                if let Refused::Shortfall {
                    available: there, ..
                } = refused
                {
                    // Another shard may have less.
                    available = available.min(there);
                }
                self.refused(entry, refused, available);
            }
            Answer::Admit(error) => self.other = self.other.or(Some(error)),
            Answer::ServiceFull { needed, demanded } => self.no_service(entry, needed, demanded),
        }
        self.available = self.available.saturating_add(entry.positions(available));
    }

    fn refused(&mut self, entry: &Entry, refused: Refused, available: usize) {
        let nearest = |positions| Nearest {
            instance: entry.id,
            block_size: entry.instance.block_size(),
            positions,
            refused,
        };
        match refused {
            Refused::NeverFits { .. } => {
                let has = entry.positions(entry.instance.largest());
                if self.never.is_none_or(|it| has > it.positions) {
                    self.never = Some(nearest(has));
                }
            }
            Refused::Shortfall { needed, .. } => {
                let lacks = entry.positions(needed.saturating_sub(available));
                if self.later.is_none_or(|it| lacks < it.positions) {
                    self.later = Some(nearest(lacks));
                }
            }
        }
    }

    fn no_service(&mut self, entry: &Entry, needed: u64, demanded: u64) {
        let max_service = entry.member.max_service;
        let lacks = needed.saturating_add(demanded).saturating_sub(max_service);
        if self.service.is_none_or(|(least, _)| lacks < least) {
            let refused = NoPlace::ServiceFull {
                instance: entry.id,
                needed,
                demanded,
                max_service,
            };
            self.service = Some((lacks, refused));
        }
    }

    /// What they come to: who has memory comes before who lacks it now, and that before who never has it.
    pub(super) fn sum(self, model: u64) -> NoPlace {
        let instances = self.instances;
        if instances == 0 {
            return NoPlace::NoSuchModel { model };
        }
        if let Some((_, refused)) = self.service {
            return refused;
        }
        if let Some(error) = self.other {
            return NoPlace::Admit(error);
        }
        let never = self.never.filter(|_| !self.starting);
        let Some(nearest) = self.later.or(never) else {
            return NoPlace::NotReady { model, instances };
        };
        let Nearest {
            instance,
            block_size,
            refused,
            ..
        } = nearest;
        match refused {
            Refused::NeverFits {
                shard,
                needed,
                capacity,
            } => NoPlace::Never {
                instance,
                shard,
                needed,
                largest_capacity: capacity,
                sum_capacity: self.capacity / block_size,
            },
            Refused::Shortfall { needed, .. } => {
                let available_sum = self.available / block_size;
                NoPlace::Later {
                    instance,
                    refused,
                    available_sum,
                    fits_in_sum: needed <= available_sum,
                }
            }
        }
    }
}
