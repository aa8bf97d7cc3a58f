//! What a call answers: explicit numbers that are never used again for anything else, with a name and a sentence for each.
//!
//! 0 is success; every error is positive and at least 100, far from the numbers of `errno`.

use core::ffi::{CStr, c_char};

/// `KVB_OK` or an error. Numbers are never used again for anything else; treat one that you do not know as a failed call.
pub type kvb_status = i32;

/// Done.
pub const KVB_OK: kvb_status = 0;

// --- Arguments

/// A pointer is NULL that must not be.
pub const KVB_ERR_NULL: kvb_status = 100;

/// A length is more than memory can hold, or a pointer is not aligned.
pub const KVB_ERR_LENGTH: kvb_status = 101;

/// Struct_size is too small or absurd, or a field is set that this version does not know.
pub const KVB_ERR_STRUCT_SIZE: kvb_status = 102;

/// A field has a value that means nothing.
pub const KVB_ERR_INVALID: kvb_status = 103;

/// There is no shard, rank or item of that number.
pub const KVB_ERR_OUT_OF_RANGE: kvb_status = 104;

/// The buffer is too short.
pub const KVB_ERR_TOO_SHORT: kvb_status = 105;

/// Tokens, extra keys or chain keys are not as many as the call needs.
pub const KVB_ERR_LENGTH_MISMATCH: kvb_status = 106;

/// An object is of another pool, or not one for each shard.
pub const KVB_ERR_WRONG_POOL: kvb_status = 107;

/// It is in use.
pub const KVB_ERR_IN_USE: kvb_status = 108;

/// A text is not UTF-8.
pub const KVB_ERR_UTF8: kvb_status = 109;

// --- What cannot be had

/// The host has no memory for bookkeeping.
pub const KVB_ERR_NO_MEMORY: kvb_status = 200;

/// More blocks than the shard has: waiting cannot help.
pub const KVB_ERR_NEVER_FITS: kvb_status = 201;

/// Not enough blocks now: wait, preempt, or end a request.
pub const KVB_ERR_SHORTFALL: kvb_status = 202;

/// No slot is vacant.
pub const KVB_ERR_TOO_MANY_SEQUENCES: kvb_status = 203;

/// Beyond the cap that was set at admission.
pub const KVB_ERR_CAP_REACHED: kvb_status = 204;

/// A block has as many references as can be counted.
pub const KVB_ERR_TOO_MANY_REFERENCES: kvb_status = 205;

/// More than is left.
pub const KVB_ERR_EXCEEDS: kvb_status = 206;

/// Some items of the batch failed: the others are done.
pub const KVB_ERR_PARTIAL: kvb_status = 207;

// --- Sequences

/// The handle or ticket names nothing: released, preempted, detached, done, or another registry's.
pub const KVB_ERR_STALE: kvb_status = 300;

/// Beyond the positions of the sequence.
pub const KVB_ERR_BEYOND: kvb_status = 301;

/// The tokens do not go on where the known ones end.
pub const KVB_ERR_NOT_NEXT: kvb_status = 302;

/// Its content is being loaded: what has arrived is there.
pub const KVB_ERR_LOADING: kvb_status = 303;

/// A copy is to be made first.
pub const KVB_ERR_COPY_PENDING: kvb_status = 304;

/// It is being moved here, and that is not committed: commit it.
pub const KVB_ERR_UNCOMMITTED: kvb_status = 305;

/// It is offered to be moved elsewhere: abort that, or wait.
pub const KVB_ERR_LEAVING: kvb_status = 306;

/// It has been moved elsewhere: release it here.
pub const KVB_ERR_MOVED: kvb_status = 307;

// --- Configurations

/// A pool needs at least one block.
pub const KVB_ERR_NO_BLOCKS: kvb_status = 400;

/// More blocks than a shard has ids.
pub const KVB_ERR_TOO_MANY_BLOCKS: kvb_status = 401;

/// Max_blocks is below blocks.
pub const KVB_ERR_MAX_BELOW_BLOCKS: kvb_status = 402;

/// The block size is zero or absurd, or not that of the other shards.
pub const KVB_ERR_BLOCK_SIZE: kvb_status = 403;

/// A registry needs room for at least one sequence.
pub const KVB_ERR_NO_SEQUENCES: kvb_status = 404;

/// More sequences than slots have names.
pub const KVB_ERR_TOO_MANY_SLOTS: kvb_status = 405;

/// The watermark leaves no block to be admitted.
pub const KVB_ERR_WATERMARK: kvb_status = 406;

/// The format has another block size than the pool.
pub const KVB_ERR_FORMAT: kvb_status = 407;

/// The event ring is larger than the largest.
pub const KVB_ERR_TOO_MANY_EVENTS: kvb_status = 408;

/// An instance needs at least one shard.
pub const KVB_ERR_NO_SHARDS: kvb_status = 409;

/// More shards than an instance can have.
pub const KVB_ERR_TOO_MANY_SHARDS: kvb_status = 410;

/// Two shards have one name or one pool.
pub const KVB_ERR_SAME_SHARD: kvb_status = 411;

/// The shards have different numbers of slots.
pub const KVB_ERR_SLOTS: kvb_status = 412;

/// The planes of a layout are not as they must be.
pub const KVB_ERR_LAYOUT: kvb_status = 413;

// --- Blocks

/// The shard has no such block.
pub const KVB_ERR_NO_SUCH_BLOCK: kvb_status = 500;

/// The block is not findable.
pub const KVB_ERR_NOT_PUBLISHED: kvb_status = 501;

/// More blocks than max_blocks.
pub const KVB_ERR_BEYOND_MAX: kvb_status = 502;

/// No block would be left online.
pub const KVB_ERR_NOTHING_LEFT: kvb_status = 503;

/// Another thread is growing or shrinking it.
pub const KVB_ERR_IN_PROGRESS: kvb_status = 504;

/// The pool keeps no events.
pub const KVB_ERR_NO_EVENTS: kvb_status = 505;

// --- Metrics

/// No name of a label: a letter or `_`, then letters, digits and `_`.
pub const KVB_ERR_LABEL_NAME: kvb_status = 510;

/// A name that Prometheus or the library keeps to itself.
pub const KVB_ERR_LABEL_RESERVED: kvb_status = 511;

/// A label is given twice.
pub const KVB_ERR_LABEL_REPEATED: kvb_status = 512;

/// Another report of this kind has the same labels.
pub const KVB_ERR_LABELS_TAKEN: kvb_status = 513;

// --- Leases

/// The lease is over, or the owner has none: its blocks may hold something else by now.
pub const KVB_ERR_LEASE_ENDED: kvb_status = 600;

/// The owner has a lease already.
pub const KVB_ERR_OWNER_TAKEN: kvb_status = 601;

/// The deadline has passed already.
pub const KVB_ERR_ALREADY_OVER: kvb_status = 602;

/// The leases would hold more than their budget.
pub const KVB_ERR_OVER_BUDGET: kvb_status = 603;
// --- Transfers

/// The two sides lay out blocks in different ways, or have different numbers of shards.
pub const KVB_ERR_INCOMPATIBLE: kvb_status = 620;

/// The sequence is of another namespace.
pub const KVB_ERR_OTHER_NAMESPACE: kvb_status = 621;

/// The export cannot be read: another import reads it, or it is over.
pub const KVB_ERR_SOURCE_TAKEN: kvb_status = 622;

/// Nobody has said how the content of the blocks is laid out.
pub const KVB_ERR_UNKNOWN_FORMAT: kvb_status = 623;

/// More bytes than may be under way.
pub const KVB_ERR_TOO_MANY_BYTES: kvb_status = 624;

/// More writers than a transfer can have, or none.
pub const KVB_ERR_TOO_MANY_WRITERS: kvb_status = 625;

/// The import has no such writer.
pub const KVB_ERR_NO_SUCH_WRITER: kvb_status = 626;

/// The writer has answered for the block before.
pub const KVB_ERR_ANSWERED: kvb_status = 627;

/// The writer has ended before.
pub const KVB_ERR_WRITER_ENDED: kvb_status = 628;

/// Not everything has arrived.
pub const KVB_ERR_NOT_ARRIVED: kvb_status = 629;

/// The source of the move called it off.
pub const KVB_ERR_MOVE_ABORTED: kvb_status = 630;

/// An import reads the export, and its registry commits.
pub const KVB_ERR_LINKED: kvb_status = 631;

/// The export has been committed.
pub const KVB_ERR_COMMITTED: kvb_status = 632;

/// The export has been aborted.
pub const KVB_ERR_ABORTED: kvb_status = 633;

/// The swap was finished or aborted before.
pub const KVB_ERR_SWAP_OVER: kvb_status = 634;

/// The copy was not launched, or its fence has not passed.
pub const KVB_ERR_NOT_COPIED: kvb_status = 635;

/// The swap was told that all of its copy has passed, and a part of it is launched now.
pub const KVB_ERR_ALREADY_COPIED: kvb_status = 636;

/// Other tokens were computed than those given, or another extra key.
pub const KVB_ERR_OTHER_TOKENS: kvb_status = 637;

// --- Copies

/// A block would be copied onto itself.
pub const KVB_ERR_ONTO_ITSELF: kvb_status = 650;

/// Two pairs have one destination.
pub const KVB_ERR_DUPLICATE_DESTINATION: kvb_status = 651;

/// More timelines than a table of fences has.
pub const KVB_ERR_TOO_MANY_TIMELINES: kvb_status = 652;

/// The table of fences knows nothing of the memory.
pub const KVB_ERR_UNTRACKED: kvb_status = 653;

/// A later fence of the timeline was recorded before, or it is the fence 0, which is before all.
pub const KVB_ERR_NOT_LATER: kvb_status = 654;

// --- Fleets

/// The fleet has no such instance.
pub const KVB_ERR_NO_SUCH_INSTANCE: kvb_status = 700;

/// Two instances are needed, and one was named twice.
pub const KVB_ERR_SAME_INSTANCE: kvb_status = 701;

/// An instance must be able to compute at least one position in a step.
pub const KVB_ERR_NO_SERVICE: kvb_status = 702;

/// A pool is another instance's, whose memory would be counted twice.
pub const KVB_ERR_SHARED_POOL: kvb_status = 703;

/// A shard has the name of another instance's.
pub const KVB_ERR_SHARED_NAME: kvb_status = 704;

/// The instance is in use.
pub const KVB_ERR_NOT_EMPTY: kvb_status = 705;

/// No instance serves the model.
pub const KVB_ERR_NO_SUCH_MODEL: kvb_status = 706;

/// It takes no requests, as it is starting or draining.
pub const KVB_ERR_NOT_READY: kvb_status = 707;

/// Too little token service is left.
pub const KVB_ERR_SERVICE_FULL: kvb_status = 708;

/// The two instances serve different models.
pub const KVB_ERR_OTHER_MODEL: kvb_status = 709;

/// The move was finished or aborted before.
pub const KVB_ERR_MOVE_OVER: kvb_status = 710;

/// The lender has borrowed, or the borrower has lent: give that back instead.
pub const KVB_ERR_LOAN_CROSSES: kvb_status = 711;

/// The fleet has no such loan, or it is over.
pub const KVB_ERR_NO_SUCH_LOAN: kvb_status = 712;

/// The bytes are too few for one block of the borrower.
pub const KVB_ERR_TOO_FEW_BYTES: kvb_status = 713;

// --- Plans

/// A number is 0 that must not be: `which` is `KVB_PLAN_INPUT_*`.
pub const KVB_ERR_PLAN_ZERO: kvb_status = 800;

/// The margin is more than the device's memory.
pub const KVB_ERR_PLAN_MARGIN: kvb_status = 801;

/// More is needed beside K/V than the device has: `which` is `KVB_PLAN_TERM_*`.
pub const KVB_ERR_PLAN_DOES_NOT_FIT: kvb_status = 802;

/// A product or a sum is more than 64 bits: `which` is `KVB_PLAN_STEP_*`.
pub const KVB_ERR_PLAN_OVERFLOW: kvb_status = 803;

/// What is left for K/V is less than one block.
pub const KVB_ERR_PLAN_LESS_THAN_A_BLOCK: kvb_status = 804;

// --- Audits

/// The audit found something that does not add up.
pub const KVB_ERR_INCONSISTENT: kvb_status = 900;

// --- Bugs of the library or a newer version of it

/// An error that this version of the C API does not know.
pub const KVB_ERR_UNKNOWN: kvb_status = 999;

/// Every number with its name and its sentence.
const TABLE: &[(kvb_status, &CStr, &CStr)] = &[
    (KVB_OK, c"KVB_OK", c"done"),
    (KVB_ERR_NULL, c"KVB_ERR_NULL", c"a pointer is NULL that must not be"),
    (KVB_ERR_LENGTH, c"KVB_ERR_LENGTH", c"a length is more than memory can hold, or a pointer is not aligned"),
    (KVB_ERR_STRUCT_SIZE, c"KVB_ERR_STRUCT_SIZE", c"struct_size is too small or absurd, or a field is set that this version does not know"),
    (KVB_ERR_INVALID, c"KVB_ERR_INVALID", c"a field has a value that means nothing"),
    (KVB_ERR_OUT_OF_RANGE, c"KVB_ERR_OUT_OF_RANGE", c"there is no shard, rank or item of that number"),
    (KVB_ERR_TOO_SHORT, c"KVB_ERR_TOO_SHORT", c"the buffer is too short"),
    (KVB_ERR_LENGTH_MISMATCH, c"KVB_ERR_LENGTH_MISMATCH", c"tokens, extra keys or chain keys are not as many as the call needs"),
    (KVB_ERR_WRONG_POOL, c"KVB_ERR_WRONG_POOL", c"an object is of another pool, or not one for each shard"),
    (KVB_ERR_IN_USE, c"KVB_ERR_IN_USE", c"it is in use"),
    (KVB_ERR_UTF8, c"KVB_ERR_UTF8", c"a text is not UTF-8"),
    (KVB_ERR_NO_MEMORY, c"KVB_ERR_NO_MEMORY", c"the host has no memory for bookkeeping"),
    (KVB_ERR_NEVER_FITS, c"KVB_ERR_NEVER_FITS", c"more blocks than the shard has: waiting cannot help"),
    (KVB_ERR_SHORTFALL, c"KVB_ERR_SHORTFALL", c"not enough blocks now: wait, preempt, or end a request"),
    (KVB_ERR_TOO_MANY_SEQUENCES, c"KVB_ERR_TOO_MANY_SEQUENCES", c"no slot is vacant"),
    (KVB_ERR_CAP_REACHED, c"KVB_ERR_CAP_REACHED", c"beyond the cap that was set at admission"),
    (KVB_ERR_TOO_MANY_REFERENCES, c"KVB_ERR_TOO_MANY_REFERENCES", c"a block has as many references as can be counted"),
    (KVB_ERR_EXCEEDS, c"KVB_ERR_EXCEEDS", c"more than is left"),
    (KVB_ERR_PARTIAL, c"KVB_ERR_PARTIAL", c"some items of the batch failed: the others are done"),
    (KVB_ERR_STALE, c"KVB_ERR_STALE", c"the handle or ticket names nothing: released, preempted, detached, done, or another registry's"),
    (KVB_ERR_BEYOND, c"KVB_ERR_BEYOND", c"beyond the positions of the sequence"),
    (KVB_ERR_NOT_NEXT, c"KVB_ERR_NOT_NEXT", c"the tokens do not go on where the known ones end"),
    (KVB_ERR_LOADING, c"KVB_ERR_LOADING", c"its content is being loaded: what has arrived is there"),
    (KVB_ERR_COPY_PENDING, c"KVB_ERR_COPY_PENDING", c"a copy is to be made first"),
    (KVB_ERR_UNCOMMITTED, c"KVB_ERR_UNCOMMITTED", c"it is being moved here, and that is not committed: commit it"),
    (KVB_ERR_LEAVING, c"KVB_ERR_LEAVING", c"it is offered to be moved elsewhere: abort that, or wait"),
    (KVB_ERR_MOVED, c"KVB_ERR_MOVED", c"it has been moved elsewhere: release it here"),
    (KVB_ERR_NO_BLOCKS, c"KVB_ERR_NO_BLOCKS", c"a pool needs at least one block"),
    (KVB_ERR_TOO_MANY_BLOCKS, c"KVB_ERR_TOO_MANY_BLOCKS", c"more blocks than a shard has ids"),
    (KVB_ERR_MAX_BELOW_BLOCKS, c"KVB_ERR_MAX_BELOW_BLOCKS", c"max_blocks is below blocks"),
    (KVB_ERR_BLOCK_SIZE, c"KVB_ERR_BLOCK_SIZE", c"the block size is zero or absurd, or not that of the other shards"),
    (KVB_ERR_NO_SEQUENCES, c"KVB_ERR_NO_SEQUENCES", c"a registry needs room for at least one sequence"),
    (KVB_ERR_TOO_MANY_SLOTS, c"KVB_ERR_TOO_MANY_SLOTS", c"more sequences than slots have names"),
    (KVB_ERR_WATERMARK, c"KVB_ERR_WATERMARK", c"the watermark leaves no block to be admitted"),
    (KVB_ERR_FORMAT, c"KVB_ERR_FORMAT", c"the format has another block size than the pool"),
    (KVB_ERR_TOO_MANY_EVENTS, c"KVB_ERR_TOO_MANY_EVENTS", c"the event ring is larger than the largest"),
    (KVB_ERR_NO_SHARDS, c"KVB_ERR_NO_SHARDS", c"an instance needs at least one shard"),
    (KVB_ERR_TOO_MANY_SHARDS, c"KVB_ERR_TOO_MANY_SHARDS", c"more shards than an instance can have"),
    (KVB_ERR_SAME_SHARD, c"KVB_ERR_SAME_SHARD", c"two shards have one name or one pool"),
    (KVB_ERR_SLOTS, c"KVB_ERR_SLOTS", c"the shards have different numbers of slots"),
    (KVB_ERR_LAYOUT, c"KVB_ERR_LAYOUT", c"the planes of a layout are not as they must be"),
    (KVB_ERR_NO_SUCH_BLOCK, c"KVB_ERR_NO_SUCH_BLOCK", c"the shard has no such block"),
    (KVB_ERR_NOT_PUBLISHED, c"KVB_ERR_NOT_PUBLISHED", c"the block is not findable"),
    (KVB_ERR_BEYOND_MAX, c"KVB_ERR_BEYOND_MAX", c"more blocks than max_blocks"),
    (KVB_ERR_NOTHING_LEFT, c"KVB_ERR_NOTHING_LEFT", c"no block would be left online"),
    (KVB_ERR_IN_PROGRESS, c"KVB_ERR_IN_PROGRESS", c"another thread is growing or shrinking it"),
    (KVB_ERR_NO_EVENTS, c"KVB_ERR_NO_EVENTS", c"the pool keeps no events"),
    (KVB_ERR_LABEL_NAME, c"KVB_ERR_LABEL_NAME", c"no name of a label: a letter or _, then letters, digits and _"),
    (KVB_ERR_LABEL_RESERVED, c"KVB_ERR_LABEL_RESERVED", c"a name that Prometheus or the library keeps to itself"),
    (KVB_ERR_LABEL_REPEATED, c"KVB_ERR_LABEL_REPEATED", c"a label is given twice"),
    (KVB_ERR_LABELS_TAKEN, c"KVB_ERR_LABELS_TAKEN", c"another report of this kind has the same labels"),
    (KVB_ERR_LEASE_ENDED, c"KVB_ERR_LEASE_ENDED", c"the lease is over, or the owner has none: its blocks may hold something else by now"),
    (KVB_ERR_OWNER_TAKEN, c"KVB_ERR_OWNER_TAKEN", c"the owner has a lease already"),
    (KVB_ERR_ALREADY_OVER, c"KVB_ERR_ALREADY_OVER", c"the deadline has passed already"),
    (KVB_ERR_OVER_BUDGET, c"KVB_ERR_OVER_BUDGET", c"the leases would hold more than their budget"),
    (KVB_ERR_INCOMPATIBLE, c"KVB_ERR_INCOMPATIBLE", c"the two sides lay out blocks in different ways, or have different numbers of shards"),
    (KVB_ERR_OTHER_NAMESPACE, c"KVB_ERR_OTHER_NAMESPACE", c"the sequence is of another namespace"),
    (KVB_ERR_SOURCE_TAKEN, c"KVB_ERR_SOURCE_TAKEN", c"the export cannot be read: another import reads it, or it is over"),
    (KVB_ERR_UNKNOWN_FORMAT, c"KVB_ERR_UNKNOWN_FORMAT", c"nobody has said how the content of the blocks is laid out"),
    (KVB_ERR_TOO_MANY_BYTES, c"KVB_ERR_TOO_MANY_BYTES", c"more bytes than may be under way"),
    (KVB_ERR_TOO_MANY_WRITERS, c"KVB_ERR_TOO_MANY_WRITERS", c"more writers than a transfer can have, or none"),
    (KVB_ERR_NO_SUCH_WRITER, c"KVB_ERR_NO_SUCH_WRITER", c"the import has no such writer"),
    (KVB_ERR_ANSWERED, c"KVB_ERR_ANSWERED", c"the writer has answered for the block before"),
    (KVB_ERR_WRITER_ENDED, c"KVB_ERR_WRITER_ENDED", c"the writer has ended before"),
    (KVB_ERR_NOT_ARRIVED, c"KVB_ERR_NOT_ARRIVED", c"not everything has arrived"),
    (KVB_ERR_MOVE_ABORTED, c"KVB_ERR_MOVE_ABORTED", c"the source of the move called it off"),
    (KVB_ERR_LINKED, c"KVB_ERR_LINKED", c"an import reads the export, and its registry commits"),
    (KVB_ERR_COMMITTED, c"KVB_ERR_COMMITTED", c"the export has been committed"),
    (KVB_ERR_ABORTED, c"KVB_ERR_ABORTED", c"the export has been aborted"),
    (KVB_ERR_SWAP_OVER, c"KVB_ERR_SWAP_OVER", c"the swap was finished or aborted before"),
    (KVB_ERR_NOT_COPIED, c"KVB_ERR_NOT_COPIED", c"the copy was not launched, or its fence has not passed"),
    (KVB_ERR_ALREADY_COPIED, c"KVB_ERR_ALREADY_COPIED", c"all blocks count as copied already"),
    (KVB_ERR_OTHER_TOKENS, c"KVB_ERR_OTHER_TOKENS", c"other tokens were computed than those given, or another extra key"),
    (KVB_ERR_ONTO_ITSELF, c"KVB_ERR_ONTO_ITSELF", c"a block would be copied onto itself"),
    (KVB_ERR_DUPLICATE_DESTINATION, c"KVB_ERR_DUPLICATE_DESTINATION", c"two pairs have one destination"),
    (KVB_ERR_TOO_MANY_TIMELINES, c"KVB_ERR_TOO_MANY_TIMELINES", c"more timelines than a table of fences has"),
    (KVB_ERR_UNTRACKED, c"KVB_ERR_UNTRACKED", c"the table of fences knows nothing of the memory"),
    (KVB_ERR_NOT_LATER, c"KVB_ERR_NOT_LATER", c"a later fence of the timeline was recorded before, or it is the fence 0, which is before all"),
    (KVB_ERR_NO_SUCH_INSTANCE, c"KVB_ERR_NO_SUCH_INSTANCE", c"the fleet has no such instance"),
    (KVB_ERR_SAME_INSTANCE, c"KVB_ERR_SAME_INSTANCE", c"two instances are needed, and one was named twice"),
    (KVB_ERR_NO_SERVICE, c"KVB_ERR_NO_SERVICE", c"an instance must be able to compute at least one position in a step"),
    (KVB_ERR_SHARED_POOL, c"KVB_ERR_SHARED_POOL", c"a pool is another instance's, whose memory would be counted twice"),
    (KVB_ERR_SHARED_NAME, c"KVB_ERR_SHARED_NAME", c"a shard has the name of another instance's"),
    (KVB_ERR_NOT_EMPTY, c"KVB_ERR_NOT_EMPTY", c"the instance is in use"),
    (KVB_ERR_NO_SUCH_MODEL, c"KVB_ERR_NO_SUCH_MODEL", c"no instance serves the model"),
    (KVB_ERR_NOT_READY, c"KVB_ERR_NOT_READY", c"it takes no requests, as it is starting or draining"),
    (KVB_ERR_SERVICE_FULL, c"KVB_ERR_SERVICE_FULL", c"too little token service is left"),
    (KVB_ERR_OTHER_MODEL, c"KVB_ERR_OTHER_MODEL", c"the two instances serve different models"),
    (KVB_ERR_MOVE_OVER, c"KVB_ERR_MOVE_OVER", c"the move was finished or aborted before"),
    (KVB_ERR_LOAN_CROSSES, c"KVB_ERR_LOAN_CROSSES", c"the lender has borrowed, or the borrower has lent: give that back instead"),
    (KVB_ERR_NO_SUCH_LOAN, c"KVB_ERR_NO_SUCH_LOAN", c"the fleet has no such loan, or it is over"),
    (KVB_ERR_TOO_FEW_BYTES, c"KVB_ERR_TOO_FEW_BYTES", c"the bytes are too few for one block of the borrower"),
    (KVB_ERR_PLAN_ZERO, c"KVB_ERR_PLAN_ZERO", c"a number is 0 that must not be: which is KVB_PLAN_INPUT_*"),
    (KVB_ERR_PLAN_MARGIN, c"KVB_ERR_PLAN_MARGIN", c"the margin is more than the device's memory"),
    (KVB_ERR_PLAN_DOES_NOT_FIT, c"KVB_ERR_PLAN_DOES_NOT_FIT", c"more is needed beside K/V than the device has: which is KVB_PLAN_TERM_*"),
    (KVB_ERR_PLAN_OVERFLOW, c"KVB_ERR_PLAN_OVERFLOW", c"a product or a sum is more than 64 bits: which is KVB_PLAN_STEP_*"),
    (KVB_ERR_PLAN_LESS_THAN_A_BLOCK, c"KVB_ERR_PLAN_LESS_THAN_A_BLOCK", c"what is left for K/V is less than one block"),
    (KVB_ERR_INCONSISTENT, c"KVB_ERR_INCONSISTENT", c"the audit found something that does not add up"),
    (KVB_ERR_UNKNOWN, c"KVB_ERR_UNKNOWN", c"an error that this version of the C API does not know"),
];

fn find(status: kvb_status) -> Option<(&'static CStr, &'static CStr)> {
    let row = TABLE.iter().find(|row| row.0 == status)?;
    Some((row.1, row.2))
}

/// The sentence of a number.
pub(crate) fn message(status: kvb_status) -> &'static str {
    find(status).map_or("", |row| row.1.to_str().unwrap_or_default())
}

/// The name of a number, `KVB_ERR_SHORTFALL` for instance; `KVB_ERR_UNKNOWN` for one that is none.
///
/// Ownership: static. Threads: any. O(errors). Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kvb_status_name(status: kvb_status) -> *const c_char {
    find(status)
        .map_or(c"KVB_ERR_UNKNOWN", |row| row.0)
        .as_ptr()
}

/// A sentence for a number, without a full stop.
///
/// Ownership: static. Threads: any. O(errors). Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kvb_status_message(status: kvb_status) -> *const c_char {
    let unknown = c"an error that this version of the C API does not know";
    find(status).map_or(unknown, |row| row.1).as_ptr()
}
