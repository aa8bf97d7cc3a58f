//! Chains: what one owner holds of a path from the root.

use core::convert::Infallible;

use kvblock::{Chain, FindError, JoinError, PublishError, Published, Stopped, TakeError};

use super::blocks::kvb_blocks;
use super::kvb_pool;
use super::reservation::kvb_reservation;
use super::upkeep::kvb_worker;
use crate::arg;
use crate::error::{self, kvb_error, plain, refused};
use crate::held::Held;
use crate::namespace::kvb_namespace;
use crate::object;
use crate::prompt::{self, ReadContents, ReadPrompt, kvb_contents, kvb_prompt};
use crate::status::kvb_status;

/// What one owner holds of a path from the root: a published head, then private blocks. For engines whose scheduler keeps block tables of
/// its own; a `kvb_seqs` does all of this for its sequences. Every block stays as it is until the chain is released.
#[derive(Debug)]
pub struct kvb_chain {
    pub(crate) inner: Held<Chain<'static>>,
}

/// Holds the longest prefix of a prompt that is findable, compared token by token. Blocks that somebody holds cost nothing, an idle one
/// costs one of `pay`; the chain ends where nothing more is findable or can be paid, and may be empty.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_chain_release` or `kvb_chain_destroy`. Threads: any, each with a worker of its
/// own; the reservation's. O(blocks); allocates for long prompts, in buffers that the worker uses again.
/// Errors: `KVB_ERR_LENGTH_MISMATCH`, `KVB_ERR_WRONG_POOL` (the worker, the reservation), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_find(
    pool: *const kvb_pool,
    worker: *mut kvb_worker,
    prompt: *const kvb_prompt,
    pay: *mut kvb_reservation,
    out: *mut *mut kvb_chain,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (pool, worker, pay) =
            unsafe { (arg::get(pool)?, arg::get_mut(worker)?, arg::get_mut(pay)?) };
        // SAFETY: as above.
        let (prompt, out) = unsafe { (arg::get(prompt)?, arg::place(out)?) };
        // SAFETY: as above.
        let prompt = unsafe { ReadPrompt::new(prompt) }?;
        let room = object::room::<kvb_chain>()?;
        let found = Held::make(&pool.inner, |pool| {
            pay.inner
                .change(|pay| pool.find(&mut worker.inner, &prompt.lend(), pay))
        });
        let inner = found.map_err(refused::<FindError>)?;
        out.write(room.fill(kvb_chain { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Makes an empty chain for prompts of a namespace; NULL is the bare model's.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_chain_release` or `kvb_chain_destroy`. Threads: any. O(1).
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: `space`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_chain_create(
    pool: *const kvb_pool,
    space: *const kvb_namespace,
    out: *mut *mut kvb_chain,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (pool, space, out) =
            unsafe { (arg::get(pool)?, prompt::space(space), arg::place(out)?) };
        let room = object::room::<kvb_chain>()?;
        let made = Held::make(&pool.inner, |pool| Ok::<_, Infallible>(pool.chain(space)));
        let Ok(inner) = made;
        out.write(room.fill(kvb_chain { inner }));
        Ok(())
    })
}

/// Gives every reference back, the tail first: findable blocks become idle, others free, unless they have other owners. Without a worker,
/// so slower than `kvb_chain_release`.
///
/// Threads: no other call may use it meanwhile. O(blocks). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_destroy(chain: *mut kvb_chain) {
    // SAFETY: the head of the header: made by a function of this library, and not destroyed before.
    drop(unsafe { object::take(chain) });
}

/// Lends the block table: the chain's blocks in order.
///
/// Ownership: the list is the chain's, until the next call that changes or ends it. Threads: the chain's. O(1).
/// Errors: none but those of pointers. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_ids(
    chain: *const kvb_chain,
    ids: *mut *const u32,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (chain, ids, count) =
            unsafe { (arg::get(chain)?, arg::place(ids)?, arg::place(count)?) };
        let all = chain.inner.get().ids();
        ids.write(all.as_ptr().cast());
        count.write(all.len());
        Ok(())
    })
}

/// Blocks of the table, from its start, whose content is findable, or was when it was published.
///
/// Threads: the chain's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_published(chain: *const kvb_chain) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    let chain = unsafe { chain.as_ref() };
    chain.map_or(0, |chain| chain.inner.get().published())
}

/// Takes `blocks` blocks of a promise and puts them at the end of the table: free ones first, then idle ones in the order of reclaim.
///
/// Threads: of the three. O(blocks); allocates where the table has too little room. Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_WRONG_POOL`,
/// `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_take(
    chain: *mut kvb_chain,
    worker: *mut kvb_worker,
    promise: *mut kvb_reservation,
    blocks: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (chain, worker) = unsafe { (arg::get_mut(chain)?, arg::get_mut(worker)?) };
        // SAFETY: as above.
        let promise = unsafe { arg::get_mut(promise) }?;
        let taken = chain.inner.change(|chain| {
            let promise = &mut promise.inner;
            promise.change(|promise| chain.take(&mut worker.inner, promise, blocks))
        });
        taken.map_err(refused::<TakeError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Puts private blocks at the end of the table.
///
/// Ownership: on success `blocks` is gone; otherwise it is as it was. Threads: of both. O(blocks); allocates where the table has too little
/// room. Errors: `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_push(
    chain: *mut kvb_chain,
    blocks: *mut kvb_blocks,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        let blocks = arg::not_null(blocks)?;
        // SAFETY: the head of the header says what pointers must be.
        let chain = unsafe { arg::get_mut(chain) }?;
        let push = |blocks: kvb_blocks| {
            // SAFETY: `push` refuses blocks of another pool.
            let pushed = unsafe {
                chain
                    .inner
                    .join(blocks.inner, |chain, blocks, _| chain.push(blocks))
            };
            pushed.map_err(|back| object::returned(back, |inner| kvb_blocks { inner }))
        };
        // SAFETY: made by a function of this library, and not given away before.
        unsafe { object::consume(blocks, push) }.map_err(refused::<JoinError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// All blocks were published.
pub const KVB_STOPPED_NOT: u32 = 0;
/// The content is findable as an idle block, and there is nothing to pay for holding that.
pub const KVB_STOPPED_UNPAID: u32 = 1;
/// Too many blocks of this depth have keys that fall together.
pub const KVB_STOPPED_INDEX_FULL: u32 = 2;
/// A block of the chain was invalidated or cleared: what comes after it can't be found, now or later.
pub const KVB_STOPPED_CUT: u32 = 3;
/// The block has other owners (forks): it can be published when it has one again.
pub const KVB_STOPPED_SHARED: u32 = 4;
/// The chain is a tail that was split off behind the end of its published head: it can't publish, now or later.
pub const KVB_STOPPED_GAP: u32 = 5;
/// The host has no memory for the chain's list of duplicates.
pub const KVB_STOPPED_NO_MEMORY: u32 = 6;
/// The block goes offline when it is released.
pub const KVB_STOPPED_DRAINING: u32 = 7;
/// For a reason that this version of the C API does not know.
pub const KVB_STOPPED_UNKNOWN: u32 = u32::MAX;

/// What became of blocks to be published: the chain's published part has grown by `stored + duplicates`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_published {
    /// Blocks that became findable.
    pub stored: usize,
    /// Blocks whose content already was findable: the chain goes on below that copy, holds it, too, and keeps its own block private.
    pub duplicates: usize,
    /// Why not all were published: `KVB_STOPPED_*`. Try again, but for `KVB_STOPPED_CUT` and `KVB_STOPPED_GAP`.
    pub stopped: u32,
    /// 0.
    pub reserved: u32,
}

impl From<Published> for kvb_published {
    fn from(published: Published) -> Self {
        Self {
            stored: published.stored,
            duplicates: published.duplicates,
            stopped: match published.stopped {
                None => KVB_STOPPED_NOT,
                Some(Stopped::Unpaid) => KVB_STOPPED_UNPAID,
                Some(Stopped::IndexFull) => KVB_STOPPED_INDEX_FULL,
                Some(Stopped::Cut) => KVB_STOPPED_CUT,
                Some(Stopped::Shared) => KVB_STOPPED_SHARED,
                Some(Stopped::Gap) => KVB_STOPPED_GAP,
                Some(Stopped::OutOfMemory) => KVB_STOPPED_NO_MEMORY,
                Some(Stopped::Draining) => KVB_STOPPED_DRAINING,
                Some(_) => KVB_STOPPED_UNKNOWN,
            },
            reserved: 0,
        }
    }
}

/// Makes the chain's next unpublished blocks findable, as many whole blocks as `contents` says. They must be full and computed, and nobody
/// may write to them again. To hold a duplicate that is idle costs one of `pay`, or with NULL one that is available.
///
/// Ownership: the contents are copied. Threads: of the chain, the worker and the reservation. O(blocks); allocates for duplicates only.
/// Errors: `KVB_ERR_LENGTH_MISMATCH` (not whole blocks, more than are unpublished, or not one extra key or chain key for each),
/// `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY` (with extra keys only). NULL: `pay`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_publish(
    chain: *mut kvb_chain,
    worker: *mut kvb_worker,
    contents: *const kvb_contents,
    pay: *mut kvb_reservation,
    out: *mut kvb_published,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (chain, worker) = unsafe { (arg::get_mut(chain)?, arg::get_mut(worker)?) };
        // SAFETY: as above.
        let (contents, out) = unsafe { (arg::get(contents)?, arg::place(out)?) };
        // SAFETY: as above.
        let (contents, pay) = unsafe { (ReadContents::new(contents)?, pay.as_mut()) };
        let (worker, contents) = (&mut worker.inner, &contents.lend());
        let published = chain.inner.change(|chain| match pay {
            Some(pay) => {
                let pay = &mut pay.inner;
                pay.change(|pay| chain.publish(worker, contents, Some(pay)))
            }
            None => chain.publish(worker, contents, None),
        });
        out.write(published.map_err(refused::<PublishError>)?.into());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
