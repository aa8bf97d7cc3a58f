//! Both ends of a swap: a sequence goes to the host tier, or comes back from it.

use alloc::vec::Vec;

use kvblock::{
    Admit, AdmitError, ExportError, Growth, Handle, Holder, ImportError, Instance, Namespace,
    Prompt, Refused, SequencesReport, SwapError,
};

use super::{Entered, Memory};
use crate::failure::{Failure, cannot_fail};
use crate::serve::queue::Seniority;
use crate::serve::swap::{Swapping, Swaps, Way};

impl Memory {
    /// Whether who loses its memory may go to a host tier.
    pub(crate) const fn swaps(&self) -> bool {
        self.swaps.is_some()
    }

    pub(crate) const fn swapping(&self) -> Option<&Swaps> {
        self.swaps.as_ref()
    }

    pub(crate) const fn count_wait_for_swaps(&mut self) {
        if let Some(swaps) = &mut self.swaps {
            swaps.figures.waits_for_swaps += 1;
        }
    }

    /// A step computes nothing: it waits for swaps, if there are any.
    pub(crate) fn count_swap_step(&mut self) {
        if let Some(swaps) = &mut self.swaps {
            swaps.figures.swap_steps += u64::from(!swaps.under_way.is_empty());
        }
    }

    /// Whether some swap is under way.
    pub(crate) fn is_swapping(&self) -> bool {
        let swaps = self.swaps.as_ref();
        swaps.is_some_and(|it| !it.under_way.is_empty())
    }

    /// Sequences that have left, and whose blocks are not back yet.
    pub(crate) fn leaving(&self) -> usize {
        let swaps = self.swaps.iter().flat_map(|it| &it.under_way);
        swaps.filter(|it| it.wanted && it.way == Way::Out).count()
    }

    /// Whether a sequence has left, and has not arrived in host memory yet.
    pub(crate) fn is_leaving(&self, who: Seniority) -> bool {
        let mut swaps = self.swaps.iter().flat_map(|it| &it.under_way);
        swaps.any(|it| it.wanted && it.way == Way::Out && it.who == who)
    }

    /// Begins to swap a sequence out, with its first `tokens`; false if it is to be computed again instead.
    pub(crate) fn swap_out(
        &mut self,
        handle: Handle,
        who: Seniority,
        tokens: &[u32],
        namespace: &Namespace,
    ) -> Result<bool, Failure> {
        let state = self.instance.state(handle).map_err(cannot_fail("state"))?;
        if state.positions > tokens.len() {
            // For the step that is being planned, without it now.
            self.truncate(handle, tokens.len())?;
        }
        let frees = self.frees(handle)?;
        let Some(swaps) = &mut self.swaps else {
            return Ok(false);
        };
        let request =
            Admit::new(Prompt::new(namespace, tokens), Growth::OnDemand).label(state.label);
        let owner = swaps.owner();
        let [leases, _] = &mut swaps.leases;
        let host = &mut swaps.host;
        let swap = match self.instance.swap_to(handle, host, &request, leases, owner) {
            Ok(swap) => swap,
            Err(SwapError::Destination(ImportError::Admit(
                AdmitError::Refused(_) | AdmitError::TooManySequences(_),
            ))) => {
                swaps.figures.host_was_full += 1;
                return Ok(false);
            }
            Err(SwapError::Source(ExportError::CopyPending(_) | ExportError::InTransit(_))) => {
                swaps.figures.swaps_not_ready += 1;
                return Ok(false);
            }
            Err(other) => return Err(cannot_fail("swap_to")(other)),
        };
        swaps.launch(Swapping {
            swap,
            way: Way::Out,
            who,
            frees,
            wanted: true,
        })?;
        Ok(true)
    }

    /// Blocks that the end of a sequence makes available, on the shard where these are the fewest.
    fn frees(&self, handle: Handle) -> Result<usize, Failure> {
        let mut victims = Vec::new();
        let mut least = usize::MAX;
        for it in self.shards() {
            let frees = it.select_victims(&[handle], usize::MAX, &mut victims);
            least = least.min(frees.map_err(cannot_fail("select_victims"))?);
        }
        Ok(least)
    }

    /// Begins to swap a sequence in that is in host memory, or says why not now or never.
    pub(crate) fn swap_in(
        &mut self,
        who: Seniority,
        request: &Admit<'_>,
    ) -> Result<Option<Result<Entered, Refused>>, Failure> {
        let Some(swaps) = &mut self.swaps else {
            return Ok(None);
        };
        let Some(&source) = swaps.stored.get(&who) else {
            return Ok(None);
        };
        let owner = swaps.owner();
        let [_, leases] = &mut swaps.leases;
        let swap = swaps
            .host
            .swap_to(source, &mut self.instance, request, leases, owner);
        let swap = match swap {
            Ok(swap) => swap,
            Err(error) => {
                let refused = error.refused().ok_or(error);
                return Ok(Some(Err(refused.map_err(cannot_fail("swap_to"))?)));
            }
        };
        let entered = Entered {
            handle: swap.handle(),
            hit: swap.hit(),
            loads: true,
        };
        swaps.launch(Swapping {
            swap,
            way: Way::In,
            who,
            frees: 0,
            wanted: true,
        })?;
        Ok(Some(Ok(entered)))
    }

    /// A step has passed for the buses: who has arrived goes on there. Adds who has come back.
    pub(crate) fn carry_swaps(&mut self, back: &mut Vec<Handle>) -> Result<(), Failure> {
        if let Some(swaps) = &mut self.swaps {
            swaps.carry();
        }
        self.finish_swaps(back)
    }

    fn finish_swaps(&mut self, back: &mut Vec<Handle>) -> Result<(), Failure> {
        let Some(swaps) = &mut self.swaps else {
            return Ok(());
        };
        while let Some(mut done) = swaps.take_done() {
            self.changes += 1;
            if !done.wanted {
                continue;
            }
            let (device, host) = (&mut self.instance, &mut swaps.host);
            let (from, to): (&mut Instance, &mut Instance) = match done.way {
                Way::Out => (device, host),
                Way::In => (host, device),
            };
            let handle = done.swap.finish(from, to);
            let handle = handle.map_err(cannot_fail("finish"))?;
            match done.way {
                Way::Out => {
                    swaps.stored.insert(done.who, handle);
                }
                Way::In => {
                    swaps.stored.remove(&done.who);
                    back.push(handle);
                }
            }
        }
        Ok(())
    }

    /// Calls the swap off that brings a sequence, and forgets it on the host; false if none does.
    pub(super) fn give_up_swap_in(&mut self, handle: Handle) -> Result<bool, Failure> {
        let Some(swaps) = &mut self.swaps else {
            return Ok(false);
        };
        let brings =
            |it: &&mut Swapping| it.wanted && it.way == Way::In && it.swap.handle() == handle;
        let Some(swapping) = swaps.under_way.iter_mut().find(brings) else {
            return Ok(false);
        };
        let swap = &mut swapping.swap;
        swap.abort(&mut self.instance)
            .map_err(cannot_fail("abort"))?;
        let released = swaps.host.release(swap.source());
        released.map_err(cannot_fail("release"))?;
        swapping.wanted = false;
        swaps.stored.remove(&swapping.who);
        swaps.figures.swaps_called_off += 1;
        Ok(true)
    }

    /// A request has ended: what of it is in host memory, or on its way there, is given back.
    pub(crate) fn forget_swapped(&mut self, arrived: u64) -> Result<(), Failure> {
        let Some(swaps) = &mut self.swaps else {
            return Ok(());
        };
        self.changes += 1;
        let mut sources = Vec::new();
        let those =
            |it: &&mut Swapping| it.wanted && it.way == Way::Out && it.who.arrived == arrived;
        for swapping in swaps.under_way.iter_mut().filter(those) {
            let aborted = swapping.swap.abort(&mut swaps.host);
            aborted.map_err(cannot_fail("abort"))?;
            swapping.wanted = false;
            swaps.figures.swaps_called_off += 1;
            sources.push(swapping.swap.source());
        }
        let branches = |branch| Seniority { arrived, branch };
        let stored: Vec<_> = swaps
            .stored
            .range(branches(0)..=branches(u64::MAX))
            .map(|(&who, &handle)| (who, handle))
            .collect();
        for (who, handle) in stored {
            swaps.stored.remove(&who);
            let released = swaps.host.release(handle);
            released.map_err(cannot_fail("release"))?;
        }
        for source in sources {
            self.release(source)?;
        }
        Ok(())
    }

    /// Waits until the buses have carried everything; nobody waits for any of it. False if there was nothing.
    pub(super) fn wait_for_swaps(&mut self) -> Result<bool, Failure> {
        let waits = self.is_swapping();
        if let Some(swaps) = &mut self.swaps {
            swaps.carry_all();
        }
        self.finish_swaps(&mut Vec::new())?;
        Ok(waits)
    }

    /// What the host tier's registries say.
    pub(crate) fn host_reports(&self) -> Vec<SequencesReport> {
        let shards = self.swaps.iter().flat_map(|it| it.host.shards());
        shards.map(kvblock::Sequences::report).collect()
    }

    /// Recounts the host tier; the first thing that disagrees, if there is one.
    pub(super) fn audit_host(&self) -> Option<alloc::string::String> {
        let swaps = self.swaps.as_ref()?;
        let [_, leases] = &swaps.leases;
        let others: Vec<_> = leases.iter().map(|it| it as &dyn Holder).collect();
        let found = swaps.host.audit(&others).err()?;
        Some(alloc::format!("host tier: {found}"))
    }
}
