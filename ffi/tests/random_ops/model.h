/*
 * A million random calls from C beside a plain model of what they must do.
 *
 * The model knows of each block who refers to it and what it was published as, and of each sequence its tokens, its
 * tables and its promises; so it says beforehand what every call answers, with all figures of a refusal. Which block is
 * taken next it does not say: it is told, and looks whether the block may be taken.
 *
 * Beside it stands a device (device.c): memory in which each position holds a digest of its token and of all before
 * it, and streams on which zeroing, copies and writes run late. A block that is shared, reused or given back wrongly
 * holds the wrong digest.
 *
 * And a second tier (tier.c) to which sequences go and from which they come back, copied by plans between the two.
 */
#ifndef RANDOM_OPS_MODEL_H
#define RANDOM_OPS_MODEL_H

#include <kvblock.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHARDS = 2,
    /* Each with a stream of the device, and lanes for its fences. */
    REGISTRIES = 2,
    /* Most blocks of a shard, positions of a block, positions of a sequence. */
    BLOCKS = 96,
    BLOCK = 8,
    POSITIONS = BLOCKS * BLOCK,
    /* Sequences of all registries and detached ones; copies that were not reported. */
    SEQUENCES = 32,
    TICKETS = 72,
    /* Items of a batch. */
    BATCH = 12,
    LABELS = 6,
    SPACES = 2,
    NOBODY = -1
};

/* ---- a shard's pool: blocks.c */

struct block {
    int refs;
    /* Of these, fences'. */
    int fences;
    /* What it was published as: its tokens behind those of its parent, or of a namespace (parent NOBODY). */
    bool published;
    /* It can't be found any more, nor what is below it. */
    bool cut;
    int parent;
    int space;
    int children;
    uint32_t tokens[BLOCK];
    /* It went offline for sure. */
    bool offline;
};

struct pool {
    kvb_pool *it;
    kvb_worker *worker;
    uint32_t shard;
    size_t max;
    /* Blocks below are online. */
    size_t limit;
    /* Free and idle ones, and those of them that are promised. */
    size_t there;
    size_t reserved;
    /* No block drains, so that the figures follow from the calls alone. */
    bool exact;
    uint64_t stored;
    uint64_t duplicates;
    uint64_t declined;
    /* The index had no place for something in this call. */
    bool declined_now;
    struct block blocks[BLOCKS];
};

size_t available(const struct pool *pool);
/* Blocks below a limit that only fences hold. */
size_t quarantined(const struct pool *pool, size_t limit);
bool is_alone(const struct pool *pool, uint32_t id);
/* The findable block of these tokens under a parent, or NOBODY. */
int find_child(const struct pool *pool, int parent, int space, const uint32_t *tokens);
void hold(struct pool *pool, uint32_t id);
void let_go(struct pool *pool, uint32_t id);
/* A promised or available block was taken: may it be? */
void take(struct pool *pool, uint32_t id);
/* A findable block is held once more. */
void hit(struct pool *pool, uint32_t id);
void store(struct pool *pool, uint32_t id, int parent, int space, const uint32_t *tokens);
/* Makes findable blocks unfindable with all below: of a namespace (NOBODY: all), or from an id on. */
void cut_space(struct pool *pool, int space);
void cut_above(struct pool *pool, size_t limit);
/* Frees what is cut and held by nobody, and tells how many. */
size_t free_cut(struct pool *pool);
/* Idle blocks, and those of them that can't be found. */
size_t idle(const struct pool *pool);
size_t idle_cut(const struct pool *pool);
/* Frees an idle block that others do not hang under. */
void unpublish(struct pool *pool, uint32_t id);

/* ---- sequences: sequences.c, growth.c, truncate.c */

/* What a sequence has on one shard. */
struct part {
    uint32_t table[BLOCKS];
    /* For each published entry the block that others find: its own, or an equal one. */
    uint32_t found[BLOCKS];
    size_t entries;
    size_t published;
    /* Blocks set aside for growth, and for the copy of its end. */
    size_t promise;
    bool copy_credit;
    /* It publishes no further. */
    bool ended;
    /* The block at its end is its own, so that it writes there without a copy. */
    bool open;
    /* The table as it was last copied. */
    uint32_t copied[BLOCKS];
    size_t copied_entries;
};

struct sequence {
    bool alive;
    /* Its registry, or NOBODY while it is detached. */
    int registry;
    kvb_handle handle;
    kvb_detached *detached;
    uint64_t label;
    /* Later ones of a label are found first. */
    uint64_t entered;
    int space;
    uint32_t growth;
    size_t amount;
    /* The most positions that it may have. */
    size_t cap;
    bool conservative;
    bool insert;
    size_t positions;
    size_t known;
    size_t computed;
    /* What the device has to do for it ends here, on the stream of the registry that it is or was in. */
    size_t stream;
    uint64_t last_work;
    struct part part[SHARDS];
    /* Of all positions, also of those that were not told yet. */
    uint32_t text[POSITIONS];
    uint64_t digest[POSITIONS];
};

/* A copy that was not reported as made. */
struct ticket {
    bool pending;
    int registry;
    size_t shard;
    kvb_handle owner;
    kvb_copy copy;
    /* What it holds above a published source. */
    uint32_t path[BLOCKS];
    size_t path_length;
    uint64_t time;
};

struct registry {
    kvb_seqs *it;
    kvb_step *step;
    size_t max;
    size_t watermark;
    uint64_t copies;
    uint64_t preemptions;
};

/* References that wait for a fence. */
struct waiting {
    uint64_t fence;
    uint32_t id;
};

enum { WAITING = 8192 };

struct lanes {
    kvb_lanes *it;
    /* Of each shard: the last fence that was passed, and what waits, in order of release. */
    bool begun[SHARDS];
    uint64_t completed[SHARDS];
    size_t count[SHARDS];
    struct waiting waiting[SHARDS][WAITING];
};

/* What a call is to answer. */
struct answer {
    kvb_status status;
    /* NO_SHARD: of none. */
    size_t shard;
    size_t needed;
    size_t available;
    size_t limit;
};

/* The world of one round. */
struct world {
    size_t shards;
    size_t block_size;
    uint32_t proof;
    uint32_t vocabulary;
    kvb_namespace *spaces[SPACES];
    struct pool pools[SHARDS];
    struct registry registries[REGISTRIES];
    struct lanes lanes[REGISTRIES];
    /* A pool that has nothing to do with it. */
    kvb_pool *other_pool;
    kvb_seqs *other;
    kvb_lanes *other_lanes;
    /* What holds the blocks of sequences that go to the other tier. */
    kvb_leases *leases[REGISTRIES];
    struct sequence sequences[SEQUENCES];
    struct ticket tickets[TICKETS];
    /* One that was reported; none at first. */
    kvb_copy last_copy;
    uint64_t entered;
    /* Names of sequences that ended. */
    kvb_handle dead[16];
    size_t dead_count;
    /* Something happened of which the model does not know all: the round ends. */
    bool unsure;
};

extern struct world world;

#define NO_SHARD SIZE_MAX

struct answer done(void);
/* Refused without figures. */
struct answer plainly(kvb_status status);
struct answer refused(kvb_status status, size_t shard, size_t needed, size_t available, size_t limit);
/* Compares the status and all figures. `error` is what the call wrote, or NULL. */
void expect(kvb_status got, struct answer want, const kvb_error *error, const char *what);
void expect_failure(const kvb_failure *got, struct answer want, const char *what);

size_t credits(const struct part *part);
size_t live(int registry);
struct sequence *vacant(void);
/* Whether nobody refers to a block but one sequence and copies into it that end before an offset. */
bool is_alone_from(int registry, size_t shard, uint32_t id, size_t offset);
/* Whether a need fits the capacity, and with a conservative budget beside all that is committed. */
struct answer within_budget(int registry, size_t shard, size_t needed, bool conservative);
/* Publishes what is full, known and computed. */
void publish(struct sequence *seq);
void publish_part(struct sequence *seq, size_t shard);
/* Gives back all that it has, by way of a lane if there is one. */
void give_back(struct sequence *seq, struct lanes *lanes, uint64_t fence);
void give_back_ticket(struct ticket *ticket);
struct answer plan_fork(const struct sequence *seq, size_t children);
void fork_one(struct sequence *seq, struct sequence *child);
void finish_fork(struct sequence *seq);

/* What an append takes on one shard. */
struct need {
    struct answer answer;
    size_t entries;
    bool copy;
    size_t promised;
    size_t unpaid;
};

enum growth_kind { APPEND, COVER };

/* On all shards; the answer is that of the first one that refuses. */
struct answer plan_growth(const struct sequence *seq, enum growth_kind kind, size_t n, struct need *needs);
/* Does it on one shard with the blocks that the library took, the copy's first. */
void grow_part(struct sequence *seq, size_t shard, enum growth_kind kind, size_t n, const struct need *need,
               const uint32_t *fresh, uint64_t ticket);
/* Positions and their tokens. */
void add_positions(struct sequence *seq, size_t n);

/* `lanes` is NULL for an immediate one. */
struct answer truncate_model(struct sequence *seq, size_t to, struct lanes *lanes, uint64_t fence);

/* A request, as the model sees it. */
struct asked {
    int registry;
    int space;
    uint32_t tokens[POSITIONS];
    size_t count;
    size_t matchable;
    size_t promised;
    bool conservative;
    struct kvb_admit request;
};

size_t blocks_of(size_t positions);
/* Where the tokens are to be admitted, and with what promise. */
void draw_terms(struct asked *asked);
/* Blocks that may be found: of all tokens, or all but the last one. */
void set_matchable(struct asked *asked, bool full);
/* The blocks that are found on every shard, and how many. */
size_t match_all(const struct asked *asked, uint32_t found[SHARDS][BLOCKS]);
kvb_cost cost_of(const struct asked *asked, size_t shard, const uint32_t *found, size_t hits);
struct answer plan_admission(const struct asked *asked, const kvb_cost *costs);
/* What was admitted, with the blocks that were taken. */
struct sequence *enter(const struct asked *asked, const kvb_admitted *admitted, uint32_t found[SHARDS][BLOCKS],
                       size_t hits);

/* ---- a second tier: tier.c */

void tier_open(void);
void tier_close(void);

/* ---- fences: lanes.c */

bool has_passed(const struct lanes *lanes, size_t shard, uint64_t fence);
/* Gives back when the fence has passed. */
void let_go_after(struct lanes *lanes, size_t shard, uint64_t fence, uint32_t id);
void complete(struct lanes *lanes, size_t shard, uint64_t fence);

/* ---- the device: device.c */

void device_reset(void);
/* A point of the stream behind all that it has to do. */
uint64_t device_now(size_t stream);
/* No later work has a point up to this one. */
void device_advance(size_t stream, uint64_t to);
uint64_t device_next(size_t stream);
void device_zero(size_t stream, size_t shard, uint32_t block);
void device_copy(size_t stream, size_t shard, uint32_t src, uint32_t dst, size_t positions);
void device_write(size_t stream, size_t shard, uint32_t block, size_t offset, uint64_t digest);
/* Does everything up to a point. */
void device_run(size_t stream, uint64_t until);
bool device_is_done(size_t stream, uint64_t until);
uint64_t device_read(size_t shard, uint32_t block, size_t offset);
/* Where a block is, for who copies it as bytes. */
void *device_memory(size_t shard, uint32_t block);
/* Writes nonsense where nobody may look. */
void device_scribble(size_t shard, uint32_t block);

/* The digest of a token behind others. */
uint64_t digest_after(uint64_t before, uint32_t token);
uint64_t digest_of_space(int space);

/* ---- what the library says, beside the model: compare.c */

/* After each call: the figures of pools, the tables. */
void compare(void);
/* Of one sequence its state, and that all that is computed is there, if the device has done its work. */
void compare_sequence(const struct sequence *seq);
void compare_content(const struct sequence *seq, size_t positions);
/* The same of all, after the stream has run dry; reports of registries, and audits. */
void compare_all(void);
/* Notes whether the index had no place in the last call. */
void look_for_declined(void);
/* Idle blocks, as the library says. */
uint64_t idle_now(const struct pool *pool);
/* Positions of a text that are findable on a shard. */
size_t findable(size_t shard, int space, const uint32_t *tokens, size_t count);
void audit(void);

/* ---- rounds and calls */

void begin_round(void);
void end_round(void);

void call_admit(void);
void call_fork(void);
void call_release(void);
void call_detach(void);
void call_step(void);
void call_append(void);
void call_tokens(void);
void call_advance(void);
void call_copied(void);
void call_truncate(void);
void call_adopt(void);
void call_complete(void);
void call_pool(void);
void call_resize(void);
void call_read(void);
void call_labels(void);
void call_victims(void);
void call_swap(void);
void call_copies(void);

/* A sequence of any registry, or of one, or NULL. */
struct sequence *some_sequence(void);
struct sequence *some_sequence_of(int registry);
struct sequence *some_detached(void);
/* A name that names nothing in this registry. */
kvb_handle stale_handle(int registry);
void buried(kvb_handle handle);

/* ---- main.c */

uint64_t draw(void);
size_t below(size_t n);
bool one_in(size_t n);
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 1, 2)))
#endif
void fail(const char *format, ...);
#define REQUIRE(condition, ...) \
    do { \
        if (!(condition)) { \
            fail(__VA_ARGS__); \
        } \
    } while (0)
/* How often something happened, for the summary. */
void saw(const char *what);

#endif
