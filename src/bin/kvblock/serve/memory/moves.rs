//! Both ends of a move: a sequence is offered here, or comes from another engine's memory.

use alloc::vec::Vec;

use kvblock::{
    Admit, CommitError, ExportError, Handle, Import, ImportError, Instance, InstanceExport,
    InstanceIncoming, Lease, LeaseError, Leases, Namespace, Owner, Terms,
};

use super::{Memory, entered};
use crate::failure::{Failure, cannot_fail};
use crate::serve::fetch::{Fate, News};

/// A move that has begun, at its destination.
#[derive(Debug)]
pub(crate) struct Arriving {
    pub(crate) handle: Handle,
    pub(crate) hit: usize,
    /// Blocks that are to be written.
    pub(crate) blocks: usize,
    imports: Vec<Import>,
}

impl Memory {
    /// Offers a sequence to be moved; `None` if that cannot be now.
    pub(crate) fn export(
        &mut self,
        handle: Handle,
        namespace: &Namespace,
        number: u64,
    ) -> Result<Option<InstanceExport>, Failure> {
        let Some(leases) = &mut self.exports else {
            return Ok(None);
        };
        let terms = Terms::moving(Owner::new(number), Lease::NO_DEADLINE);
        match self.instance.export(handle, namespace, leases, &terms) {
            Ok(export) => Ok(Some(export)),
            // Its last block is being copied, or a copy of it cannot be promised, or so much is offered already.
            Err(
                ExportError::CopyPending(_)
                | ExportError::Refused(_)
                | ExportError::Lease(LeaseError::OverBudget { .. }),
            ) => Ok(None),
            Err(other) => Err(cannot_fail("export")(other)),
        }
    }

    /// Takes blocks for a sequence that is offered elsewhere; `None` if there are not enough.
    pub(crate) fn take_in(
        &mut self,
        admit: &Admit<'_>,
        export: &InstanceExport,
    ) -> Result<Option<Arriving>, Failure> {
        let incoming = InstanceIncoming::from_export(export, self.moves.writers());
        let imported = match self.instance.import(admit, &incoming) {
            Ok(imported) => imported,
            Err(ImportError::Admit(error)) => {
                entered(Err(error))?.err();
                return Ok(None);
            }
            Err(other) => return Err(cannot_fail("import")(other)),
        };
        Ok(Some(Arriving {
            handle: imported.handle,
            hit: imported.hit,
            blocks: imported.imports.iter().map(|it| it.ids().len()).sum(),
            imports: imported.imports,
        }))
    }

    /// The writers begin; false if there is nothing to be written.
    pub(crate) fn begin_move(&mut self, arriving: Arriving, number: u64, fate: Fate) -> bool {
        self.moves
            .begin(arriving.handle, arriving.imports, number, fate)
    }

    /// A step passes for the writers of moves to this memory; adds what it brings.
    pub(crate) fn load_moves(&mut self, news: &mut Vec<News>) -> Result<(), Failure> {
        if self.moves.is_under_way() {
            self.changes += 1;
            news.extend_from_slice(self.moves.step()?);
        }
        Ok(())
    }

    /// A moved sequence goes on here from now on; false if the source has called the move off.
    pub(crate) fn commit(&mut self, handle: Handle) -> Result<bool, Failure> {
        self.changes += 1;
        match self.instance.commit(handle) {
            Ok(()) => Ok(true),
            Err(CommitError::Aborted(_)) => Ok(false),
            Err(other) => Err(cannot_fail("commit")(other)),
        }
    }

    /// Blocks that are here and at the other end of a move, on all shards.
    pub(crate) fn duplicated(&self) -> usize {
        let shards = self.shards().iter();
        shards.map(|it| it.report().duplicated).sum()
    }

    /// Blocks of a sequence.
    pub(crate) fn blocks_of(&self, handle: Handle) -> Result<usize, Failure> {
        let state = self.instance.state(handle).map_err(cannot_fail("state"))?;
        Ok(state.blocks)
    }
}

/// Tables for what is offered, with room for all that there is.
pub(super) fn exports(instance: &Instance) -> Result<Vec<Leases>, Failure> {
    let shards = instance.shards().iter();
    let most = shards.map(|it| it.pool().capacity()).max().unwrap_or(0);
    instance
        .leases(most.saturating_mul(2))
        .map_err(|error| Failure::Input(alloc::format!("no moves can be made: {error}")))
}
