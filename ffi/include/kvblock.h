/*
 * kvblock.h - the C interface of kvblock, the block allocator for the KV cache of LLM inference engines.
 *
 * Made from the sources of the library: do not edit. C99, and C++ from C++11 on; kvblock.hpp is a C++17 face of it.
 * Licence: MIT or Apache-2.0.
 *
 * LINKING. libkvblock.so needs the C library only. libkvblock.a is one object in which the names that begin with kvb_
 * are the only global ones, so it may stand beside other static libraries that are written in Rust. CMake:
 * find_package(kvblock), then kvblock::static or kvblock::shared. pkg-config: kvblock. The library starts no thread,
 * opens no file, reads no clock and no environment variable.
 *
 * VERSIONS. KVB_ABI_VERSION is the binary interface, and the number in the name of the shared library (libkvblock.so.0);
 * KVB_VERSION is the release. Ask kvb_abi_matches() once, before any other call. Within one ABI version functions and
 * constants are added, none is changed or removed, a number never gets another meaning, and a struct that begins with
 * struct_size may get more fields at its end.
 *
 * STATUS. A call that can fail returns kvb_status: KVB_OK or one of KVB_ERR_*. Treat a number that you do not know as
 * a failed call. Where there is a parameter `kvb_error *error`, it may be NULL; if it is not, set its struct_size, and a
 * failed call writes there what was needed and what there was. Nothing is kept between calls: there is no "last error".
 *
 * A REFUSAL CHANGES NOTHING. A call that fails leaves all objects and all results as they were, unless the function says
 * otherwise: batches and lists of names do what they can, a step is emptied by every call that is to fill it, and what has
 * come from elsewhere is taken notice of. Refusals are counted in reports.
 *
 * POINTERS. NULL is KVB_ERR_NULL where a function does not say what else it does then, never a crash; an array of no
 * items may be NULL. Other pointers must point to what the parameter says, aligned, and for as many items as are
 * announced: the number of items comes after the pointer to the first. Memory that results are written to must not
 * overlap other arguments.
 *
 * OWNERSHIP. An opaque object (kvb_pool and so on) belongs to the caller from the function that makes it until the
 * function that destroys it; using it after that is undefined. The library copies what it keeps, so arguments may go
 * when a call returns. A pointer that is returned is borrowed: the function says for how long. "static" is for ever.
 *
 * HANDLES. What there are many of, such as sequences, is named by values with an epoch. One that names nothing any more,
 * because it was released before for instance, is KVB_ERR_STALE, never a crash and never somebody else's.
 *
 * THREADS. An object that is passed as pointer to const may be in several calls at the same time; one that is passed as
 * pointer to non-const must be in no other call meanwhile. Different objects may always be used at the same time, also
 * those that share a pool. What a type or a function says about threads goes before this.
 *
 * SIZES. In a struct that begins with struct_size, set it to its sizeof and all that you do not use to zero; reserved
 * fields are zero. A program that was built with an older header passes a shorter struct, and what it lacks counts as
 * zero. A field that is reserved or that the library does not know must be zero, or the call is KVB_ERR_STRUCT_SIZE.
 *
 * MEMORY. Everything that an object needs for its work is made when it is made, or KVB_ERR_NO_MEMORY says that there is
 * none; a function that allocates later says so. kvb_set_hooks replaces malloc and free.
 *
 * BUGS. If the library finds a bug of its own, it tells the hook for it, or standard error, and aborts. Nothing is ever
 * thrown or unwound into the caller; callbacks must not throw, and must not call the library unless they are said to.
 */
#ifndef KVBLOCK_H
#define KVBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------
 * What a call answers: explicit numbers that are never used again for anything else, with a name and a sentence for each.
 */

/** `KVB_OK` or an error. Numbers are never used again for anything else; treat one that you do not know as a failed call. */
typedef int32_t kvb_status;

/** Done. */
#define KVB_OK 0

/** A pointer is NULL that must not be. */
#define KVB_ERR_NULL 100

/** A length is more than memory can hold, or a pointer is not aligned. */
#define KVB_ERR_LENGTH 101

/** Struct_size is too small or absurd, or a field is set that this version does not know. */
#define KVB_ERR_STRUCT_SIZE 102

/** A field has a value that means nothing. */
#define KVB_ERR_INVALID 103

/** There is no shard, rank or item of that number. */
#define KVB_ERR_OUT_OF_RANGE 104

/** The buffer is too short. */
#define KVB_ERR_TOO_SHORT 105

/** Tokens, extra keys or chain keys are not as many as the call needs. */
#define KVB_ERR_LENGTH_MISMATCH 106

/** An object is of another pool, or not one for each shard. */
#define KVB_ERR_WRONG_POOL 107

/** It is in use. */
#define KVB_ERR_IN_USE 108

/** A text is not UTF-8. */
#define KVB_ERR_UTF8 109

/** The host has no memory for bookkeeping. */
#define KVB_ERR_NO_MEMORY 200

/** More blocks than the shard has: waiting cannot help. */
#define KVB_ERR_NEVER_FITS 201

/** Not enough blocks now: wait, preempt, or end a request. */
#define KVB_ERR_SHORTFALL 202

/** No slot is vacant. */
#define KVB_ERR_TOO_MANY_SEQUENCES 203

/** Beyond the cap that was set at admission. */
#define KVB_ERR_CAP_REACHED 204

/** A block has as many references as can be counted. */
#define KVB_ERR_TOO_MANY_REFERENCES 205

/** More than is left. */
#define KVB_ERR_EXCEEDS 206

/** Some items of the batch failed: the others are done. */
#define KVB_ERR_PARTIAL 207

/** The handle or ticket names nothing: released, preempted, detached, done, or another registry's. */
#define KVB_ERR_STALE 300

/** Beyond the positions of the sequence. */
#define KVB_ERR_BEYOND 301

/** The tokens do not go on where the known ones end. */
#define KVB_ERR_NOT_NEXT 302

/** Its content is being loaded: what has arrived is there. */
#define KVB_ERR_LOADING 303

/** A copy is to be made first. */
#define KVB_ERR_COPY_PENDING 304

/** It is being moved here, and that is not committed: commit it. */
#define KVB_ERR_UNCOMMITTED 305

/** It is offered to be moved elsewhere: abort that, or wait. */
#define KVB_ERR_LEAVING 306

/** It has been moved elsewhere: release it here. */
#define KVB_ERR_MOVED 307

/** A pool needs at least one block. */
#define KVB_ERR_NO_BLOCKS 400

/** More blocks than a shard has ids. */
#define KVB_ERR_TOO_MANY_BLOCKS 401

/** Max_blocks is below blocks. */
#define KVB_ERR_MAX_BELOW_BLOCKS 402

/** The block size is zero or absurd, or not that of the other shards. */
#define KVB_ERR_BLOCK_SIZE 403

/** A registry needs room for at least one sequence. */
#define KVB_ERR_NO_SEQUENCES 404

/** More sequences than slots have names. */
#define KVB_ERR_TOO_MANY_SLOTS 405

/** The watermark leaves no block to be admitted. */
#define KVB_ERR_WATERMARK 406

/** The format has another block size than the pool. */
#define KVB_ERR_FORMAT 407

/** The event ring is larger than the largest. */
#define KVB_ERR_TOO_MANY_EVENTS 408

/** An instance needs at least one shard. */
#define KVB_ERR_NO_SHARDS 409

/** More shards than an instance can have. */
#define KVB_ERR_TOO_MANY_SHARDS 410

/** Two shards have one name or one pool. */
#define KVB_ERR_SAME_SHARD 411

/** The shards have different numbers of slots. */
#define KVB_ERR_SLOTS 412

/** The planes of a layout are not as they must be. */
#define KVB_ERR_LAYOUT 413

/** The shard has no such block. */
#define KVB_ERR_NO_SUCH_BLOCK 500

/** The block is not findable. */
#define KVB_ERR_NOT_PUBLISHED 501

/** More blocks than max_blocks. */
#define KVB_ERR_BEYOND_MAX 502

/** No block would be left online. */
#define KVB_ERR_NOTHING_LEFT 503

/** Another thread is growing or shrinking it. */
#define KVB_ERR_IN_PROGRESS 504

/** The pool keeps no events. */
#define KVB_ERR_NO_EVENTS 505

/** No name of a label: a letter or `_`, then letters, digits and `_`. */
#define KVB_ERR_LABEL_NAME 510

/** A name that Prometheus or the library keeps to itself. */
#define KVB_ERR_LABEL_RESERVED 511

/** A label is given twice. */
#define KVB_ERR_LABEL_REPEATED 512

/** Another report of this kind has the same labels. */
#define KVB_ERR_LABELS_TAKEN 513

/** The lease is over, or the owner has none: its blocks may hold something else by now. */
#define KVB_ERR_LEASE_ENDED 600

/** The owner has a lease already. */
#define KVB_ERR_OWNER_TAKEN 601

/** The deadline has passed already. */
#define KVB_ERR_ALREADY_OVER 602

/** The leases would hold more than their budget. */
#define KVB_ERR_OVER_BUDGET 603

/** The two sides lay out blocks in different ways, or have different numbers of shards. */
#define KVB_ERR_INCOMPATIBLE 620

/** The sequence is of another namespace. */
#define KVB_ERR_OTHER_NAMESPACE 621

/** The export cannot be read: another import reads it, or it is over. */
#define KVB_ERR_SOURCE_TAKEN 622

/** Nobody has said how the content of the blocks is laid out. */
#define KVB_ERR_UNKNOWN_FORMAT 623

/** More bytes than may be under way. */
#define KVB_ERR_TOO_MANY_BYTES 624

/** More writers than a transfer can have, or none. */
#define KVB_ERR_TOO_MANY_WRITERS 625

/** The import has no such writer. */
#define KVB_ERR_NO_SUCH_WRITER 626

/** The writer has answered for the block before. */
#define KVB_ERR_ANSWERED 627

/** The writer has ended before. */
#define KVB_ERR_WRITER_ENDED 628

/** Not everything has arrived. */
#define KVB_ERR_NOT_ARRIVED 629

/** The source of the move called it off. */
#define KVB_ERR_MOVE_ABORTED 630

/** An import reads the export, and its registry commits. */
#define KVB_ERR_LINKED 631

/** The export has been committed. */
#define KVB_ERR_COMMITTED 632

/** The export has been aborted. */
#define KVB_ERR_ABORTED 633

/** The swap was finished or aborted before. */
#define KVB_ERR_SWAP_OVER 634

/** The copy was not launched, or its fence has not passed. */
#define KVB_ERR_NOT_COPIED 635

/** The swap was told that all of its copy has passed, and a part of it is launched now. */
#define KVB_ERR_ALREADY_COPIED 636

/** Other tokens were computed than those given, or another extra key. */
#define KVB_ERR_OTHER_TOKENS 637

/** A block would be copied onto itself. */
#define KVB_ERR_ONTO_ITSELF 650

/** Two pairs have one destination. */
#define KVB_ERR_DUPLICATE_DESTINATION 651

/** More timelines than a table of fences has. */
#define KVB_ERR_TOO_MANY_TIMELINES 652

/** The table of fences knows nothing of the memory. */
#define KVB_ERR_UNTRACKED 653

/** A later fence of the timeline was recorded before, or it is the fence 0, which is before all. */
#define KVB_ERR_NOT_LATER 654

/** The fleet has no such instance. */
#define KVB_ERR_NO_SUCH_INSTANCE 700

/** Two instances are needed, and one was named twice. */
#define KVB_ERR_SAME_INSTANCE 701

/** An instance must be able to compute at least one position in a step. */
#define KVB_ERR_NO_SERVICE 702

/** A pool is another instance's, whose memory would be counted twice. */
#define KVB_ERR_SHARED_POOL 703

/** A shard has the name of another instance's. */
#define KVB_ERR_SHARED_NAME 704

/** The instance is in use. */
#define KVB_ERR_NOT_EMPTY 705

/** No instance serves the model. */
#define KVB_ERR_NO_SUCH_MODEL 706

/** It takes no requests, as it is starting or draining. */
#define KVB_ERR_NOT_READY 707

/** Too little token service is left. */
#define KVB_ERR_SERVICE_FULL 708

/** The two instances serve different models. */
#define KVB_ERR_OTHER_MODEL 709

/** The move was finished or aborted before. */
#define KVB_ERR_MOVE_OVER 710

/** The lender has borrowed, or the borrower has lent: give that back instead. */
#define KVB_ERR_LOAN_CROSSES 711

/** The fleet has no such loan, or it is over. */
#define KVB_ERR_NO_SUCH_LOAN 712

/** The bytes are too few for one block of the borrower. */
#define KVB_ERR_TOO_FEW_BYTES 713

/** A number is 0 that must not be: `which` is `KVB_PLAN_INPUT_*`. */
#define KVB_ERR_PLAN_ZERO 800

/** The margin is more than the device's memory. */
#define KVB_ERR_PLAN_MARGIN 801

/** More is needed beside K/V than the device has: `which` is `KVB_PLAN_TERM_*`. */
#define KVB_ERR_PLAN_DOES_NOT_FIT 802

/** A product or a sum is more than 64 bits: `which` is `KVB_PLAN_STEP_*`. */
#define KVB_ERR_PLAN_OVERFLOW 803

/** What is left for K/V is less than one block. */
#define KVB_ERR_PLAN_LESS_THAN_A_BLOCK 804

/** The audit found something that does not add up. */
#define KVB_ERR_INCONSISTENT 900

/** An error that this version of the C API does not know. */
#define KVB_ERR_UNKNOWN 999

/**
 * The name of a number, `KVB_ERR_SHORTFALL` for instance; `KVB_ERR_UNKNOWN` for one that is none.
 *
 * Ownership: static. Threads: any. O(errors). Never NULL.
 */
const char *kvb_status_name(kvb_status status);

/**
 * A sentence for a number, without a full stop.
 *
 * Ownership: static. Threads: any. O(errors). Never NULL.
 */
const char *kvb_status_message(kvb_status status);

/* ---------------------------------------------------------------------------
 * Which header a library fits.
 */

/** The version of the binary interface. Programs that were built with another number must not use the library. */
#define KVB_ABI_VERSION 0

/** The version of the library that the header came with. */
#define KVB_VERSION "0.1.0"

/**
 * The library's `KVB_ABI_VERSION`, to be compared with the header's: see `kvb_abi_matches`.
 *
 * Threads: any. O(1).
 */
uint32_t kvb_abi_version(void);

/**
 * The library's version, as `KVB_VERSION`.
 *
 * Ownership: static. Threads: any. O(1). Never NULL.
 */
const char *kvb_version(void);

/* ---------------------------------------------------------------------------
 * The caller's functions for memory and for the end of the process.
 */

/** Functions of the caller's that the library uses instead of its own. What is NULL stays the library's own. */
typedef struct kvb_hooks {
    /** `sizeof(kvb_hooks)`. */
    uint32_t struct_size;
    /** 0. */
    uint32_t reserved;
    /** Gives `size` bytes aligned to `align` (a power of two), or NULL. Any thread may call it at any time. Set with `free`. */
    void *(*alloc)(size_t size, size_t align, void *user);
    /** Takes back what `alloc` gave for this size and alignment. */
    void (*free)(void *memory, size_t size, size_t align, void *user);
    /**
     * Told once, by the thread that found it, that the library has a bug, before the process is aborted. `message` has `length` bytes
     * of UTF-8 and no zero at its end. It must not call the library.
     */
    void (*panic)(const char *message, size_t length, void *user);
    /** Passed to each of them. */
    void *user;
} kvb_hooks;

/**
 * Sets the functions that the library uses for memory and panics, for the whole process; NULL sets its own again (`malloc` and `free`,
 * a line on standard error). To be called before anything is created.
 *
 * Ownership: the struct is copied; the functions and `user` must stay. Threads: no other call may run meanwhile. O(1).
 * Errors: `KVB_ERR_IN_USE` if an object of the library lives; `KVB_ERR_INVALID` if only one of `alloc` and `free` is given;
 * `KVB_ERR_STRUCT_SIZE`.
 */
kvb_status kvb_set_hooks(const kvb_hooks *hooks);

/* ---------------------------------------------------------------------------
 * Why a call failed, with the numbers that a caller needs to decide what to do next.
 */

/** `shard` of an error that is of no shard. */
#define KVB_NO_SHARD UINT32_MAX

/** `instance` of an error that is of no instance of a fleet. */
#define KVB_NO_INSTANCE UINT64_MAX

/** Bytes of a message, with the zero at its end. */
#define KVB_MESSAGE_BYTES 160

/**
 * What a failed call tells beside its status. Give NULL where you do not want it. On success it is not touched.
 *
 * | status | `needed` | `available` | `limit` |
 * | --- | --- | --- | --- |
 * | `KVB_ERR_NEVER_FITS` | blocks needed | | blocks of the shard |
 * | `KVB_ERR_SHORTFALL` | blocks needed | blocks free or idle, promised to nobody | |
 * | `KVB_ERR_CAP_REACHED`, `KVB_ERR_BEYOND` | positions asked for | | positions that there may be |
 * | `KVB_ERR_TOO_SHORT`, `KVB_ERR_LENGTH_MISMATCH` | items that would do | items given | |
 * | `KVB_ERR_NOT_NEXT` | position where the known ones end | position given | |
 * | `KVB_ERR_NOT_ARRIVED` | positions that are to come | positions that are there | blocks that may still be touched |
 * | `KVB_ERR_NOT_COPIED` | blocks that are to be copied | | the fence of the copy |
 * | `KVB_ERR_ALREADY_COPIED` | blocks that count as copied | the fence behind which they do | the fence given |
 * | `KVB_ERR_OTHER_TOKENS` | the first block that has others | | |
 * | `KVB_ERR_SERVICE_FULL` | positions a step that it would demand | positions a step that are left | those that there may be |
 * | `KVB_ERR_NOT_EMPTY` | sequences | blocks being loaded | leases and loans |
 * | others | what was asked for | what there is | the most that there may be |
 */
typedef struct kvb_error {
    /** `sizeof(kvb_error)`. */
    uint32_t struct_size;
    /** What the call returned. */
    kvb_status status;
    /** The shard where it failed, or `KVB_NO_SHARD`. */
    uint32_t shard;
    /** Which of several the status is about, where it says so: a number of the input, a plane, a memory, a writer; otherwise 0. */
    uint32_t which;
    /** See above; 0 where it says nothing. */
    uint64_t needed;
    /** See above. */
    uint64_t available;
    /** See above. */
    uint64_t limit;
    /** Blocks of the shard that come back by themselves when a fence passes. */
    uint64_t quarantined;
    /** The instance of a fleet where it failed, of several the one that comes nearest; or `KVB_NO_INSTANCE`. */
    uint64_t instance;
    /**
     * Blocks that all instances have together: ever for `KVB_ERR_NEVER_FITS`, now for `KVB_ERR_SHORTFALL`. They help nobody: a request
     * runs on one. 0 outside of fleets.
     */
    uint64_t sum;
    /** A sentence with the numbers, in UTF-8, ended by a zero. */
    char message[KVB_MESSAGE_BYTES];
} kvb_error;

/* ---------------------------------------------------------------------------
 * Which prompts may share blocks at all.
 */

/**
 * What decides K/V besides the tokens, for a whole prompt: the adapter and its version, a cache salt, a free domain. Prompts of two
 * different namespaces never share a block. It does not change once it is made.
 */
typedef struct kvb_namespace kvb_namespace;

/** The parts of a namespace, each a string of bytes. A part that is NULL was not set, and differs from an empty one. */
typedef struct kvb_namespace_parts {
    /** `sizeof(kvb_namespace_parts)`. */
    uint32_t struct_size;
    /** 0. */
    uint32_t reserved;
    /** The adapter's (LoRA's) name, or NULL for the bare model. */
    const unsigned char *adapter;
    /** Its bytes. */
    size_t adapter_size;
    /** Its version: a later one is another namespace. */
    uint64_t adapter_version;
    /** The cache salt, or NULL: prompts share blocks only under an equal one. */
    const unsigned char *salt;
    /** Its bytes. */
    size_t salt_size;
    /** Anything else that keeps prompts apart (a tenant, a model revision), or NULL. */
    const unsigned char *domain;
    /** Its bytes. */
    size_t domain_size;
} kvb_namespace_parts;

/**
 * Makes a namespace of its parts. The bare model's is NULL wherever a namespace is asked for.
 *
 * Ownership: the bytes are copied; `*out` is the caller's, to be given to `kvb_namespace_destroy`; nothing refers to it after the calls
 * that it is given to. Threads: any. O(bytes). Errors: `KVB_ERR_NO_MEMORY`, `KVB_ERR_STRUCT_SIZE`,
 * `KVB_ERR_INVALID` (the version of no adapter). NULL: neither.
 */
kvb_status kvb_namespace_create(const kvb_namespace_parts *parts,
                                kvb_namespace **out);

/**
 * Gives a namespace back. What was admitted under it stays as it is.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_namespace_destroy(kvb_namespace *space);

/* ---------------------------------------------------------------------------
 * What is looked up, and what blocks contain.
 */

/**
 * 128 bits that tell blocks of equal tokens apart: your digest of what else decides their K/V, an image and its offset for instance.
 * Zero says that there is nothing.
 */
typedef struct kvb_extra_key {
    /** The lower half. */
    uint64_t low;
    /** The upper half. */
    uint64_t high;
} kvb_extra_key;

/** All whole blocks of the prompt may match, even if nothing is left to compute then; otherwise at least one position is left. */
#define KVB_PROMPT_FULL_HIT 1

/**
 * The namespace is not there: the prompt is refused as `KVB_ERR_NULL`. For wrappers whose objects can be empty, where a NULL that got into
 * `space` by accident must not become the bare model's.
 */
#define KVB_PROMPT_NO_SPACE 1073741824

/** A prompt. Whole blocks match, and are compared token by token. */
typedef struct kvb_prompt {
    /** Whose blocks may match; NULL is the bare model's namespace. */
    const kvb_namespace *space;
    /** The tokens, a partial last block included. */
    const uint32_t *tokens;
    /** How many. */
    size_t token_count;
    /** One for each whole block, or NULL. */
    const kvb_extra_key *extra;
    /** How many. */
    size_t extra_count;
    /** Your own chain key for each whole block, or NULL to have them hashed. */
    const uint64_t *keys;
    /** How many. */
    size_t key_count;
    /** `KVB_PROMPT_*`, or 0. */
    uint32_t flags;
    /** 0. */
    uint32_t reserved;
} kvb_prompt;

/** What some positions contain. */
typedef struct kvb_contents {
    /** The tokens. */
    const uint32_t *tokens;
    /** How many. */
    size_t token_count;
    /** One for each block that these tokens complete, or NULL. */
    const kvb_extra_key *extra;
    /** How many. */
    size_t extra_count;
    /** Your own chain key for each of these blocks, or NULL to have them hashed. */
    const uint64_t *keys;
    /** How many. */
    size_t key_count;
} kvb_contents;

/* ---------------------------------------------------------------------------
 * How the content of blocks is laid out.
 */

/** How the content of one shard's blocks is laid out. It does not change once it is made. */
typedef struct kvb_format kvb_format;

/**
 * Says how blocks are laid out: positions of a block, a number of yours for the type of their elements, and the bytes of a block in each
 * plane (K and V of each layer, say).
 *
 * Ownership: the list is copied; `*out` is the caller's, to be given to `kvb_format_destroy`; nothing refers to it after the calls that
 * it is given to. Threads: any. O(planes). Errors: `KVB_ERR_LAYOUT`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_format_create(size_t block_size,
                             uint32_t element,
                             const uint64_t *plane_bytes,
                             size_t plane_count,
                             kvb_format **out,
                             kvb_error *error);

/**
 * Bytes of a block in all planes.
 *
 * Threads: any. O(planes). NULL: 0.
 */
uint64_t kvb_format_block_bytes(const kvb_format *format);

/**
 * Gives a format back.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_format_destroy(kvb_format *format);

/* ---------------------------------------------------------------------------
 * Where blocks are in memory, and which bytes a copy is of.
 */

/** Where the blocks of a shard are: a part in each of its planes. It does not change once it is made. */
typedef struct kvb_layout kvb_layout;

/**
 * A part of every block, at regular distances: K or V of a layer, both interleaved, all layers at once, latents, scales. Addresses are
 * whatever your own mover takes: pointers, device pointers, offsets into a registered region.
 */
typedef struct kvb_plane {
    /** Address of block 0. */
    uint64_t base;
    /** Bytes from a block to the next. */
    uint64_t block_stride;
    /** Bytes of a block. */
    uint64_t block_bytes;
} kvb_plane;

/**
 * Says where `blocks` blocks are, in memory 0. Planes may lie between one another, but have no byte in common.
 *
 * Ownership: the list is copied; `*out` is the caller's, to be given to `kvb_layout_destroy`. Threads: any. O(planes^2).
 * Errors: `KVB_ERR_LAYOUT` (no plane, no block, a plane without bytes, an address beyond 64 bits; blocks of the plane `error->which` that
 * overlap: `error->needed` bytes, `error->available` apart; two planes that overlap: `error->which` is the second of them, `error->needed`
 * the first), `KVB_ERR_TOO_MANY_BLOCKS`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_layout_create(const kvb_plane *planes,
                             size_t plane_count,
                             size_t blocks,
                             kvb_layout **out,
                             kvb_error *error);

/** Nothing is known of the inside of a block: bytes that are copied as they are. All other fields of the tile are 0. */
#define KVB_ORDER_OPAQUE 0

/** Position by position, and in each all heads: `[positions, heads, head_bytes]`. */
#define KVB_ORDER_NHD 1

/** Head by head, and in each all positions: `[heads, positions, head_bytes]`. */
#define KVB_ORDER_HND 2

/**
 * The inside of a block in a plane: `parts` tensors one behind the other, each of `positions` times `heads` vectors of `head_bytes`, without
 * gaps.
 */
typedef struct kvb_tile {
    /** `KVB_ORDER_*`: what comes first. */
    uint32_t order;
    /** Tensors: 2 for K, then V; 1 for one of them, or for latents; twice the layers if all of them are in the plane. */
    uint32_t parts;
    /** Positions of a block. */
    uint32_t positions;
    /** Heads of K/V on this device. */
    uint32_t heads;
    /** Bytes of one head's vector of one position. */
    uint32_t head_bytes;
} kvb_tile;

/**
 * Says where `blocks` blocks are in a memory, and what is inside of them: a tile for each plane, of as many bytes as the plane has a block.
 * Two layouts with the same `memory`, a number of yours, are over the same bytes, and a block id means the same block in both; with
 * different ones they have no byte in common, which is yours to know.
 *
 * As `kvb_layout_create`, and `KVB_ERR_LAYOUT` also for a tile with other bytes than a block: `error->which` is the plane, `error->needed`
 * the bytes of the tile, `error->available` those of the block. `KVB_ERR_INVALID`: the order of a tile. NULL: `tiles`, if nothing is known
 * of any; `error`.
 */
kvb_status kvb_layout_create_tiled(const kvb_plane *planes,
                                   const kvb_tile *tiles,
                                   size_t plane_count,
                                   size_t blocks,
                                   uint32_t memory,
                                   kvb_layout **out,
                                   kvb_error *error);

/**
 * In which memory it is.
 *
 * Threads: any. O(1). NULL: 0.
 */
uint32_t kvb_layout_memory(const kvb_layout *layout);

/**
 * Bytes of a block, in all planes together.
 *
 * Threads: any. O(1). NULL: 0.
 */
uint64_t kvb_layout_block_bytes(const kvb_layout *layout);

/**
 * Makes the format of the blocks of a layout, for transfers and loans. Tiles are part of it: the other end must have its heads in the same
 * order.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_format_destroy`. Threads: any. O(planes). Errors: `KVB_ERR_NO_MEMORY`.
 * NULL: only `error`.
 */
kvb_status kvb_layout_format(const kvb_layout *layout,
                             size_t block_size,
                             uint32_t element,
                             kvb_format **out,
                             kvb_error *error);

/**
 * Where a block begins in a plane.
 *
 * Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE` (no such plane), `KVB_ERR_NO_SUCH_BLOCK`. NULL: only `error`.
 */
kvb_status kvb_layout_address(const kvb_layout *layout,
                              size_t plane,
                              uint32_t block,
                              uint64_t *out,
                              kvb_error *error);

/** Bytes of one plane that lie together, and belong together in the list of blocks. */
typedef struct kvb_run {
    /** In which plane. */
    size_t plane;
    /** Where it begins. */
    uint64_t address;
    /** How long it is. */
    uint64_t bytes;
    /** The place of its first block in the list. */
    size_t first;
    /** Blocks of it. */
    size_t blocks;
} kvb_run;

/** Bytes of one plane that lie together on both sides. */
typedef struct kvb_pair_run {
    /** In which plane. */
    size_t plane;
    /** From where. */
    uint64_t source;
    /** To where. */
    uint64_t destination;
    /** How many. */
    uint64_t bytes;
    /** The place of its first block in the lists. */
    size_t first;
    /** Blocks of it. */
    size_t blocks;
} kvb_pair_run;

/**
 * Lists the bytes of some blocks, plane by plane and in the order of the list: neighbours in the list that are neighbours in a
 * plane without gaps are one run. There are at most as many as blocks * planes. `*run_count` is how many there are.
 *
 * Ownership: `out` has room for `capacity`. Threads: any. O(blocks * planes), no allocation. Errors: `KVB_ERR_TOO_SHORT`
 * (`error->needed` is how many there are), `KVB_ERR_NO_SUCH_BLOCK`. NULL: no blocks; `out` if `capacity` is 0; `error`.
 */
kvb_status kvb_layout_runs(const kvb_layout *layout,
                           const uint32_t *blocks,
                           size_t block_count,
                           kvb_run *out,
                           size_t capacity,
                           size_t *run_count,
                           kvb_error *error);

/**
 * Lists what has to be copied so that each of `destinations` gets the bytes of the block at the same place of `sources`: plane by plane,
 * in the order of the lists. Neighbours in the lists that are neighbours in memory on both sides are one run. That no destination is a
 * source, and each is there once, is yours to know. `*run_count` is how many runs there are.
 *
 * Ownership: both lists have `block_count` blocks, `out` has room for `capacity`. Threads: any. O(blocks * planes), no allocation.
 * Errors: `KVB_ERR_TOO_SHORT` (`error->needed` is how many there are), `KVB_ERR_NO_SUCH_BLOCK`, `KVB_ERR_INCOMPATIBLE` (the planes are
 * not alike; `error->which` is the first that differs). NULL: no blocks; `out` if `capacity` is 0; `error`.
 */
kvb_status kvb_layout_pair_runs(const kvb_layout *source,
                                const uint32_t *sources,
                                const kvb_layout *destination,
                                const uint32_t *destinations,
                                size_t block_count,
                                kvb_pair_run *out,
                                size_t capacity,
                                size_t *run_count,
                                kvb_error *error);

/**
 * Gives a layout back.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_layout_destroy(kvb_layout *layout);

/* ---------------------------------------------------------------------------
 * How blocks get from one layout to another.
 */

/**
 * How blocks get from one layout to another: what is done in each plane. It does not change once it is made.
 *
 * A plane of which both layouts say what is inside is put in the order of the destination. A plane of which one of them says nothing is
 * copied as it is.
 */
typedef struct kvb_copy_route kvb_copy_route;

/**
 * Whole blocks from `source` to `destination`. The two may be alike, and in one memory: then blocks are copied in place.
 *
 * Ownership: the layouts are copied; `*out` is the caller's, to be given to `kvb_copy_route_destroy`. Threads: any. O(planes), and as
 * `kvb_layout_create` if both are in one memory. Errors: `KVB_ERR_INCOMPATIBLE` (other planes, bytes, or vectors; `error->which` is the
 * first plane that differs), `KVB_ERR_LAYOUT` (two layouts of one memory that are not alike, and have a byte in common: `error->which` is
 * the plane of the destination, `error->needed` that of the source), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_copy_route_create(const kvb_layout *source,
                                 const kvb_layout *destination,
                                 kvb_copy_route **out,
                                 kvb_error *error);

/**
 * Some heads of blocks, in every plane: `heads` of them from `source_first` on become those from `destination_first` on, and the others of
 * the destination stay as they are. What a rank gets from another one if the tensor-parallel degree changes.
 *
 * As `kvb_copy_route_create`, but the two sides may have different numbers of heads. `KVB_ERR_INVALID`: no head; `KVB_ERR_OUT_OF_RANGE`: no
 * such heads (`error->which` is the plane, `error->needed` heads would have to be there of which there are `error->limit`;
 * `error->available` is 0 if it is the source, 1 if it is the destination);
 * `KVB_ERR_UNKNOWN_FORMAT`: nothing says what is inside of the plane `error->which`. NULL: only `error`.
 */
kvb_status kvb_copy_route_create_heads(const kvb_layout *source,
                                       const kvb_layout *destination,
                                       uint32_t source_first,
                                       uint32_t destination_first,
                                       uint32_t heads,
                                       kvb_copy_route **out,
                                       kvb_error *error);

/**
 * Bytes that are copied of a block, in all planes together.
 *
 * Threads: any. O(1). NULL: 0.
 */
uint64_t kvb_copy_route_block_bytes(const kvb_copy_route *route);

/**
 * Whether source and destination are one layout of one memory, so that a block that one pair reads may be one that another pair writes.
 *
 * Threads: any. O(1). NULL: false.
 */
bool kvb_copy_route_is_in_place(const kvb_copy_route *route);

/** The bytes of a block are copied as they are. */
#define KVB_COPY_SAME 0

/** Vector by vector, each to its place. */
#define KVB_COPY_PERMUTE 1

/** Where the vectors of a block lie: bytes from one part, position and head to the next. */
typedef struct kvb_tile_strides {
    /** From a part to the next. */
    uint64_t part;
    /** From a position to the next. */
    uint64_t position;
    /** From a head to the next. */
    uint64_t head;
} kvb_tile_strides;

/**
 * What is done in one plane. With `KVB_COPY_SAME` the `bytes` bytes at `source_base + block * source_stride` go to the same place of the
 * destination, and all below `bytes` is 0. With `KVB_COPY_PERMUTE` the `head_bytes` bytes of each vector, at
 * `source_base + block * source_stride + part * source.part + position * source.position + head * source.head`, do.
 */
typedef struct kvb_plane_copy {
    /** Which plane, of both layouts. */
    size_t plane;
    /** `KVB_COPY_*`. */
    uint32_t kind;
    /** Bytes of the widest access, up to 16, of which every address and length of this plane is a multiple. */
    uint32_t access;
    /** Address of the first byte of block 0 that is read. */
    uint64_t source_base;
    /** Bytes from a block to the next. */
    uint64_t source_stride;
    /** Address of the first byte of block 0 that is written. */
    uint64_t destination_base;
    /** Bytes from a block to the next. */
    uint64_t destination_stride;
    /** Bytes that are copied of a block. */
    uint64_t bytes;
    /** Tensors in a block. */
    uint32_t parts;
    /** Positions of a block. */
    uint32_t positions;
    /** Heads that are copied, from 0 on. */
    uint32_t heads;
    /** Bytes of a vector. */
    uint32_t head_bytes;
    /** Where vectors lie in a block of the source. */
    kvb_tile_strides source;
    /** Where vectors lie in a block of the destination. */
    kvb_tile_strides destination;
} kvb_plane_copy;

/**
 * Lists what is done in each plane. `*count` is how many planes there are.
 *
 * Ownership: `out` has room for `capacity`. Threads: any. O(planes), no allocation. Errors: `KVB_ERR_TOO_SHORT` (`error->needed` is how
 * many there are). NULL: `out` if `capacity` is 0; `error`.
 */
kvb_status kvb_copy_route_planes(const kvb_copy_route *route,
                                 kvb_plane_copy *out,
                                 size_t capacity,
                                 size_t *count,
                                 kvb_error *error);

/**
 * Gives a route back. Plans that were made of it stay.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_copy_route_destroy(kvb_copy_route *route);

/* ---------------------------------------------------------------------------
 * Which blocks are copied along a route, and in which order.
 */

/**
 * Pairs of blocks that are to be copied along a route, checked and in waves. It means: as if its pairs were copied one after another, in the
 * order in which they were given. One thread at a time may use it.
 *
 * The pairs of a wave may be copied in any order, or all at once; the next wave may begin when the one before it has ended. Only where
 * blocks are copied in place there is more than one.
 */
typedef struct kvb_copy_plan kvb_copy_plan;

/**
 * Makes a plan along a route, without pairs, and with room for lists of so many: `kvb_copy_plan_set` does not allocate for them.
 *
 * Ownership: it keeps what it needs of the route; `*out` is the caller's, to be given to `kvb_copy_plan_destroy`. Threads: any.
 * O(pairs). Errors: `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_copy_plan_create(const kvb_copy_route *route,
                                size_t pairs,
                                kvb_copy_plan **out,
                                kvb_error *error);

/**
 * Replaces the pairs of a plan: the block at each place of `sources` is to be copied to the one at the same place of `destinations`. All of
 * them, or none: the plan is as it was if one cannot be, and `error->which` is the place of the first such pair.
 *
 * Ownership: both lists have `pair_count` blocks, and are copied. Threads: the plan's. O(pairs log(pairs)); allocates only if there was
 * never a list of so many, or room for one. Errors: `KVB_ERR_NO_SUCH_BLOCK` (the block `error->needed` is none of the `error->limit` of
 * its layout; `error->available` is 0 if it is the source, 1 if it is the destination), `KVB_ERR_ONTO_ITSELF` (in place, the block
 * `error->needed`), `KVB_ERR_DUPLICATE_DESTINATION` (the block `error->needed`, to which the pair `error->available` copies, too),
 * `KVB_ERR_NO_MEMORY`. NULL: lists of 0; `error`.
 */
kvb_status kvb_copy_plan_set(kvb_copy_plan *plan,
                             const uint32_t *sources,
                             const uint32_t *destinations,
                             size_t pair_count,
                             kvb_error *error);

/**
 * Pairs of a plan.
 *
 * Threads: the plan's. O(1). NULL: 0.
 */
size_t kvb_copy_plan_pairs(const kvb_copy_plan *plan);

/**
 * Bytes that a plan copies, in all planes together.
 *
 * Threads: the plan's. O(1). NULL: 0.
 */
uint64_t kvb_copy_plan_bytes(const kvb_copy_plan *plan);

/**
 * Waves of a plan, numbered from 0: none if there is nothing to copy.
 *
 * Threads: the plan's. O(1). NULL: 0.
 */
size_t kvb_copy_plan_waves(const kvb_copy_plan *plan);

/**
 * Lists the pairs of a wave, in the order of the sources. `*count` is how many there are.
 *
 * Ownership: both lists have room for `capacity`. Threads: the plan's. O(waves + pairs of this one), no allocation.
 * Errors: `KVB_ERR_TOO_SHORT` (`error->needed` is how many there are), `KVB_ERR_OUT_OF_RANGE` (no such wave). NULL: the lists if `capacity`
 * is 0; `error`.
 */
kvb_status kvb_copy_plan_wave(const kvb_copy_plan *plan,
                              size_t wave,
                              uint32_t *sources,
                              uint32_t *destinations,
                              size_t capacity,
                              size_t *count,
                              kvb_error *error);

/**
 * Lists the bytes of a wave in the planes that are copied as they are (`KVB_COPY_SAME`): plane by plane, in the order of the wave's pairs,
 * neighbours that are neighbours in memory on both sides in one run. `*run_count` is how many there are. What is done in the other planes
 * is said by `kvb_copy_route_planes`, for each pair.
 *
 * Ownership: `out` has room for `capacity`. Threads: the plan's. O(waves + pairs of this one * planes), no allocation.
 * Errors: `KVB_ERR_TOO_SHORT` (`error->needed` is how many there are), `KVB_ERR_OUT_OF_RANGE` (no such wave). NULL: `out` if `capacity` is
 * 0; `error`.
 */
kvb_status kvb_copy_plan_wave_runs(const kvb_copy_plan *plan,
                                   size_t wave,
                                   kvb_pair_run *out,
                                   size_t capacity,
                                   size_t *run_count,
                                   kvb_error *error);

/**
 * Gives a plan back.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_copy_plan_destroy(kvb_copy_plan *plan);

/* ---------------------------------------------------------------------------
 * Who used a block last, and what has to pass before somebody else may.
 */

/** Most timelines of a table of fences. */
#define KVB_MAX_TIMELINES 8

/** Bytes of a block are read. */
#define KVB_ACCESS_READ 0

/** Bytes of a block are written. */
#define KVB_ACCESS_WRITE 1

/**
 * Who used a block last, on which timeline (a stream, or whatever else does things one after another), and what has to pass before somebody
 * else may. It waits for nothing by itself. What is recorded must have waited for what the table answered. One thread at a time may use it,
 * also for calls with a `const` pointer.
 */
typedef struct kvb_fences kvb_fences;

/** What has to pass before something may begin. */
typedef struct kvb_waits {
    /** `sizeof(kvb_waits)`. */
    uint32_t struct_size;
    /** Timelines on which something has to pass: 0 if nothing is to be waited for. */
    uint32_t count;
    /** On each timeline the fence that must have passed; 0 for none. */
    uint64_t fences[KVB_MAX_TIMELINES];
} kvb_waits;

/**
 * Makes a table without timelines and memories.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_fences_destroy`. Threads: any. O(1). Errors: `KVB_ERR_NO_MEMORY`.
 * NULL: `KVB_ERR_NULL`.
 */
kvb_status kvb_fences_create(kvb_fences **out);

/**
 * One timeline more. `*timeline` is its number: how many there were.
 *
 * Threads: the table's. O(tracked blocks); allocates. Errors, after which nothing has changed: `KVB_ERR_TOO_MANY_TIMELINES`
 * (`KVB_MAX_TIMELINES`), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_fences_add_timeline(kvb_fences *fences,
                                   uint32_t *timeline,
                                   kvb_error *error);

/**
 * Knows `blocks` blocks of a memory from now on, none of them in use. If there are as many already, nothing changes.
 *
 * Threads: the table's. O(blocks * timelines); allocates. Errors, after which nothing has changed: `KVB_ERR_TOO_MANY_BLOCKS`,
 * `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_fences_track(kvb_fences *fences,
                            uint32_t memory,
                            size_t blocks,
                            kvb_error *error);

/**
 * What has to pass on each other timeline before a plan may begin on `on`: a reader waits for writes, a writer for reads and writes.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the table's and the plan's. O(pairs * timelines), no
 * allocation. Errors: `KVB_ERR_OUT_OF_RANGE` (no such timeline), `KVB_ERR_UNTRACKED` (a memory of the plan's layouts, `error->needed`),
 * `KVB_ERR_NO_SUCH_BLOCK` (not all blocks of a layout are tracked: `error->needed` is its last one, `error->limit` are of its memory,
 * `error->which`),
 * `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
 */
kvb_status kvb_fences_waits_for(const kvb_fences *fences,
                                const kvb_copy_plan *plan,
                                uint32_t on,
                                kvb_waits *out,
                                kvb_error *error);

/**
 * Says that a plan is done on the timeline `on` once `fence` of it has passed. It must have waited for what `kvb_fences_waits_for` answered.
 *
 * Threads: the table's and the plan's. O(pairs * timelines), no allocation. Errors, after which nothing has changed: those of
 * `kvb_fences_waits_for`, and `KVB_ERR_NOT_LATER` (`error->needed` is before `error->limit`, the last fence of the timeline, or is 0: the
 * fences of a timeline may be equal but never go back). NULL: only `error`.
 */
kvb_status kvb_fences_record(kvb_fences *fences,
                             const kvb_copy_plan *plan,
                             uint32_t on,
                             uint64_t fence,
                             kvb_error *error);

/**
 * What has to pass on each other timeline before something on `on` may read, or write (`KVB_ACCESS_*`), some blocks of a memory.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the table's. O(blocks * timelines), no allocation.
 * Errors: `KVB_ERR_OUT_OF_RANGE` (no such timeline), `KVB_ERR_UNTRACKED` (the memory), `KVB_ERR_NO_SUCH_BLOCK`, `KVB_ERR_INVALID`
 * (`access`), `KVB_ERR_STRUCT_SIZE`. NULL: no blocks; `error`.
 */
kvb_status kvb_fences_waits_for_blocks(const kvb_fences *fences,
                                       uint32_t memory,
                                       const uint32_t *blocks,
                                       size_t block_count,
                                       uint32_t access,
                                       uint32_t on,
                                       kvb_waits *out,
                                       kvb_error *error);

/**
 * Says that something on the timeline `on` has read, or written (`KVB_ACCESS_*`), some blocks of a memory once `fence` of it has passed. It
 * must have waited for what `kvb_fences_waits_for_blocks` answered.
 *
 * Threads: the table's. O(blocks * timelines), no allocation. Errors, after which nothing has changed: those of
 * `kvb_fences_waits_for_blocks`, and `KVB_ERR_NOT_LATER`. NULL: no blocks; `error`.
 */
kvb_status kvb_fences_record_blocks(kvb_fences *fences,
                                    uint32_t memory,
                                    const uint32_t *blocks,
                                    size_t block_count,
                                    uint32_t access,
                                    uint32_t on,
                                    uint64_t fence,
                                    kvb_error *error);

/**
 * Says that a timeline has passed this fence, and with it every earlier one: nobody is told to wait for them any more. A fence that has
 * passed already changes nothing.
 *
 * Threads: the table's. O(1). Errors: `KVB_ERR_OUT_OF_RANGE` (no such timeline). NULL: only `error`.
 */
kvb_status kvb_fences_completed(kvb_fences *fences,
                                uint32_t timeline,
                                uint64_t fence,
                                kvb_error *error);

/**
 * The last fence recorded on a timeline; 0 if there is none.
 *
 * Threads: the table's. O(1). Errors: `KVB_ERR_OUT_OF_RANGE` (no such timeline). NULL: only `error`.
 */
kvb_status kvb_fences_last(const kvb_fences *fences,
                           uint32_t timeline,
                           uint64_t *fence,
                           kvb_error *error);

/**
 * Gives a table back.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_fences_destroy(kvb_fences *fences);

/* ---------------------------------------------------------------------------
 * One shard: its blocks, and what can be done to all of them.
 */

/** The blocks of one device or rank. Every call that takes it may run at the same time as any other, but for `kvb_pool_destroy`. */
typedef struct kvb_pool kvb_pool;

/**
 * What a pool is to be. All zero but `struct_size`, `blocks` and `block_size` is a good choice for the only pool of a program; give each of
 * several its own `shard`.
 */
typedef struct kvb_pool_config {
    /** `sizeof(kvb_pool_config)`. */
    uint32_t struct_size;
    /**
     * The name of its shard, which refusals tell, below `KVB_NO_SHARD`. Handles of pools with different ones differ; those of pools with equal
     * ones may not, and then a call with the handle of the other pool is not refused.
     */
    uint32_t shard;
    /** Blocks that are online from the start. */
    size_t blocks;
    /** The most blocks that it can ever have; 0 for `blocks`. Bookkeeping is made for that many. */
    size_t max_blocks;
    /** Token positions of a block. */
    size_t block_size;
    /** The last so many events are kept for readers; 0 keeps none and costs nothing. */
    size_t events;
    /** The key of all keyed hashes. Equal on pools that must act alike; random where tenants could be hostile. */
    uint8_t secret[16];
    /** `KVB_PROOF_*`. */
    uint32_t proof;
    /** `KVB_HASH_*`. */
    uint32_t hash;
    /** The seed of `KVB_HASH_XXH3`. */
    uint64_t hash_seed;
} kvb_pool_config;

/**
 * Makes a pool with all of its bookkeeping: no later call makes it larger.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_pool_destroy`. Threads: any. O(max_blocks).
 * Errors: `KVB_ERR_NO_BLOCKS`, `KVB_ERR_TOO_MANY_BLOCKS`, `KVB_ERR_MAX_BELOW_BLOCKS`, `KVB_ERR_BLOCK_SIZE`, `KVB_ERR_TOO_MANY_EVENTS`,
 * `KVB_ERR_INVALID`, `KVB_ERR_NO_MEMORY`, `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
 */
kvb_status kvb_pool_create(const kvb_pool_config *config,
                           kvb_pool **out,
                           kvb_error *error);

/**
 * Lets go of a pool. Registries, workers, chains and whatever else was made of it keep it until they are destroyed, in any order.
 *
 * Threads: no other call may use this pointer meanwhile. NULL: nothing happens.
 */
void kvb_pool_destroy(kvb_pool *pool);

/**
 * The name of the pool's shard.
 *
 * Threads: any. O(1). NULL: 0.
 */
uint32_t kvb_pool_shard(const kvb_pool *pool);

/**
 * Token positions of a block.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_pool_block_size(const kvb_pool *pool);

/**
 * Blocks that are online: what one request can ever have.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_pool_capacity(const kvb_pool *pool);

/**
 * Blocks that are free or idle and promised to nobody, at this instant.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_pool_available(const kvb_pool *pool);

/**
 * Blocks that were promised and not taken, at this instant.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_pool_reserved(const kvb_pool *pool);

/**
 * Blocks that only fences hold and that come back to be used when these pass, at this instant: of a pool that was shrunk not those above its
 * limit, which its report counts, too.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_pool_quarantined(const kvb_pool *pool);

/**
 * Whether so many blocks could be promised at this instant. Changes nothing.
 *
 * Threads: any. O(1). Errors: `KVB_ERR_NEVER_FITS`, `KVB_ERR_SHORTFALL`. NULL: only `error`.
 */
kvb_status kvb_pool_check(const kvb_pool *pool, size_t blocks, kvb_error *error);

/** How much of a prompt is findable. */
typedef struct kvb_probe {
    /** Positions that are found: whole blocks. */
    size_t positions;
    /** Blocks among them that somebody holds. */
    size_t held;
    /** Blocks among them that are idle: taking one costs as much as taking a free one. */
    size_t idle;
} kvb_probe;

/**
 * How much of a prompt is findable at this instant. Changes nothing, not even the order of reclaim.
 *
 * Threads: any. O(blocks found). Errors: `KVB_ERR_LENGTH_MISMATCH`, `KVB_ERR_NO_MEMORY` (with extra keys only). NULL: only `error`.
 */
kvb_status kvb_pool_probe(const kvb_pool *pool,
                          const kvb_prompt *prompt,
                          kvb_probe *out,
                          kvb_error *error);

/* ---------------------------------------------------------------------------
 * What a pool is to be.
 */

/** Hits are compared with the tokens themselves, 4 bytes a position: exact. */
#define KVB_PROOF_TOKENS 0

/** Hits are compared with a keyed 128-bit digest of the tokens, 16 bytes a block: as certain as the digest. */
#define KVB_PROOF_DIGEST 1

/** Chain keys are SipHash-1-3 under the secret. */
#define KVB_HASH_SIP 0

/** Chain keys are XXH3 with a seed: faster, for one trusted tenant. A hash only narrows the search, whichever it is. */
#define KVB_HASH_XXH3 1

/* ---------------------------------------------------------------------------
 * The figures of one shard.
 */

/**
 * The figures of one shard at one look.
 *
 * `capacity = online + draining = free + idle + held + quarantined`, `max_blocks = capacity + offline`, and `available = free + idle -
 * reserved`: exact at rest and after every operation of a single thread. While other threads work, each block is counted once, in the
 * state in which it was seen.
 */
typedef struct kvb_pool_report {
    /** `sizeof(kvb_pool_report)`. */
    uint32_t struct_size;
    /** Which shard. */
    uint32_t shard;
    /** Token positions of a block. */
    uint64_t block_size;
    /** Blocks that there is bookkeeping for. */
    uint64_t max_blocks;
    /** Blocks in service: below the limit, or draining. */
    uint64_t capacity;
    /** Blocks below the limit: what can be promised at most. */
    uint64_t online;
    /**
     * Blocks at or above the limit that are still in service: held, or to be collected by the next
     * `shrink`.
     */
    uint64_t draining;
    /** Blocks that are not in service. */
    uint64_t offline;
    /** Blocks that hold nothing. */
    uint64_t free;
    /** Published blocks without a holder. */
    uint64_t idle;
    /** Blocks with a holder, shared ones once. */
    uint64_t held;
    /** Blocks that only a fence holds. */
    uint64_t quarantined;
    /** References to held blocks beyond the first of each. */
    uint64_t shared_references;
    /** Blocks promised and not taken. */
    uint64_t reserved;
    /** Free and idle blocks promised to nobody. */
    uint64_t available;
    /** Blocks found. */
    uint64_t hits;
    /** Blocks looked up and not found. */
    uint64_t misses;
    /** Blocks that became findable. */
    uint64_t stored;
    /** Blocks published whose content already was findable. */
    uint64_t duplicates;
    /** Times publishing stopped because a duplicate could not be paid. */
    uint64_t unpaid;
    /** Times publishing stopped because the key's buckets were full. */
    uint64_t declined;
    /** Idle blocks that were taken or evicted. */
    uint64_t reclaims;
    /** Tokens that were sent back to the tail of the order. */
    uint64_t second_chances;
    /** Searches of all blocks for want of a token. */
    uint64_t sweeps;
    /** Refusals that waiting cannot help. */
    uint64_t refused_never;
    /** Refusals for now. */
    uint64_t refused_shortfall;
    /** Bytes of all arrays of the pool. */
    uint64_t memory_bytes;
    /** Bytes of them that hold tokens or digests. */
    uint64_t content_bytes;
} kvb_pool_report;

/**
 * Reads the figures of a shard.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(max_blocks), no allocation.
 * Errors: `KVB_ERR_STRUCT_SIZE`. NULL: neither.
 */
kvb_status kvb_pool_get_report(const kvb_pool *pool, kvb_pool_report *out);

/**
 * Writes the figures of a shard for a person to read, as UTF-8 with a zero at its end, into `capacity` bytes. `*length` is what all of
 * it takes without the zero: where that is not below `capacity` the text was cut off.
 *
 * Threads: any. O(max_blocks), no allocation. Errors: none but those of pointers. NULL: `text` if `capacity` is 0; `length`.
 */
kvb_status kvb_pool_report_text(const kvb_pool *pool,
                                char *text,
                                size_t capacity,
                                size_t *length);

/* ---------------------------------------------------------------------------
 * What a thread keeps for its calls, and the upkeep of what is findable.
 */

/** What one thread keeps for its calls to one pool: where it looks for free blocks next, and its counts. */
typedef struct kvb_worker kvb_worker;

/**
 * Makes a worker. Registries have their own; this is for calls to the pool itself.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_worker_destroy`. Threads: any. O(blocks / 64).
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_worker_create(const kvb_pool *pool, kvb_worker **out, kvb_error *error);

/**
 * Gives a worker back.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_worker_destroy(kvb_worker *worker);

/**
 * Frees up to `blocks` idle blocks in the order of reclaim, and tells how many. Reservations stand.
 *
 * Threads: any, each with a worker of its own. O(blocks). Errors: `KVB_ERR_WRONG_POOL`. NULL: `out`, `error`.
 */
kvb_status kvb_pool_evict(const kvb_pool *pool,
                          kvb_worker *worker,
                          size_t blocks,
                          size_t *out,
                          kvb_error *error);

/**
 * Makes every block of a namespace unfindable, frees those that nobody holds, and tells how many. Held ones stay valid for their owners.
 * NULL for `space` is the bare model's namespace; `kvb_pool_clear_all` clears every one.
 *
 * Threads: any, each with a worker of its own. A few passes over all blocks; allocates.
 * Errors: `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY`. NULL: `space`, `out`, `error`.
 */
kvb_status kvb_pool_clear(const kvb_pool *pool,
                          kvb_worker *worker,
                          const kvb_namespace *space,
                          size_t *out,
                          kvb_error *error);

/**
 * Makes every block unfindable, frees those that nobody holds, and tells how many. Held ones stay valid for their owners.
 *
 * As `kvb_pool_clear`.
 */
kvb_status kvb_pool_clear_all(const kvb_pool *pool,
                              kvb_worker *worker,
                              size_t *out,
                              kvb_error *error);

/**
 * Makes one published block and all below it unfindable, because its content is bad, and tells how many blocks became free. Held ones
 * stay valid for their owners; `kvb_seqs_invalidate` also tells who has it.
 *
 * Threads: any, each with a worker of its own. A few passes over all blocks; allocates. Errors: `KVB_ERR_NOT_PUBLISHED`,
 * `KVB_ERR_NO_SUCH_BLOCK`, `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY`. NULL: `out`, `error`.
 */
kvb_status kvb_pool_invalidate(const kvb_pool *pool,
                               kvb_worker *worker,
                               uint32_t block,
                               size_t *out,
                               kvb_error *error);

/**
 * Does up to `steps` of the reclaimer's work beforehand and tells how many. Never needed, but keeps the longest call short.
 *
 * Threads: any, each with a worker of its own. O(steps). Errors: `KVB_ERR_WRONG_POOL`. NULL: `out`, `error`.
 */
kvb_status kvb_pool_maintain(const kvb_pool *pool,
                             kvb_worker *worker,
                             size_t steps,
                             size_t *out,
                             kvb_error *error);

/* ---------------------------------------------------------------------------
 * More blocks, or fewer, while it serves.
 */

/** What a change of a pool's size did. */
typedef struct kvb_resized {
    /** Blocks that this call brought online, or took offline. */
    size_t blocks;
    /** After growing: blocks below the new limit that were draining, and stay what they are. */
    size_t taken_back;
    /** After shrinking: blocks at or above the limit that are not offline yet, as they are held. */
    size_t draining;
} kvb_resized;

/**
 * Brings the next `blocks` ids online, from the capacity on.
 *
 * Threads: any. O(blocks / 64). Errors: `KVB_ERR_BEYOND_MAX`; `KVB_ERR_IN_PROGRESS` while another thread changes the size.
 * NULL: `out`, `error`.
 */
kvb_status kvb_pool_grow(const kvb_pool *pool,
                         size_t blocks,
                         kvb_resized *out,
                         kvb_error *error);

/**
 * Takes the `blocks` highest ids that are online out of service. The free and idle ones among them go at once, the held ones when they
 * are released; no block moves. The memory from the limit on may be given away when nothing is left draining. With 0 it collects
 * what did not go by itself.
 *
 * Threads: any, each with a worker of its own. A few passes over all blocks; allocates. Errors, after which nothing has changed:
 * `KVB_ERR_SHORTFALL` (reservations stand), `KVB_ERR_NOTHING_LEFT`, `KVB_ERR_IN_PROGRESS`, `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY`.
 * NULL: `out`, `error`.
 */
kvb_status kvb_pool_shrink(const kvb_pool *pool,
                           kvb_worker *worker,
                           size_t blocks,
                           kvb_resized *out,
                           kvb_error *error);

/* ---------------------------------------------------------------------------
 * Promises of blocks.
 */

/**
 * The right to so many blocks: taking within it never fails for want of blocks, whatever others do. It names no ids, so idle blocks stay
 * findable until they are needed.
 */
typedef struct kvb_reservation kvb_reservation;

/**
 * Promises blocks.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_reservation_destroy`. Threads: any. O(1).
 * Errors: `KVB_ERR_NEVER_FITS`, `KVB_ERR_SHORTFALL`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_pool_reserve(const kvb_pool *pool,
                            size_t blocks,
                            kvb_reservation **out,
                            kvb_error *error);

/**
 * Gives back what is left of a promise.
 *
 * Threads: no other call may use it meanwhile. O(1). NULL: nothing happens.
 */
void kvb_reservation_destroy(kvb_reservation *reservation);

/**
 * Blocks that are still promised.
 *
 * Threads: the reservation's. O(1). NULL: 0.
 */
size_t kvb_reservation_blocks(const kvb_reservation *reservation);

/**
 * Promises `blocks` more.
 *
 * Threads: the reservation's. O(1). Errors: `KVB_ERR_NEVER_FITS` (all of it would be larger than the pool), `KVB_ERR_SHORTFALL`.
 * NULL: only `error`.
 */
kvb_status kvb_reservation_grow(kvb_reservation *reservation,
                                size_t blocks,
                                kvb_error *error);

/**
 * Gives `blocks` of the promise back.
 *
 * Threads: the reservation's. O(1). Errors: `KVB_ERR_EXCEEDS`. NULL: only `error`.
 */
kvb_status kvb_reservation_shrink(kvb_reservation *reservation, size_t blocks, kvb_error *error);

/**
 * Splits `blocks` of the promise off as a promise of its own.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_reservation_destroy`. Threads: the reservation's. O(1).
 * Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_reservation_split(kvb_reservation *reservation,
                                 size_t blocks,
                                 kvb_reservation **out,
                                 kvb_error *error);

/* ---------------------------------------------------------------------------
 * Private blocks.
 */

/** Blocks that their owner holds alone. What they contain is nobody else's business until they are published in a chain. */
typedef struct kvb_blocks kvb_blocks;

/**
 * Takes `blocks` blocks of a promise: free ones first, then idle ones in the order of reclaim.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_blocks_release`, `kvb_blocks_destroy` or a chain. Threads: the reservation's and
 * the worker's. O(blocks). Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_WRONG_POOL` (the worker), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_reservation_take(kvb_reservation *reservation,
                                kvb_worker *worker,
                                size_t blocks,
                                kvb_blocks **out,
                                kvb_error *error);

/**
 * Gives the blocks back: they are free. Without a worker, so slower than `kvb_blocks_release`.
 *
 * Threads: no other call may use them meanwhile. O(blocks). NULL: nothing happens.
 */
void kvb_blocks_destroy(kvb_blocks *blocks);

/**
 * Lends their ids, in the order in which they were taken.
 *
 * Ownership: the list is theirs, until the next call that changes or ends them. Threads: theirs. O(1).
 * Errors: none but those of pointers. NULL: neither.
 */
kvb_status kvb_blocks_ids(const kvb_blocks *blocks, const uint32_t **ids, size_t *count);

/**
 * Keeps the first `at` and splits the others off.
 *
 * Ownership: `*out` is the caller's, as of `kvb_reservation_take`. Threads: theirs. O(blocks); allocates for many.
 * Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_blocks_split_off(kvb_blocks *blocks, size_t at, kvb_blocks **out, kvb_error *error);

/**
 * Puts `others` behind these.
 *
 * Ownership: on success `others` is gone; otherwise it is as it was. Threads: of both. O(blocks); allocates for many.
 * Errors: `KVB_ERR_WRONG_POOL`, `KVB_ERR_INVALID` (they are the same), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_blocks_append(kvb_blocks *blocks, kvb_blocks *others, kvb_error *error);

/**
 * Gives the blocks back: they are free.
 *
 * Ownership: on success `blocks` is gone; otherwise it is as it was. Threads: theirs and the worker's. O(blocks), no allocation.
 * Errors: `KVB_ERR_WRONG_POOL` (the worker). NULL: only `error`.
 */
kvb_status kvb_blocks_release(kvb_blocks *blocks,
                              kvb_worker *worker,
                              kvb_error *error);

/**
 * What was released while a device or a peer may still touch it, on each shard: blocks that come back when the shard's stream reports
 * that it has passed their fence. A fence is a number of yours that does not go back on one lane, that of a step say. One thread at a
 * time may use it.
 */
typedef struct kvb_lanes kvb_lanes;

/**
 * Gives the blocks back when a shard's lane has passed a fence. Until then they are quarantined.
 *
 * Ownership: on success `blocks` is gone; otherwise it is as it was. Threads: theirs, the worker's and the lanes'. O(blocks); allocates
 * for the lane's lists, which are used again. Errors: `KVB_ERR_WRONG_POOL` (the worker, the lane), `KVB_ERR_OUT_OF_RANGE` (no such
 * lane), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_blocks_release_after(kvb_blocks *blocks,
                                    kvb_worker *worker,
                                    kvb_lanes *lanes,
                                    size_t shard,
                                    uint64_t fence,
                                    kvb_error *error);

/* ---------------------------------------------------------------------------
 * Chains: what one owner holds of a path from the root.
 */

/**
 * What one owner holds of a path from the root: a published head, then private blocks. For engines whose scheduler keeps block tables of
 * its own; a `kvb_seqs` does all of this for its sequences. Every block stays as it is until the chain is released.
 */
typedef struct kvb_chain kvb_chain;

/**
 * Holds the longest prefix of a prompt that is findable, compared token by token. Blocks that somebody holds cost nothing, an idle one
 * costs one of `pay`; the chain ends where nothing more is findable or can be paid, and may be empty.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_chain_release` or `kvb_chain_destroy`. Threads: any, each with a worker of its
 * own; the reservation's. O(blocks); allocates for long prompts, in buffers that the worker uses again.
 * Errors: `KVB_ERR_LENGTH_MISMATCH`, `KVB_ERR_WRONG_POOL` (the worker, the reservation), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_pool_find(const kvb_pool *pool,
                         kvb_worker *worker,
                         const kvb_prompt *prompt,
                         kvb_reservation *pay,
                         kvb_chain **out,
                         kvb_error *error);

/**
 * Makes an empty chain for prompts of a namespace; NULL is the bare model's.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_chain_release` or `kvb_chain_destroy`. Threads: any. O(1).
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: `space`.
 */
kvb_status kvb_pool_chain_create(const kvb_pool *pool,
                                 const kvb_namespace *space,
                                 kvb_chain **out);

/**
 * Gives every reference back, the tail first: findable blocks become idle, others free, unless they have other owners. Without a worker,
 * so slower than `kvb_chain_release`.
 *
 * Threads: no other call may use it meanwhile. O(blocks). NULL: nothing happens.
 */
void kvb_chain_destroy(kvb_chain *chain);

/**
 * Lends the block table: the chain's blocks in order.
 *
 * Ownership: the list is the chain's, until the next call that changes or ends it. Threads: the chain's. O(1).
 * Errors: none but those of pointers. NULL: neither.
 */
kvb_status kvb_chain_ids(const kvb_chain *chain, const uint32_t **ids, size_t *count);

/**
 * Blocks of the table, from its start, whose content is findable, or was when it was published.
 *
 * Threads: the chain's. O(1). NULL: 0.
 */
size_t kvb_chain_published(const kvb_chain *chain);

/**
 * Takes `blocks` blocks of a promise and puts them at the end of the table: free ones first, then idle ones in the order of reclaim.
 *
 * Threads: of the three. O(blocks); allocates where the table has too little room. Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_WRONG_POOL`,
 * `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_chain_take(kvb_chain *chain,
                          kvb_worker *worker,
                          kvb_reservation *promise,
                          size_t blocks,
                          kvb_error *error);

/**
 * Puts private blocks at the end of the table.
 *
 * Ownership: on success `blocks` is gone; otherwise it is as it was. Threads: of both. O(blocks); allocates where the table has too little
 * room. Errors: `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_chain_push(kvb_chain *chain,
                          kvb_blocks *blocks,
                          kvb_error *error);

/** All blocks were published. */
#define KVB_STOPPED_NOT 0

/** The content is findable as an idle block, and there is nothing to pay for holding that. */
#define KVB_STOPPED_UNPAID 1

/** Too many blocks of this depth have keys that fall together. */
#define KVB_STOPPED_INDEX_FULL 2

/** A block of the chain was invalidated or cleared: what comes after it can't be found, now or later. */
#define KVB_STOPPED_CUT 3

/** The block has other owners (forks): it can be published when it has one again. */
#define KVB_STOPPED_SHARED 4

/** The chain is a tail that was split off behind the end of its published head: it can't publish, now or later. */
#define KVB_STOPPED_GAP 5

/** The host has no memory for the chain's list of duplicates. */
#define KVB_STOPPED_NO_MEMORY 6

/** The block goes offline when it is released. */
#define KVB_STOPPED_DRAINING 7

/** For a reason that this version of the C API does not know. */
#define KVB_STOPPED_UNKNOWN UINT32_MAX

/** What became of blocks to be published: the chain's published part has grown by `stored + duplicates`. */
typedef struct kvb_published {
    /** Blocks that became findable. */
    size_t stored;
    /** Blocks whose content already was findable: the chain goes on below that copy, holds it, too, and keeps its own block private. */
    size_t duplicates;
    /** Why not all were published: `KVB_STOPPED_*`. Try again, but for `KVB_STOPPED_CUT` and `KVB_STOPPED_GAP`. */
    uint32_t stopped;
    /** 0. */
    uint32_t reserved;
} kvb_published;

/**
 * Makes the chain's next unpublished blocks findable, as many whole blocks as `contents` says. They must be full and computed, and nobody
 * may write to them again. To hold a duplicate that is idle costs one of `pay`, or with NULL one that is available.
 *
 * Ownership: the contents are copied. Threads: of the chain, the worker and the reservation. O(blocks); allocates for duplicates only.
 * Errors: `KVB_ERR_LENGTH_MISMATCH` (not whole blocks, more than are unpublished, or not one extra key or chain key for each),
 * `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY` (with extra keys only). NULL: `pay`, `error`.
 */
kvb_status kvb_chain_publish(kvb_chain *chain,
                             kvb_worker *worker,
                             const kvb_contents *contents,
                             kvb_reservation *pay,
                             kvb_published *out,
                             kvb_error *error);

/* ---------------------------------------------------------------------------
 * Chains that become two, and the end of chains.
 */

/**
 * Makes a second owner of every block of a chain, of the private ones, too: nobody may write to those any more.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_chain_release` or `kvb_chain_destroy`. Threads: the chain's and the worker's.
 * O(blocks); allocates for long chains. Errors: `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_WRONG_POOL` (the worker), `KVB_ERR_NO_MEMORY`.
 * NULL: only `error`.
 */
kvb_status kvb_chain_fork(const kvb_chain *chain,
                          kvb_worker *worker,
                          kvb_chain **out,
                          kvb_error *error);

/**
 * Keeps the first `at` blocks and splits the others off as a chain of their own. Below a published head the tail holds the head, too, so
 * that the two can be released in any order; it can publish if all of the head was published.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_chain_release` or `kvb_chain_destroy`. Threads: the chain's.
 * O(blocks); allocates for long chains. Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_NO_MEMORY`.
 * NULL: only `error`.
 */
kvb_status kvb_chain_split_off(kvb_chain *chain,
                               size_t at,
                               kvb_chain **out,
                               kvb_error *error);

/**
 * Puts the findable copy of each duplicate into the table in place of the chain's own block, which is given back. `*adopted` is how many:
 * if it is not 0, read the table anew. The content of both is the same.
 *
 * Threads: the chain's and the worker's. O(blocks), no allocation. Errors: `KVB_ERR_WRONG_POOL` (the worker). NULL: `adopted`, `error`.
 */
kvb_status kvb_chain_adopt_duplicates(kvb_chain *chain,
                                      kvb_worker *worker,
                                      size_t *adopted,
                                      kvb_error *error);

/**
 * Gives every reference back, the tail first: findable blocks become idle, others free, unless they have other owners.
 *
 * Ownership: on success `chain` is gone; otherwise it is as it was. Threads: the chain's and the worker's. O(blocks), no allocation.
 * Errors: `KVB_ERR_WRONG_POOL` (the worker). NULL: only `error`.
 */
kvb_status kvb_chain_release(kvb_chain *chain,
                             kvb_worker *worker,
                             kvb_error *error);

/**
 * Gives every reference back when a shard's lane has passed a fence. Until then what nobody else holds is quarantined; what is published
 * stays findable.
 *
 * Ownership: on success `chain` is gone; otherwise it is as it was. Threads: the chain's, the worker's and the lanes'. O(blocks);
 * allocates for the lane's lists, which are used again. Errors: `KVB_ERR_WRONG_POOL` (the worker, the lane), `KVB_ERR_OUT_OF_RANGE` (no
 * such lane), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_chain_release_after(kvb_chain *chain,
                                   kvb_worker *worker,
                                   kvb_lanes *lanes,
                                   size_t shard,
                                   uint64_t fence,
                                   kvb_error *error);

/* ---------------------------------------------------------------------------
 * Recounting a pool.
 */

/** Somebody who holds blocks or credits. */
typedef struct kvb_holder {
    /** `KVB_HOLDER_*`. */
    uint32_t kind;
    /** 0. */
    uint32_t reserved;
    /** The object. */
    const void *object;
} kvb_holder;

/**
 * Recounts a pool from its blocks and from the tables of all who hold some of it. `error->message` names the first thing that does not add
 * up. At rest only: no other thread may use the pool meanwhile.
 *
 * Threads: see above. Passes over all blocks; allocates. Errors: `KVB_ERR_INCONSISTENT`, a bug of the library or a holder that was not
 * named, or is another pool's; `KVB_ERR_INVALID`, no such kind of holder; `KVB_ERR_NO_MEMORY`, nothing was found.
 * NULL: no holders, `error`.
 */
kvb_status kvb_pool_audit(const kvb_pool *pool,
                          const kvb_holder *holders,
                          size_t count,
                          kvb_error *error);

/* ---------------------------------------------------------------------------
 * One lease over all shards.
 */

/**
 * A handle of a lease: references on blocks, down from the root, for an owner and until a deadline. Any thread may use it, and there may
 * be several of one lease. The lease ends by `kvb_lease_end`, when its deadline has come and somebody notices
 * (`kvb_leases_tick`, `kvb_lease_check`), or with its last handle, of which its table has one. Over on one shard is over on all.
 */
typedef struct kvb_lease kvb_lease;

/** The deadline of a lease that is over only when somebody ends it. */
#define KVB_NO_DEADLINE UINT64_MAX

/**
 * Lets go of one handle. That ends the lease only if there is no other handle and its table is gone.
 *
 * Threads: no other call may use this handle meanwhile. NULL: nothing happens.
 */
void kvb_lease_destroy(kvb_lease *lease);

/**
 * Whose it is.
 *
 * Threads: any. O(1). NULL: 0.
 */
uint64_t kvb_lease_owner(const kvb_lease *lease);

/**
 * When it will be over, at this instant; 0 if it is. Its end may have come unnoticed: see `kvb_lease_check`.
 *
 * Threads: any. O(shards). NULL: 0.
 */
uint64_t kvb_lease_deadline(const kvb_lease *lease);

/**
 * Shards that it holds blocks of.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_lease_shards(const kvb_lease *lease);

/**
 * Lends its blocks on one shard, in the order of the table. They are its own while it lives; later these are only numbers.
 *
 * Ownership: the list is the handle's, until that is destroyed. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
 */
kvb_status kvb_lease_ids(const kvb_lease *lease,
                         size_t shard,
                         const uint32_t **ids,
                         size_t *count);

/**
 * References that it holds on one shard while it lives, and takes of the budget: on the blocks of the table, on the findable copy of each
 * duplicate, and on the head that the chain was split from. 0 if there is no such shard.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_lease_references(const kvb_lease *lease,
                            size_t shard);

/**
 * Lets it live until a later time. If it would live longer anyway it stays as it is. Until its end is noticed it can be extended.
 *
 * Threads: any. O(shards). Errors: `KVB_ERR_LEASE_ENDED`, too late. NULL: `KVB_ERR_NULL`.
 */
kvb_status kvb_lease_extend(const kvb_lease *lease,
                            uint64_t deadline);

/**
 * Asks before a use whether it lives at `now`. If its end has come it is ended here.
 *
 * Threads: any. O(shards), and what it gives back. Errors: `KVB_ERR_LEASE_ENDED`. NULL: `KVB_ERR_NULL`.
 */
kvb_status kvb_lease_check(const kvb_lease *lease, uint64_t now);

/**
 * Ends it now and gives its blocks back, the tail first. The handle stays, to be destroyed.
 *
 * Threads: any. O(references). Errors: `KVB_ERR_LEASE_ENDED`: it was over before, and nothing is given back twice. NULL: `KVB_ERR_NULL`.
 */
kvb_status kvb_lease_end(const kvb_lease *lease);

/* ---------------------------------------------------------------------------
 * Who has leases, until when, and what all of them may hold together.
 */

/**
 * A table of leases for each shard. It keeps every lease alive until that ends, so that you need no handle of it. One thread at a time may
 * use it; several tables may share pools.
 */
typedef struct kvb_leases kvb_leases;

/**
 * A registry of sequences over one pool, or over all shards that must hold a sequence for it to run: what is done on one of them is done
 * on all or on none, and one handle names a sequence on all. One thread at a time may use it, also for calls with a `const` pointer; many
 * registries may share pools.
 */
typedef struct kvb_seqs kvb_seqs;

/**
 * Makes a table for each shard of a registry, whose live leases hold at most `budget` references a shard together, at time 0.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_leases_destroy`; it keeps the pools. Threads: the registry's. O(shards).
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_seqs_leases_create(const kvb_seqs *seqs,
                                  size_t budget,
                                  kvb_leases **out);

/**
 * Makes a table for one pool, as shard 0.
 *
 * As `kvb_seqs_leases_create`, but for threads: any.
 */
kvb_status kvb_pool_leases_create(const kvb_pool *pool, size_t budget, kvb_leases **out);

/**
 * Lets go of a table and ends its leases, but for those that a `kvb_lease`, an export or a swap still has. To an audit these are named by
 * a `kvb_lease`.
 *
 * Threads: no other call may use it meanwhile. O(references given back). NULL: nothing happens.
 */
void kvb_leases_destroy(kvb_leases *leases);

/**
 * Names one sequence of one registry, from its admission to its end: a slot and the epoch of its use. A late call for an earlier
 * sequence of the same slot is answered `KVB_ERR_STALE`; any bits may be given. Give pools different `shard` names: then handles of
 * different pools differ, too.
 */
typedef struct kvb_handle {
    /** `epoch << 24 | slot`. All ones name no sequence. */
    uint64_t bits;
} kvb_handle;

/**
 * Holds what is published of a sequence on every shard until a deadline, whatever becomes of the sequence: as many blocks as on the shard
 * that has the fewest. So the next turn of a conversation finds them. `KVB_NO_DEADLINE` is never over by itself.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`; with NULL only the table keeps the lease. Threads: the registry's
 * and the table's. O(blocks); allocates. Errors, after which nothing has changed on any shard: `KVB_ERR_STALE`, `KVB_ERR_OWNER_TAKEN`,
 * `KVB_ERR_ALREADY_OVER`, `KVB_ERR_OVER_BUDGET`, `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_WRONG_POOL` (a table of other shards),
 * `KVB_ERR_NO_MEMORY`. NULL: `out`, `error`.
 */
kvb_status kvb_seqs_pin(const kvb_seqs *seqs,
                        kvb_handle seq,
                        kvb_leases *leases,
                        uint64_t owner,
                        uint64_t deadline,
                        kvb_lease **out,
                        kvb_error *error);

/**
 * Another handle of the lease that an owner has.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`. Threads: the table's. O(shards); allocates.
 * Errors: `KVB_ERR_LEASE_ENDED` (it has none), `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_leases_get(const kvb_leases *leases, uint64_t owner, kvb_lease **out);

/**
 * Tells the time on all shards, and ends what is over. `*ended` is how many leases ended by it: one of a registry over several shards
 * counts once a shard. Time is any count of yours; an earlier time than the last one changes nothing.
 *
 * Threads: the table's. O(1) if nothing can be over, otherwise O(leases + references given back). Errors: none but those of
 * pointers. NULL: `ended`.
 */
kvb_status kvb_leases_tick(kvb_leases *leases,
                           uint64_t now,
                           size_t *ended);

/**
 * References that live leases hold on a shard, at this instant; 0 if there is no such shard.
 *
 * Threads: the table's. O(1). NULL: 0.
 */
size_t kvb_leases_used(const kvb_leases *leases, size_t shard);

/** The figures of a table of leases on one shard at one look. */
typedef struct kvb_leases_report {
    /** `sizeof(kvb_leases_report)`. */
    uint32_t struct_size;
    /** 0. */
    uint32_t reserved;
    /** Blocks below the limit of the pool. */
    uint64_t capacity;
    /** Live leases. */
    uint64_t leases;
    /** Different blocks that they hold. */
    uint64_t blocks;
    /** References that they hold. */
    uint64_t references;
    /** References that they may hold. */
    uint64_t budget;
    /** The latest time that the table was told. */
    uint64_t now;
    /** Leases whose end was noticed when it had come. */
    uint64_t expired;
} kvb_leases_report;

/**
 * Reads the figures of a table on one shard.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the table's. O(max_blocks + references); allocates.
 * Errors: `KVB_ERR_STRUCT_SIZE`, `KVB_ERR_OUT_OF_RANGE`, `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_leases_get_report(const kvb_leases *leases,
                                 size_t shard,
                                 kvb_leases_report *out);

/* ---------------------------------------------------------------------------
 * Leases of chains.
 */

/**
 * Leases the blocks of a chain, with references of its own beside the chain's. `KVB_NO_DEADLINE` is never over by itself.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`; with NULL only the table keeps the lease. Threads: the table's and
 * the chain's. O(references); allocates. Errors: `KVB_ERR_OWNER_TAKEN`, `KVB_ERR_ALREADY_OVER`, `KVB_ERR_OVER_BUDGET`,
 * `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_WRONG_POOL` (a table of another pool or of several), `KVB_ERR_NO_MEMORY`.
 * NULL: `out`, `error`.
 */
kvb_status kvb_leases_grant(kvb_leases *leases,
                            const kvb_chain *chain,
                            uint64_t owner,
                            uint64_t deadline,
                            kvb_lease **out,
                            kvb_error *error);

/**
 * Makes a chain a lease: its references become the lease's.
 *
 * Ownership: on success `chain` is gone; otherwise it is as it was. As `kvb_leases_grant`.
 */
kvb_status kvb_leases_keep(kvb_leases *leases,
                           kvb_chain *chain,
                           uint64_t owner,
                           uint64_t deadline,
                           kvb_lease **out,
                           kvb_error *error);

/* ---------------------------------------------------------------------------
 * What became findable, and what ceased to be: for routers and tiers below.
 */

/** The copy became findable. */
#define KVB_EVENT_STORED 0

/** It ceased to be: reclaimed, evicted or invalidated. */
#define KVB_EVENT_REMOVED 1

/** It ceased to be because its namespace was cleared. */
#define KVB_EVENT_CLEARED 2

/** One findable copy of some content. */
typedef struct kvb_findable {
    /** Tells successive contents of one block apart. */
    uint64_t generation;
    /** Its chain key. */
    uint64_t key;
    /** The chain key of the block before it, if there is one. */
    uint64_t parent_key;
    /** Where it is. */
    uint32_t block;
    /** Blocks before it. */
    uint32_t depth;
    /** 1 if it has a parent, 0 if it is a first block. */
    uint32_t has_parent;
    /** 0. */
    uint32_t reserved;
} kvb_findable;

/** A copy that became or ceased to be findable. */
typedef struct kvb_event {
    /** Counts all events of the pool, from 0. A step of more than one is a gap. */
    uint64_t sequence;
    /** `KVB_EVENT_*`. */
    uint32_t kind;
    /** 0. */
    uint32_t reserved;
    /** The copy. */
    kvb_findable copy;
} kvb_event;

/**
 * Reads up to `capacity` events in order, from the one numbered `*position` on, which becomes the number of the next one to read: a reader
 * is nothing but its position. `*lost` is how many were lost before or between them, as the ring was lapped: a snapshot makes up for them.
 * It stops before an event that another thread is still writing; so nothing may come although the stream goes on.
 *
 * Threads: any. O(events read), no allocation. Errors: `KVB_ERR_NO_EVENTS`. NULL: `lost`; `out` if `capacity` is 0.
 */
kvb_status kvb_pool_read_events(const kvb_pool *pool,
                                uint64_t *position,
                                kvb_event *out,
                                size_t capacity,
                                size_t *count,
                                uint64_t *lost);

/** Every copy that was findable at some moment, to begin with or to make up for lost events. It does not change once it is made. */
typedef struct kvb_snapshot kvb_snapshot;

/**
 * Makes a snapshot. Without an event ring `from` and `to` are 0.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_snapshot_destroy`. Threads: any. O(max_blocks); allocates.
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_pool_snapshot_create(const kvb_pool *pool, kvb_snapshot **out);

/**
 * Gives a snapshot back.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_snapshot_destroy(kvb_snapshot *snapshot);

/**
 * Events below this number are contained.
 *
 * Threads: any. O(1). NULL: 0.
 */
uint64_t kvb_snapshot_from(const kvb_snapshot *snapshot);

/**
 * Events from this number on are not contained. Those between may or may not be: to apply them again, by block and generation, does no
 * harm.
 *
 * Threads: any. O(1). NULL: 0.
 */
uint64_t kvb_snapshot_to(const kvb_snapshot *snapshot);

/**
 * Lends the copies, parents before children.
 *
 * Ownership: the list is the snapshot's, until that is destroyed. Threads: any. O(1). Errors: none but those of pointers.
 * NULL: neither.
 */
kvb_status kvb_snapshot_copies(const kvb_snapshot *snapshot,
                               const kvb_findable **copies,
                               size_t *count);

/* ---------------------------------------------------------------------------
 * Reports in the text format that Prometheus reads.
 */

/** The media type of the page, for the header Content-Type. */
#define KVB_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/**
 * A page of metrics in the text exposition format 0.0.4 of Prometheus: figures as they were when they were added, each report under labels
 * that say whose it is. Make one for each answer.
 */
typedef struct kvb_metrics kvb_metrics;

/** Says whose a report is. A label with an empty value is left out. */
typedef struct kvb_label {
    /** A letter or `_`, then letters, digits and `_`, ended by a zero. */
    const char *name;
    /** Any UTF-8, ended by a zero. */
    const char *value;
} kvb_label;

/**
 * Makes an empty page.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_metrics_destroy`. Threads: any. O(1). Errors: `KVB_ERR_NO_MEMORY`.
 * NULL: not allowed.
 */
kvb_status kvb_metrics_create(kvb_metrics **out);

/**
 * Gives a page back.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_metrics_destroy(kvb_metrics *metrics);

/**
 * Adds the figures of a pool: metrics that begin with `kvblock_pool_`.
 *
 * Ownership: labels and figures are copied. Threads: the page's. O(max_blocks); allocates. Errors, after which nothing is added:
 * `KVB_ERR_LABEL_NAME`, `KVB_ERR_LABEL_RESERVED`, `KVB_ERR_LABEL_REPEATED`, `KVB_ERR_LABELS_TAKEN` (by another pool), `KVB_ERR_UTF8`,
 * `KVB_ERR_NO_MEMORY`. NULL: no labels, `error`.
 */
kvb_status kvb_metrics_add_pool(kvb_metrics *metrics,
                                const kvb_label *labels,
                                size_t label_count,
                                const kvb_pool *pool,
                                kvb_error *error);

/**
 * Adds the figures of a registry as an instance: its own (`kvblock_instance_`), those of each rank with a label `rank`
 * (`kvblock_rank_`), and of each shard the registry's and the pool's with a label `shard`. For registries that share pools,
 * `kvb_metrics_add_registry` and `kvb_metrics_add_pool` count each pool once.
 *
 * Threads: the page's and the registry's. O(max_blocks + table entries); allocates. Otherwise as `kvb_metrics_add_pool`.
 */
kvb_status kvb_metrics_add_seqs(kvb_metrics *metrics,
                                const kvb_label *labels,
                                size_t label_count,
                                const kvb_seqs *seqs,
                                kvb_error *error);

/**
 * Adds the figures of a registry on one shard, without those of its pool: metrics that begin with `kvblock_sequences`.
 *
 * Threads: the page's and the registry's. Errors: also `KVB_ERR_OUT_OF_RANGE`, no such shard. Otherwise as `kvb_metrics_add_seqs`.
 */
kvb_status kvb_metrics_add_registry(kvb_metrics *metrics,
                                    const kvb_label *labels,
                                    size_t label_count,
                                    const kvb_seqs *seqs,
                                    size_t shard,
                                    kvb_error *error);

/**
 * Adds the figures of a table of leases on one shard: metrics that begin with `kvblock_leases`.
 *
 * Threads: the page's and the table's. O(max_blocks + references); allocates. Errors: also `KVB_ERR_OUT_OF_RANGE`, no such shard.
 * Otherwise as `kvb_metrics_add_pool`.
 */
kvb_status kvb_metrics_add_leases(kvb_metrics *metrics,
                                  const kvb_label *labels,
                                  size_t label_count,
                                  const kvb_leases *leases,
                                  size_t shard,
                                  kvb_error *error);

/**
 * The instances of one scheduler: replicas of a model, or instances of several. A request names its model and goes to one instance as a
 * whole; its sequence's further calls go to that instance. One thread at a time may use a fleet and its instances, also for calls with a
 * `const` pointer.
 */
typedef struct kvb_fleet kvb_fleet;

/**
 * Adds the figures of a fleet: what became of its requests (`kvblock_fleet_`); each model with a label `model` (`kvblock_model_`); and each
 * instance with labels `instance` and `model`, as a member (`kvblock_member_`) and as `kvb_metrics_add_seqs`. All of it or nothing.
 *
 * Threads: the page's and the fleet's. O(max_blocks + table entries) an instance; allocates. Otherwise as `kvb_metrics_add_pool`.
 */
kvb_status kvb_metrics_add_fleet(kvb_metrics *metrics,
                                 const kvb_label *labels,
                                 size_t label_count,
                                 const kvb_fleet *fleet,
                                 kvb_error *error);

/**
 * Writes the page as UTF-8 with a zero at its end into `capacity` bytes. `*length` is what all of it takes without the zero: where that is
 * not below `capacity` the text was cut off.
 *
 * Threads: the page's. O(samples), no allocation. Errors: none but those of pointers. NULL: `text` if `capacity` is 0; `length`.
 */
kvb_status kvb_metrics_text(const kvb_metrics *metrics,
                            char *text,
                            size_t capacity,
                            size_t *length);

/**
 * Lends the page as UTF-8 with a zero at its end, behind `*length` bytes.
 *
 * Ownership: the text is the page's, until the next call of this function for it. Threads: the page's. O(samples); allocates.
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: `length`.
 */
kvb_status kvb_metrics_page(kvb_metrics *metrics,
                            const char **text,
                            size_t *length);

/* ---------------------------------------------------------------------------
 * Names of sequences.
 */

/**
 * The slot of a handle: below the registry's `max_sequences`, so an index for what you keep beside it.
 *
 * Threads: any. O(1).
 */
uint32_t kvb_handle_slot(kvb_handle handle);

/**
 * The epoch of a handle: which sequence of the pool it was, counted through all of its registries.
 *
 * Threads: any. O(1).
 */
uint64_t kvb_handle_epoch(kvb_handle handle);

/**
 * Finds the latest sequence of each label. A label without one gets a handle that names no sequence, and the call answers
 * `KVB_ERR_STALE` after it has looked for all of them.
 *
 * Ownership: `out` has room for `count`. Threads: the registry's. O(1) a label, no allocation. Errors: `KVB_ERR_STALE`.
 * NULL: lists of 0.
 */
kvb_status kvb_seqs_find(const kvb_seqs *seqs,
                         const uint64_t *labels,
                         size_t count,
                         kvb_handle *out);

/**
 * Lists the sequences that live, by slot, or those of one label, the latest first: the first `capacity` of them. `*count` is how many
 * there are. `label` points to the label, or is NULL for all.
 *
 * Ownership: `out` has room for `capacity`. Threads: the registry's. O(max_sequences), or O(sequences of the label); no allocation.
 * Errors: none but those of pointers. NULL: `label`; `out` if `capacity` is 0.
 */
kvb_status kvb_seqs_list(const kvb_seqs *seqs,
                         const uint64_t *label,
                         kvb_handle *out,
                         size_t capacity,
                         size_t *count);

/* ---------------------------------------------------------------------------
 * Making registries.
 */

/** What a registry is made with. All zero but `struct_size` and `max_sequences` is a good choice. */
typedef struct kvb_seqs_config {
    /** `sizeof(kvb_seqs_config)`. */
    uint32_t struct_size;
    /** 0. */
    uint32_t reserved;
    /** Sequences that can live at once, branches included. */
    size_t max_sequences;
    /** Blocks that admissions leave to the growth of those that were admitted. */
    size_t watermark;
    /**
     * Positions up to which sequences get all of their bookkeeping at creation: within them no call of a step's cycle (admit, step,
     * tokens, computed, copied, fork, truncate, release, preempt) allocates. Beyond, and with 0, buffers are made as they are
     * first needed and kept.
     */
    size_t positions;
    /** How the content of blocks is laid out, which transfers are held against: NULL, or one for each shard. */
    const kvb_format *const *formats;
    /** How many: 0, or one for each shard. */
    size_t format_count;
} kvb_seqs_config;

/**
 * Makes a registry over some pools, each of which is a shard that must hold every sequence: one, or the stages of a pipeline. Pools of one
 * registry have blocks of one size and different `shard` names; at most `KVB_MAX_SHARDS`. Many registries may share pools.
 *
 * Ownership: the registry keeps the pools; `*out` is the caller's, to be given to `kvb_seqs_destroy`. Threads: any. O(max_sequences) a
 * shard. Errors: `KVB_ERR_NO_SEQUENCES`, `KVB_ERR_TOO_MANY_SLOTS`, `KVB_ERR_WATERMARK`, `KVB_ERR_FORMAT`, `KVB_ERR_NO_SHARDS`,
 * `KVB_ERR_TOO_MANY_SHARDS`, `KVB_ERR_SAME_SHARD`, `KVB_ERR_BLOCK_SIZE`, `KVB_ERR_LENGTH_MISMATCH` (formats), `KVB_ERR_NO_MEMORY`,
 * `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
 */
kvb_status kvb_seqs_create(const kvb_pool *const *pools,
                           size_t pool_count,
                           const kvb_seqs_config *config,
                           kvb_seqs **out,
                           kvb_error *error);

/** What one rank has. */
typedef struct kvb_rank {
    /** Its name, below `KVB_NO_SHARD`. */
    uint32_t shard;
    /** 0. */
    uint32_t reserved;
    /** Blocks that its memory has room for. */
    size_t blocks;
    /** Blocks that it can ever have; 0 for `blocks`. */
    size_t max_blocks;
} kvb_rank;

/**
 * Makes a registry over ranks in lockstep, which hold every sequence under the same block ids: one pool with as many blocks as the
 * smallest rank, named after it. Of `pool`, `blocks`, `max_blocks` and `shard` are not looked at. What larger ranks have beyond the
 * smallest is stranded.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_seqs_destroy`. Threads: any. O(blocks + max_sequences).
 * Errors: as `kvb_pool_create` and `kvb_seqs_create`; `KVB_ERR_INVALID` also for a rank that is named `KVB_NO_SHARD`. NULL: only `error`.
 */
kvb_status kvb_seqs_create_lockstep(const kvb_rank *ranks,
                                    size_t rank_count,
                                    const kvb_pool_config *pool,
                                    const kvb_seqs_config *config,
                                    kvb_seqs **out,
                                    kvb_error *error);

/**
 * Makes another registry over the same shards, for another scheduler thread. Each shard keeps its format: `config->formats` is not looked
 * at.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_seqs_destroy`. Threads: the given registry's. O(max_sequences) a shard.
 * Errors: as `kvb_seqs_create`. NULL: only `error`.
 */
kvb_status kvb_seqs_create_another(const kvb_seqs *seqs,
                                   const kvb_seqs_config *config,
                                   kvb_seqs **out,
                                   kvb_error *error);

/**
 * Ends every sequence and the registry. What copies and imports under way hold goes with it, so the engine must be done with its blocks:
 * otherwise `kvb_seqs_close_after`.
 *
 * Threads: no other call may use it meanwhile. O(blocks held). NULL: nothing happens.
 */
void kvb_seqs_destroy(kvb_seqs *seqs);

/** Most shards of one registry. Ranks in lockstep may be more. */
#define KVB_MAX_SHARDS 16

/* ---------------------------------------------------------------------------
 * Admission: all of what a request needs, or nothing.
 */

/** Nothing is set aside: an append that needs a block may be refused, and you preempt, wait, or end the request. */
#define KVB_GROWTH_ON_DEMAND 0

/** At most `growth_amount` positions beyond the prompt, and room for all of them is set aside: an append within never fails. */
#define KVB_GROWTH_CAP 1

/**
 * `growth_amount` blocks are set aside; appends draw on them, and at block borders they are made up to that number again where
 * there is room. An append fails only if these and what is available do not cover it.
 */
#define KVB_GROWTH_AHEAD 2

/**
 * The need is held against the capacity as if nothing were shared: tables and promises of the whole registry must fit. Otherwise a
 * shared block counts once.
 */
#define KVB_ADMIT_CONSERVATIVE 1

/** Its blocks are not published: nobody else will find them. */
#define KVB_ADMIT_UNPUBLISHED 2

/** It returns after a preemption: its hits are counted apart. */
#define KVB_ADMIT_RETURNING 4

/** A request. All zero but `struct_size` and `prompt` is a good choice. */
typedef struct kvb_admit {
    /** `sizeof(kvb_admit)`. */
    uint32_t struct_size;
    /** `KVB_ADMIT_*`, or 0. */
    uint32_t flags;
    /** What is to be computed. */
    kvb_prompt prompt;
    /** `KVB_GROWTH_*`: what it is promised beyond the prompt. */
    uint32_t growth;
    /** 0. */
    uint32_t reserved;
    /** Positions for `KVB_GROWTH_CAP`, blocks for `KVB_GROWTH_AHEAD`. */
    size_t growth_amount;
    /** Your name for it: see `kvb_seqs_find`. */
    uint64_t label;
} kvb_admit;

/** An admitted sequence. */
typedef struct kvb_admitted {
    /** Its name from now on. */
    kvb_handle seq;
    /** Positions that were found: compute from there on. */
    size_t hit;
    /** Blocks that were taken for the rest, on the shard that took the fewest: the last ones of its table. */
    size_t fresh;
} kvb_admitted;

/** What an admission takes on one shard, in blocks. It must have `hit_idle + fresh + promised` available above the watermark. */
typedef struct kvb_cost {
    /** Entries of its table: `hit_held + hit_idle + fresh`. */
    size_t blocks;
    /** Found, and held by somebody already: they cost nothing. */
    size_t hit_held;
    /** Found idle. */
    size_t hit_idle;
    /** Taken. */
    size_t fresh;
    /** Set aside for its growth. */
    size_t promised;
} kvb_cost;

/**
 * How many positions of a prompt are findable on every shard at this instant. Changes nothing, not even the order of reclaim.
 *
 * Threads: the registry's. O(blocks found) a shard. Errors: `KVB_ERR_LENGTH_MISMATCH`, `KVB_ERR_NO_MEMORY` (with extra keys only).
 * NULL: only `error`.
 */
kvb_status kvb_seqs_probe(const kvb_seqs *seqs,
                          const kvb_prompt *prompt,
                          size_t *positions,
                          kvb_error *error);

/**
 * What `kvb_seqs_admit` would take on each shard at this instant, or the refusal that it would give. Changes nothing.
 *
 * Ownership: `costs` has room for one a shard, or is NULL. Threads: the registry's. O(blocks found) a shard; with a conservative budget a
 * look at every slot. Errors: as `kvb_seqs_admit`. NULL: `costs`, `error`.
 */
kvb_status kvb_seqs_check(const kvb_seqs *seqs,
                          const kvb_admit *request,
                          kvb_cost *costs,
                          kvb_error *error);

/**
 * Admits a sequence on every shard: holds what is found of its prompt, takes blocks for the rest, and sets aside what it is promised;
 * all of it or nothing. All positions of the prompt are appended and known then, and those found are computed; tell the others with
 * `kvb_seqs_computed`.
 *
 * Ownership: nothing that `request` points to is kept. Threads: the registry's. O(blocks); allocates only for sequences longer than
 * `kvb_seqs_config.positions`, and with extra keys. Errors, after which nothing has changed: `KVB_ERR_NEVER_FITS` (waiting cannot help),
 * `KVB_ERR_SHORTFALL`, `KVB_ERR_TOO_MANY_SEQUENCES`, `KVB_ERR_LENGTH_MISMATCH`, `KVB_ERR_NO_MEMORY`, `KVB_ERR_INVALID`,
 * `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
 */
kvb_status kvb_seqs_admit(kvb_seqs *seqs,
                          const kvb_admit *request,
                          kvb_admitted *out,
                          kvb_error *error);

/* ---------------------------------------------------------------------------
 * Growth: a decode step for a whole batch is one call.
 */

/** Positions to append to a sequence. */
typedef struct kvb_append {
    /** Which sequence. */
    kvb_handle seq;
    /** How many. */
    size_t positions;
} kvb_append;

/**
 * A copy that you have to make before its destination is written to or read: the first `positions` of `src` go to `dst`, on one shard.
 * Both blocks stay held until it is given to `kvb_seqs_copied`, whatever becomes of the sequences.
 */
typedef struct kvb_copy {
    /** The shared or published block. */
    uint32_t src;
    /** The sequence's own block in its place. */
    uint32_t dst;
    /** Positions from the start of the block. */
    size_t positions;
    /** Names the copy. */
    uint64_t ticket;
} kvb_copy;

/** An entry of a block table that is new or another than before. */
typedef struct kvb_change {
    /** Whose, by its place in the batch. */
    size_t index;
    /** The entry of its table. */
    size_t entry;
    /** What it is now. */
    uint32_t block;
} kvb_change;

/** An item of a batch that failed, and was not changed. */
typedef struct kvb_failure {
    /** Its place in the batch. */
    size_t index;
    /** Why. */
    kvb_status status;
    /** As in `kvb_error`. */
    uint32_t shard;
    /** As in `kvb_error`. */
    uint64_t needed;
    /** As in `kvb_error`. */
    uint64_t available;
    /** As in `kvb_error`. */
    uint64_t limit;
    /** As in `kvb_error`. */
    uint64_t quarantined;
} kvb_failure;

/** What you have to know and do on one shard before a step runs. Everything is the step's, until the next call that fills it. */
typedef struct kvb_step_lists {
    /** Where each appended position goes: `block * block_size + offset`, in the order of the batch. An item that failed has none. */
    const int64_t *slots;
    /** How many. */
    size_t slot_count;
    /** Blocks that are new in a table, for engines that zero memory. Destinations of copies are among them: zero first. */
    const uint32_t *fresh;
    /** How many. */
    size_t fresh_count;
    /** Copies to be made before the step writes. */
    const kvb_copy *copies;
    /** How many. */
    size_t copy_count;
    /** Entries of block tables that changed. */
    const kvb_change *changes;
    /** How many. */
    size_t change_count;
} kvb_step_lists;

/** What a step filled, for each shard. Kept by you, so that its lists are made once. One thread at a time may use it. */
typedef struct kvb_step kvb_step;

/**
 * Makes a step with room for a batch of `sequences`, `positions` of them in all (256 sequences decode 256 positions a step); larger ones
 * make more when they come, and keep it.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_step_destroy`. Threads: the registry's. O(positions) a shard.
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_step_create(const kvb_seqs *seqs,
                           size_t sequences,
                           size_t positions,
                           kvb_step **out);

/**
 * Gives a step back. Copies that it told of stay to be made.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_step_destroy(kvb_step *step);

/**
 * Appends positions to each sequence of a batch on every shard, in this order, and tells in `step` what is to be done. Who can't have its
 * positions on one shard gets them on none, and does not touch the others: see `kvb_step_failures`.
 *
 * The step is emptied first: make its copies, or keep them, before. Ownership: the batch is copied. Threads: the registry's. O(1) an item that stays within its block, O(blocks) otherwise; allocates only
 * where the step has too little room, and for sequences longer than `kvb_seqs_config.positions`.
 * Errors: `KVB_ERR_PARTIAL`, the others are done. After `KVB_ERR_NO_MEMORY` nothing is done. In `kvb_failure`: `KVB_ERR_STALE`,
 * `KVB_ERR_SHORTFALL`, `KVB_ERR_NEVER_FITS`, `KVB_ERR_CAP_REACHED`, `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_LOADING`,
 * `KVB_ERR_UNCOMMITTED`, `KVB_ERR_LEAVING`, `KVB_ERR_MOVED`, `KVB_ERR_NO_MEMORY`. NULL: an empty batch.
 */
kvb_status kvb_seqs_step(kvb_seqs *seqs,
                         const kvb_append *batch,
                         size_t count,
                         kvb_step *step);

/**
 * Appends positions to one sequence. As `kvb_seqs_step` with a batch of one, but the failure is the call's. The step is emptied first, also
 * by a call that is refused: make its copies, or keep them, before.
 *
 * NULL: only `error`.
 */
kvb_status kvb_seqs_append(kvb_seqs *seqs,
                           kvb_handle seq,
                           size_t positions,
                           kvb_step *step,
                           kvb_error *error);

/**
 * Makes sure that a sequence has blocks for `positions` positions in all, without appending any: lookahead. As `kvb_seqs_append`.
 *
 * NULL: only `error`.
 */
kvb_status kvb_seqs_ensure(kvb_seqs *seqs,
                           kvb_handle seq,
                           size_t positions,
                           kvb_step *step,
                           kvb_error *error);

/**
 * How many blocks an append would take beyond what is promised to the sequence, on the shard where that is the most, or the refusal that
 * it would give. Changes nothing.
 *
 * Threads: the registry's. O(1) a shard. Errors: as `kvb_seqs_append`. NULL: `blocks`, `error`.
 */
kvb_status kvb_seqs_check_append(const kvb_seqs *seqs,
                                 kvb_handle seq,
                                 size_t positions,
                                 size_t *blocks,
                                 kvb_error *error);

/**
 * Lends what the last call that filled a step has to be done on one shard, which is below the registry's `kvb_seqs_shards`.
 *
 * Ownership: the lists are the step's, until the next call that fills it. Threads: the step's. O(1).
 * Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
 */
kvb_status kvb_step_get(const kvb_step *step,
                        size_t shard,
                        kvb_step_lists *out);

/**
 * Lends who got nothing in the last `kvb_seqs_step`, and why, in the order of the batch.
 *
 * Ownership: the list is the step's, until the next call that fills it. Threads: the step's. O(1). Errors: none but those of
 * pointers. NULL: neither.
 */
kvb_status kvb_step_failures(const kvb_step *step,
                             const kvb_failure **failures,
                             size_t *count);

/* ---------------------------------------------------------------------------
 * Telling what positions are, and that they are computed.
 */

/**
 * Says which tokens the positions from `at` on are. Blocks that are full, known and computed are published.
 *
 * Ownership: nothing that `contents` points to is kept. Threads: the registry's. O(tokens); allocates as `kvb_seqs_admit`. Errors, after
 * which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_NOT_NEXT`, `KVB_ERR_BEYOND` (not appended), `KVB_ERR_LENGTH_MISMATCH`,
 * `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_seqs_tokens(kvb_seqs *seqs,
                           kvb_handle seq,
                           size_t at,
                           const kvb_contents *contents,
                           kvb_error *error);

/**
 * Says that K/V of the first `positions` positions is written on every shard. Blocks that are full, known and computed are published.
 *
 * Threads: the registry's. O(blocks published). Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_BEYOND`,
 * `KVB_ERR_LOADING`. NULL: only `error`.
 */
kvb_status kvb_seqs_computed(kvb_seqs *seqs,
                             kvb_handle seq,
                             size_t positions,
                             kvb_error *error);

/** What a step did for a sequence. */
typedef struct kvb_progress {
    /** Which sequence. */
    kvb_handle seq;
    /** The position of the first token. */
    size_t at;
    /** What the positions from there on are. */
    const uint32_t *tokens;
    /** How many; 0 if there is nothing to tell. */
    size_t token_count;
    /** Positions from the start that are computed then; 0 if there is nothing to tell. */
    size_t computed;
} kvb_progress;

/**
 * Tells tokens, and then what is computed, of each sequence of a batch: `kvb_seqs_tokens` and `kvb_seqs_computed` in one call. An item that
 * fails does not touch the others; of one whose tokens were told before its `computed` was refused the tokens stay told.
 *
 * Ownership: `failures` is NULL or has room for `count`; the first `*failure_count` are written. Threads: the registry's.
 * O(tokens + blocks published). Errors: `KVB_ERR_PARTIAL`, the others are done. NULL: an empty batch, `failures`, `failure_count`.
 */
kvb_status kvb_seqs_advance(kvb_seqs *seqs,
                            const kvb_progress *batch,
                            size_t count,
                            kvb_failure *failures,
                            size_t *failure_count);

/**
 * Says that copies on a shard have been made: those of a step's lists for that shard. Each of them gives its references back.
 *
 * Threads: the registry's. O(1) a copy, O(depth) where its source was published. Errors: `KVB_ERR_STALE`: one or more were given back
 * already, or are another shard's or registry's; the others are done. NULL: an empty list.
 */
kvb_status kvb_seqs_copied(kvb_seqs *seqs,
                           size_t shard,
                           const kvb_copy *copies,
                           size_t count);

/* ---------------------------------------------------------------------------
 * Reading sequences: their watermarks, their block tables, their slots.
 */

/**
 * Shards that have a table of their own: 1 for ranks in lockstep.
 *
 * Threads: the registry's. O(1). NULL: 0.
 */
size_t kvb_seqs_shards(const kvb_seqs *seqs);

/**
 * Shards, or ranks in lockstep.
 *
 * Threads: the registry's. O(1). NULL: 0.
 */
size_t kvb_seqs_width(const kvb_seqs *seqs);

/**
 * Sequences that live.
 *
 * Threads: the registry's. O(1). NULL: 0.
 */
size_t kvb_seqs_count(const kvb_seqs *seqs);

/**
 * Sequences that can live at once.
 *
 * Threads: the registry's. O(1). NULL: 0.
 */
size_t kvb_seqs_max(const kvb_seqs *seqs);

/**
 * Blocks that an admission can have at this instant, on the shard that has the fewest: available above the watermark.
 *
 * Threads: the registry's. O(shards). NULL: 0.
 */
size_t kvb_seqs_free(const kvb_seqs *seqs);

/**
 * Blocks that one sequence can ever have, on the shard that has the fewest: capacity above the watermark.
 *
 * Threads: the registry's. O(shards). NULL: 0.
 */
size_t kvb_seqs_largest(const kvb_seqs *seqs);

/**
 * The pool of a shard, or NULL if there is no such. Do not grow or shrink that of ranks in lockstep by itself, which know nothing of it:
 * `kvb_seqs_grow`, `kvb_seqs_shrink` and `kvb_seqs_resize_rank` do.
 *
 * Ownership: the registry's, as long as it lives. Threads: the registry's; the pool's own calls from any. O(1). NULL: NULL.
 */
const kvb_pool *kvb_seqs_pool(const kvb_seqs *seqs,
                                     size_t shard);

/**
 * A sequence at one instant. Positions and watermarks are the same on all shards; `published`, `blocks` and `promised` are those of the
 * shard that has the fewest.
 */
typedef struct kvb_state {
    /** `sizeof(kvb_state)`. */
    uint32_t struct_size;
    /** `KVB_GROWTH_*`, what it was promised at admission. */
    uint32_t growth;
    /** Positions for `KVB_GROWTH_CAP`, blocks for `KVB_GROWTH_AHEAD`. */
    size_t growth_amount;
    /** Your name for it. */
    uint64_t label;
    /** Positions appended. */
    size_t positions;
    /** Positions whose tokens are known. */
    size_t known;
    /** Positions whose K/V is written. */
    size_t computed;
    /** Blocks from the start whose content is findable, or was when it was published. */
    size_t published;
    /** Entries of the table; lookahead is among them. */
    size_t blocks;
    /** Blocks set aside: for growth, and for the copy of a shared end. */
    size_t promised;
} kvb_state;

/**
 * Reads a sequence's figures.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(shards).
 * Errors: `KVB_ERR_STALE`, `KVB_ERR_STRUCT_SIZE`. NULL: neither.
 */
kvb_status kvb_seqs_get_state(const kvb_seqs *seqs, kvb_handle seq, kvb_state *out);

/**
 * Lends the block table of a sequence on one shard, as kernels take it.
 *
 * Ownership: the registry's, until the next call that changes the sequence. Threads: the registry's. O(1).
 * Errors: `KVB_ERR_STALE`, `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
 */
kvb_status kvb_seqs_get_table(const kvb_seqs *seqs,
                              size_t shard,
                              kvb_handle seq,
                              const int32_t **table,
                              size_t *count);

/**
 * Writes the block tables of a batch of sequences on one shard to the starts of rows of `stride` entries, as kernels take them, and
 * their lengths to `lengths`. Entries behind a table stay as they are. All tables fit, or nothing is written. Nothing of them is dirty
 * then: see `kvb_seqs_get_dirty`.
 *
 * Ownership: `rows` has room for `count * stride`, `lengths` for `count` or is NULL. Threads: the registry's. O(entries).
 * Errors: `KVB_ERR_STALE`, `KVB_ERR_TOO_SHORT` (a table is longer than `stride`), `KVB_ERR_OUT_OF_RANGE`.
 * NULL: an empty batch, `lengths`, `error`.
 */
kvb_status kvb_seqs_copy_tables(kvb_seqs *seqs,
                                size_t shard,
                                const kvb_handle *handles,
                                size_t count,
                                int32_t *rows,
                                size_t stride,
                                size_t *lengths,
                                kvb_error *error);

/**
 * Entries of a sequence's block table on one shard that are new or others since it was copied: `*count` of them from `*first` on, up to its
 * end. A table that became shorter has none.
 *
 * Threads: the registry's. O(1). Errors: `KVB_ERR_STALE`, `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
 */
kvb_status kvb_seqs_get_dirty(const kvb_seqs *seqs,
                              size_t shard,
                              kvb_handle seq,
                              size_t *first,
                              size_t *count);

/**
 * Writes the slots of `count` positions of a sequence on one shard from `first` on: `block * block_size + offset`, for a chunk of a
 * prompt for instance.
 *
 * Ownership: `out` has room for `count`. Threads: the registry's. O(count). Errors: `KVB_ERR_STALE`, `KVB_ERR_BEYOND`,
 * `KVB_ERR_OUT_OF_RANGE`. NULL: no positions, `error`.
 */
kvb_status kvb_seqs_get_slots(const kvb_seqs *seqs,
                              size_t shard,
                              kvb_handle seq,
                              size_t first,
                              size_t count,
                              int64_t *out,
                              kvb_error *error);

/* ---------------------------------------------------------------------------
 * Shortening, branching, and blocks whose content was findable already.
 */

/**
 * Keeps the first `positions` positions of a sequence on every shard and gives the blocks behind them back: drafts that were rejected,
 * a conversation that is edited. If the end then lies in a published block, its next append needs a block for a copy, which is set aside
 * by this call.
 *
 * Threads: the registry's. O(blocks given back). Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_BEYOND`;
 * `KVB_ERR_SHORTFALL`, only where the end lies in a published block; `KVB_ERR_LOADING`, `KVB_ERR_LEAVING`, `KVB_ERR_UNCOMMITTED`,
 * `KVB_ERR_MOVED`. NULL: only `error`.
 */
kvb_status kvb_seqs_truncate(kvb_seqs *seqs,
                             kvb_handle seq,
                             size_t positions,
                             kvb_error *error);

/**
 * As `kvb_seqs_truncate`, where a device or a peer may still touch the blocks: they are given back when each shard's lane has passed the
 * fence.
 *
 * Threads: the registry's and the lanes'. Errors: also `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_seqs_truncate_after(kvb_seqs *seqs,
                                   kvb_handle seq,
                                   size_t positions,
                                   kvb_lanes *lanes,
                                   uint64_t fence,
                                   kvb_error *error);

/**
 * Makes `count` branches of a sequence on every shard, all or none. They share everything, the partial block at its end too, have its
 * label and its remaining promise; whoever appends into a shared block first gets a copy.
 *
 * Ownership: `children` has room for `count`; its contents are of use on success only. Threads: the registry's. O(blocks) a branch; allocates as
 * `kvb_seqs_admit`. Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_SHORTFALL`, `KVB_ERR_NEVER_FITS`,
 * `KVB_ERR_TOO_MANY_SEQUENCES`, `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_LOADING`, `KVB_ERR_UNCOMMITTED`, `KVB_ERR_LEAVING`,
 * `KVB_ERR_MOVED`, `KVB_ERR_NO_MEMORY`. NULL: no children, `error`.
 */
kvb_status kvb_seqs_fork(kvb_seqs *seqs,
                         kvb_handle parent,
                         kvb_handle *children,
                         size_t count,
                         kvb_error *error);

/**
 * Where a sequence has blocks whose content was findable already, puts the findable ones into its table on every shard and frees its own.
 * Nothing may touch these any more. `*blocks` is how many.
 *
 * Threads: the registry's. O(blocks). Errors: `KVB_ERR_STALE`. NULL: `blocks`, `error`.
 */
kvb_status kvb_seqs_adopt_duplicates(kvb_seqs *seqs,
                                     kvb_handle seq,
                                     size_t *blocks,
                                     kvb_error *error);

/**
 * As `kvb_seqs_adopt_duplicates`, where a device or a peer may still touch the sequence's own blocks: they are given back when each shard's
 * lane has passed the fence.
 *
 * Threads: the registry's and the lanes'. Errors: also `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_NO_MEMORY`. NULL: `blocks`, `error`.
 */
kvb_status kvb_seqs_adopt_duplicates_after(kvb_seqs *seqs,
                                           kvb_handle seq,
                                           kvb_lanes *lanes,
                                           uint64_t fence,
                                           size_t *blocks,
                                           kvb_error *error);

/* ---------------------------------------------------------------------------
 * Whom to preempt.
 */

/**
 * Chooses whom to preempt, in your order, so that shard `i` has `need[i]` blocks more (0 for shards beyond `need_count`). Skipped are those
 * whose end frees nothing that is needed. Changes nothing.
 *
 * An append into a block that branches share needs a block for a copy. The end of the last other branch takes that need away, though it
 * frees nothing: so where this is not enough, preempt branches of the sequence before you give up.
 *
 * Ownership: `victims` has room for `count`, of which the first `*victim_count` are written. `*enough` is 1 if they free what is needed,
 * 0 if even all of `order` would not. Threads: the registry's. O(blocks of those looked at); allocates.
 * Errors: `KVB_ERR_STALE`, `KVB_ERR_OUT_OF_RANGE` (a need on a shard that there is not), `KVB_ERR_NO_MEMORY`. NULL: empty lists, `enough`, `error`.
 */
kvb_status kvb_seqs_select_victims(const kvb_seqs *seqs,
                                   const kvb_handle *order,
                                   size_t count,
                                   const size_t *need,
                                   size_t need_count,
                                   kvb_handle *victims,
                                   size_t *victim_count,
                                   uint32_t *enough,
                                   kvb_error *error);

/* ---------------------------------------------------------------------------
 * The end of a sequence, now or after a fence, or of its time in one registry.
 */

/**
 * Ends sequences on every shard: what is published stays findable as long as nobody needs the room, the rest is free.
 *
 * Threads: the registry's. O(blocks), no allocation. Errors: `KVB_ERR_STALE`: one or more handles name nothing, or were given twice; the
 * others are done. NULL: an empty list.
 */
kvb_status kvb_seqs_release(kvb_seqs *seqs,
                            const kvb_handle *handles,
                            size_t count);

/**
 * Ends sequences that will come back: as `kvb_seqs_release`, and counted. Admit them again with all their tokens and
 * `KVB_ADMIT_RETURNING`.
 */
kvb_status kvb_seqs_preempt(kvb_seqs *seqs, const kvb_handle *handles, size_t count);

/**
 * Ends a sequence whose blocks a device or a peer may still touch: each shard's are quarantined until its lane has passed the fence.
 *
 * Threads: the registry's and the lanes'. O(blocks); allocates for the lane's lists, which are used again. Errors, after which nothing
 * has changed: `KVB_ERR_STALE`, `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_seqs_release_after(kvb_seqs *seqs,
                                  kvb_handle seq,
                                  kvb_lanes *lanes,
                                  uint64_t fence,
                                  kvb_error *error);

/** Ends a sequence that will come back, when each shard's lane has passed the fence: as `kvb_seqs_release_after`, and counted. */
kvb_status kvb_seqs_preempt_after(kvb_seqs *seqs,
                                  kvb_handle seq,
                                  kvb_lanes *lanes,
                                  uint64_t fence,
                                  kvb_error *error);

/**
 * Ends every sequence and the registry, and what copies under way hold, when each shard's lane has passed the fence.
 *
 * Ownership: on success `seqs` is gone; otherwise it is as it was. Threads: no other call may use it meanwhile. O(blocks held);
 * allocates. Errors: `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_seqs_close_after(kvb_seqs *seqs,
                                kvb_lanes *lanes,
                                uint64_t fence,
                                kvb_error *error);

/** A sequence between two registries, with all that it holds on every shard. */
typedef struct kvb_detached kvb_detached;

/**
 * Takes a sequence out of a registry, to be attached to another one over the same shards.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_seqs_attach` or `kvb_detached_destroy`. Threads: the registry's. O(1) a
 * shard; allocates. Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_COPY_PENDING`, `KVB_ERR_LOADING`,
 * `KVB_ERR_UNCOMMITTED`, `KVB_ERR_LEAVING`, `KVB_ERR_MOVED`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_seqs_detach(kvb_seqs *seqs,
                           kvb_handle seq,
                           kvb_detached **out,
                           kvb_error *error);

/**
 * Takes a detached sequence in on every shard and names it anew.
 *
 * Ownership: on success `detached` is gone; otherwise it is as it was. Threads: the registry's. O(1) a shard.
 * Errors: `KVB_ERR_WRONG_POOL` (other shards), `KVB_ERR_TOO_MANY_SEQUENCES`. NULL: only `error`.
 */
kvb_status kvb_seqs_attach(kvb_seqs *seqs,
                           kvb_detached *detached,
                           kvb_handle *out,
                           kvb_error *error);

/**
 * Ends a detached sequence when each shard's lane has passed the fence.
 *
 * Ownership: on success `detached` is gone; otherwise it is as it was. Threads: its own and the lanes'. O(blocks); allocates for the
 * lane's lists. Errors: `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_detached_release_after(kvb_detached *detached,
                                      kvb_lanes *lanes,
                                      uint64_t fence,
                                      kvb_error *error);

/**
 * Ends a detached sequence.
 *
 * Threads: no other call may use it meanwhile. O(blocks). NULL: nothing happens.
 */
void kvb_detached_destroy(kvb_detached *detached);

/* ---------------------------------------------------------------------------
 * Content that turned out bad.
 */

/**
 * Takes back one block of a shard, because its content is bad, and all that is built on it: it is found no more, and each sequence of this
 * registry that has it is computed only up to there, on every shard. `*count` is how many these are, of which the first `capacity` are
 * written: renew each, and compute it from there on. It is 0 for a block that was not
 * findable and that nobody here computed. Other registries have to be asked, too.
 *
 * Threads: the registry's. A few passes over all blocks; allocates. Errors, after which nothing has changed: `KVB_ERR_NO_SUCH_BLOCK`,
 * `KVB_ERR_OUT_OF_RANGE`, `KVB_ERR_NO_MEMORY`.
 * NULL: `affected` if `capacity` is 0; `error`.
 */
kvb_status kvb_seqs_invalidate(kvb_seqs *seqs,
                               size_t shard,
                               uint32_t block,
                               kvb_handle *affected,
                               size_t capacity,
                               size_t *count,
                               kvb_error *error);

/**
 * Gives a sequence blocks of its own on every shard from where it is not computed on, in place of those that others have or had.
 *
 * Threads: the registry's. O(blocks); allocates as `kvb_seqs_append`. Errors: as `kvb_seqs_append`. NULL: only `error`.
 */
kvb_status kvb_seqs_renew(kvb_seqs *seqs,
                          kvb_handle seq,
                          kvb_step *step,
                          kvb_error *error);

/* ---------------------------------------------------------------------------
 * More blocks, or fewer, on every shard while they serve.
 */

/**
 * Gives every rank, or every shard's pool, `blocks` more. As `kvb_pool_grow`, on all or on none.
 *
 * Threads: the registry's. NULL: only `error`.
 */
kvb_status kvb_seqs_grow(kvb_seqs *seqs, size_t blocks, kvb_error *error);

/**
 * Takes the upper `blocks` of every rank, or of every shard's pool, out of service. As `kvb_pool_shrink`, on all or on none; what is held
 * drains, and 0 collects what did not go by itself.
 *
 * Threads: the registry's. NULL: only `error`.
 */
kvb_status kvb_seqs_shrink(kvb_seqs *seqs,
                           size_t blocks,
                           kvb_error *error);

/**
 * Gives one rank in lockstep, or one shard's pool, another number of blocks. What larger ranks have beyond the smallest is stranded.
 *
 * Threads: the registry's. Errors: as `kvb_pool_grow` and `kvb_pool_shrink`; `KVB_ERR_OUT_OF_RANGE`. NULL: only `error`.
 */
kvb_status kvb_seqs_resize_rank(kvb_seqs *seqs,
                                size_t at,
                                size_t blocks,
                                kvb_error *error);

/**
 * Blocks above the limit that are not offline yet, over all shards.
 *
 * Threads: the registry's. O(max_blocks). NULL: 0.
 */
size_t kvb_seqs_draining(const kvb_seqs *seqs);

/* ---------------------------------------------------------------------------
 * The figures of an instance and of its shards.
 */

/**
 * The figures of an instance at one look: of the shard that binds the others.
 *
 * What one shard has free is no use where another has nothing: so `free` is the least, and the two budgets are the most, of any shard.
 */
typedef struct kvb_seqs_report {
    /** `sizeof(kvb_seqs_report)`. */
    uint32_t struct_size;
    /** The shard that has the fewest blocks for an admission. */
    uint32_t binding;
    /** 1 if all ranks have one table, 0 if each shard has one. */
    uint32_t lockstep;
    /** 0. */
    uint32_t reserved;
    /** Token positions of a block. */
    uint64_t block_size;
    /** Sequences that live. */
    uint64_t sequences;
    /** Slots for sequences. */
    uint64_t max_sequences;
    /** Blocks that an admission can have there: available above the watermark, and within the capacity. */
    uint64_t free;
    /** Blocks that one sequence can ever have: capacity above the watermark, on the shard where that is the least. */
    uint64_t largest;
    /** Blocks with a holder, shared ones once, on the shard that has the most of them. */
    uint64_t held;
    /** What its sequences come to with a physical budget, on the shard where that is the most: shared blocks once. */
    uint64_t physical;
    /** What they come to with a conservative budget, on the shard where that is the most: shared blocks once for each sequence. */
    uint64_t conservative;
    /** Blocks that writers may still touch, over all shards. */
    uint64_t loading;
    /** Blocks that transfers under way keep twice, over all shards. */
    uint64_t duplicated;
    /** Blocks above the limit that are still in service, over all shards. */
    uint64_t draining;
    /** Blocks of all ranks that no sequence can use. */
    uint64_t stranded;
} kvb_seqs_report;

/** What one rank, or one shard, has for an instance: `usable + stranded = blocks`. */
typedef struct kvb_rank_report {
    /** `sizeof(kvb_rank_report)`. */
    uint32_t struct_size;
    /** Which. */
    uint32_t shard;
    /** Blocks that its memory has room for. */
    uint64_t blocks;
    /** Blocks of them that sequences can use. */
    uint64_t usable;
    /** Blocks of them that they can't, as another rank has none beside them. */
    uint64_t stranded;
} kvb_rank_report;

/** Lookups of admitted prompts, in token positions. Refused admissions are none. */
typedef struct kvb_hits {
    /** Admitted requests. */
    uint64_t requests;
    /** Positions of their prompts. */
    uint64_t queried;
    /** Positions that were found. */
    uint64_t hit;
} kvb_hits;

/**
 * The figures of a registry on one shard. Blocks are counted once here, however many of its sequences share them; `table_entries` counts
 * them once for each. `held_blocks * block_size = used_positions + unused_positions`.
 */
typedef struct kvb_registry_report {
    /** `sizeof(kvb_registry_report)`. */
    uint32_t struct_size;
    /** Which shard. */
    uint32_t shard;
    /** Sequences that live. */
    uint64_t sequences;
    /** Slots for sequences. */
    uint64_t max_sequences;
    /** Different blocks in their tables. */
    uint64_t held_blocks;
    /** Entries of all tables: a shared block once for each sequence. */
    uint64_t table_entries;
    /** Entries of all tables beyond the first for each block. */
    uint64_t shared_entries;
    /** Blocks set aside for growth and copies. */
    uint64_t promised;
    /** Positions of all sequences, shared ones once for each. */
    uint64_t positions;
    /** Positions in use in the blocks of the tables, shared ones once. */
    uint64_t used_positions;
    /** Positions of these blocks that hold nothing: behind the ends of sequences, and in lookahead blocks. */
    uint64_t unused_positions;
    /** Copies that have not been reported as made. */
    uint64_t pending_copies;
    /** Blocks of imports that some writer may still touch, of living sequences or of ended ones. */
    uint64_t loading;
    /**
     * Blocks that are here twice in one process while transfers last: of a move away all that is offered and read, of an import from an
     * export what comes.
     */
    uint64_t duplicated;
    /**
     * What its sequences come to with a physical budget: `held_blocks + promised`. Beside that, blocks are held for duplicates and
     * pending copies, and by others: see `pool`.
     */
    uint64_t physical;
    /** What they come to with a conservative budget, as its admissions see it: `table_entries + promised`. */
    uint64_t conservative;
    /** Blocks that admissions leave available. */
    uint64_t watermark;
    /** Lookups of first admissions. */
    kvb_hits first;
    /** Lookups of sequences that came back after a preemption. */
    kvb_hits returned;
    /** Sequences that were preempted. */
    uint64_t preemptions;
    /** Calls of `step`, `append` and `ensure` that were refused for want of blocks, now or for ever; counted in `pool`, too. */
    uint64_t refused_appends;
    /** Copies of shared or published blocks. */
    uint64_t copies;
    /** Sequences whose first positions came from elsewhere, or were to. */
    uint64_t imports;
    /** Times that a sequence was offered to somebody else. */
    uint64_t exports;
    /** Duplicates that were put into tables. */
    uint64_t adopted;
    /** Sequences whose publishing could not go on. */
    uint64_t publishing_ended;
    /** Sequences that left by a swap that was finished. */
    uint64_t swapped_out;
    /** Sequences that came by a swap that was finished. Their lookups are neither first ones nor returns. */
    uint64_t swapped_in;
    /** Blocks that were copied here for these. */
    uint64_t swap_copied;
    /** Blocks that were found here for these, and not copied. */
    uint64_t swap_hits;
} kvb_registry_report;

/**
 * Reads the figures of an instance.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(max_blocks + table entries);
 * allocates. Errors: `KVB_ERR_STRUCT_SIZE`, `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_seqs_get_report(const kvb_seqs *seqs,
                               kvb_seqs_report *out);

/**
 * Reads the figures of a registry on one shard, which is below `kvb_seqs_shards`. Those of its pool: `kvb_seqs_pool`.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(max_blocks + table entries);
 * allocates. Errors: `KVB_ERR_STRUCT_SIZE`, `KVB_ERR_OUT_OF_RANGE`, `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_seqs_get_shard_report(const kvb_seqs *seqs,
                                     size_t shard,
                                     kvb_registry_report *out);

/**
 * Reads what one rank has for an instance in lockstep, or one shard of a split one; `at` is below `kvb_seqs_width`.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(1).
 * Errors: `KVB_ERR_STRUCT_SIZE`, `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
 */
kvb_status kvb_seqs_get_rank_report(const kvb_seqs *seqs, size_t at, kvb_rank_report *out);

/**
 * Writes the figures of an instance and of all its shards for a person to read, as UTF-8 with a zero at its end, into `capacity` bytes.
 * `*length` is what all of it takes without the zero: where that is not below `capacity` the text was cut off.
 *
 * Threads: the registry's. O(max_blocks + table entries); allocates. Errors: `KVB_ERR_NO_MEMORY`. NULL: `text` if `capacity` is 0;
 * `length`.
 */
kvb_status kvb_seqs_report_text(const kvb_seqs *seqs,
                                char *text,
                                size_t capacity,
                                size_t *length);

/* ---------------------------------------------------------------------------
 * Recounting everything.
 */

/**
 * Recounts every shard from its blocks and from the tables of its holders: this registry, and `others`, which must be all other holders
 * of its pools (other registries, lanes, leases, reservations, chains). `error->message` names the first thing that does not add up,
 * which is on `error->shard`. At rest only: no other thread may use the pools meanwhile.
 *
 * Threads: see above. Passes over all blocks; allocates. Errors: `KVB_ERR_INCONSISTENT`, a bug of the library or a holder that was not
 * named; `KVB_ERR_NO_MEMORY`, nothing was found. NULL: no others, `error`.
 */
kvb_status kvb_seqs_audit(const kvb_seqs *seqs,
                          const kvb_holder *others,
                          size_t count,
                          kvb_error *error);

/* ---------------------------------------------------------------------------
 * What waits for a device or a peer.
 */

/**
 * Makes a lane for each shard of a registry, with room for the end of every sequence that it can have: `kvb_seqs_config.positions` holds
 * for these, too.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_lanes_destroy`. Threads: the registry's. O(max_sequences) a
 * shard. Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_seqs_lanes_create(const kvb_seqs *seqs,
                                 kvb_lanes **out);

/**
 * Makes one lane for a pool, as shard 0 of the lanes.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_lanes_destroy`. Threads: any. O(1). Errors: `KVB_ERR_NO_MEMORY`.
 * NULL: neither.
 */
kvb_status kvb_pool_lanes_create(const kvb_pool *pool,
                                 kvb_lanes **out);

/**
 * The stream of a shard has passed a fence: all that waits for it or an earlier one is given back. `*blocks` is how many became free or
 * idle by it. An earlier fence than the last one changes nothing.
 *
 * Threads: the lanes'. O(blocks given back). Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: `blocks`.
 */
kvb_status kvb_lanes_complete(kvb_lanes *lanes,
                              size_t shard,
                              uint64_t fence,
                              size_t *blocks);

/**
 * References that wait on all shards: a block counts once for each release.
 *
 * Threads: the lanes'. O(references). NULL: 0.
 */
size_t kvb_lanes_waiting(const kvb_lanes *lanes);

/**
 * Gives the lanes back, and all that waits: the devices and peers must be done with it.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_lanes_destroy(kvb_lanes *lanes);

/* ---------------------------------------------------------------------------
 * The sending end.
 */

/** Somebody else gets the content too; the sequence goes on here. */
#define KVB_HANDOVER_COPY 0

/**
 * The sequence itself is to go on elsewhere. Meanwhile it has one owner: it does not grow here unless the move is aborted, and not there
 * before the move is committed.
 */
#define KVB_HANDOVER_MOVE 1

/** It can be read; no import of this process does. */
#define KVB_PHASE_OFFERED 0

/** An import reads it. */
#define KVB_PHASE_LINKED 1

/** The other side has it. */
#define KVB_PHASE_COMMITTED 2

/** It is over, and the source keeps the sequence. */
#define KVB_PHASE_ABORTED 3

/** Under which terms blocks are offered. */
typedef struct kvb_offer {
    /** `sizeof(kvb_offer)`. */
    uint32_t struct_size;
    /** `KVB_HANDOVER_*`. */
    uint32_t handover;
    /** For whom the blocks are held, a number of yours: an owner has at most one live lease of a table. */
    uint64_t owner;
    /** Until when, in the time that the leases are told; or `KVB_NO_DEADLINE`. What is read later does not count. */
    uint64_t deadline;
} kvb_offer;

/**
 * The computed blocks of a sequence on every shard, offered to be read. Any thread may use it. A lease holds the blocks until the last
 * answer of the import that reads them, at the latest until its end.
 */
typedef struct kvb_export kvb_export;

/**
 * Offers what is computed of a sequence to be read, on every shard or on none: leases hold these blocks, whatever becomes of the sequence.
 * With `KVB_HANDOVER_MOVE` the sequence gets no positions here, and can't be shortened, until that is aborted; releasing it aborts; when
 * the other side has committed, release it here. `space` is the namespace that it was admitted in.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_export_destroy`. Threads: the registry's and the leases'. O(blocks); allocates.
 * Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_LOADING`, `KVB_ERR_UNCOMMITTED`, `KVB_ERR_LEAVING`, `KVB_ERR_MOVED`,
 * `KVB_ERR_COPY_PENDING`, `KVB_ERR_OTHER_NAMESPACE`, `KVB_ERR_OWNER_TAKEN`, `KVB_ERR_ALREADY_OVER`, `KVB_ERR_OVER_BUDGET`,
 * `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_SHORTFALL` (a block for the copy of a shared end), `KVB_ERR_WRONG_POOL` (leases of other
 * shards), `KVB_ERR_INVALID`, `KVB_ERR_NO_MEMORY`. NULL: `space` is the bare model's; `error`.
 */
kvb_status kvb_seqs_export(kvb_seqs *seqs,
                           kvb_handle seq,
                           const kvb_namespace *space,
                           kvb_leases *leases,
                           const kvb_offer *offer,
                           kvb_export **out,
                           kvb_error *error);

/**
 * Shards that it offers blocks of: one for ranks in lockstep.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_export_shards(const kvb_export *export_);

/**
 * Lends the blocks to be read on one shard, in the order of the table.
 *
 * Ownership: the list is the export's, until it is destroyed; the blocks are held while its lease lives. Threads: any. O(1).
 * Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: none.
 */
kvb_status kvb_export_ids(const kvb_export *export_,
                          size_t shard,
                          const uint32_t **ids,
                          size_t *count);

/**
 * Computed positions in the blocks.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_export_positions(const kvb_export *export_);

/**
 * Whether the sequence goes with them: `KVB_HANDOVER_*`.
 *
 * Threads: any. O(1). NULL: `KVB_HANDOVER_COPY`.
 */
uint32_t kvb_export_handover(const kvb_export *export_);

/**
 * How far it is at this instant: `KVB_PHASE_*`.
 *
 * Threads: any. O(1). NULL: `KVB_PHASE_ABORTED`.
 */
uint32_t kvb_export_phase(const kvb_export *export_);

/**
 * A handle of the lease that holds the blocks meanwhile, to look at its end or to extend it.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`. Threads: any. O(shards); allocates.
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_export_lease(const kvb_export *export_, kvb_lease **out);

/**
 * Calls it off on every shard: the source keeps the sequence. If nobody reads the blocks they are given back at once, otherwise with the
 * reader's last answer.
 *
 * Threads: any. O(blocks). Errors: `KVB_ERR_COMMITTED`, `KVB_ERR_ABORTED`: it was over before. NULL: only `error`.
 */
kvb_status kvb_export_abort(const kvb_export *export_,
                            kvb_error *error);

/**
 * A reader outside of this process has all of every shard, and goes on with the sequence if that was to be moved: gives the blocks back.
 * What an import reads is committed by its registry instead.
 *
 * Threads: any. O(blocks). Errors: `KVB_ERR_COMMITTED`, `KVB_ERR_ABORTED`: it was over before; `KVB_ERR_LINKED`: an import reads it;
 * `KVB_ERR_LEASE_ENDED`: what was read may have been anything, and this call aborts it. NULL: only `error`.
 */
kvb_status kvb_export_finish(const kvb_export *export_,
                             kvb_error *error);

/**
 * Lets go of an export. It stays what it is: to end it, call it off or finish it.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_export_destroy(kvb_export *export_);

/* ---------------------------------------------------------------------------
 * A cap on the bytes that are under way.
 */

/** The most bytes that transfers may have under way together. Any thread may use it. */
typedef struct kvb_flights kvb_flights;

/**
 * Makes a cap, with nothing under way.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_flights_destroy`; transfers under way keep the cap. Threads: any. O(1).
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: `KVB_ERR_NULL`.
 */
kvb_status kvb_flights_create(uint64_t max_bytes,
                              kvb_flights **out);

/**
 * The cap, in bytes.
 *
 * Threads: any. O(1). NULL: 0.
 */
uint64_t kvb_flights_max(const kvb_flights *flights);

/**
 * Bytes under way, at this instant.
 *
 * Threads: any. O(1). NULL: 0.
 */
uint64_t kvb_flights_in_flight(const kvb_flights *flights);

/**
 * Lets go of a cap.
 *
 * Threads: no other call may use it meanwhile. NULL: nothing happens.
 */
void kvb_flights_destroy(kvb_flights *flights);

/* ---------------------------------------------------------------------------
 * The receiving end: sequences whose first positions come from elsewhere.
 */

/** Most writers of one transfer. */
#define KVB_MAX_WRITERS 63

/** What is to come for a sequence, on every shard. */
typedef struct kvb_incoming {
    /** `sizeof(kvb_incoming)`. */
    uint32_t struct_size;
    /** Who fills the blocks of each shard: from 1 to `KVB_MAX_WRITERS`. */
    uint32_t writers;
    /** Positions from the start that are stored elsewhere. What is found here of them does not come. 0 with a source: all that it offers. */
    size_t positions;
    /** The export of this process that is read, or NULL: something outside of it is. */
    const kvb_export *source;
    /** How the content is laid out there: NULL, or one for each shard. A source knows it. */
    const kvb_format *const *formats;
    /** How many: 0, or one for each shard. */
    size_t format_count;
    /** Where the bytes under way are counted, or NULL. How blocks are laid out must be known then, here or there. */
    const kvb_flights *flights;
} kvb_incoming;

/**
 * Blocks of a sequence on every shard that peers, a store or a copy engine are filling. Any thread may use it.
 *
 * Each writer answers once for each block, in any order of blocks: it has written it, or will not; and at the latest it says that it touches
 * nothing more. Until then the blocks stay held, whether the sequence goes on or not.
 */
typedef struct kvb_import kvb_import;

/**
 * Admits a sequence whose first positions come from elsewhere, on every shard or on none: as `kvb_seqs_admit`, and what is not found of
 * them is filled by the writers of the import. What has arrived without a gap on every shard is computed, and published, when
 * `kvb_seqs_loading` is asked. The tokens of the request are your word: they must be those of the content that comes. The sequence can be
 * released or preempted at any time; its blocks stay held until their writers have answered. If it comes from the export of a move it
 * gets no further positions before that is committed.
 *
 * Ownership: nothing that `request` and `incoming` point to is kept; `*import` is the caller's, to be given to `kvb_import_destroy`.
 * Threads: the registry's. O(blocks); allocates. Errors, after which nothing has changed but that a refusal is counted: those of
 * `kvb_seqs_admit`; `KVB_ERR_BEYOND` (more than the request has tokens, or the source offers), `KVB_ERR_TOO_MANY_WRITERS`,
 * `KVB_ERR_INCOMPATIBLE`, `KVB_ERR_OTHER_NAMESPACE`, `KVB_ERR_SOURCE_TAKEN`, `KVB_ERR_UNKNOWN_FORMAT` and `KVB_ERR_TOO_MANY_BYTES` (with
 * flights). NULL: only `error`.
 */
kvb_status kvb_seqs_import(kvb_seqs *seqs,
                           const kvb_admit *request,
                           const kvb_incoming *incoming,
                           kvb_admitted *out,
                           kvb_import **import,
                           kvb_error *error);

/** How far the load of a sequence is. */
typedef struct kvb_loading {
    /** `sizeof(kvb_loading)`. */
    uint32_t struct_size;
    /**
     * 1 if something did not come, or was bad: no more than `arrived` will. If more is computed already, the source found that bad later:
     * invalidate the block behind `arrived`.
     */
    uint32_t failed;
    /** 1 if the source of a move called it off, or found its content bad. */
    uint32_t aborted;
    /** 0. */
    uint32_t reserved;
    /** Positions from the start that are there. You compute the others, when nothing is left to come. */
    uint64_t arrived;
    /** Blocks that some writer may still touch, over all shards. */
    uint64_t left;
} kvb_loading;

/**
 * How far the load of a sequence is. What has arrived on every shard is computed, and published, by this call.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(blocks that are not counted yet).
 * Errors: `KVB_ERR_STALE`, `KVB_ERR_STRUCT_SIZE`. NULL: neither.
 */
kvb_status kvb_seqs_loading(kvb_seqs *seqs,
                            kvb_handle seq,
                            kvb_loading *out);

/**
 * Takes over a sequence that was being moved here: everything has arrived on every shard, the source may not go on with it any more, and
 * this registry does. Without a move it only says whether something is still to come, or failed and was not computed here.
 *
 * Threads: the registry's. O(blocks that are not counted yet). Errors: `KVB_ERR_STALE`; `KVB_ERR_NOT_ARRIVED`: wait, or release it
 * (without a move you may as well compute the rest), `error->needed` positions of which `available` are there and `limit` blocks may
 * still be touched; `KVB_ERR_MOVE_ABORTED`: the source keeps it, release it here. NULL: only `error`.
 */
kvb_status kvb_seqs_commit(kvb_seqs *seqs,
                           kvb_handle seq,
                           kvb_error *error);

/* ---------------------------------------------------------------------------
 * The answers of those who fill blocks.
 */

/** The answer counts. */
#define KVB_ANSWER_TAKEN 0

/** The writer is done with the blocks; nobody waits for their content any more. */
#define KVB_ANSWER_UNWANTED 1

/** The source's lease was over when the answer came, so what was read there may have been anything: the blocks have failed. */
#define KVB_ANSWER_SOURCE_GONE 2

/**
 * Shards that have blocks to be filled: one for ranks in lockstep.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_import_shards(const kvb_import *import);

/**
 * Lends the blocks to be filled on one shard, in the order of the table. They are behind those that were found: the first is the block
 * of position `hit`, and a source's at the same place is `hit / block_size` further on. None, if nothing is to come.
 *
 * Ownership: the list is the import's, until it is destroyed. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: none.
 */
kvb_status kvb_import_ids(const kvb_import *import,
                          size_t shard,
                          const uint32_t **ids,
                          size_t *count);

/**
 * Writers of each shard, numbered from 0.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_import_writers(const kvb_import *import);

/**
 * Blocks that some writer may still touch, over all shards, at this instant. 0: none touches anything any more.
 *
 * Threads: any. O(shards). NULL: 0.
 */
size_t kvb_import_left(const kvb_import *import);

/**
 * Whether somebody still waits for the content: not after the sequence was released, for instance.
 *
 * Threads: any. O(shards). NULL: false.
 */
bool kvb_import_is_wanted(const kvb_import *import);

/**
 * A writer has written its part of `count` blocks of a shard from the place `first` of its list on, and touches them no more. `*answer` is
 * `KVB_ANSWER_*`.
 *
 * Threads: any. O(count). Errors, of which none of the blocks is obeyed: `KVB_ERR_OUT_OF_RANGE` (shard or blocks),
 * `KVB_ERR_NO_SUCH_WRITER`, `KVB_ERR_ANSWERED` (`error->needed` is the first such place). Where a writer answers from two threads at
 * once, each block is answered once, by either, and who was late for one is told `KVB_ERR_ANSWERED`. NULL: `answer`, `error`.
 */
kvb_status kvb_import_arrived(const kvb_import *import,
                              size_t shard,
                              size_t writer,
                              size_t first,
                              size_t count,
                              uint32_t *answer,
                              kvb_error *error);

/** A writer has not written its part of some blocks, and touches them no more: they do not come. As `kvb_import_arrived`. */
kvb_status kvb_import_failed(const kvb_import *import,
                             size_t shard,
                             size_t writer,
                             size_t first,
                             size_t count,
                             uint32_t *answer,
                             kvb_error *error);

/**
 * A writer of a shard touches nothing more: blocks that it has not answered for have failed. `*missing` is how many.
 *
 * Threads: any. O(blocks). Errors: `KVB_ERR_OUT_OF_RANGE` (shard), `KVB_ERR_NO_SUCH_WRITER`, `KVB_ERR_WRITER_ENDED`.
 * NULL: `missing`, `error`.
 */
kvb_status kvb_import_end(const kvb_import *import,
                          size_t shard,
                          size_t writer,
                          size_t *missing,
                          kvb_error *error);

/**
 * Lets go of an import. Let every writer end before: what is not answered for stays held as long as the registry, and when both are gone
 * that says that all writers are done.
 *
 * Threads: no other call may use it meanwhile. O(blocks). NULL: nothing happens.
 */
void kvb_import_destroy(kvb_import *import);

/* ---------------------------------------------------------------------------
 * Sequences on their way to another tier of memory, host memory for instance, and back, instead of being computed again.
 */

/**
 * A sequence on its way from one registry to another. You copy the blocks, shard by shard, say when that is done, and then finish the
 * swap, or abort it at any time before. One thread at a time may use it, also for calls with a `const` pointer.
 */
typedef struct kvb_swap kvb_swap;

/**
 * Begins to swap a sequence to another registry with as many shards, on every shard or on none: offers what is computed of it to be
 * copied, and admits it there with all the blocks that it needs. `request` is the sequence as the destination is to have it: all its tokens
 * at least, in the namespace that it was admitted in, and what it is promised there. Meanwhile it gets no positions on either side; it
 * keeps its handle, its promise and its label where it was. No block is taken there: a tier that has nothing left can still swap out.
 * `leases` are those of `from`; `owner`, a number of yours, names the lease that holds what is read: one swap at a time for each.
 *
 * Ownership: nothing that `request` points to is kept; `*out` is the caller's, to be given to `kvb_swap_destroy`. Threads: both
 * registries' and the leases'. O(tokens); allocates. Errors, after which nothing has changed but that a refusal is counted at the
 * destination, and what had arrived for the sequence counts: `KVB_ERR_SAME_INSTANCE` (one registry is given twice),
 * `KVB_ERR_LENGTH_MISMATCH` (fewer tokens than positions, or extra keys that do not fit them), `KVB_ERR_OTHER_TOKENS` (what is computed,
 * as far as that is known, is of other tokens or has another extra key); of the source those of `kvb_seqs_export`,
 * and a copy that is pending is `KVB_ERR_COPY_PENDING`; of the destination those of `kvb_seqs_import`. NULL: only `error`.
 */
kvb_status kvb_seqs_swap_to(kvb_seqs *from,
                            kvb_handle source,
                            kvb_seqs *to,
                            const kvb_admit *request,
                            kvb_leases *leases,
                            uint64_t owner,
                            kvb_swap **out,
                            kvb_error *error);

/** A swap as it was begun. */
typedef struct kvb_swap_info {
    /** `sizeof(kvb_swap_info)`. */
    uint32_t struct_size;
    /** Shards that have blocks to be copied, numbered from 0: one for ranks in lockstep. */
    uint32_t shards;
    /** The sequence's name where it was. */
    kvb_handle source;
    /** Its name where it goes. */
    kvb_handle seq;
    /** Positions that were found there on every shard, and are not copied. */
    uint64_t hit;
} kvb_swap_info;

/**
 * Reads what a swap is of. It says the same when the swap is over.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the swap's. O(shards). Errors: `KVB_ERR_STRUCT_SIZE`.
 * NULL: neither.
 */
kvb_status kvb_swap_get_info(const kvb_swap *swap,
                             kvb_swap_info *out);

/**
 * Lists what is to be copied on a shard, in the order of the table: from each of `sources`, a block of the registry that the sequence
 * leaves, to the block at the same place of `destinations`, of the one where it goes. They are what `kvb_layout_pair_runs` takes.
 * `*count` is how many there are: none once the swap is over.
 *
 * Ownership: both lists have room for `capacity`. Threads: the swap's. O(blocks), no allocation. Errors: `KVB_ERR_TOO_SHORT`
 * (`error->needed` is how many there are), `KVB_ERR_OUT_OF_RANGE` (no such shard). NULL: the lists if `capacity` is 0; `error`.
 */
kvb_status kvb_swap_pairs(const kvb_swap *swap,
                          size_t shard,
                          uint32_t *sources,
                          uint32_t *destinations,
                          size_t capacity,
                          size_t *count,
                          kvb_error *error);

/**
 * A handle of the lease that holds the source's blocks until the copy has passed: for an audit when its table is gone.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`. Threads: the swap's. O(shards); allocates.
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_swap_lease(const kvb_swap *swap, kvb_lease **out);

/**
 * A handle of what holds the destination's blocks until the copy has passed: for whoever answers for them when the swap is gone. Its one
 * writer is the swap: while that lives, leave the answers to it.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_import_destroy`. Threads: the swap's. O(shards); allocates.
 * Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_swap_import(const kvb_swap *swap,
                           kvb_import **out);

/**
 * The copy on a shard, or a part of it, is launched, and done when this fence has passed: a point on that shard's timeline, a number that
 * only grows. Of several the latest counts. All parts are launched before `kvb_swap_complete` is asked: it speaks for all blocks.
 *
 * Threads: the swap's. O(1). Errors, after which nothing has changed: `KVB_ERR_SWAP_OVER`, `KVB_ERR_ALREADY_COPIED` (it was told that all
 * has passed, and waits for nothing more: abort it when this fence has passed, too), `KVB_ERR_OUT_OF_RANGE` (no such shard).
 * NULL: only `error`.
 */
kvb_status kvb_swap_copying(kvb_swap *swap,
                            size_t shard,
                            uint64_t fence,
                            kvb_error *error);

/**
 * The timeline of a shard's copies has come so far. Returns whether nothing touches the blocks of any shard any more: then the swap can be
 * finished, or what an aborted one held has been given back. Of a shard that there is not nothing is taken down.
 *
 * Threads: the swap's. O(blocks), once; no allocation. NULL: false.
 */
bool kvb_swap_complete(kvb_swap *swap,
                       size_t shard,
                       uint64_t completed);

/**
 * Ends a swap whose copies have passed on every shard: the sequence goes on at the destination, under `*seq`, and is released where it was.
 * What was published of it there stays findable as long as nobody needs the memory. The swap is still to be destroyed.
 *
 * Threads: both registries'. O(blocks), no allocation. Errors, after which nothing has changed, but that what has been copied
 * counts at the destination: `KVB_ERR_NOT_COPIED` (ask again when `kvb_swap_complete` says so; `error->needed` blocks are copied on the
 * first such shard, until the fence `error->limit` if `error->which` is 1, and were not launched if it is 0), `KVB_ERR_MOVE_ABORTED` and
 * `KVB_ERR_NOT_ARRIVED` (the source was released, or its content turned out bad: abort it), `KVB_ERR_STALE`, `KVB_ERR_SWAP_OVER`,
 * `KVB_ERR_WRONG_POOL` (these are not its two ends), `KVB_ERR_SAME_INSTANCE` (one registry is given twice). NULL: `seq`, `error`.
 */
kvb_status kvb_swap_finish(kvb_swap *swap,
                           kvb_seqs *from,
                           kvb_seqs *to,
                           kvb_handle *seq,
                           kvb_error *error);

/**
 * Calls a swap off on every shard: the source goes on as it was, and the destination gives its blocks back. A copy that is under way is not
 * stopped: until `kvb_swap_complete` says that it has passed, its blocks are held on both sides, and the source gets and computes no
 * positions, so that nobody writes what is being read. The swap is still to be destroyed.
 *
 * Threads: the destination's. O(blocks), no allocation. Errors, after which nothing has changed: `KVB_ERR_SWAP_OVER`,
 * `KVB_ERR_WRONG_POOL` (this is not its destination), `KVB_ERR_STALE` (the sequence is in another registry over the same shards),
 * `KVB_ERR_COMMITTED` (the destination has it: finish the swap). NULL: only `error`.
 */
kvb_status kvb_swap_abort(kvb_swap *swap,
                          kvb_seqs *to,
                          kvb_error *error);

/**
 * Gives a swap back. One that is neither finished nor aborted is called off: the source goes on. What was admitted at the destination is
 * then yours to release there, under its name. What copies under way hold stays held on both sides until somebody with a handle of
 * `kvb_swap_import` answers, or the registries go.
 *
 * Threads: no other call may use it meanwhile. O(blocks). NULL: nothing happens.
 */
void kvb_swap_destroy(kvb_swap *swap);

/* ---------------------------------------------------------------------------
 * What a plan is made from.
 */

/** `kvb_plan_input.device_memory`. */
#define KVB_PLAN_INPUT_DEVICE_MEMORY 1

/** `kvb_plan_input.layers`. */
#define KVB_PLAN_INPUT_LAYERS 2

/** `kvb_plan_input.kv_heads`. */
#define KVB_PLAN_INPUT_KV_HEADS 3

/** `kvb_plan_input.head_size`. */
#define KVB_PLAN_INPUT_HEAD_SIZE 4

/** `kvb_plan_input.element_bits`. */
#define KVB_PLAN_INPUT_ELEMENT_BITS 5

/** `kvb_plan_input.weights`. */
#define KVB_PLAN_TERM_WEIGHTS 1

/** `kvb_plan_input.workspaces`. */
#define KVB_PLAN_TERM_WORKSPACES 2

/** `kvb_plan_input.staging`. */
#define KVB_PLAN_TERM_STAGING 3

/** The margin. */
#define KVB_PLAN_TERM_MARGIN 4

/** K/V heads * head size * bits of an element * positions, or elements of a latent vector * bits * positions. */
#define KVB_PLAN_STEP_PLANE_BITS 1

/** Scale bytes of a position * positions + scale bytes of a block. */
#define KVB_PLAN_STEP_SCALE_BYTES 2

/** K + V + scales. */
#define KVB_PLAN_STEP_LAYER_BYTES 3

/** Bytes of a layer * layers. */
#define KVB_PLAN_STEP_BLOCK_BYTES 4

/** One rank: its memory, what of it is not for K/V, and what it keeps of a position. All that is 0 is not there. */
typedef struct kvb_plan_input {
    /** `sizeof(kvb_plan_input)`. */
    uint32_t struct_size;
    /**
     * What is left alone for what nobody foresees, in millionths of the device memory, rounded up to whole bytes: 50000 are 5 %. Or 0,
     * and `margin_bytes`.
     */
    uint32_t margin_millionths;
    /** The same in bytes, if `margin_millionths` is 0. */
    uint64_t margin_bytes;
    /** Bytes of the device. */
    uint64_t device_memory;
    /** Bytes of the weights on this rank. */
    uint64_t weights;
    /** Bytes for activations, attention workspaces, captured graphs, communication. */
    uint64_t workspaces;
    /** Bytes for buffers through which blocks are moved. */
    uint64_t staging;
    /** Layers with K/V of their own on this rank: not those of other pipeline stages, recurrent ones, and those that read another layer's. */
    uint64_t layers;
    /** K/V heads of the model. */
    uint64_t kv_heads;
    /** Elements of a head. */
    uint64_t head_size;
    /** Elements of the latent vector that is kept in place of K and V, the rotary part included: then `kv_heads` and `head_size` are 0. */
    uint64_t latent;
    /** Bits of an element: 16 for bf16 and fp16, 8 for fp8, 4 for fp4. */
    uint64_t element_bits;
    /** Bytes of scales that each position has in each layer on the rank, of K and V together. */
    uint64_t scale_bytes_per_position;
    /** Bytes of scales that each block has in each layer on the rank, of K and V together. */
    uint64_t scale_bytes_per_block;
    /**
     * Ranks that share each layer: heads are spread evenly, the first ranks have one more of those that remain, and with fewer heads than
     * ranks each has a copy of one. A latent vector is on each. 0 counts as 1.
     */
    uint64_t tensor_parallel;
    /** Which of them this is, from 0. */
    uint64_t rank;
    /** Positions of a block. */
    size_t block_size;
} kvb_plan_input;

/* ---------------------------------------------------------------------------
 * The plan of all ranks of an instance.
 */

/** The plan of ranks in lockstep: each block is on all of them, so the rank with the fewest decides. */
typedef struct kvb_instance_plan {
    /** `sizeof(kvb_instance_plan)`. */
    uint32_t struct_size;
    /** 0. */
    uint32_t reserved;
    /** The rank that has no more blocks than `blocks`, by its place in the list; of several the first. */
    uint64_t binding_rank;
    /** Blocks that all ranks have. */
    uint64_t blocks;
    /** Positions of a block. */
    uint64_t block_size;
    /** Positions of the longest request that fits if it is alone. */
    uint64_t longest_request;
} kvb_instance_plan;

/** What one rank has for the plan of all: `blocks = usable + stranded`. */
typedef struct kvb_planned_rank {
    /** Blocks that fit this rank. */
    uint64_t blocks;
    /** Bytes of a block there. */
    uint64_t block_bytes;
    /** Blocks of it that no sequence can use, as another rank has none beside them. */
    uint64_t stranded_blocks;
    /** Their bytes. */
    uint64_t stranded_bytes;
} kvb_planned_rank;

/**
 * Says how many blocks fit ranks that share one table of blocks.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written; `each` has room for `count`, or is NULL. Threads: any. O(ranks);
 * allocates. Errors: those of `kvb_plan_rank`, with the rank's place in the list as `error->shard`; `KVB_ERR_NO_SHARDS` (no rank),
 * `KVB_ERR_BLOCK_SIZE` (not that of rank 0), `KVB_ERR_NO_MEMORY`. NULL: `each`, `error`.
 */
kvb_status kvb_plan_ranks(const kvb_plan_input *const *ranks,
                          size_t count,
                          kvb_instance_plan *out,
                          kvb_planned_rank *each,
                          kvb_error *error);

/**
 * Writes the plan of one rank or several for a person to read, as UTF-8 with a zero at its end, into `capacity` bytes. `*length` is what
 * all of it takes without the zero: where that is not below `capacity` the text was cut off.
 *
 * Threads: any. O(ranks); allocates. Errors: those of `kvb_plan_ranks`. NULL: `text` if `capacity` is 0; `length`, `error`.
 */
kvb_status kvb_plan_text(const kvb_plan_input *const *ranks,
                         size_t count,
                         char *text,
                         size_t capacity,
                         size_t *length,
                         kvb_error *error);

/* ---------------------------------------------------------------------------
 * The plan of one rank.
 */

/**
 * How many blocks fit into the memory of one rank, and where the rest of it goes:
 * `device_memory = weights + workspaces + staging + margin + cache_bytes` and `cache_bytes = blocks * block_bytes + remainder`, exactly.
 */
typedef struct kvb_plan {
    /** `sizeof(kvb_plan)`. */
    uint32_t struct_size;
    /** 0. */
    uint32_t reserved;
    /** Bytes of the device. */
    uint64_t device_memory;
    /** Bytes of them for the weights. */
    uint64_t weights;
    /** Bytes of them for activations, attention workspaces, captured graphs, communication. */
    uint64_t workspaces;
    /** Bytes of them for buffers through which blocks are moved. */
    uint64_t staging;
    /** Bytes of them that are left alone. */
    uint64_t margin;
    /** Bytes left for K/V. */
    uint64_t cache_bytes;
    /** Bytes of a block, in all layers. */
    uint64_t block_bytes;
    /** Blocks that fit: what a pool of this rank is made with. */
    uint64_t blocks;
    /** Positions of a block. */
    uint64_t block_size;
    /** Bytes left for K/V that are too few for another block. */
    uint64_t remainder;
    /** Positions of the longest request that fits if it is alone. */
    uint64_t longest_request;
} kvb_plan;

/**
 * Says how many blocks fit a rank.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1), no allocation.
 * Errors: `KVB_ERR_PLAN_ZERO`, `KVB_ERR_PLAN_MARGIN`, `KVB_ERR_PLAN_DOES_NOT_FIT`, `KVB_ERR_PLAN_OVERFLOW`,
 * `KVB_ERR_PLAN_LESS_THAN_A_BLOCK`, `KVB_ERR_BLOCK_SIZE`, `KVB_ERR_OUT_OF_RANGE` (no such rank of `tensor_parallel`),
 * `KVB_ERR_TOO_MANY_BLOCKS` (a shard has no ids for the rest: larger blocks are fewer), `KVB_ERR_INVALID` (two margins, or heads beside
 * a latent vector), `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
 */
kvb_status kvb_plan_rank(const kvb_plan_input *input,
                         kvb_plan *out,
                         kvb_error *error);

/**
 * Sequences of so many positions each that fit into so many blocks at the same time, if they share nothing. One that is empty needs a
 * block as one of a single position does.
 *
 * Threads: any. O(1). 0 if `block_size` is 0.
 */
uint64_t kvb_plan_sequences_at(uint64_t blocks,
                               uint64_t block_size,
                               uint64_t positions);

/**
 * Makes the format of a rank's blocks, for transfers and loans: K and V (or the latents alone) and scales have a plane each, layer by
 * layer, of `block_bytes` together.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_format_destroy`. Threads: any. O(layers). Errors: those of `kvb_plan_rank`, and
 * `KVB_ERR_NO_MEMORY`. NULL: only `error`.
 */
kvb_status kvb_plan_format(const kvb_plan_input *input,
                           uint32_t element,
                           kvb_format **out,
                           kvb_error *error);

/* ---------------------------------------------------------------------------
 * Several instances, each with memory of its own: where a request goes, moves between them, memory that one lends to another.
 */

/**
 * Makes a fleet without instances.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_fleet_destroy`. Threads: any. O(1). Errors: `KVB_ERR_NO_MEMORY`.
 * NULL: `KVB_ERR_NULL`.
 */
kvb_status kvb_fleet_create(kvb_fleet **out);

/**
 * Ends the fleet with all of its instances, as `kvb_seqs_destroy` does each.
 *
 * Threads: no other call may use it meanwhile, nor one of its instances. O(blocks held). NULL: nothing happens.
 */
void kvb_fleet_destroy(kvb_fleet *fleet);

/* ---------------------------------------------------------------------------
 * The instances of a fleet, and whether they take requests.
 */

/** It takes no requests until `kvb_fleet_set_ready`; it is charged and reported. */
#define KVB_MEMBER_STARTING 1

/** It takes no requests yet. */
#define KVB_INSTANCE_STARTING 0

/** It takes requests. */
#define KVB_INSTANCE_READY 1

/** It takes no requests any more: those that it has go on. */
#define KVB_INSTANCE_DRAINING 2

/** What an instance is to a fleet. */
typedef struct kvb_member {
    /** `sizeof(kvb_member)`. */
    uint32_t struct_size;
    /** `KVB_MEMBER_*`, or 0. */
    uint32_t flags;
    /** The model that it serves, a number of yours. Requests for another are never placed on it. */
    uint64_t model;
    /** Positions that it can compute in a step, at least 1: its token service. */
    uint64_t service;
    /** Positions a step that admissions may bring its demand to; 0 for no cap. Who finds nothing demanded is admitted in any case. */
    uint64_t max_service;
    /** References that the leases of moves from it may hold together on each shard; 0 for no cap. */
    size_t lease_budget;
} kvb_member;

/**
 * Takes a registry in as an instance, and names it: names are never given twice by one fleet. Its shards, or ranks, need names that no
 * other instance of the fleet has for its own, and its pools must be no other instance's.
 *
 * Ownership: on success the registry is the fleet's, and the pointer `seqs` is not to be used any more: see `kvb_fleet_get`. Otherwise it
 * is as it was. Threads: the fleet's and the registry's. O(instances * shards); allocates. Errors: `KVB_ERR_NO_SERVICE`,
 * `KVB_ERR_SHARED_POOL`, `KVB_ERR_SHARED_NAME` (both with `error->instance`), `KVB_ERR_INVALID`, `KVB_ERR_NO_MEMORY`,
 * `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
 */
kvb_status kvb_fleet_add(kvb_fleet *fleet,
                         kvb_seqs *seqs,
                         const kvb_member *member,
                         uint64_t *out,
                         kvb_error *error);

/**
 * Takes an instance out: the registry is the caller's again.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_seqs_destroy`. Threads: the fleet's. O(instances).
 * Errors, after which nothing has changed: `KVB_ERR_NO_SUCH_INSTANCE`; `KVB_ERR_NOT_EMPTY`: it has `error->needed` sequences, writers may
 * still touch `available` of its blocks, and moves and loans hold it `limit` times: drain it first; `KVB_ERR_NO_MEMORY`.
 * NULL: only `error`.
 */
kvb_status kvb_fleet_remove(kvb_fleet *fleet,
                            uint64_t instance,
                            kvb_seqs **out,
                            kvb_error *error);

/**
 * Lends an instance, for the calls on its sequences; NULL if there is no such. It is not yours to destroy, to close or to add to a fleet.
 * While it has lent memory do not grow it, as what is lent would be there twice.
 *
 * Ownership: the fleet's, until the next `kvb_fleet_add`, `kvb_fleet_remove` or `kvb_fleet_destroy`. Threads: the fleet's. O(log
 * instances). NULL: NULL.
 */
kvb_seqs *kvb_fleet_get(kvb_fleet *fleet,
                               uint64_t instance);

/**
 * An instance takes requests from now on: a new one, or one that was draining.
 *
 * Threads: the fleet's. O(log instances). Errors: `KVB_ERR_NO_SUCH_INSTANCE`. NULL: only `error`.
 */
kvb_status kvb_fleet_set_ready(kvb_fleet *fleet, uint64_t instance, kvb_error *error);

/**
 * An instance takes no requests, and no moves, from now on. Its sequences go on.
 *
 * Threads: the fleet's. O(log instances). Errors: `KVB_ERR_NO_SUCH_INSTANCE`. NULL: only `error`.
 */
kvb_status kvb_fleet_drain(kvb_fleet *fleet, uint64_t instance, kvb_error *error);

/**
 * Whether an instance takes requests: `*state` is `KVB_INSTANCE_*`.
 *
 * Threads: the fleet's. O(log instances). Errors: `KVB_ERR_NO_SUCH_INSTANCE`. NULL: only `error`.
 */
kvb_status kvb_fleet_state(const kvb_fleet *fleet, uint64_t instance, uint32_t *state, kvb_error *error);

/**
 * Reads what an instance was added as.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. O(log instances).
 * Errors: `KVB_ERR_NO_SUCH_INSTANCE`, `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
 */
kvb_status kvb_fleet_get_member(const kvb_fleet *fleet,
                                uint64_t instance,
                                kvb_member *out,
                                kvb_error *error);

/**
 * Lists the instances in the order in which they were added: the first `capacity` of them. `*count` is how many there are.
 *
 * Ownership: `out` has room for `capacity`. Threads: the fleet's. O(instances), no allocation. Errors: none but those of pointers.
 * NULL: `out` if `capacity` is 0.
 */
kvb_status kvb_fleet_list(const kvb_fleet *fleet,
                          uint64_t *out,
                          size_t capacity,
                          size_t *count);

/* ---------------------------------------------------------------------------
 * Where a request goes: every instance of its model is asked, and of those that can take it one is chosen.
 */

/**
 * The instance with the longest hit; of those, the one with the most left. Where two are equal, here and below, the one that was added
 * before.
 */
#define KVB_PLACEMENT_AFFINITY 0

/** The one that has the most positions left then; of those, the one with the longest hit. */
#define KVB_PLACEMENT_MOST_FREE 1

/** The one whose last admission by the fleet was the longest ago. */
#define KVB_PLACEMENT_ROUND_ROBIN 2

/** An instance that can take a request at this instant. */
typedef struct kvb_candidate {
    /** Which. */
    uint64_t instance;
    /** Positions that are found on it. */
    size_t hit;
    /** Blocks that it would charge, on the shard that needs the most. */
    size_t charge;
    /** Blocks that an admission could have after that, on the shard where it is the fewest. */
    size_t free;
    /** Positions in each of its blocks. */
    size_t block_size;
    /** Positions a step that would be demanded of it then. */
    uint64_t demanded;
    /** Positions that it can compute in a step. */
    uint64_t service;
} kvb_candidate;

/** A request that was admitted on an instance. */
typedef struct kvb_placed {
    /** Where: `kvb_fleet_get` lends it for the sequence's further calls. */
    uint64_t instance;
    /** What it got there. */
    kvb_admitted admitted;
} kvb_placed;

/**
 * Lists the instances of a model that can take a request at this instant, the first choice by `placement` (`KVB_PLACEMENT_*`) first: the
 * first `capacity` of them. `*count` is how many there are. Changes nothing.
 *
 * Ownership: `out` has room for `capacity`. Threads: the fleet's. As `kvb_seqs_check` on each instance of the model, and a look at all its
 * slots; allocates. Errors: as `kvb_fleet_admit`: there is none. NULL: `out` if `capacity` is 0; `error`.
 */
kvb_status kvb_fleet_candidates(const kvb_fleet *fleet,
                                uint64_t model,
                                const kvb_admit *request,
                                uint32_t placement,
                                kvb_candidate *out,
                                size_t capacity,
                                size_t *count,
                                kvb_error *error);

/**
 * Where `kvb_fleet_admit` would place a request at this instant, or the refusal that it would give. Changes nothing.
 *
 * Threads: the fleet's. As `kvb_fleet_candidates`, without an allocation. Errors: as `kvb_fleet_admit`. NULL: only `error`.
 */
kvb_status kvb_fleet_check(const kvb_fleet *fleet,
                           uint64_t model,
                           const kvb_admit *request,
                           uint32_t placement,
                           kvb_candidate *out,
                           kvb_error *error);

/**
 * Admits a request on one of the instances of a model that can take it: on the first choice by `placement`
 * (`KVB_PLACEMENT_*`).
 *
 * Threads: the fleet's. As `kvb_seqs_check` on each instance of the model, and `kvb_seqs_admit` on one. Errors, after which nothing has
 * changed on any instance: `KVB_ERR_NO_SUCH_MODEL`; `KVB_ERR_NOT_READY` (those that could have it take no requests);
 * `KVB_ERR_NEVER_FITS` (on none, whatever leaves; `error->instance` is the largest, `limit` its blocks) and `KVB_ERR_SHORTFALL` (on none
 * now; `error->instance` lacks the least), both with `error->sum`, what all have together: the request fits in the sum, and in no one
 * place, if `error->needed` is not more; `KVB_ERR_SERVICE_FULL` (there is memory, and too little token service); and those of
 * `kvb_seqs_admit`. NULL: only `error`.
 */
kvb_status kvb_fleet_admit(kvb_fleet *fleet,
                           uint64_t model,
                           const kvb_admit *request,
                           uint32_t placement,
                           kvb_placed *out,
                           kvb_error *error);

/**
 * How large a request of a model may be, in positions: prompt and promised growth of one of which nothing is found. What lies between
 * `now` and `sum_now` fits in what is available on all instances together, and on none of them.
 */
typedef struct kvb_largest {
    /** The largest that one instance can admit now. */
    size_t now;
    /** The largest that one instance can have when it is empty. */
    size_t ever;
    /** What all instances can admit now, together. */
    size_t sum_now;
    /** What all instances can have when they are empty, together. */
    size_t sum_ever;
} kvb_largest;

/**
 * How large a request of a model may be, on the instances that take requests; one without a slot left admits nothing now. All 0 if there
 * are none. Of token service it says nothing.
 *
 * Threads: the fleet's. O(instances * shards). Errors: none but those of pointers. NULL: neither.
 */
kvb_status kvb_fleet_largest(const kvb_fleet *fleet,
                             uint64_t model,
                             kvb_largest *out);

/** How much of an instance is in use. Either may be used up while there is enough of the other. */
typedef struct kvb_share {
    /** Blocks that are held, quarantined or promised, on the shard where that is the largest part. Idle blocks are not in use. */
    uint64_t memory_used;
    /** The blocks of that shard. */
    uint64_t memory_whole;
    /**
     * Positions demanded a step: of each sequence what it has appended and not computed, no more than a whole step and no less than 1.
     * What a load is to bring is not demanded. A sequence that is being moved demands where it goes.
     */
    uint64_t service_used;
    /** Positions that the instance can compute in a step. */
    uint64_t service_whole;
} kvb_share;

/**
 * How much of an instance is in use.
 *
 * Threads: the fleet's. O(max_sequences + max_blocks / 64). Errors: `KVB_ERR_NO_SUCH_INSTANCE`. NULL: neither.
 */
kvb_status kvb_fleet_share(const kvb_fleet *fleet, uint64_t instance, kvb_share *out);

/* ---------------------------------------------------------------------------
 * Moving a sequence to another instance of its model.
 */

/** Under which terms a sequence is moved. */
typedef struct kvb_move_terms {
    /** `sizeof(kvb_move_terms)`. */
    uint32_t struct_size;
    /** Who fills the blocks of each shard: from 1 to `KVB_MAX_WRITERS`. */
    uint32_t writers;
    /** For whom the blocks that are read are held: at most one move from an instance at a time for each owner. */
    uint64_t owner;
    /** Until when they are held, in the time that `kvb_fleet_tick` tells; or `KVB_NO_DEADLINE`. What is read later does not count. */
    uint64_t deadline;
    /** Where the bytes under way are counted, or NULL. */
    const kvb_flights *flights;
} kvb_move_terms;

/** A sequence on its way from one instance to another. Finish it when everything has arrived, or abort it. */
typedef struct kvb_move kvb_move;

/**
 * Begins to move a sequence to another instance of its model: offers what is computed of it to be read, and admits it there with all that
 * it needs. `request` is the sequence as the destination is to have it: all its tokens at least, and what it is promised. It gets no
 * positions on either side until the move is finished, and both are charged: reports count its blocks as duplicated on both.
 *
 * Ownership: nothing that `request` and `terms` point to is kept; `*out` is the caller's, to be given to `kvb_move_destroy`.
 * Threads: the fleet's. O(tokens); allocates. Errors, after which the source goes on as if nothing had been asked (but what had
 * arrived for it counts):
 * `KVB_ERR_NO_SUCH_INSTANCE`, `KVB_ERR_SAME_INSTANCE`, `KVB_ERR_OTHER_MODEL`, `KVB_ERR_NOT_READY`, `KVB_ERR_LENGTH_MISMATCH` (fewer tokens
 * than positions), `KVB_ERR_OTHER_TOKENS` (what is computed, as far as that is known, is of other tokens or has another extra key),
 * `KVB_ERR_SERVICE_FULL`; those of `kvb_seqs_export` and `kvb_seqs_import`. NULL: only `error`.
 */
kvb_status kvb_fleet_start_move(kvb_fleet *fleet,
                                uint64_t from,
                                kvb_handle source,
                                uint64_t to,
                                const kvb_admit *request,
                                const kvb_move_terms *terms,
                                kvb_move **out,
                                kvb_error *error);

/** Where a sequence comes from and where it goes. */
typedef struct kvb_route {
    /** `sizeof(kvb_route)`. */
    uint32_t struct_size;
    /** 0. */
    uint32_t reserved;
    /** The instance where it was. */
    uint64_t from;
    /** Its name there. */
    kvb_handle source;
    /** The instance where it goes. */
    uint64_t to;
    /** Its name there. */
    kvb_handle seq;
    /** Positions that were found there and need not come. */
    uint64_t hit;
} kvb_route;

/**
 * Reads where a sequence comes from and where it goes.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. O(1). Errors: `KVB_ERR_STRUCT_SIZE`.
 * NULL: neither.
 */
kvb_status kvb_move_get_route(const kvb_move *moving,
                              kvb_route *out);

/**
 * Lends what is read, for the copies.
 *
 * Ownership: the move's, until that is destroyed. Threads: any, and other threads may use what is lent while the fleet's finishes or aborts
 * the move. O(1). NULL: NULL.
 */
const kvb_export *kvb_move_export(const kvb_move *moving);

/**
 * Lends what is filled, for the writers and their answers.
 *
 * Ownership: the move's, until that is destroyed. Threads: any, and other threads may use what is lent while the fleet's finishes or aborts
 * the move. O(1). NULL: NULL.
 */
const kvb_import *kvb_move_import(const kvb_move *moving);

/**
 * Ends a move whose content has all arrived: the sequence goes on at the destination as `*seq`, and is released at the source, if it was
 * not since.
 *
 * Threads: the fleet's. O(blocks). Errors, after which nothing has changed but that what has arrived counts: `KVB_ERR_NOT_ARRIVED`: ask
 * again, or, if a writer failed or the lease was over, abort; `KVB_ERR_MOVE_ABORTED`: the source was released, or went on: abort;
 * `KVB_ERR_MOVE_OVER`, `KVB_ERR_NO_SUCH_INSTANCE`, `KVB_ERR_STALE`. NULL: only `error`.
 */
kvb_status kvb_fleet_finish_move(kvb_fleet *fleet,
                                 kvb_move *moving,
                                 kvb_handle *seq,
                                 kvb_error *error);

/**
 * The same, where a step under way at the source may still touch its blocks: they are given back when each of the source's lanes has
 * passed the fence.
 *
 * Threads: the fleet's and the lanes'. O(blocks); allocates for the lane's lists. Errors: as `kvb_fleet_finish_move`;
 * `KVB_ERR_WRONG_POOL` (lanes of other shards); `KVB_ERR_NO_MEMORY`: the destination has the sequence already, ask again for the rest.
 * NULL: only `error`.
 */
kvb_status kvb_fleet_finish_move_after(kvb_fleet *fleet,
                                       kvb_move *moving,
                                       kvb_lanes *lanes,
                                       uint64_t fence,
                                       kvb_handle *seq,
                                       kvb_error *error);

/**
 * Calls a move off: the source keeps the sequence and goes on, if it has not been released meanwhile; the destination gives its blocks
 * back, each when its writers have answered.
 *
 * Threads: the fleet's. O(blocks). Errors, after which nothing has changed: `KVB_ERR_MOVE_OVER`, `KVB_ERR_NO_SUCH_INSTANCE`,
 * `KVB_ERR_COMMITTED` (the destination has it). NULL: only `error`.
 */
kvb_status kvb_fleet_abort_move(kvb_fleet *fleet,
                                kvb_move *moving,
                                kvb_error *error);

/**
 * Lets go of a move. One that was neither finished nor aborted is called off: the source goes on, and what was admitted at the destination
 * is yours to release there. What it lent goes with it: let every writer end before, as what is not answered for stays held as long as the
 * destination's registry.
 *
 * Threads: no other call may use it meanwhile, nor what it lent. O(blocks). NULL: nothing happens.
 */
void kvb_move_destroy(kvb_move *moving);

/**
 * Tells the time by which moves end. `*ended` is how many leases on what they read are over now: one a shard. Time is any count of yours;
 * an earlier time than the last one changes nothing.
 *
 * Threads: the fleet's. O(shards) if nothing can be over, otherwise O(leases + references given back). Errors: none but those of pointers.
 * NULL: `ended`.
 */
kvb_status kvb_fleet_tick(kvb_fleet *fleet,
                          uint64_t now,
                          size_t *ended);

/* ---------------------------------------------------------------------------
 * Memory that one instance lends to another on the same devices.
 */

/** The lender has the memory still: `left` of its blocks are held, and go offline when they are released. */
#define KVB_LOAN_DRAINING 0

/** The borrower has it. */
#define KVB_LOAN_LENT 1

/** The borrower has it still, and gives it back: `left` of its blocks are held. */
#define KVB_LOAN_RETURNING 2

/** The lender has it again. */
#define KVB_LOAN_OVER 3

/** A loan at one instant. */
typedef struct kvb_loan {
    /** `sizeof(kvb_loan)`. */
    uint32_t struct_size;
    /** `KVB_LOAN_*`: who has the memory. */
    uint32_t stage;
    /** Whose memory it is. */
    uint64_t from;
    /** Who gets it. */
    uint64_t to;
    /** Blocks that the lender gives on each rank or shard. */
    uint64_t given;
    /** Blocks that the borrower gets for them on each rank or shard. */
    uint64_t taken;
    /** Bytes over all ranks or shards that are left over, as they are too few for a block more on each. */
    uint64_t left_over_bytes;
    /** Blocks above the limit that are still in service, over all shards of the one that is to give. */
    uint64_t left;
} kvb_loan;

/**
 * Lends `blocks` blocks of each rank or shard of an instance to another one on the same devices: takes them out of the lender's service at
 * once, and those that are held when they are released. When none is left, `kvb_fleet_settle` gives the borrower as many blocks as their
 * bytes are enough for. Rank for rank, the two are taken to be on the same device. Who has borrowed lends nothing, and who has lent
 * borrows nothing. `*loan` names the loan.
 *
 * Threads: the fleet's. As `kvb_seqs_shrink`. Errors, after which nothing has changed: `KVB_ERR_NO_SUCH_INSTANCE`,
 * `KVB_ERR_SAME_INSTANCE`, `KVB_ERR_LOAN_CROSSES` (`error->instance` is the other side of loan `error->needed`), `KVB_ERR_INCOMPATIBLE`
 * (unlike numbers of ranks), `KVB_ERR_UNKNOWN_FORMAT` (bytes are those of the formats that the registries were made with),
 * `KVB_ERR_TOO_FEW_BYTES`, `KVB_ERR_BEYOND_MAX` (the borrower never has room), those of `kvb_seqs_shrink`. NULL: only `error`.
 */
kvb_status kvb_fleet_lend(kvb_fleet *fleet,
                          uint64_t from,
                          uint64_t to,
                          size_t blocks,
                          uint64_t *loan,
                          kvb_error *error);

/**
 * Lets a loan go on if nothing drains any more, and says how far it is. Ask again until the stage is the one that you wait for. One that is
 * over is known no more after that was said.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. As `kvb_seqs_shrink` while something drains,
 * and `kvb_seqs_grow` once. Errors, after which the loan is as it was: `KVB_ERR_NO_SUCH_LOAN`, `KVB_ERR_NO_SUCH_INSTANCE`, those of
 * `kvb_seqs_grow` with `error->instance`. NULL: only `error`.
 */
kvb_status kvb_fleet_settle(kvb_fleet *fleet,
                            uint64_t loan,
                            kvb_loan *out,
                            kvb_error *error);

/**
 * Gives the memory of a loan back: takes the borrower's blocks out of its service, and lets `kvb_fleet_settle` give the lender its own when
 * none drains. If the borrower has not got them yet it is over at once.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. As `kvb_seqs_shrink`. Errors, after which the
 * loan is as it was: `KVB_ERR_NO_SUCH_LOAN`, `KVB_ERR_NO_SUCH_INSTANCE`, `KVB_ERR_SHORTFALL` and others of `kvb_seqs_shrink` with
 * `error->instance`: the borrower can't do without them now. NULL: only `error`.
 */
kvb_status kvb_fleet_give_back(kvb_fleet *fleet,
                               uint64_t loan,
                               kvb_loan *out,
                               kvb_error *error);

/**
 * How far a loan was when it was asked last. Changes nothing.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. O(log loans).
 * Errors: `KVB_ERR_NO_SUCH_LOAN`: it is over, or another fleet's; `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
 */
kvb_status kvb_fleet_get_loan(const kvb_fleet *fleet,
                              uint64_t loan,
                              kvb_loan *out,
                              kvb_error *error);

/**
 * Lists the loans that are not over, in the order in which they were given: the first `capacity` of them. `*count` is how many there are.
 *
 * Ownership: `out` has room for `capacity`. Threads: the fleet's. O(loans), no allocation. Errors: none but those of pointers.
 * NULL: `out` if `capacity` is 0.
 */
kvb_status kvb_fleet_list_loans(const kvb_fleet *fleet,
                                uint64_t *out,
                                size_t capacity,
                                size_t *count);

/* ---------------------------------------------------------------------------
 * The figures of a fleet: each instance for itself, and for each model the largest request that fits on one beside the sum.
 */

/** Requests that a fleet was asked to admit, by what became of them. Each call counts once. */
typedef struct kvb_fleet_statistics {
    /** `sizeof(kvb_fleet_statistics)`. */
    uint32_t struct_size;
    /** 0. */
    uint32_t reserved;
    /** Admitted. */
    uint64_t placed;
    /** Refused, as they fit on no instance whatever leaves. */
    uint64_t never;
    /** Refused for now, for want of memory. */
    uint64_t later;
    /** Those of them that would have fit in what is available in sum. */
    uint64_t later_fits_in_sum;
    /** Refused for now, for want of token service. */
    uint64_t service_full;
    /** Not admitted for another reason. */
    uint64_t otherwise;
} kvb_fleet_statistics;

/**
 * Reads what became of the requests so far.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. O(1). Errors: `KVB_ERR_STRUCT_SIZE`.
 * NULL: neither.
 */
kvb_status kvb_fleet_get_statistics(const kvb_fleet *fleet,
                                    kvb_fleet_statistics *out);

/** The figures of a fleet at one look. It does not change. */
typedef struct kvb_fleet_report kvb_fleet_report;

/**
 * Takes the figures of a fleet.
 *
 * Ownership: `*out` is the caller's, to be given to `kvb_fleet_report_destroy`. Threads: the fleet's. As `kvb_seqs_get_report` for each
 * instance. Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
 */
kvb_status kvb_fleet_report_create(const kvb_fleet *fleet,
                                   kvb_fleet_report **out);

/**
 * Instances of the report, in the order in which they were added.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_fleet_report_instances(const kvb_fleet_report *report);

/** The figures of one instance as a member of a fleet. */
typedef struct kvb_member_report {
    /** `sizeof(kvb_member_report)`. */
    uint32_t struct_size;
    /** `KVB_INSTANCE_*`: whether it takes requests. */
    uint32_t state;
    /** Which. */
    uint64_t instance;
    /** The model that it serves. */
    uint64_t model;
    /** How much of its memory is in use, and of its token service. */
    kvb_share share;
    /** Blocks that it has lent on each rank: those that the borrower has, or that drain for it. */
    uint64_t lent;
    /** Blocks that it has borrowed on each rank. */
    uint64_t borrowed;
} kvb_member_report;

/**
 * Reads the figures of one instance as a member; `at` is below `kvb_fleet_report_instances`.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`,
 * `KVB_ERR_STRUCT_SIZE`. NULL: neither.
 */
kvb_status kvb_fleet_report_get_member(const kvb_fleet_report *report,
                                       size_t at,
                                       kvb_member_report *out);

/**
 * Reads the figures of one instance, as `kvb_seqs_get_report` does.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`,
 * `KVB_ERR_STRUCT_SIZE`. NULL: neither.
 */
kvb_status kvb_fleet_report_get_instance(const kvb_fleet_report *report,
                                         size_t at,
                                         kvb_seqs_report *out);

/**
 * Models of the report, by their numbers.
 *
 * Threads: any. O(1). NULL: 0.
 */
size_t kvb_fleet_report_models(const kvb_fleet_report *report);

/** The figures of one model. */
typedef struct kvb_model_report {
    /** `sizeof(kvb_model_report)`. */
    uint32_t struct_size;
    /** 0. */
    uint32_t reserved;
    /** Which. */
    uint64_t model;
    /** Instances that serve it. */
    uint64_t instances;
    /** Those of them that take requests. */
    uint64_t ready;
    /** The largest request that fits on one of these, beside what they have in sum. */
    kvb_largest largest;
} kvb_model_report;

/**
 * Reads the figures of one model; `at` is below `kvb_fleet_report_models`.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`,
 * `KVB_ERR_STRUCT_SIZE`. NULL: neither.
 */
kvb_status kvb_fleet_report_get_model(const kvb_fleet_report *report,
                                      size_t at,
                                      kvb_model_report *out);

/**
 * Reads what had become of the requests.
 *
 * Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1). Errors: `KVB_ERR_STRUCT_SIZE`. NULL: neither.
 */
kvb_status kvb_fleet_report_get_statistics(const kvb_fleet_report *report,
                                           kvb_fleet_statistics *out);

/**
 * Writes the figures for a person to read, as UTF-8 with a zero at its end, into `capacity` bytes. `*length` is what all of it takes
 * without the zero: where that is not below `capacity` the text was cut off.
 *
 * Threads: any. O(instances + models), no allocation. Errors: none but those of pointers. NULL: `text` if `capacity` is 0; `length`.
 */
kvb_status kvb_fleet_report_text(const kvb_fleet_report *report,
                                 char *text,
                                 size_t capacity,
                                 size_t *length);

/**
 * Gives the figures back.
 *
 * Threads: no other call may use them meanwhile. NULL: nothing happens.
 */
void kvb_fleet_report_destroy(kvb_fleet_report *report);

/* ---------------------------------------------------------------------------
 * Recounting every instance of a fleet.
 */

/**
 * Recounts every instance from its blocks and from the tables of its holders: its registry, the leases that the fleet has given on it, and
 * `others`, which must be all other holders of its pools. As `kvb_seqs_audit` for each. `error->instance` is the first that does not add up.
 *
 * Threads: none may use the pools meanwhile. Passes over all blocks; allocates. Errors: `KVB_ERR_INCONSISTENT`, `KVB_ERR_NO_MEMORY`.
 * NULL: no others, `error`.
 */
kvb_status kvb_fleet_audit(const kvb_fleet *fleet,
                           const kvb_holder *others,
                           size_t count,
                           kvb_error *error);

/* ---------------------------------------------------------------------------
 * Who holds blocks, for audits.
 */

/** A `kvb_seqs`. */
#define KVB_HOLDER_SEQS 0

/** A `kvb_lanes`. */
#define KVB_HOLDER_LANES 1

/** A `kvb_detached`. */
#define KVB_HOLDER_DETACHED 2

/** A `kvb_leases`: all of its live leases. */
#define KVB_HOLDER_LEASES 3

/** A `kvb_lease` whose table is gone. While that lives it accounts for its leases itself. */
#define KVB_HOLDER_LEASE 4

/** A `kvb_reservation`. */
#define KVB_HOLDER_RESERVATION 5

/** A `kvb_blocks`. */
#define KVB_HOLDER_BLOCKS 6

/** A `kvb_chain`. */
#define KVB_HOLDER_CHAIN 7

/** A `kvb_import` whose registry is gone. While that lives it accounts for its imports itself. */
#define KVB_HOLDER_IMPORT 8

/**
 * Whether the library that was linked or loaded has the binary interface of this header. If not, call nothing else.
 *
 * Threads: any. O(1).
 */
static inline bool kvb_abi_matches(void) {
    return kvb_abi_version() == KVB_ABI_VERSION;
}

#ifdef __cplusplus
}
#endif

#endif /* KVBLOCK_H */
