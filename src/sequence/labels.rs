//! Sequences by the engine's label: a map from label to a list through the slots.

use alloc::boxed::Box;

use hashbrown::HashMap;

use crate::array::array;
use crate::error::CreateError;

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    after: u32,
}

/// The slots of each label, the latest first.
#[derive(Debug)]
pub(super) struct Labels {
    latest: HashMap<u64, u32>,
    links: Box<[Links]>,
}

impl Labels {
    pub(super) fn new(slots: usize) -> Result<Self, CreateError> {
        let mut latest = HashMap::new();
        // Twice as many as there are: then places of removed labels are cleared in place, and it never grows.
        latest
            .try_reserve(2 * slots)
            .map_err(|_| CreateError::OutOfMemory {
                bytes: 2 * slots.saturating_mul(size_of::<(u64, u32)>()),
            })?;
        let unlinked = Links {
            before: NONE,
            after: NONE,
        };
        Ok(Self {
            latest,
            links: array(slots, |_| unlinked)?,
        })
    }

    pub(super) fn insert(&mut self, label: u64, slot: usize) {
        let name = u32::try_from(slot).unwrap_or(NONE);
        let after = self.latest.insert(label, name).unwrap_or(NONE);
        if after != NONE {
            self.links[after as usize].before = name;
        }
        self.links[slot] = Links {
            before: NONE,
            after,
        };
    }

    pub(super) fn remove(&mut self, label: u64, slot: usize) {
        let Links { before, after } = self.links[slot];
        if after != NONE {
            self.links[after as usize].before = before;
        }
        if before != NONE {
            self.links[before as usize].after = after;
        } else if after != NONE {
            self.latest.insert(label, after);
        } else {
            self.latest.remove(&label);
        }
    }

    pub(super) fn slots(&self, label: u64) -> impl Iterator<Item = usize> + '_ {
        let some = |slot: u32| (slot != NONE).then_some(slot as usize);
        let first = self.latest.get(&label).copied().and_then(some);
        core::iter::successors(first, move |&slot| some(self.links[slot].after))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_label_lists_its_slots_latest_first() {
        let mut labels = Labels::new(8).unwrap();
        let of = |labels: &Labels, label| labels.slots(label).collect::<Vec<_>>();
        for slot in 0..6 {
            labels.insert(slot as u64 % 2, slot);
        }
        assert_eq!(of(&labels, 0), [4, 2, 0]);
        assert_eq!(of(&labels, 1), [5, 3, 1]);
        for (slot, left) in [(2, &[4, 0][..]), (4, &[0]), (0, &[])] {
            labels.remove(0, slot);
            assert_eq!(of(&labels, 0), left);
        }
        labels.remove(1, 1);
        labels.insert(1, 7);
        assert_eq!(of(&labels, 1), [7, 5, 3]);
        assert_eq!(of(&labels, 9), [0; 0]);
    }
}
