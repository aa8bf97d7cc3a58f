/* Leases: of chains, and pins of sequences over two shards; how they end. */
#include "chain.h"

static kvb_leases *make_leases(const kvb_pool *pool, size_t budget) {
    kvb_leases *leases = NULL;
    CHECK_OK(kvb_pool_leases_create(pool, budget, &leases));
    return leases;
}

static kvb_leases_report report_of(const kvb_leases *leases, size_t shard) {
    kvb_leases_report report;
    memset(&report, 0, sizeof report);
    report.struct_size = sizeof report;
    CHECK_OK(kvb_leases_get_report(leases, shard, &report));
    CHECK_EQ(report.references, kvb_leases_used(leases, shard));
    return report;
}

/* It is over, and says so to everything. */
static void check_ended(const kvb_lease *lease) {
    CHECK_EQ(kvb_lease_deadline(lease), 0);
    CHECK_STATUS(kvb_lease_check(lease, 0), KVB_ERR_LEASE_ENDED);
    CHECK_STATUS(kvb_lease_extend(lease, KVB_NO_DEADLINE), KVB_ERR_LEASE_ENDED);
    CHECK_STATUS(kvb_lease_end(lease), KVB_ERR_LEASE_ENDED);
}

static size_t tick(kvb_leases *leases, uint64_t now) {
    size_t ended = 99;
    CHECK_OK(kvb_leases_tick(leases, now, &ended));
    return ended;
}

static void a_lease_holds_blocks_until_its_deadline(void) {
    kvb_pool *pool = make_pool(7, 16, 0, 4);
    kvb_worker *worker = make_worker(pool);
    kvb_leases *leases = make_leases(pool, 6);
    kvb_chain *chain = make_chain(pool, worker, 3, 2, 1);
    kvb_lease *lease = NULL;
    CHECK_OK(kvb_leases_grant(leases, chain, 5, 100, &lease, NULL));
    CHECK_EQ(kvb_lease_owner(lease), 5);
    CHECK_EQ(kvb_lease_deadline(lease), 100);
    CHECK_EQ(kvb_lease_shards(lease), 1);
    CHECK_EQ(kvb_lease_references(lease, 0), 3);
    CHECK_EQ(kvb_lease_references(lease, 1), 0);
    const uint32_t *ids;
    size_t count;
    CHECK_OK(kvb_lease_ids(lease, 0, &ids, &count));
    CHECK_IDS(ids, count, 0, 1, 2);
    CHECK_OK(kvb_chain_release(chain, worker, NULL));
    CHECK_POOL(pool, 13, 0, 3, 0, 0);
    const kvb_holder leased = holder(KVB_HOLDER_LEASES, leases);
    CHECK_OK(kvb_pool_audit(pool, &leased, 1, NULL));
    CHECK_STATUS(kvb_pool_audit(pool, NULL, 0, NULL), KVB_ERR_INCONSISTENT);

    CHECK_EQ(tick(leases, 99), 0);
    CHECK_OK(kvb_lease_check(lease, 99));
    CHECK_OK(kvb_lease_extend(lease, 150));
    CHECK_OK(kvb_lease_extend(lease, 120));
    CHECK_EQ(kvb_lease_deadline(lease), 150);
    CHECK_EQ(tick(leases, 149), 0);
    CHECK_EQ(tick(leases, 100), 0);
    kvb_leases_report report = report_of(leases, 0);
    CHECK(report.leases == 1 && report.blocks == 3 && report.references == 3);
    CHECK(report.budget == 6 && report.now == 149 && report.expired == 0 && report.capacity == 16);
    CHECK_EQ(tick(leases, 150), 1);
    check_ended(lease);
    CHECK_POOL(pool, 14, 2, 0, 0, 0);
    report = report_of(leases, 0);
    CHECK(report.leases == 0 && report.blocks == 0 && report.references == 0 && report.expired == 1);

    /* The ids are only numbers now, but they are there. */
    CHECK_OK(kvb_lease_ids(lease, 0, &ids, &count));
    CHECK_IDS(ids, count, 0, 1, 2);
    kvb_lease *another = NULL;
    CHECK_STATUS(kvb_leases_get(leases, 5, &another), KVB_ERR_LEASE_ENDED);
    CHECK(another == NULL);
    kvb_lease_destroy(lease);
    kvb_leases_destroy(leases);
    kvb_worker_destroy(worker);
    kvb_pool_destroy(pool);
}

static void a_lease_that_is_not_granted_holds_nothing(void) {
    kvb_pool *pool = make_pool(7, 16, 0, 4), *other = make_pool(8, 16, 0, 4);
    kvb_worker *worker = make_worker(pool);
    kvb_leases *leases = make_leases(pool, 5), *elsewhere = make_leases(other, 9);
    kvb_chain *chain = make_chain(pool, worker, 3, 2, 1);
    CHECK_EQ(tick(leases, 10), 0);
    CHECK_OK(kvb_leases_grant(leases, chain, 5, KVB_NO_DEADLINE, NULL, NULL));
    CHECK_EQ(tick(leases, UINT64_MAX), 0);

    kvb_error error = no_error();
    kvb_lease *lease = NULL;
    const uint64_t now = UINT64_MAX;
    for (int kept = 0; kept < 2; kept++) {
#define REFUSED(status, need, have, table, owner, deadline)                                                     \
    CHECK_REFUSAL(status, need, have, 0,                                                                        \
                  kept ? kvb_leases_keep(table, chain, owner, deadline, &lease, &error)                         \
                       : kvb_leases_grant(table, chain, owner, deadline, &lease, &error))
        REFUSED(KVB_ERR_OWNER_TAKEN, 5, 0, leases, 5, KVB_NO_DEADLINE);
        REFUSED(KVB_ERR_ALREADY_OVER, 10, now, leases, 6, 10);
        REFUSED(KVB_ERR_OVER_BUDGET, 3, 2, leases, 6, KVB_NO_DEADLINE);
        REFUSED(KVB_ERR_WRONG_POOL, 0, 0, elsewhere, 6, KVB_NO_DEADLINE);
    }
    CHECK_STATUS(kvb_leases_keep(leases, NULL, 6, 10, &lease, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_leases_keep(NULL, chain, 6, 10, &lease, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_leases_grant(leases, NULL, 6, 10, &lease, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_leases_grant(NULL, chain, 6, 10, &lease, NULL), KVB_ERR_NULL);
    CHECK(lease == NULL);
    CHECK_CHAIN(chain, 2, 0, 1, 2);
    CHECK_EQ(kvb_leases_used(leases, 0), 3);
    CHECK_EQ(kvb_leases_used(elsewhere, 0), 0);
    const kvb_holder holders[2] = {holder(KVB_HOLDER_LEASES, leases), holder(KVB_HOLDER_CHAIN, chain)};
    CHECK_OK(kvb_pool_audit(pool, holders, 2, NULL));

    /* The table keeps what nobody else has a handle of. */
    CHECK_OK(kvb_leases_get(leases, 5, &lease));
    CHECK_OK(kvb_lease_end(lease));
    check_ended(lease);
    CHECK_EQ(kvb_leases_used(leases, 0), 0);
    CHECK_POOL(pool, 13, 0, 3, 0, 0);
    kvb_lease_destroy(lease);

    /* A chain that is kept is the lease's: nothing is held twice. */
    CHECK_OK(kvb_leases_keep(leases, chain, 5, KVB_NO_DEADLINE, &lease, &error));
    CHECK_POOL(pool, 13, 0, 3, 0, 0);
    CHECK_EQ(pool_report(pool).shared_references, 0);
    kvb_leases_destroy(leases);
    CHECK_POOL(pool, 13, 0, 3, 0, 0);
    CHECK_OK(kvb_lease_check(lease, UINT64_MAX));
    const kvb_holder alone = holder(KVB_HOLDER_LEASE, lease);
    CHECK_OK(kvb_pool_audit(pool, &alone, 1, NULL));
    kvb_lease_destroy(lease);
    CHECK_POOL(pool, 14, 2, 0, 0, 0);

    kvb_leases_destroy(elsewhere);
    kvb_worker_destroy(worker);
    kvb_pool_destroy(other);
    kvb_pool_destroy(pool);
}

static void a_lease_of_duplicates_holds_both_copies(void) {
    kvb_pool *pool = make_pool(7, 16, 0, 4);
    kvb_worker *worker = make_worker(pool);
    kvb_leases *leases = make_leases(pool, 6);
    kvb_chain *first = make_chain(pool, worker, 2, 2, 1), *second = make_chain(pool, worker, 3, 2, 1), *tail = NULL;
    kvb_lease *lease = NULL, *rest = NULL;
    CHECK_OK(kvb_leases_grant(leases, second, 1, 9, &lease, NULL));
    CHECK_EQ(kvb_lease_references(lease, 0), 5);
    CHECK_OK(kvb_lease_end(lease));

    /* That of a tail holds the head, too. */
    CHECK_OK(kvb_chain_split_off(first, 1, &tail, NULL));
    CHECK_OK(kvb_leases_keep(leases, tail, 1, 9, &rest, NULL));
    CHECK_EQ(kvb_lease_references(rest, 0), 2);
    const uint32_t *ids;
    size_t count;
    CHECK_OK(kvb_lease_ids(rest, 0, &ids, &count));
    CHECK_IDS(ids, count, 1);
    kvb_chain_destroy(first);
    kvb_chain_destroy(second);
    CHECK_POOL(pool, 14, 0, 2, 0, 0);
    CHECK_EQ(tick(leases, 9), 1);
    CHECK_POOL(pool, 14, 2, 0, 0, 0);
    kvb_lease_destroy(rest);
    kvb_lease_destroy(lease);
    kvb_leases_destroy(leases);
    kvb_worker_destroy(worker);
    kvb_pool_destroy(pool);
}

static void a_pin_is_on_all_shards_or_on_none(void) {
    kvb_pool *pools[2] = {make_pool(7, 16, 0, 4), make_pool(8, 16, 0, 4)};
    const kvb_seqs_config config = seqs_config(4);
    kvb_seqs *seqs = NULL;
    CHECK_OK(kvb_seqs_create((const kvb_pool *const *)pools, 2, &config, &seqs, NULL));
    kvb_leases *leases = NULL, *half = make_leases(pools[0], 9);
    CHECK_OK(kvb_seqs_leases_create(seqs, 3, &leases));
    uint32_t tokens[16];
    count_up(tokens, 16, 1);
    const kvb_handle seq = admit(seqs, tokens, 9, 1).seq, longer = admit(seqs, tokens, 16, 2).seq;
    CHECK_OK(kvb_seqs_computed(seqs, seq, 9, NULL));

    kvb_lease *lease = NULL;
    CHECK_OK(kvb_seqs_pin(seqs, seq, leases, 5, 100, &lease, NULL));
    CHECK_EQ(kvb_lease_shards(lease), 2);
    for (size_t shard = 0; shard < 2; shard++) {
        const uint32_t *ids;
        size_t count;
        CHECK_OK(kvb_lease_ids(lease, shard, &ids, &count));
        CHECK_IDS(ids, count, 0, 1);
        CHECK_EQ(kvb_leases_used(leases, shard), 2);
    }
    CHECK_EQ(kvb_leases_used(leases, 2), 0);
    const uint32_t *no_ids = NULL;
    size_t no_count = 0;
    CHECK_STATUS(kvb_lease_ids(lease, 2, &no_ids, &no_count), KVB_ERR_OUT_OF_RANGE);
    CHECK_STATUS(kvb_lease_ids(lease, 0, NULL, &no_count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_lease_ids(lease, 0, &no_ids, NULL), KVB_ERR_NULL);

    /* The other sequence has published 3 blocks, for which the budget has no room. */
    CHECK_OK(kvb_seqs_computed(seqs, longer, 15, NULL));
    kvb_error error = no_error();
    kvb_lease *none = NULL;
    CHECK_REFUSAL(KVB_ERR_OVER_BUDGET, 5, 1, 0, kvb_seqs_pin(seqs, longer, leases, 6, 100, &none, &error));
    CHECK_REFUSAL(KVB_ERR_OWNER_TAKEN, 5, 0, 0, kvb_seqs_pin(seqs, seq, leases, 5, 100, &none, &error));
    CHECK_REFUSAL(KVB_ERR_ALREADY_OVER, 0, 0, 0, kvb_seqs_pin(seqs, seq, leases, 6, 0, &none, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_seqs_pin(seqs, seq, half, 6, 100, &none, &error));
    CHECK_OK(kvb_seqs_release(seqs, &longer, 1));
    CHECK_REFUSAL(KVB_ERR_STALE, 0, 0, 0, kvb_seqs_pin(seqs, longer, leases, 6, 100, &none, &error));
    CHECK_STATUS(kvb_seqs_pin(NULL, seq, leases, 6, 100, &none, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_seqs_pin(seqs, seq, NULL, 6, 100, &none, NULL), KVB_ERR_NULL);
    CHECK(none == NULL);
    const kvb_holder leased = holder(KVB_HOLDER_LEASES, leases);
    check_audit(seqs, &leased, 1);

    /* The sequence goes, what is pinned stays on both shards. */
    CHECK_OK(kvb_seqs_release(seqs, &seq, 1));
    for (size_t shard = 0; shard < 2; shard++) {
        CHECK_EQ(pool_report(pools[shard]).held, 2);
    }
    CHECK_EQ(admit(seqs, tokens, 9, 3).hit, 8);
    CHECK_EQ(tick(leases, 99), 0);
    kvb_lease *another = NULL;
    CHECK_OK(kvb_leases_get(leases, 5, &another));
    CHECK_EQ(kvb_lease_shards(another), 2);
    CHECK_OK(kvb_lease_extend(another, 200));
    CHECK_EQ(kvb_lease_deadline(lease), 200);
    CHECK_EQ(tick(leases, 200), 2);
    check_ended(lease);
    check_ended(another);
    check_audit(seqs, NULL, 0);

    /* Noticed at use, on both shards at once; then the owner can have another. */
    const kvb_handle third = admit(seqs, tokens, 9, 4).seq;
    kvb_lease_destroy(lease);
    CHECK_OK(kvb_seqs_pin(seqs, third, leases, 5, 300, &lease, NULL));
    CHECK_OK(kvb_lease_check(lease, 299));
    CHECK_STATUS(kvb_lease_check(lease, 300), KVB_ERR_LEASE_ENDED);
    CHECK_EQ(kvb_leases_used(leases, 0) + kvb_leases_used(leases, 1), 0);
    CHECK_OK(kvb_seqs_pin(seqs, third, leases, 5, 300, NULL, NULL));
    CHECK_EQ(kvb_leases_used(leases, 0) + kvb_leases_used(leases, 1), 4);
    CHECK_EQ(report_of(leases, 1).expired, 2);

    kvb_lease_destroy(another);
    kvb_lease_destroy(lease);
    kvb_leases_destroy(half);
    kvb_leases_destroy(leases);
    kvb_seqs_destroy(seqs);
    for (size_t shard = 0; shard < 2; shard++) {
        CHECK_EQ(pool_report(pools[shard]).held, 0);
        kvb_pool_destroy(pools[shard]);
    }
}

static void null_is_an_error(void) {
    kvb_pool *pool = make_pool(7, 16, 0, 4);
    kvb_leases *leases = make_leases(pool, 9);
    kvb_lease *lease = NULL;
    kvb_leases_report report;
    const uint32_t *ids;
    size_t count;
    memset(&report, 0, sizeof report);
    CHECK_STATUS(kvb_leases_get_report(leases, 0, &report), KVB_ERR_STRUCT_SIZE);
    report.struct_size = sizeof report;
    CHECK_STATUS(kvb_leases_get_report(leases, 1, &report), KVB_ERR_OUT_OF_RANGE);
    CHECK_STATUS(kvb_leases_get_report(leases, 0, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_leases_get_report(NULL, 0, &report), KVB_ERR_NULL);
    CHECK_STATUS(kvb_pool_leases_create(NULL, 1, &leases), KVB_ERR_NULL);
    CHECK_STATUS(kvb_pool_leases_create(pool, 1, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_seqs_leases_create(NULL, 1, &leases), KVB_ERR_NULL);
    CHECK_STATUS(kvb_leases_tick(NULL, 1, NULL), KVB_ERR_NULL);
    CHECK_OK(kvb_leases_tick(leases, 1, NULL));
    CHECK_STATUS(kvb_leases_get(NULL, 1, &lease), KVB_ERR_NULL);
    CHECK_STATUS(kvb_leases_get(leases, 1, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_lease_ids(NULL, 0, &ids, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_lease_extend(NULL, 1), KVB_ERR_NULL);
    CHECK_STATUS(kvb_lease_check(NULL, 1), KVB_ERR_NULL);
    CHECK_STATUS(kvb_lease_end(NULL), KVB_ERR_NULL);
    CHECK_EQ(kvb_lease_owner(NULL) + kvb_lease_deadline(NULL) + kvb_lease_shards(NULL), 0);
    CHECK_EQ(kvb_lease_references(NULL, 0) + kvb_leases_used(NULL, 0), 0);
    kvb_lease_destroy(NULL);
    kvb_leases_destroy(NULL);
    kvb_leases_destroy(leases);
    kvb_pool_destroy(pool);
}

int main(void) {
    a_lease_holds_blocks_until_its_deadline();
    a_lease_that_is_not_granted_holds_nothing();
    a_lease_of_duplicates_holds_both_copies();
    a_pin_is_on_all_shards_or_on_none();
    null_is_an_error();
    return 0;
}
