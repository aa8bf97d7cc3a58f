/* Swaps between a small tier and a large one, of two shards each: the content is really copied there and back, and each refusal leaves
 * both as they were. */
#include "moving.h"

static kvb_error error = {.struct_size = sizeof(kvb_error)};

static side *device, *host;
static kvb_leases *on_device, *on_host;
static uint32_t tokens[64];
/* A sequence of one block that stays in the host's memory, so that blocks have other ids there than on the device. */
static kvb_handle resident;

static void open_tiers(void) {
    device = make_side(0, 4, 0);
    host = make_side(10, 17, 0);
    CHECK_OK(kvb_seqs_leases_create(device->seqs, 8, &on_device));
    CHECK_OK(kvb_seqs_leases_create(host->seqs, 8, &on_host));
    count_up(tokens, LENGTH(tokens), 5000);
    resident = run_prompt(host, host->seqs, tokens, 4);
    count_up(tokens, LENGTH(tokens), 100);
    CHECK_EQ(available(host->seqs), 16);
}

static void audit_tiers(void) {
    const kvb_holder a = holder(KVB_HOLDER_LEASES, on_device), b = holder(KVB_HOLDER_LEASES, on_host);
    check_audit(device->seqs, &a, 1);
    check_audit(host->seqs, &b, 1);
}

/* Nothing is held or promised when everything has ended. */
static void close_tiers(void) {
    CHECK_EQ(available(device->seqs), 4);
    CHECK_EQ(available(host->seqs), 16);
    CHECK_OK(kvb_seqs_release(host->seqs, &resident, 1));
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_EQ(kvb_leases_used(on_device, s) + kvb_leases_used(on_host, s), 0);
    audit_tiers();
    kvb_leases_destroy(on_device);
    kvb_leases_destroy(on_host);
    destroy_side(device);
    destroy_side(host);
}

static kvb_swap_info info_of(const kvb_swap *swap) {
    kvb_swap_info info = {.struct_size = sizeof info};
    CHECK_OK(kvb_swap_get_info(swap, &info));
    CHECK_EQ(info.shards, SHARDS);
    return info;
}

static kvb_status begin(side *from, kvb_handle seq, side *to, kvb_leases *leases, size_t count, kvb_swap **out) {
    kvb_admit asked = request(tokens, count);
    return kvb_seqs_swap_to(from->seqs, seq, to->seqs, &asked, leases, 1, out, &error);
}

static kvb_swap *out_of_the_device(kvb_handle seq) {
    kvb_swap *swap = NULL;
    CHECK_OK(begin(device, seq, host, on_device, 10, &swap));
    return swap;
}

/* Copies what a swap lists on a shard, and says how many blocks that are. */
static size_t copy_pairs(const kvb_swap *swap, side *from, side *to, uint32_t shard) {
    uint32_t sources[MAX_BLOCKS], destinations[MAX_BLOCKS];
    size_t count = 77, runs = 0;
    CHECK_OK(kvb_swap_pairs(swap, shard, sources, destinations, MAX_BLOCKS, &count, NULL));
    kvb_pair_run run[PLANES * MAX_BLOCKS];
    CHECK_OK(kvb_layout_pair_runs(from->layouts[shard], sources, to->layouts[shard], destinations, count, run, LENGTH(run), &runs,
                                  NULL));
    for (size_t i = 0; i < runs; i++) {
        memcpy((void *)(uintptr_t)run[i].destination, (const void *)(uintptr_t)run[i].source, (size_t)run[i].bytes);
    }
    return count;
}

/* Copies, and says so, all of a swap. */
static void copy_all(kvb_swap *swap, side *from, side *to, size_t blocks) {
    for (uint32_t s = 0; s < SHARDS; s++) {
        CHECK_EQ(copy_pairs(swap, from, to, s), blocks);
        CHECK_OK(kvb_swap_copying(swap, s, 5, &error));
        CHECK_EQ(kvb_swap_complete(swap, s, 5), s == SHARDS - 1);
    }
}

static void a_sequence_goes_out_and_comes_back(void) {
    open_tiers();
    kvb_handle seq = run_prompt(device, device->seqs, tokens, 10);
    kvb_swap *swap = out_of_the_device(seq);
    kvb_swap_info info = info_of(swap);
    CHECK(info.source.bits == seq.bits && info.seq.bits != seq.bits && info.hit == 0);
    CHECK_EQ(available(device->seqs), 1);
    CHECK_EQ(available(host->seqs), 13);

    /* The pairs are the two tables, side by side. */
    uint32_t sources[3], destinations[3];
    size_t count = 0;
    for (uint32_t s = 0; s < SHARDS; s++) {
        CHECK_OK(kvb_swap_pairs(swap, s, sources, destinations, 3, &count, NULL));
        CHECK_EQ(count, 3);
        const int32_t *from = table_of(device->seqs, s, seq, 3), *to = table_of(host->seqs, s, info.seq, 3);
        for (size_t i = 0; i < 3; i++) CHECK(sources[i] == (uint32_t)from[i] && destinations[i] == (uint32_t)to[i]);
        CHECK(sources[0] != destinations[0]);
    }

    /* It is finished when the copies have passed on every shard. */
    kvb_handle waiting = {7};
    REFUSED(KVB_ERR_NOT_COPIED, kvb_swap_finish(swap, device->seqs, host->seqs, &waiting, &error));
    CHECK(error.needed == 3 && error.which == 0 && error.limit == 0 && waiting.bits == 7);
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_EQ(copy_pairs(swap, device, host, s), 3);
    CHECK_OK(kvb_swap_copying(swap, 0, 6, &error));
    CHECK_OK(kvb_swap_copying(swap, 0, 8, &error));
    CHECK_OK(kvb_swap_copying(swap, 1, 3, &error));
    CHECK(!kvb_swap_complete(swap, 0, 7) && !kvb_swap_complete(swap, 1, 3) && !kvb_swap_complete(swap, 2, 9));
    REFUSED(KVB_ERR_NOT_COPIED, kvb_swap_finish(swap, device->seqs, host->seqs, &waiting, &error));
    CHECK(error.needed == 3 && error.which == 1 && error.limit == 8 && waiting.bits == 7);
    audit_tiers();
    CHECK(kvb_swap_complete(swap, 0, 8));
    REFUSED(KVB_ERR_ALREADY_COPIED, kvb_swap_copying(swap, 0, 9, &error));
    CHECK(error.needed == 3 && error.available == 8 && error.limit == 9);
    CHECK_OK(kvb_swap_finish(swap, device->seqs, host->seqs, &waiting, &error));
    CHECK_EQ(waiting.bits, info.seq.bits);
    CHECK_EQ(info_of(swap).seq.bits, waiting.bits);
    CHECK_OK(kvb_swap_pairs(swap, 0, NULL, NULL, 0, &count, NULL));
    CHECK_EQ(count, 0);
    kvb_swap_destroy(swap);
    CHECK_EQ(available(device->seqs), 4);
    CHECK_EQ(state_of(host->seqs, waiting).computed, 10);
    each_position(host, host->seqs, waiting, tokens, 0, 10, 0);
    CHECK_STATUS(kvb_seqs_release(device->seqs, &seq, 1), KVB_ERR_STALE);
    audit_tiers();

    /* What it had published is found where it was; the last block has to come. What lies there beside is gone. */
    memset(host->v, 0, sizeof host->v[0][0]);
    CHECK_OK(begin(host, waiting, device, on_host, 10, &swap));
    CHECK_EQ(info_of(swap).hit, 8);
    copy_all(swap, host, device, 1);
    CHECK_OK(kvb_swap_finish(swap, host->seqs, device->seqs, NULL, NULL));
    seq = info_of(swap).seq;
    kvb_swap_destroy(swap);
    CHECK_EQ(state_of(device->seqs, seq).computed, 10);
    each_position(device, device->seqs, seq, tokens, 0, 10, 0);
    kvb_registry_report out = registry_report(device->seqs, 0), in = registry_report(host->seqs, 1);
    CHECK(out.swapped_out == 1 && out.swapped_in == 1 && out.swap_copied == 1 && out.swap_hits == 2);
    CHECK(in.swapped_out == 1 && in.swapped_in == 1 && in.swap_copied == 3 && in.swap_hits == 0);
    CHECK_OK(kvb_seqs_release(device->seqs, &seq, 1));
    close_tiers();
}

static void it_is_called_off(void) {
    open_tiers();
    kvb_handle seq = run_prompt(device, device->seqs, tokens, 10);

    /* Before a copy was launched: the host has its blocks back at once, and the source goes on. */
    kvb_swap *swap = out_of_the_device(seq);
    CHECK_OK(kvb_swap_abort(swap, host->seqs, &error));
    CHECK_EQ(available(host->seqs), 16);
    CHECK(kvb_swap_complete(swap, 0, 0));
    REFUSED(KVB_ERR_SWAP_OVER, kvb_swap_abort(swap, host->seqs, &error));
    REFUSED(KVB_ERR_SWAP_OVER, kvb_swap_copying(swap, 0, 1, &error));
    REFUSED(KVB_ERR_SWAP_OVER, kvb_swap_finish(swap, device->seqs, host->seqs, NULL, &error));
    kvb_swap_destroy(swap);
    kvb_step *step = make_step(device->seqs);
    CHECK_OK(kvb_seqs_append(device->seqs, seq, 1, step, &error));
    CHECK_OK(kvb_seqs_truncate(device->seqs, seq, 10, NULL));

    /* Amid the copy: both hold what it touches, until it has passed on both shards. */
    swap = out_of_the_device(seq);
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_swap_copying(swap, s, 4, &error));
    CHECK_OK(kvb_swap_abort(swap, host->seqs, &error));
    CHECK_EQ(available(host->seqs), 13);
    REFUSED(KVB_ERR_LEAVING, kvb_seqs_append(device->seqs, seq, 1, step, &error));
    audit_tiers();
    CHECK(!kvb_swap_complete(swap, 0, 4) && kvb_swap_complete(swap, 1, 4));
    CHECK_EQ(available(host->seqs), 16);
    CHECK_OK(kvb_seqs_append(device->seqs, seq, 1, step, &error));
    CHECK_OK(kvb_seqs_truncate(device->seqs, seq, 10, NULL));
    kvb_swap_destroy(swap);

    /* Given back instead: what was admitted is the caller's to release. */
    swap = out_of_the_device(seq);
    kvb_handle there = info_of(swap).seq;
    kvb_swap_destroy(swap);
    CHECK_OK(kvb_seqs_release(host->seqs, &there, 1));
    CHECK_EQ(available(host->seqs), 16);

    /* And amid the copy, who has a handle of what is filled answers. */
    swap = out_of_the_device(seq);
    there = info_of(swap).seq;
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_swap_copying(swap, s, 4, &error));
    kvb_import *import = NULL;
    CHECK_OK(kvb_swap_import(swap, &import));
    CHECK(kvb_import_shards(import) == SHARDS && kvb_import_writers(import) == 1 && kvb_import_left(import) == 6);
    kvb_swap_destroy(swap);
    CHECK_OK(kvb_seqs_release(host->seqs, &there, 1));
    CHECK_EQ(available(host->seqs), 13);
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_import_end(import, s, 0, NULL, NULL));
    kvb_import_destroy(import);
    CHECK_EQ(available(host->seqs), 16);
    CHECK_OK(kvb_seqs_append(device->seqs, seq, 1, step, &error));

    kvb_step_destroy(step);
    CHECK_OK(kvb_seqs_release(device->seqs, &seq, 1));
    close_tiers();
}

#define NOT_BEGUN(wanted, call) \
    do { \
        const size_t free_before = available(device->seqs), host_before = available(host->seqs); \
        REFUSED(wanted, call); \
        CHECK(swap == NULL && available(device->seqs) == free_before && available(host->seqs) == host_before); \
        CHECK_EQ(kvb_leases_used(on_device, 0) + kvb_leases_used(on_device, 1), 0); \
        audit_tiers(); \
    } while (0)

static void what_does_not_begin(void) {
    open_tiers();
    kvb_handle seq = run_prompt(device, device->seqs, tokens, 10);
    kvb_swap *swap = NULL;
    NOT_BEGUN(KVB_ERR_SAME_INSTANCE, begin(device, seq, device, on_device, 10, &swap));
    NOT_BEGUN(KVB_ERR_LENGTH_MISMATCH, begin(device, seq, host, on_device, 9, &swap));
    CHECK(error.needed == 10 && error.available == 9);
    tokens[9]++;
    NOT_BEGUN(KVB_ERR_OTHER_TOKENS, begin(device, seq, host, on_device, 10, &swap));
    CHECK_EQ(error.needed, 9 / BLOCK_SIZE);
    tokens[9]--;
    NOT_BEGUN(KVB_ERR_STALE, begin(device, (kvb_handle){0}, host, on_device, 10, &swap));
    NOT_BEGUN(KVB_ERR_WRONG_POOL, begin(device, seq, host, on_host, 10, &swap));

    kvb_namespace *space = NULL;
    const kvb_namespace_parts parts = {.struct_size = sizeof parts, .salt = (const unsigned char *)"s", .salt_size = 1};
    CHECK_OK(kvb_namespace_create(&parts, &space));
    kvb_admit asked = request(tokens, 10);
    asked.prompt.space = space;
    NOT_BEGUN(KVB_ERR_OTHER_NAMESPACE,
              kvb_seqs_swap_to(device->seqs, seq, host->seqs, &asked, on_device, 1, &swap, &error));
    kvb_namespace_destroy(space);

    /* The destination never has so much, or not now, and says on which shard. */
    asked = request(tokens, 10);
    asked.growth = KVB_GROWTH_CAP;
    asked.growth_amount = 100;
    NOT_BEGUN(KVB_ERR_NEVER_FITS, kvb_seqs_swap_to(device->seqs, seq, host->seqs, &asked, on_device, 1, &swap, &error));
    CHECK(error.shard == 10 && error.needed == 28 && error.limit == 17);
    kvb_handle full = run_prompt(host, host->seqs, tokens + 20, 40);
    kvb_handle more = run_prompt(host, host->seqs, tokens + 1, 16);
    NOT_BEGUN(KVB_ERR_SHORTFALL, begin(device, seq, host, on_device, 21, &swap));
    CHECK(error.shard == 10 && error.needed == 6 && error.available == 2);
    CHECK_OK(kvb_seqs_release(host->seqs, &full, 1));
    CHECK_OK(kvb_seqs_release(host->seqs, &more, 1));

    /* A block of it is to be copied first. */
    kvb_handle child;
    kvb_step *step = make_step(device->seqs);
    CHECK_OK(kvb_seqs_fork(device->seqs, seq, &child, 1, &error));
    CHECK_OK(kvb_seqs_append(device->seqs, child, 1, step, &error));
    REFUSED(KVB_ERR_COPY_PENDING, begin(device, child, host, on_device, 11, &swap));
    kvb_step_lists lists[SHARDS];
    for (uint32_t s = 0; s < SHARDS; s++) {
        lists[s] = lists_of(step, s);
        CHECK_EQ(lists[s].copy_count, 1);
        CHECK_OK(kvb_seqs_copied(device->seqs, s, lists[s].copies, 1));
    }
    CHECK_OK(kvb_seqs_release(device->seqs, &child, 1));
    kvb_step_destroy(step);

    /* Two at once need two owners, and none leaves twice. */
    uint32_t few[4];
    count_up(few, 4, 1);
    kvb_handle other = run_prompt(device, device->seqs, few, 4);
    kvb_swap *first = out_of_the_device(seq);
    asked = request(few, 4);
    REFUSED(KVB_ERR_OWNER_TAKEN, kvb_seqs_swap_to(device->seqs, other, host->seqs, &asked, on_device, 1, &swap, &error));
    CHECK_EQ(error.needed, 1);
    asked = request(tokens, 10);
    REFUSED(KVB_ERR_LEAVING, kvb_seqs_swap_to(device->seqs, seq, host->seqs, &asked, on_device, 2, &swap, &error));
    CHECK(swap == NULL);
    asked = request(few, 4);
    CHECK_OK(kvb_seqs_swap_to(device->seqs, other, host->seqs, &asked, on_device, 2, &swap, &error));
    CHECK_OK(kvb_swap_abort(swap, host->seqs, &error));
    CHECK_OK(kvb_swap_abort(first, host->seqs, &error));
    kvb_swap_destroy(swap);
    kvb_swap_destroy(first);
    CHECK_OK(kvb_seqs_release(device->seqs, &other, 1));

    /* The host lays out blocks in another way, or has other shards. */
    kvb_pool *pool = make_pool(20, 16, 0, BLOCK_SIZE);
    kvb_seqs *alone = make_seqs(pool, 4);
    swap = NULL;
    asked = request(tokens, 10);
    NOT_BEGUN(KVB_ERR_INCOMPATIBLE, kvb_seqs_swap_to(device->seqs, seq, alone, &asked, on_device, 1, &swap, &error));
    kvb_seqs_destroy(alone);
    kvb_pool_destroy(pool);
    CHECK_OK(kvb_seqs_release(device->seqs, &seq, 1));
    close_tiers();
}

static kvb_seqs *another(const kvb_seqs *seqs) {
    const kvb_seqs_config config = seqs_config(2);
    kvb_seqs *out = NULL;
    CHECK_OK(kvb_seqs_create_another(seqs, &config, &out, NULL));
    return out;
}

static void what_does_not_end(void) {
    open_tiers();
    kvb_handle seq = run_prompt(device, device->seqs, tokens, 10);
    kvb_seqs *beside_device = another(device->seqs), *beside_host = another(host->seqs);

    kvb_swap *swap = out_of_the_device(seq);
    kvb_handle out = {7};
    uint32_t sources[3] = {70, 71, 72}, destinations[3] = {80, 81, 82};
    size_t count = 77;
    REFUSED(KVB_ERR_TOO_SHORT, kvb_swap_pairs(swap, 1, sources, destinations, 2, &count, &error));
    CHECK(error.needed == 3 && error.available == 2 && sources[0] == 70 && destinations[0] == 80 && count == 77);
    REFUSED(KVB_ERR_TOO_SHORT, kvb_swap_pairs(swap, 0, NULL, NULL, 0, &count, &error));
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_swap_pairs(swap, SHARDS, sources, destinations, 3, &count, &error));
    REFUSED(KVB_ERR_LENGTH, kvb_swap_pairs(swap, 0, sources, destinations, SIZE_MAX, &count, &error));
    CHECK(count == 77);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_swap_copying(swap, SHARDS, 1, &error));
    CHECK(error.needed == SHARDS && error.limit == SHARDS);

    copy_all(swap, device, host, 3);
    REFUSED(KVB_ERR_WRONG_POOL, kvb_swap_finish(swap, host->seqs, device->seqs, &out, &error));
    REFUSED(KVB_ERR_SAME_INSTANCE, kvb_swap_finish(swap, host->seqs, host->seqs, &out, &error));
    REFUSED(KVB_ERR_STALE, kvb_swap_finish(swap, beside_device, host->seqs, &out, &error));
    REFUSED(KVB_ERR_STALE, kvb_swap_finish(swap, device->seqs, beside_host, &out, &error));
    REFUSED(KVB_ERR_WRONG_POOL, kvb_swap_abort(swap, device->seqs, &error));
    REFUSED(KVB_ERR_STALE, kvb_swap_abort(swap, beside_host, &error));
    CHECK_EQ(out.bits, 7);

    /* The destination has taken it over by itself. */
    CHECK_OK(kvb_seqs_commit(host->seqs, info_of(swap).seq, NULL));
    REFUSED(KVB_ERR_COMMITTED, kvb_swap_abort(swap, host->seqs, &error));
    CHECK_OK(kvb_swap_finish(swap, device->seqs, host->seqs, &out, &error));
    CHECK_EQ(out.bits, info_of(swap).seq.bits);
    kvb_swap_destroy(swap);
    CHECK_OK(kvb_seqs_release(host->seqs, &out, 1));

    /* The source is released amid the copy: it can only be aborted. What the host has published by now is found. */
    count_up(tokens, LENGTH(tokens), 500);
    seq = run_prompt(device, device->seqs, tokens, 10);
    swap = out_of_the_device(seq);
    CHECK_OK(kvb_seqs_release(device->seqs, &seq, 1));
    copy_all(swap, device, host, 3);
    REFUSED(KVB_ERR_MOVE_ABORTED, kvb_swap_finish(swap, device->seqs, host->seqs, &out, &error));
    CHECK_OK(kvb_swap_abort(swap, host->seqs, &error));
    kvb_swap_destroy(swap);

    /* Somebody else said that a block does not come. */
    count_up(tokens, LENGTH(tokens), 900);
    seq = run_prompt(device, device->seqs, tokens, 10);
    swap = out_of_the_device(seq);
    kvb_import *import = NULL;
    CHECK_OK(kvb_swap_import(swap, &import));
    CHECK_OK(kvb_import_failed(import, 1, 0, 2, 1, NULL, NULL));
    CHECK_OK(kvb_import_arrived(import, 1, 0, 0, 2, NULL, NULL));
    kvb_import_destroy(import);
    copy_all(swap, device, host, 3);
    REFUSED(KVB_ERR_NOT_ARRIVED, kvb_swap_finish(swap, device->seqs, host->seqs, &out, &error));
    CHECK(error.needed == 10 && error.available == 8 && error.limit == 0);
    CHECK_OK(kvb_swap_abort(swap, host->seqs, &error));
    kvb_swap_destroy(swap);
    CHECK_EQ(state_of(device->seqs, seq).computed, 10);
    CHECK_OK(kvb_seqs_release(device->seqs, &seq, 1));

    kvb_seqs_destroy(beside_device);
    kvb_seqs_destroy(beside_host);
    close_tiers();
}

/* A table that goes amid a swap leaves its lease to it: an audit misses the blocks until it is named. */
static void a_table_goes_before_its_swap(void) {
    open_tiers();
    kvb_handle seq = run_prompt(device, device->seqs, tokens, 10), out;
    kvb_swap *swap = out_of_the_device(seq);
    kvb_lease *lease = NULL;
    kvb_leases_destroy(on_device);
    REFUSED(KVB_ERR_INCONSISTENT, kvb_seqs_audit(device->seqs, NULL, 0, &error));
    CHECK_OK(kvb_swap_lease(swap, &lease));
    CHECK_EQ(kvb_lease_shards(lease), SHARDS);
    const kvb_holder read = holder(KVB_HOLDER_LEASE, lease);
    check_audit(device->seqs, &read, 1);
    copy_all(swap, device, host, 3);
    CHECK_OK(kvb_swap_finish(swap, device->seqs, host->seqs, &out, &error));
    check_audit(device->seqs, NULL, 0);
    kvb_lease_destroy(lease);
    kvb_swap_destroy(swap);
    CHECK_OK(kvb_seqs_release(host->seqs, &out, 1));
    CHECK_OK(kvb_seqs_leases_create(device->seqs, 8, &on_device));
    close_tiers();
}

static void nulls_and_sizes(void) {
    open_tiers();
    kvb_handle seq = run_prompt(device, device->seqs, tokens, 10);
    kvb_seqs *from = device->seqs, *to = host->seqs;
    kvb_admit asked = request(tokens, 10);
    kvb_swap *swap = NULL;
    NOT_BEGUN(KVB_ERR_NULL, kvb_seqs_swap_to(NULL, seq, to, &asked, on_device, 1, &swap, &error));
    NOT_BEGUN(KVB_ERR_NULL, kvb_seqs_swap_to(from, seq, NULL, &asked, on_device, 1, &swap, &error));
    NOT_BEGUN(KVB_ERR_NULL, kvb_seqs_swap_to(NULL, seq, NULL, &asked, on_device, 1, &swap, &error));
    NOT_BEGUN(KVB_ERR_NULL, kvb_seqs_swap_to(from, seq, to, NULL, on_device, 1, &swap, &error));
    NOT_BEGUN(KVB_ERR_NULL, kvb_seqs_swap_to(from, seq, to, &asked, NULL, 1, &swap, &error));
    NOT_BEGUN(KVB_ERR_NULL, kvb_seqs_swap_to(from, seq, to, &asked, on_device, 1, NULL, &error));
    asked.reserved = 1;
    NOT_BEGUN(KVB_ERR_STRUCT_SIZE, kvb_seqs_swap_to(from, seq, to, &asked, on_device, 1, &swap, &error));

    swap = out_of_the_device(seq);
    kvb_swap_info info = {.struct_size = 4};
    CHECK_STATUS(kvb_swap_get_info(swap, &info), KVB_ERR_STRUCT_SIZE);
    info.struct_size = sizeof info;
    CHECK_STATUS(kvb_swap_get_info(NULL, &info), KVB_ERR_NULL);
    CHECK_STATUS(kvb_swap_get_info(swap, NULL), KVB_ERR_NULL);
    CHECK_EQ(info.shards, 0);
    uint32_t ids[3];
    size_t count = 77;
    REFUSED(KVB_ERR_NULL, kvb_swap_pairs(NULL, 0, ids, ids, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_swap_pairs(swap, 0, NULL, ids, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_swap_pairs(swap, 0, ids, NULL, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_swap_pairs(swap, 0, ids, ids + 3, 0, NULL, &error));
    CHECK_EQ(count, 77);
    kvb_import *import = NULL;
    CHECK_STATUS(kvb_swap_import(NULL, &import), KVB_ERR_NULL);
    CHECK_STATUS(kvb_swap_import(swap, NULL), KVB_ERR_NULL);
    CHECK(import == NULL);
    kvb_lease *lease = NULL;
    CHECK_STATUS(kvb_swap_lease(NULL, &lease), KVB_ERR_NULL);
    CHECK_STATUS(kvb_swap_lease(swap, NULL), KVB_ERR_NULL);
    CHECK(lease == NULL);
    REFUSED(KVB_ERR_NULL, kvb_swap_copying(NULL, 0, 1, &error));
    CHECK(!kvb_swap_complete(NULL, 0, 1));
    REFUSED(KVB_ERR_NULL, kvb_swap_finish(NULL, from, to, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_swap_finish(swap, NULL, to, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_swap_finish(swap, from, NULL, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_swap_abort(NULL, to, &error));
    REFUSED(KVB_ERR_NULL, kvb_swap_abort(swap, NULL, &error));
    CHECK_OK(kvb_swap_abort(swap, to, NULL));
    kvb_swap_destroy(swap);
    kvb_swap_destroy(NULL);
    CHECK_OK(kvb_seqs_release(from, &seq, 1));
    close_tiers();
}

int main(void) {
    a_sequence_goes_out_and_comes_back();
    it_is_called_off();
    what_does_not_begin();
    what_does_not_end();
    a_table_goes_before_its_swap();
    nulls_and_sizes();
    puts("swaps: done");
    return 0;
}
