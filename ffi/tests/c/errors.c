/* Each refusal with its figures, and that it changed nothing. One pool of 12 blocks of 4 positions, at most 16. */
#include "make.h"

struct scene {
    kvb_pool *pool;
    kvb_worker *worker;
    kvb_seqs *seqs;
    kvb_step *step;
    kvb_handle seq;
    uint32_t tokens[64];
};

static kvb_error error;

/* All that can be seen of the scene, but for the counts of refusals. */
struct seen {
    kvb_pool_report pool;
    kvb_registry_report registry;
    kvb_state state;
};

static struct seen look(const struct scene *it) {
    struct seen seen;
    memset(&seen, 0, sizeof seen);
    seen.pool = pool_report(it->pool);
    seen.pool.refused_never = seen.pool.refused_shortfall = 0;
    seen.registry = registry_report(it->seqs, 0);
    seen.registry.refused_appends = 0;
    seen.state = state_of(it->seqs, it->seq);
    return seen;
}

#define REFUSED(it, call, wanted) \
    do { \
        struct seen before = look(it); \
        error = no_error(); \
        CHECK_STATUS(call, wanted); \
        struct seen after = look(it); \
        CHECK(memcmp(&before, &after, sizeof before) == 0); \
    } while (0)

/* The call told its status, its figures and a sentence. */
#define TOLD(wanted_status, wanted_shard, wanted_needed, wanted_available, wanted_limit) \
    do { \
        CHECK_STATUS(error.status, wanted_status); \
        CHECK_EQ(error.struct_size, sizeof error); \
        CHECK_EQ(error.shard, wanted_shard); \
        CHECK_EQ(error.needed, wanted_needed); \
        CHECK_EQ(error.available, wanted_available); \
        CHECK_EQ(error.limit, wanted_limit); \
        CHECK(error.message[0] != '\0'); \
        CHECK(memchr(error.message, 0, KVB_MESSAGE_BYTES) != NULL); \
    } while (0)

static void pool_configurations(void) {
    kvb_pool_config good, config;
    memset(&good, 0, sizeof good);
    good.struct_size = sizeof good;
    good.blocks = good.block_size = 4;
    kvb_pool *pool = NULL;
    error = no_error();

#define REFUSE_POOL(change, status) \
    config = good; \
    change; \
    CHECK_STATUS(kvb_pool_create(&config, &pool, &error), status); \
    CHECK(pool == NULL)

    REFUSE_POOL(config.blocks = 0, KVB_ERR_NO_BLOCKS);
    TOLD(KVB_ERR_NO_BLOCKS, KVB_NO_SHARD, 0, 0, 0);
    REFUSE_POOL(config.blocks = SIZE_MAX, KVB_ERR_TOO_MANY_BLOCKS);
    CHECK_EQ(error.needed, SIZE_MAX);
    CHECK(error.limit > 0 && error.limit < SIZE_MAX);
    uint64_t most = error.limit;
    REFUSE_POOL(config.max_blocks = most + 1, KVB_ERR_TOO_MANY_BLOCKS);
    TOLD(KVB_ERR_TOO_MANY_BLOCKS, KVB_NO_SHARD, most + 1, 0, most);
    REFUSE_POOL(config.max_blocks = 3, KVB_ERR_MAX_BELOW_BLOCKS);
    TOLD(KVB_ERR_MAX_BELOW_BLOCKS, KVB_NO_SHARD, 4, 0, 3);
    REFUSE_POOL(config.block_size = 0, KVB_ERR_BLOCK_SIZE);
    REFUSE_POOL(config.block_size = SIZE_MAX, KVB_ERR_BLOCK_SIZE);
    CHECK_EQ(error.needed, SIZE_MAX);
    CHECK(error.limit > 0);
    REFUSE_POOL(config.events = SIZE_MAX, KVB_ERR_TOO_MANY_EVENTS);
    CHECK_EQ(error.needed, SIZE_MAX);
    REFUSE_POOL(config.proof = 2, KVB_ERR_INVALID);
    TOLD(KVB_ERR_INVALID, KVB_NO_SHARD, 0, 0, 0);
    REFUSE_POOL(config.hash = 2, KVB_ERR_INVALID);
    REFUSE_POOL(config.shard = KVB_NO_SHARD, KVB_ERR_INVALID);

    /* The version of no adapter is not the bare model. */
    kvb_namespace_parts parts;
    memset(&parts, 0, sizeof parts);
    parts.struct_size = sizeof parts;
    parts.adapter_version = 7;
    kvb_namespace *space = NULL;
    CHECK_STATUS(kvb_namespace_create(&parts, &space), KVB_ERR_INVALID);
    CHECK(space == NULL);

    kvb_format *format = NULL;
    const uint64_t planes[2] = {64, 0};
    CHECK_STATUS(kvb_format_create(4, 1, planes, 2, &format, &error), KVB_ERR_LAYOUT);
    TOLD(KVB_ERR_LAYOUT, KVB_NO_SHARD, 0, 0, 0);
    CHECK_EQ(error.which, 1);
    CHECK_STATUS(kvb_format_create(4, 1, NULL, 0, &format, &error), KVB_ERR_LAYOUT);
    CHECK(format == NULL);
}

static void registry_configurations(struct scene *it) {
    kvb_pool *other = make_pool(6, 4, 0, 4);
    kvb_pool *wide = make_pool(9, 4, 0, 8);
    const kvb_pool *pools[KVB_MAX_SHARDS + 1];
    for (size_t i = 0; i < LENGTH(pools); i++) pools[i] = it->pool;
    kvb_seqs_config config = seqs_config(0);
    kvb_seqs *seqs = NULL;

    REFUSED(it, kvb_seqs_create(pools, 1, &config, &seqs, &error), KVB_ERR_NO_SEQUENCES);
    config.max_sequences = SIZE_MAX;
    REFUSED(it, kvb_seqs_create(pools, 1, &config, &seqs, &error), KVB_ERR_TOO_MANY_SLOTS);
    TOLD(KVB_ERR_TOO_MANY_SLOTS, KVB_NO_SHARD, SIZE_MAX, 0, (1u << 24) - 1);
    config.max_sequences = 4;
    config.watermark = 16;
    REFUSED(it, kvb_seqs_create(pools, 1, &config, &seqs, &error), KVB_ERR_WATERMARK);
    TOLD(KVB_ERR_WATERMARK, KVB_NO_SHARD, 16, 0, 16);
    config.watermark = 0;
    REFUSED(it, kvb_seqs_create(NULL, 0, &config, &seqs, &error), KVB_ERR_NO_SHARDS);
    REFUSED(it, kvb_seqs_create(pools, LENGTH(pools), &config, &seqs, &error), KVB_ERR_TOO_MANY_SHARDS);
    TOLD(KVB_ERR_TOO_MANY_SHARDS, KVB_NO_SHARD, KVB_MAX_SHARDS + 1, 0, KVB_MAX_SHARDS);
    REFUSED(it, kvb_seqs_create(pools, 2, &config, &seqs, &error), KVB_ERR_SAME_SHARD);
    TOLD(KVB_ERR_SAME_SHARD, 6, 0, 0, 0);
    pools[1] = other;
    REFUSED(it, kvb_seqs_create(pools, 2, &config, &seqs, &error), KVB_ERR_SAME_SHARD);
    pools[1] = wide;
    REFUSED(it, kvb_seqs_create(pools, 2, &config, &seqs, &error), KVB_ERR_BLOCK_SIZE);
    TOLD(KVB_ERR_BLOCK_SIZE, 9, 4, 8, 0);

    kvb_format *format = NULL;
    const uint64_t planes[1] = {64};
    CHECK_OK(kvb_format_create(8, 1, planes, 1, &format, NULL));
    CHECK_EQ(kvb_format_block_bytes(format), 64);
    const kvb_format *const formats[2] = {format, format};
    config.formats = formats;
    config.format_count = 1;
    REFUSED(it, kvb_seqs_create(pools, 1, &config, &seqs, &error), KVB_ERR_FORMAT);
    TOLD(KVB_ERR_FORMAT, KVB_NO_SHARD, 4, 8, 0);
    config.format_count = 2;
    REFUSED(it, kvb_seqs_create(pools, 1, &config, &seqs, &error), KVB_ERR_LENGTH_MISMATCH);
    kvb_format_destroy(format);

    const kvb_rank rank = {0, 0, 0, 0};
    kvb_pool_config pool;
    memset(&pool, 0, sizeof pool);
    pool.struct_size = sizeof pool;
    pool.block_size = 4;
    config = seqs_config(4);
    REFUSED(it, kvb_seqs_create_lockstep(NULL, 0, &pool, &config, &seqs, &error), KVB_ERR_NO_SHARDS);
    REFUSED(it, kvb_seqs_create_lockstep(&rank, 1, &pool, &config, &seqs, &error), KVB_ERR_NO_BLOCKS);
    /* The name of the pool is that of the smallest rank, whatever the configuration says. */
    kvb_rank named = {KVB_NO_SHARD, 0, 4, 0};
    REFUSED(it, kvb_seqs_create_lockstep(&named, 1, &pool, &config, &seqs, &error), KVB_ERR_INVALID);
    named.shard = 7;
    pool.shard = KVB_NO_SHARD;
    CHECK_OK(kvb_seqs_create_lockstep(&named, 1, &pool, &config, &seqs, &error));
    CHECK_EQ(kvb_pool_shard(kvb_seqs_pool(seqs, 0)), 7);
    kvb_seqs_destroy(seqs);
    seqs = NULL;
    config.max_sequences = 0;
    REFUSED(it, kvb_seqs_create_another(it->seqs, &config, &seqs, &error), KVB_ERR_NO_SEQUENCES);
    kvb_step *step = NULL;
    REFUSED(it, kvb_step_create(it->seqs, SIZE_MAX, 1, &step), KVB_ERR_NO_MEMORY);
    REFUSED(it, kvb_step_create(it->seqs, 1, SIZE_MAX, &step), KVB_ERR_NO_MEMORY);
    CHECK(seqs == NULL && step == NULL);
    kvb_pool_destroy(other);
    kvb_pool_destroy(wide);
}

static void requests(struct scene *it) {
    kvb_admitted out;
    memset(&out, 77, sizeof out);
    const kvb_admitted untouched = out;
    kvb_admit asked = request(it->tokens + 20, 40);
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_SHORTFALL);
    TOLD(KVB_ERR_SHORTFALL, 6, 10, 9, 0);
    REFUSED(it, kvb_seqs_check(it->seqs, &asked, NULL, &error), KVB_ERR_SHORTFALL);
    REFUSED(it, kvb_pool_check(it->pool, 10, &error), KVB_ERR_SHORTFALL);
    TOLD(KVB_ERR_SHORTFALL, 6, 10, 9, 0);
    REFUSED(it, kvb_pool_check(it->pool, 13, &error), KVB_ERR_NEVER_FITS);
    TOLD(KVB_ERR_NEVER_FITS, 6, 13, 0, 12);
    asked.growth = KVB_GROWTH_CAP;
    asked.growth_amount = 9;
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_NEVER_FITS);
    TOLD(KVB_ERR_NEVER_FITS, 6, 13, 0, 12);
    asked.growth_amount = SIZE_MAX;
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_NEVER_FITS);
    asked.growth = KVB_GROWTH_AHEAD;
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_NEVER_FITS);
    asked.growth = 3;
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_INVALID);
    asked.growth = 0;
    asked.flags = 8;
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_INVALID);
    asked = request(it->tokens + 20, 10);
    asked.prompt.flags = 2;
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_INVALID);
    asked.prompt.flags = KVB_PROMPT_NO_SPACE | KVB_PROMPT_FULL_HIT;
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_NULL);
    const kvb_extra_key extra[3] = {{1, 0}, {2, 0}, {3, 0}};
    const uint64_t keys[3] = {1, 2, 3};
    asked.prompt.flags = 0;
    asked.prompt.extra = extra;
    asked.prompt.extra_count = 3;
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_LENGTH_MISMATCH);
    TOLD(KVB_ERR_LENGTH_MISMATCH, KVB_NO_SHARD, 2, 3, 0);
    size_t positions = 77;
    REFUSED(it, kvb_seqs_probe(it->seqs, &asked.prompt, &positions, &error), KVB_ERR_LENGTH_MISMATCH);
    kvb_probe probe;
    REFUSED(it, kvb_pool_probe(it->pool, &asked.prompt, &probe, &error), KVB_ERR_LENGTH_MISMATCH);
    asked.prompt.extra_count = 2;
    asked.prompt.keys = keys;
    asked.prompt.key_count = 1;
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_LENGTH_MISMATCH);
    TOLD(KVB_ERR_LENGTH_MISMATCH, KVB_NO_SHARD, 2, 1, 0);

    /* No slot is vacant. */
    kvb_handle filling[3];
    for (size_t i = 0; i < 3; i++) filling[i] = admit(it->seqs, it->tokens + 20 + i, 1, 0).seq;
    asked = request(it->tokens, 1);
    REFUSED(it, kvb_seqs_admit(it->seqs, &asked, &out, &error), KVB_ERR_TOO_MANY_SEQUENCES);
    TOLD(KVB_ERR_TOO_MANY_SEQUENCES, KVB_NO_SHARD, 0, 0, 4);
    kvb_handle child = {77};
    REFUSED(it, kvb_seqs_fork(it->seqs, it->seq, &child, 1, &error), KVB_ERR_TOO_MANY_SEQUENCES);
    CHECK_EQ(child.bits, 77);
    CHECK_OK(kvb_seqs_release(it->seqs, filling, 3));
    CHECK_EQ(positions, 77);
    CHECK(memcmp(&out, &untouched, sizeof out) == 0);
}

static void sequences(struct scene *it) {
    kvb_handle seq = it->seq;
    REFUSED(it, kvb_seqs_computed(it->seqs, seq, 11, &error), KVB_ERR_BEYOND);
    TOLD(KVB_ERR_BEYOND, KVB_NO_SHARD, 11, 0, 10);
    kvb_contents contents = {it->tokens, 2, NULL, 0, NULL, 0};
    REFUSED(it, kvb_seqs_tokens(it->seqs, seq, 10, &contents, &error), KVB_ERR_BEYOND);
    TOLD(KVB_ERR_BEYOND, KVB_NO_SHARD, 12, 0, 10);
    REFUSED(it, kvb_seqs_tokens(it->seqs, seq, 9, &contents, &error), KVB_ERR_NOT_NEXT);
    TOLD(KVB_ERR_NOT_NEXT, KVB_NO_SHARD, 10, 9, 0);
    REFUSED(it, kvb_seqs_truncate(it->seqs, seq, 11, &error), KVB_ERR_BEYOND);
    TOLD(KVB_ERR_BEYOND, KVB_NO_SHARD, 11, 0, 10);
    int64_t slots[4] = {77, 77, 77, 77};
    REFUSED(it, kvb_seqs_get_slots(it->seqs, 0, seq, 8, 3, slots, &error), KVB_ERR_BEYOND);
    TOLD(KVB_ERR_BEYOND, KVB_NO_SHARD, 11, 0, 10);
    REFUSED(it, kvb_seqs_get_slots(it->seqs, 1, seq, 0, 3, slots, &error), KVB_ERR_OUT_OF_RANGE);
    CHECK_EQ(slots[0], 77);
    int32_t row[2] = {77, 77};
    size_t length = 77;
    REFUSED(it, kvb_seqs_copy_tables(it->seqs, 0, &seq, 1, row, 2, &length, &error), KVB_ERR_TOO_SHORT);
    TOLD(KVB_ERR_TOO_SHORT, KVB_NO_SHARD, 3, 2, 0);
    REFUSED(it, kvb_seqs_copy_tables(it->seqs, 1, &seq, 1, row, 2, &length, &error), KVB_ERR_OUT_OF_RANGE);
    CHECK_EQ(row[0], 77);
    CHECK_EQ(length, 77);
    size_t blocks = 77;
    REFUSED(it, kvb_seqs_check_append(it->seqs, seq, 48, &blocks, &error), KVB_ERR_NEVER_FITS);
    REFUSED(it, kvb_seqs_append(it->seqs, seq, SIZE_MAX, it->step, &error), KVB_ERR_NEVER_FITS);
    REFUSED(it, kvb_seqs_ensure(it->seqs, seq, SIZE_MAX, it->step, &error), KVB_ERR_NEVER_FITS);
    kvb_handle others = admit(it->seqs, it->tokens + 20, 16, 0).seq;
    REFUSED(it, kvb_seqs_append(it->seqs, seq, 24, it->step, &error), KVB_ERR_SHORTFALL);
    TOLD(KVB_ERR_SHORTFALL, 6, 6, 5, 0);
    REFUSED(it, kvb_seqs_check_append(it->seqs, seq, 24, &blocks, &error), KVB_ERR_SHORTFALL);
    CHECK_EQ(blocks, 77);

    /* A batch tells of each item that failed, and does the others. */
    const kvb_handle none = {UINT64_MAX};
    const kvb_append batch[4] = {{none, 1}, {others, 1}, {seq, 100}, {seq, 18}};
    CHECK_STATUS(kvb_seqs_step(it->seqs, batch, 4, it->step), KVB_ERR_PARTIAL);
    const kvb_failure *failures = NULL;
    size_t failed = 0;
    CHECK_OK(kvb_step_failures(it->step, &failures, &failed));
    CHECK_EQ(failed, 2);
    CHECK_EQ(failures[0].index, 0);
    CHECK_STATUS(failures[0].status, KVB_ERR_STALE);
    CHECK_EQ(failures[0].shard, KVB_NO_SHARD);
    CHECK_EQ(failures[1].index, 2);
    CHECK_STATUS(failures[1].status, KVB_ERR_NEVER_FITS);
    CHECK_EQ(failures[1].shard, 6);
    CHECK_EQ(failures[1].limit, 12);
    CHECK_EQ(lists_of(it->step, 0).slot_count, 19);
    CHECK_OK(kvb_seqs_truncate(it->seqs, seq, 10, NULL));
    const kvb_progress told_of[3] = {{none, 0, NULL, 0, 1}, {others, 16, it->tokens, 1, 17}, {seq, 3, it->tokens, 1, 0}};
    kvb_failure refused[3];
    CHECK_STATUS(kvb_seqs_advance(it->seqs, told_of, 3, refused, &failed), KVB_ERR_PARTIAL);
    CHECK_EQ(failed, 2);
    CHECK_STATUS(refused[0].status, KVB_ERR_STALE);
    CHECK_EQ(refused[1].index, 2);
    CHECK_STATUS(refused[1].status, KVB_ERR_NOT_NEXT);
    CHECK_EQ(refused[1].needed, 10);
    CHECK_EQ(refused[1].available, 3);
    CHECK_EQ(state_of(it->seqs, others).computed, 17);
    CHECK_STATUS(kvb_seqs_advance(it->seqs, told_of, 3, NULL, NULL), KVB_ERR_PARTIAL);

    /* Nothing leaves while a copy of it is to be made. */
    kvb_handle child;
    CHECK_OK(kvb_seqs_release(it->seqs, &others, 1));
    CHECK_OK(kvb_seqs_fork(it->seqs, seq, &child, 1, NULL));
    CHECK_OK(kvb_seqs_append(it->seqs, child, 1, it->step, NULL));
    kvb_copy copy = lists_of(it->step, 0).copies[0];
    kvb_detached *detached = NULL;
    REFUSED(it, kvb_seqs_detach(it->seqs, child, &detached, &error), KVB_ERR_COPY_PENDING);
    CHECK(detached == NULL);
    REFUSED(it, kvb_seqs_copied(it->seqs, 1, &copy, 1), KVB_ERR_STALE);
    for (int forged = 0; forged < 4; forged++) {
        kvb_copy other = copy;
        if (forged == 0) other.src++;
        if (forged == 1) other.dst++;
        if (forged == 2) other.positions++;
        if (forged == 3) other.ticket++;
        REFUSED(it, kvb_seqs_copied(it->seqs, 0, &other, 1), KVB_ERR_STALE);
    }
    CHECK_OK(kvb_seqs_copied(it->seqs, 0, &copy, 1));
    REFUSED(it, kvb_seqs_copied(it->seqs, 0, &copy, 1), KVB_ERR_STALE);
    CHECK_OK(kvb_seqs_release(it->seqs, &child, 1));
    REFUSED(it, kvb_seqs_release(it->seqs, &child, 1), KVB_ERR_STALE);
}

/* All calls that take a handle, with one that names nothing. */
static void stale(struct scene *it) {
    kvb_handle gone = admit(it->seqs, it->tokens + 20, 4, 9).seq;
    CHECK_OK(kvb_seqs_release(it->seqs, &gone, 1));
    kvb_lanes *lanes = NULL;
    CHECK_OK(kvb_seqs_lanes_create(it->seqs, &lanes));
    kvb_contents contents = {it->tokens, 1, NULL, 0, NULL, 0};
    kvb_state state = {.struct_size = sizeof state};
    const int32_t *table = NULL;
    int32_t row[4];
    int64_t slot;
    size_t count = 77, first = 77;
    kvb_handle child = {77};
    kvb_detached *detached = NULL;
#define STALE(call) REFUSED(it, call, KVB_ERR_STALE)
    STALE(kvb_seqs_append(it->seqs, gone, 1, it->step, &error));
    TOLD(KVB_ERR_STALE, KVB_NO_SHARD, 0, 0, 0);
    STALE(kvb_seqs_ensure(it->seqs, gone, 1, it->step, &error));
    STALE(kvb_seqs_check_append(it->seqs, gone, 1, &count, &error));
    STALE(kvb_seqs_renew(it->seqs, gone, it->step, &error));
    STALE(kvb_seqs_tokens(it->seqs, gone, 0, &contents, &error));
    STALE(kvb_seqs_computed(it->seqs, gone, 0, &error));
    STALE(kvb_seqs_truncate(it->seqs, gone, 0, &error));
    STALE(kvb_seqs_truncate_after(it->seqs, gone, 0, lanes, 1, &error));
    STALE(kvb_seqs_fork(it->seqs, gone, &child, 1, &error));
    STALE(kvb_seqs_adopt_duplicates(it->seqs, gone, &count, &error));
    STALE(kvb_seqs_adopt_duplicates_after(it->seqs, gone, lanes, 1, &count, &error));
    STALE(kvb_seqs_release(it->seqs, &gone, 1));
    STALE(kvb_seqs_preempt(it->seqs, &gone, 1));
    STALE(kvb_seqs_release_after(it->seqs, gone, lanes, 1, &error));
    STALE(kvb_seqs_preempt_after(it->seqs, gone, lanes, 1, &error));
    STALE(kvb_seqs_detach(it->seqs, gone, &detached, &error));
    STALE(kvb_seqs_get_state(it->seqs, gone, &state));
    STALE(kvb_seqs_get_table(it->seqs, 0, gone, &table, &count));
    STALE(kvb_seqs_get_dirty(it->seqs, 0, gone, &first, &count));
    STALE(kvb_seqs_copy_tables(it->seqs, 0, &gone, 1, row, 4, NULL, &error));
    STALE(kvb_seqs_get_slots(it->seqs, 0, gone, 0, 1, &slot, &error));
    STALE(kvb_seqs_select_victims(it->seqs, &gone, 1, NULL, 0, &child, &count, NULL, &error));
    kvb_progress nothing = {gone, 0, NULL, 0, 0};
    kvb_failure failure;
    REFUSED(it, kvb_seqs_advance(it->seqs, &nothing, 1, &failure, NULL), KVB_ERR_PARTIAL);
    CHECK_EQ(failure.status, KVB_ERR_STALE);
    const size_t need[2] = {0, 1};
    REFUSED(it, kvb_seqs_select_victims(it->seqs, NULL, 0, need, 2, &child, &count, NULL, &error), KVB_ERR_OUT_OF_RANGE);
    const uint64_t label = 9;
    STALE(kvb_seqs_find(it->seqs, &label, 1, &gone));
    CHECK_EQ(count, 77);
    CHECK_EQ(first, 77);
    CHECK_EQ(child.bits, 77);
    CHECK(table == NULL && detached == NULL);
    CHECK_EQ(kvb_lanes_waiting(lanes), 0);
    kvb_lanes_destroy(lanes);
}

/* Objects of another pool, blocks and shards that are not there, sizes that cannot be. */
static void upkeep(struct scene *it) {
    kvb_pool *other = make_pool(8, 4, 0, 4);
    kvb_seqs *foreign = make_seqs(other, 1);
    kvb_lanes *lanes = NULL;
    kvb_worker *worker = NULL;
    CHECK_OK(kvb_worker_create(other, &worker, NULL));
    CHECK_OK(kvb_pool_lanes_create(other, &lanes));
    size_t count = 77;
    kvb_resized resized;
#define WRONG_POOL(call) REFUSED(it, call, KVB_ERR_WRONG_POOL)
    WRONG_POOL(kvb_pool_shrink(it->pool, worker, 1, &resized, &error));
    TOLD(KVB_ERR_WRONG_POOL, KVB_NO_SHARD, 0, 0, 0);
    WRONG_POOL(kvb_pool_evict(it->pool, worker, 1, &count, &error));
    WRONG_POOL(kvb_pool_clear(it->pool, worker, NULL, &count, &error));
    WRONG_POOL(kvb_pool_clear_all(it->pool, worker, &count, &error));
    WRONG_POOL(kvb_pool_invalidate(it->pool, worker, 0, &count, &error));
    WRONG_POOL(kvb_pool_maintain(it->pool, worker, 1, &count, &error));
    WRONG_POOL(kvb_seqs_truncate_after(it->seqs, it->seq, 1, lanes, 1, &error));
    WRONG_POOL(kvb_seqs_adopt_duplicates_after(it->seqs, it->seq, lanes, 1, &count, &error));
    WRONG_POOL(kvb_seqs_release_after(it->seqs, it->seq, lanes, 1, &error));
    WRONG_POOL(kvb_seqs_preempt_after(it->seqs, it->seq, lanes, 1, &error));
    WRONG_POOL(kvb_seqs_close_after(it->seqs, lanes, 1, &error));
    kvb_handle leaving = admit(it->seqs, it->tokens + 20, 4, 0).seq;
    kvb_detached *detached = NULL;
    CHECK_OK(kvb_seqs_detach(it->seqs, leaving, &detached, NULL));
    kvb_handle there = {77};
    WRONG_POOL(kvb_seqs_attach(foreign, detached, &there, &error));
    WRONG_POOL(kvb_detached_release_after(detached, lanes, 1, &error));
    kvb_handle filling[3];
    for (size_t i = 0; i < 3; i++) filling[i] = admit(it->seqs, it->tokens + 30 + i, 1, 0).seq;
    REFUSED(it, kvb_seqs_attach(it->seqs, detached, &there, &error), KVB_ERR_TOO_MANY_SEQUENCES);
    CHECK_EQ(there.bits, 77);
    CHECK_OK(kvb_seqs_release(it->seqs, filling, 3));
    CHECK_OK(kvb_seqs_attach(it->seqs, detached, &there, NULL));
    CHECK_OK(kvb_seqs_release(it->seqs, &there, 1));

    REFUSED(it, kvb_pool_invalidate(it->pool, it->worker, 16, &count, &error), KVB_ERR_NO_SUCH_BLOCK);
    CHECK_EQ(error.needed, 16);
    CHECK_EQ(error.limit, 16);
    REFUSED(it, kvb_pool_invalidate(it->pool, it->worker, 11, &count, &error), KVB_ERR_NOT_PUBLISHED);
    TOLD(KVB_ERR_NOT_PUBLISHED, KVB_NO_SHARD, 11, 0, 0);
    REFUSED(it, kvb_seqs_invalidate(it->seqs, 0, UINT32_MAX, NULL, 0, &count, &error), KVB_ERR_NO_SUCH_BLOCK);
    REFUSED(it, kvb_seqs_invalidate(it->seqs, 1, 0, NULL, 0, &count, &error), KVB_ERR_OUT_OF_RANGE);
    CHECK_EQ(count, 77);
    REFUSED(it, kvb_pool_grow(it->pool, 5, &resized, &error), KVB_ERR_BEYOND_MAX);
    TOLD(KVB_ERR_BEYOND_MAX, KVB_NO_SHARD, 17, 0, 16);
    REFUSED(it, kvb_pool_grow(it->pool, SIZE_MAX, &resized, &error), KVB_ERR_BEYOND_MAX);
    REFUSED(it, kvb_pool_shrink(it->pool, it->worker, 12, &resized, &error), KVB_ERR_NOTHING_LEFT);
    TOLD(KVB_ERR_NOTHING_LEFT, KVB_NO_SHARD, 12, 12, 0);
    REFUSED(it, kvb_seqs_grow(it->seqs, 5, &error), KVB_ERR_BEYOND_MAX);
    CHECK_EQ(error.shard, 6);
    REFUSED(it, kvb_seqs_shrink(it->seqs, 12, &error), KVB_ERR_NOTHING_LEFT);
    REFUSED(it, kvb_seqs_resize_rank(it->seqs, 1, 12, &error), KVB_ERR_OUT_OF_RANGE);
    TOLD(KVB_ERR_OUT_OF_RANGE, KVB_NO_SHARD, 1, 0, 1);
    REFUSED(it, kvb_seqs_resize_rank(it->seqs, 0, 17, &error), KVB_ERR_BEYOND_MAX);
    REFUSED(it, kvb_seqs_resize_rank(it->seqs, 0, 0, &error), KVB_ERR_NOTHING_LEFT);
    kvb_admit asked = request(it->tokens + 20, 4);
    asked.growth = KVB_GROWTH_AHEAD;
    asked.growth_amount = 7;
    kvb_admitted promised;
    CHECK_OK(kvb_seqs_admit(it->seqs, &asked, &promised, NULL));
    REFUSED(it, kvb_pool_shrink(it->pool, it->worker, 8, &resized, &error), KVB_ERR_SHORTFALL);
    CHECK_EQ(error.shard, 6);

    /* Whoever is not named to the audit is found. */
    kvb_seqs *unnamed = make_seqs(it->pool, 1);
    kvb_handle hidden = admit(unnamed, it->tokens + 40, 1, 0).seq;
    REFUSED(it, kvb_seqs_audit(it->seqs, NULL, 0, &error), KVB_ERR_INCONSISTENT);
    CHECK(error.message[0] != '\0' && error.shard == 6);
    kvb_holder holders[1] = {{99, 0, unnamed}};
    REFUSED(it, kvb_seqs_audit(it->seqs, holders, 1, &error), KVB_ERR_INVALID);
    CHECK_OK(kvb_seqs_release(unnamed, &hidden, 1));
    kvb_seqs_destroy(unnamed);
    CHECK_OK(kvb_seqs_release(it->seqs, &promised.seq, 1));
    kvb_registry_report shard = {.struct_size = sizeof shard};
    REFUSED(it, kvb_seqs_get_shard_report(it->seqs, 1, &shard), KVB_ERR_OUT_OF_RANGE);
    kvb_rank_report rank = {.struct_size = sizeof rank};
    REFUSED(it, kvb_seqs_get_rank_report(it->seqs, 1, &rank), KVB_ERR_OUT_OF_RANGE);
    kvb_lanes_destroy(lanes);
    kvb_worker_destroy(worker);
    kvb_seqs_destroy(foreign);
    kvb_pool_destroy(other);
}

int main(void) {
    struct scene it;
    it.pool = make_pool(6, 12, 16, 4);
    it.seqs = make_seqs(it.pool, 4);
    it.step = make_step(it.seqs);
    CHECK_OK(kvb_worker_create(it.pool, &it.worker, NULL));
    count_up(it.tokens, LENGTH(it.tokens), 1);
    it.seq = admit(it.seqs, it.tokens, 10, 5).seq;
    kvb_step_lists lists;
    CHECK_OK(kvb_step_get(it.step, 0, &lists));
    CHECK_EQ(lists.slot_count + lists.fresh_count + lists.copy_count + lists.change_count, 0);
    CHECK_STATUS(kvb_step_get(it.step, 1, &lists), KVB_ERR_OUT_OF_RANGE);

    pool_configurations();
    registry_configurations(&it);
    requests(&it);
    sequences(&it);
    stale(&it);
    upkeep(&it);
    check_audit(it.seqs, NULL, 0);
    kvb_worker_destroy(it.worker);
    kvb_step_destroy(it.step);
    kvb_seqs_destroy(it.seqs);
    kvb_pool_destroy(it.pool);
    return 0;
}
