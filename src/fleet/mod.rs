//! Several instances, each with memory of its own: [`Fleet`].
//!
//! What is free on one instance is no use to another. So a request is held against each of them, never against a sum; sums are told
//! beside the largest that fits on one.
//!
//! | what | where |
//! | --- | --- |
//! | an instance and what it serves | `member` |
//! | where a request goes; why nowhere | `placement`, `refusal`, `answers` |
//! | how large one may be | `largest` |
//! | memory and token service in use | `share` |
//! | a sequence that goes on elsewhere | `moving`, `moves` |
//! | memory lent to another model | `loan`, `lending` |
//! | what can be wrong | `error`, `move_error`, `loan_error`, `audit` |
//! | what became of the requests | `statistics` |

mod answers;
mod audit;
mod error;
mod largest;
mod lending;
mod loan;
mod loan_error;
mod member;
mod move_error;
mod moves;
mod moving;
mod placement;
mod refusal;
mod share;
mod statistics;

pub use self::audit::FleetInconsistency;
pub use self::error::{
    AddError, NoService, NoSuchInstance, NotEmpty, RemoveError, SameInstance, SharedName,
    SharedPool,
};
pub use self::largest::Largest;
pub use self::loan::{Loan, LoanStage, LoanState};
pub use self::loan_error::{LendError, LoanError, NoSuchLoan, SettleError};
pub use self::member::{InstanceId, InstanceState, Member};
pub use self::move_error::{AbortError, FinishError, MoveError, MoveOver};
pub use self::moving::{Move, MoveTerms};
pub use self::placement::{Candidate, Placed, Placement};
pub use self::refusal::NoPlace;
pub use self::share::{Portion, Share};
pub use self::statistics::FleetStatistics;

use alloc::vec::Vec;

use self::loan::Debt;
use self::member::{Entry, shard_names};
use crate::error::{OutOfMemory, Returned};
use crate::instance::Instance;
use crate::lease::Leases;
use crate::sequence::Sequences;

/// The instances of one scheduler: replicas of a model, or instances of several.
///
/// It has one owner. A request names its model, and goes to one instance as a whole; a sequence's further calls go to that
/// [instance](Self::get_mut).
///
/// ```
/// use kvblock::{Admit, Fleet, Growth, Instance, Member, Namespace, NoPlace, Placement, PoolConfig, Prompt, Rank, SequencesConfig, ShardId};
///
/// // Two replicas of model 7 with 4 blocks of 16 positions each; each computes up to 512 positions in a step.
/// let mut fleet = Fleet::new();
/// for shard in [0, 1] {
///     let rank = Rank::new(ShardId::new(shard), 4);
///     let replica = Instance::lockstep(&[rank], &PoolConfig::new(4, 16), &SequencesConfig::new(8))?;
///     fleet.add(replica, Member::new(7, 512))?;
/// }
/// let (space, prompt) = (Namespace::new(), [1; 48]);
/// let request = Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand);
///
/// // Each takes one request of 3 blocks. Then 1 block is left on each: 2 in sum, and 32 positions fit nowhere.
/// let first = fleet.admit(7, &request, Placement::MostFree)?;
/// let second = fleet.admit(7, &request, Placement::MostFree)?;
/// assert_ne!(first.instance, second.instance);
/// let largest = fleet.largest(7);
/// assert_eq!((largest.now, largest.sum_now), (16, 32));
/// let more = Admit::new(Prompt::new(&space, &[2; 32]), Growth::OnDemand);
/// let refused = fleet.admit(7, &more, Placement::MostFree).unwrap_err();
/// assert!(matches!(refused, NoPlace::Later { available_sum: 2, fits_in_sum: true, .. }));
///
/// fleet.get_mut(first.instance)?.release(first.admitted.handle)?;
/// assert_eq!(fleet.admit(7, &more, Placement::MostFree)?.instance, first.instance);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Fleet {
    /// By their ids.
    members: Vec<Entry>,
    /// Instances that were ever added.
    added: u64,
    statistics: FleetStatistics,
    /// Loans that are not over, by their names.
    loans: Vec<Debt>,
    /// Loans that were ever given.
    lent: u64,
    /// The latest time that it was told.
    now: u64,
}

impl Fleet {
    /// A fleet without instances.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            members: Vec::new(),
            added: 0,
            statistics: FleetStatistics::new(),
            loans: Vec::new(),
            lent: 0,
            now: 0,
        }
    }

    /// Takes an instance in and names it. Its shards, or ranks, need names that no other instance of the fleet has for its own: so a
    /// [`Handle`](crate::Handle) of one instance is stale on the others.
    ///
    /// # Errors
    /// The instance comes back with an [`AddError`]: it can compute nothing, has a pool or a shard's name of another instance's, or no
    /// memory.
    ///
    /// Compares its pools and names with all others.
    pub fn add(
        &mut self,
        instance: Instance,
        member: Member,
    ) -> Result<InstanceId, Returned<Instance, AddError>> {
        match self.prepare(&instance, &member) {
            Ok(leases) => {
                let id = InstanceId(self.added);
                self.added = self.added.saturating_add(1);
                let state = if member.ready {
                    InstanceState::Ready
                } else {
                    InstanceState::Starting
                };
                self.members.push(Entry {
                    id,
                    instance,
                    member,
                    state,
                    turn: 0,
                    leases,
                });
                Ok(id)
            }
            Err(error) => Err(Returned {
                error,
                value: instance,
            }),
        }
    }

    /// All that can fail when an instance is added.
    fn prepare(&mut self, instance: &Instance, member: &Member) -> Result<Vec<Leases>, AddError> {
        if member.service == 0 {
            return Err(NoService.into());
        }
        for it in instance.shards() {
            let mut others = self.members.iter();
            if let Some(other) = others.find(|other| other.shares_a_pool(it.core())) {
                return Err(SharedPool {
                    shard: it.pool().shard(),
                    instance: other.id,
                }
                .into());
            }
        }
        for shard in shard_names(instance) {
            let mut others = self.members.iter();
            if let Some(other) = others.find(|it| shard_names(&it.instance).any(|it| it == shard)) {
                return Err(SharedName {
                    shard,
                    instance: other.id,
                }
                .into());
            }
        }
        self.members.try_reserve(1).map_err(|_| OutOfMemory)?;
        let mut leases = instance.leases(member.lease_budget)?;
        for table in &mut leases {
            table.tick(self.now);
        }
        Ok(leases)
    }

    /// Takes an instance out. Its name is not given again.
    ///
    /// # Errors
    /// [`RemoveError::NotEmpty`]: it has sequences, writers may still touch its blocks, a move may still read them, or it has lent or
    /// borrowed memory. [Drain](Self::drain) it first. [`RemoveError::NoSuchInstance`].
    pub fn remove(&mut self, instance: InstanceId) -> Result<Instance, RemoveError> {
        let at = self.place_of(instance)?;
        let entry = self.entry(instance)?;
        let shards = entry.instance.shards();
        let busy = NotEmpty {
            sequences: entry.instance.len(),
            loading: shards.iter().map(Sequences::loading_blocks).sum(),
            leases: entry.leases.iter().map(Leases::len).sum(),
            loans: self.loans_of(instance).count(),
        };
        if busy.sequences + busy.loading + busy.leases + busy.loans > 0 {
            return Err(busy.into());
        }
        Ok(self.members.remove(at).instance)
    }

    /// An instance takes requests from now on: a new one, or one that was draining.
    ///
    /// # Errors
    /// [`NoSuchInstance`].
    pub fn set_ready(&mut self, instance: InstanceId) -> Result<(), NoSuchInstance> {
        self.entry_mut(instance)?.state = InstanceState::Ready;
        Ok(())
    }

    /// An instance takes no requests, and no moves, from now on. Its sequences go on.
    ///
    /// # Errors
    /// [`NoSuchInstance`].
    pub fn drain(&mut self, instance: InstanceId) -> Result<(), NoSuchInstance> {
        self.entry_mut(instance)?.state = InstanceState::Draining;
        Ok(())
    }

    /// Whether an instance takes requests.
    ///
    /// # Errors
    /// [`NoSuchInstance`].
    pub fn state(&self, instance: InstanceId) -> Result<InstanceState, NoSuchInstance> {
        Ok(self.entry(instance)?.state)
    }

    /// What an instance was added as.
    ///
    /// # Errors
    /// [`NoSuchInstance`].
    pub fn member(&self, instance: InstanceId) -> Result<&Member, NoSuchInstance> {
        Ok(&self.entry(instance)?.member)
    }

    /// An instance, to be read.
    ///
    /// # Errors
    /// [`NoSuchInstance`].
    pub fn get(&self, instance: InstanceId) -> Result<&Instance, NoSuchInstance> {
        Ok(&self.entry(instance)?.instance)
    }

    /// An instance, for the calls on its sequences.
    ///
    /// # Errors
    /// [`NoSuchInstance`].
    pub fn get_mut(&mut self, instance: InstanceId) -> Result<&mut Instance, NoSuchInstance> {
        Ok(&mut self.entry_mut(instance)?.instance)
    }

    /// The names of all instances, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = InstanceId> + '_ {
        self.members.iter().map(|it| it.id)
    }

    /// Instances.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn place_of(&self, instance: InstanceId) -> Result<usize, NoSuchInstance> {
        let found = self.members.binary_search_by_key(&instance, |it| it.id);
        found.map_err(|_| NoSuchInstance { instance })
    }

    fn entry(&self, instance: InstanceId) -> Result<&Entry, NoSuchInstance> {
        let at = self.place_of(instance)?;
        self.members.get(at).ok_or(NoSuchInstance { instance })
    }

    fn entry_mut(&mut self, instance: InstanceId) -> Result<&mut Entry, NoSuchInstance> {
        let at = self.place_of(instance)?;
        self.members.get_mut(at).ok_or(NoSuchInstance { instance })
    }

    /// Two different instances.
    fn two_mut<E>(&mut self, a: InstanceId, b: InstanceId) -> Result<(&mut Entry, &mut Entry), E>
    where
        E: From<NoSuchInstance> + From<SameInstance>,
    {
        let (at, other) = (self.place_of(a)?, self.place_of(b)?);
        let (low, high) = self.members.split_at_mut(at.max(other));
        match (low.get_mut(at.min(other)), high.first_mut()) {
            (Some(low), Some(high)) if at < other => Ok((low, high)),
            (Some(low), Some(high)) => Ok((high, low)),
            _ => Err(SameInstance { instance: a }.into()),
        }
    }
}

const _: () = {
    const fn sent<T: Send>() {}
    sent::<Fleet>();
};
