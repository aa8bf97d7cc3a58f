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
 * VERSIONS. KVB_ABI_VERSION is the binary interface, KVB_VERSION the release. Ask kvb_abi_matches() once, before any
 * other call. Within one ABI version functions and constants are added, none is changed or removed, a number never gets
 * another meaning, and a struct that begins with struct_size may get more fields at its end.
 *
 * STATUS. A call that can fail returns kvb_status: KVB_OK or one of KVB_ERR_*. Treat a number that you do not know as
 * a failed call. Where there is a parameter `kvb_error *error`, it may be NULL; if it is not, set its struct_size, and a
 * failed call writes there what was needed and what there was. Nothing is kept between calls: there is no "last error".
 *
 * A REFUSAL CHANGES NOTHING. A call that fails leaves all objects and all results as they were, unless it says that it
 * returns KVB_ERR_PARTIAL. Results are written on success only.
 *
 * POINTERS. NULL is KVB_ERR_NULL where a parameter does not say that it may be NULL, never a crash; an array of no
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
 * those that share a pool. What a function says about threads goes before this.
 *
 * SIZES. In a struct that begins with struct_size, set it to its sizeof and all that you do not use to zero; reserved
 * fields are zero. A program that was built with an older header passes a shorter struct, and what it lacks counts as
 * zero. A field that the library does not know must be zero, or the call is KVB_ERR_STRUCT_SIZE.
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

/** The version of the library that the header came with. */
#define KVB_VERSION "0.1.0"

/** `shard` of an error that is of no shard. */
#define KVB_NO_SHARD UINT32_MAX

/** Bytes of a message, with the zero at its end. */
#define KVB_MESSAGE_BYTES 160

/** The version of the binary interface. Programs that were built with another number must not use the library. */
#define KVB_ABI_VERSION 0

/** `KVB_OK` or an error. Numbers are never used again for anything else; treat one that you do not know as a failed call. */
typedef int32_t kvb_status;

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

/** Done. */
#define KVB_OK 0

/** A pointer is NULL that must not be. */
#define KVB_ERR_NULL 100

/** A length is more than memory can hold, or a pointer is not aligned. */
#define KVB_ERR_LENGTH 101

/** Struct_size is too small, or a field is set that this version does not know. */
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

/** The audit found something that does not add up. */
#define KVB_ERR_INCONSISTENT 900

/** An error that this version of the C API does not know. */
#define KVB_ERR_UNKNOWN 999

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Sets the functions that the library uses for memory and panics, for the whole process; NULL sets its own again (`malloc` and `free`,
 * a line on standard error). To be called before anything is created.
 *
 * Ownership: the struct is copied; the functions and `user` must stay. Threads: no other call may run meanwhile. O(1).
 * Errors: `KVB_ERR_IN_USE` if an object of the library lives; `KVB_ERR_INVALID` if only one of `alloc` and `free` is given;
 * `KVB_ERR_STRUCT_SIZE`.
 */
kvb_status kvb_set_hooks(const struct kvb_hooks *hooks);

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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/**
 * Whether the library that was linked or loaded has the binary interface of this header. If not, call nothing else.
 *
 * Threads: any. O(1).
 */
static inline bool kvb_abi_matches(void) {
    return kvb_abi_version() == KVB_ABI_VERSION;
}

#endif /* KVBLOCK_H */
