/* No memory at any point of any call about promises, chains, leases, events and metrics: an error, after which all is as it was. */
#include "chain.h"

/* Allocations are counted, and one of them is refused. */
struct memory {
    size_t live;
    size_t calls;
    /* Counted from 1; 0 refuses none. */
    size_t refuse;
};

static struct memory memory;

static void *counted_alloc(size_t size, size_t align, void *user) {
    struct memory *it = user;
    if (++it->calls == it->refuse) return NULL;
    /* Behind the start of the block, as aligned as it must be: how far is in the word before it. */
    unsigned char *raw = malloc(size + align + sizeof(size_t));
    CHECK(raw != NULL);
    const size_t head = (align - ((uintptr_t)raw + sizeof(size_t)) % align) % align + sizeof(size_t);
    memcpy(raw + head - sizeof(size_t), &head, sizeof head);
    it->live++;
    return raw + head;
}

static void counted_free(void *pointer, size_t size, size_t align, void *user) {
    struct memory *it = user;
    (void)size;
    (void)align;
    size_t head;
    memcpy(&head, (unsigned char *)pointer - sizeof(size_t), sizeof head);
    free((unsigned char *)pointer - head);
    it->live--;
}

/* A pool of 192 blocks: a chain of 40, of which 30 are published, and a promise of 60. */
static struct {
    kvb_pool *pool;
    kvb_worker *worker;
    kvb_lanes *lanes;
    kvb_leases *leases;
    kvb_seqs *seqs;
    kvb_chain *chain;
    kvb_reservation *promise;
    kvb_metrics *metrics;
    uint32_t tokens[256];
} it;

/* What an attempt needs beforehand is made with memory. */
static size_t paused;
static void begin_with(void) {
    paused = memory.refuse;
    memory.refuse = 0;
}
static void now_without(void) {
    memory.refuse = paused;
    memory.calls = 0;
}

static kvb_blocks *some_blocks(size_t count) {
    kvb_blocks *blocks = NULL;
    CHECK_OK(kvb_reservation_take(it.promise, it.worker, count, &blocks, NULL));
    CHECK_OK(kvb_reservation_grow(it.promise, count, NULL));
    return blocks;
}

static kvb_chain *forked(void) {
    kvb_chain *chain = NULL;
    CHECK_OK(kvb_chain_fork(it.chain, it.worker, &chain, NULL));
    return chain;
}

/* An attempt that makes something. */
#define MAKES(name, type, call, destroy)            \
    static kvb_status name(void) {                  \
        type *out = NULL;                           \
        const kvb_status status = call;             \
        CHECK((status == KVB_OK) == (out != NULL)); \
        destroy(out);                               \
        return status;                              \
    }

/* What comes from a promise goes back into it. */
static void take_back_promise(kvb_reservation *part) {
    const size_t blocks = kvb_reservation_blocks(part);
    kvb_reservation_destroy(part);
    CHECK_OK(kvb_reservation_grow(it.promise, blocks, NULL));
}
static void take_back_blocks(kvb_blocks *blocks) {
    if (blocks == NULL) return;
    kvb_blocks_destroy(blocks);
    CHECK_OK(kvb_reservation_grow(it.promise, 20, NULL));
}

static kvb_status find_with(const kvb_extra_key *extra, kvb_chain **out) {
    kvb_prompt prompt = {NULL, it.tokens, 121, extra, extra == NULL ? 0 : 30, NULL, 0, 0, 0};
    return kvb_pool_find(it.pool, it.worker, &prompt, it.promise, out, NULL);
}

static const kvb_extra_key keys[30] = {{1, 2}};

MAKES(reserve, kvb_reservation, kvb_pool_reserve(it.pool, 3, &out, NULL), kvb_reservation_destroy)
MAKES(split_promise, kvb_reservation, kvb_reservation_split(it.promise, 3, &out, NULL), take_back_promise)
MAKES(take, kvb_blocks, kvb_reservation_take(it.promise, it.worker, 20, &out, NULL), take_back_blocks)
MAKES(find, kvb_chain, find_with(NULL, &out), kvb_chain_destroy)
MAKES(find_with_keys, kvb_chain, find_with(keys, &out), kvb_chain_destroy)
MAKES(start_chain, kvb_chain, kvb_pool_chain_create(it.pool, NULL, &out), kvb_chain_destroy)
MAKES(fork_chain, kvb_chain, kvb_chain_fork(it.chain, it.worker, &out, NULL), kvb_chain_destroy)
MAKES(snapshot, kvb_snapshot, kvb_pool_snapshot_create(it.pool, &out), kvb_snapshot_destroy)
MAKES(make_metrics, kvb_metrics, kvb_metrics_create(&out), kvb_metrics_destroy)

static kvb_status split_blocks(void) {
    begin_with();
    kvb_blocks *blocks = some_blocks(30), *tail = NULL;
    now_without();
    const kvb_status status = kvb_blocks_split_off(blocks, 2, &tail, NULL);
    const uint32_t *ids;
    size_t count;
    CHECK_OK(kvb_blocks_ids(blocks, &ids, &count));
    CHECK_EQ(count, status == KVB_OK ? 2 : 30);
    kvb_blocks_destroy(tail);
    kvb_blocks_destroy(blocks);
    return status;
}

static kvb_status append_blocks(void) {
    begin_with();
    kvb_blocks *blocks = some_blocks(2), *others = some_blocks(30);
    now_without();
    const kvb_status status = kvb_blocks_append(blocks, others, NULL);
    if (status != KVB_OK) kvb_blocks_destroy(others);
    kvb_blocks_destroy(blocks);
    return status;
}

static kvb_status take_for_chain(void) {
    begin_with();
    kvb_chain *chain = make_chain(it.pool, it.worker, 1, 0, 0);
    kvb_reservation *promise = make_reservation(it.pool, 20);
    now_without();
    const kvb_status status = kvb_chain_take(chain, it.worker, promise, 20, NULL);
    CHECK_EQ(kvb_reservation_blocks(promise), status == KVB_OK ? 0 : 20);
    kvb_reservation_destroy(promise);
    kvb_chain_destroy(chain);
    return status;
}

static kvb_status push(void) {
    begin_with();
    kvb_chain *chain = make_chain(it.pool, it.worker, 1, 0, 0);
    kvb_blocks *blocks = some_blocks(20);
    now_without();
    const kvb_status status = kvb_chain_push(chain, blocks, NULL);
    if (status != KVB_OK) kvb_blocks_destroy(blocks);
    kvb_chain_destroy(chain);
    return status;
}

static kvb_status publish_duplicates(void) {
    begin_with();
    kvb_chain *chain = make_chain(it.pool, it.worker, 20, 0, 0);
    now_without();
    const kvb_contents contents = {it.tokens, 80, NULL, 0, NULL, 0};
    kvb_published done;
    CHECK_OK(kvb_chain_publish(chain, it.worker, &contents, NULL, &done, NULL));
    const int whole = done.stopped == KVB_STOPPED_NOT;
    CHECK(whole || done.stopped == KVB_STOPPED_NO_MEMORY);
    CHECK_EQ(done.stored, 0);
    CHECK_EQ(done.duplicates, kvb_chain_published(chain));
    CHECK(!whole || done.duplicates == 20);
    kvb_chain_destroy(chain);
    return whole ? KVB_OK : KVB_ERR_NO_MEMORY;
}

static kvb_status publish_with_keys(void) {
    begin_with();
    kvb_chain *chain = make_chain(it.pool, it.worker, 1, 0, 0);
    now_without();
    const kvb_contents contents = {it.tokens, 4, keys, 1, NULL, 0};
    kvb_published done;
    const kvb_status status = kvb_chain_publish(chain, it.worker, &contents, NULL, &done, NULL);
    CHECK_EQ(kvb_chain_published(chain), status == KVB_OK);
    kvb_chain_destroy(chain);
    return status;
}

static kvb_status split_chain(void) {
    begin_with();
    kvb_chain *chain = forked(), *tail = NULL;
    now_without();
    const kvb_status status = kvb_chain_split_off(chain, 20, &tail, NULL);
    CHECK_EQ(kvb_chain_published(chain), status == KVB_OK ? 20 : 30);
    kvb_chain_destroy(tail);
    kvb_chain_destroy(chain);
    return status;
}

static kvb_status chain_after(void) {
    begin_with();
    kvb_chain *chain = forked();
    kvb_lanes *lanes = NULL;
    CHECK_OK(kvb_pool_lanes_create(it.pool, &lanes));
    now_without();
    const kvb_status status = kvb_chain_release_after(chain, it.worker, lanes, 0, 5, NULL);
    if (status != KVB_OK) kvb_chain_destroy(chain);
    kvb_lanes_destroy(lanes);
    return status;
}

static kvb_status blocks_after(void) {
    begin_with();
    kvb_blocks *blocks = some_blocks(20);
    kvb_lanes *lanes = NULL;
    CHECK_OK(kvb_pool_lanes_create(it.pool, &lanes));
    now_without();
    const kvb_status status = kvb_blocks_release_after(blocks, it.worker, lanes, 0, 5, NULL);
    if (status != KVB_OK) kvb_blocks_destroy(blocks);
    kvb_lanes_destroy(lanes);
    return status;
}

static kvb_status end_lease(kvb_status status, kvb_lease *lease) {
    CHECK((status == KVB_OK) == (lease != NULL));
    if (lease != NULL) CHECK_OK(kvb_lease_end(lease));
    kvb_lease_destroy(lease);
    return status;
}

static kvb_status grant(void) {
    kvb_lease *lease = NULL;
    const kvb_status status = kvb_leases_grant(it.leases, it.chain, 1, 9, &lease, NULL);
    return end_lease(status, lease);
}

static kvb_status keep(void) {
    begin_with();
    kvb_chain *chain = forked();
    now_without();
    kvb_lease *lease = NULL;
    const kvb_status status = kvb_leases_keep(it.leases, chain, 1, 9, &lease, NULL);
    if (status != KVB_OK) kvb_chain_destroy(chain);
    return end_lease(status, lease);
}

static kvb_status get_lease(void) {
    begin_with();
    kvb_lease *lease = NULL, *another = NULL;
    CHECK_OK(kvb_leases_grant(it.leases, it.chain, 1, 9, &lease, NULL));
    now_without();
    const kvb_status status = kvb_leases_get(it.leases, 1, &another);
    CHECK((status == KVB_OK) == (another != NULL));
    kvb_lease_destroy(another);
    CHECK_OK(end_lease(KVB_OK, lease));
    return status;
}

static kvb_status report_leases(void) {
    kvb_leases_report report;
    report.struct_size = sizeof report;
    return kvb_leases_get_report(it.leases, 0, &report);
}

static kvb_status add(kvb_metrics *metrics) {
    const kvb_label labels[2] = {{"a", "1"}, {"b", "2"}};
    kvb_status status = kvb_metrics_add_pool(metrics, labels, 2, it.pool, NULL);
    if (status == KVB_OK) status = kvb_metrics_add_seqs(metrics, labels, 1, it.seqs, NULL);
    if (status == KVB_OK) status = kvb_metrics_add_registry(metrics, NULL, 0, it.seqs, 0, NULL);
    if (status == KVB_OK) status = kvb_metrics_add_leases(metrics, labels, 2, it.leases, 0, NULL);
    return status;
}

static kvb_status add_metrics(void) {
    begin_with();
    kvb_metrics *metrics = NULL;
    CHECK_OK(kvb_metrics_create(&metrics));
    now_without();
    const kvb_status status = add(metrics);
    kvb_metrics_destroy(metrics);
    return status;
}

/* Also the words of an error need memory. */
static kvb_status add_metrics_twice(void) {
    const kvb_status status = add(it.metrics);
    return status == KVB_ERR_LABELS_TAKEN ? KVB_OK : status;
}

static kvb_status lend_page(void) {
    const char *page;
    size_t length, wanted;
    const kvb_status status = kvb_metrics_page(it.metrics, &page, &length);
    CHECK_OK(kvb_metrics_text(it.metrics, NULL, 0, &wanted));
    CHECK(status != KVB_OK || (length == wanted && strlen(page) == wanted));
    return status;
}

static kvb_status audit(void) {
    const kvb_holder holders[5] = {holder(KVB_HOLDER_CHAIN, it.chain), holder(KVB_HOLDER_RESERVATION, it.promise),
                                   holder(KVB_HOLDER_LEASES, it.leases), holder(KVB_HOLDER_SEQS, it.seqs),
                                   holder(KVB_HOLDER_LANES, it.lanes)};
    return kvb_pool_audit(it.pool, holders, LENGTH(holders), NULL);
}

static const struct {
    const char *name;
    kvb_status (*call)(void);
} attempts[] = {
#define DO(name) {#name, name}
    DO(reserve),      DO(split_promise), DO(take),         DO(find),        DO(find_with_keys),    DO(start_chain),
    DO(fork_chain),   DO(split_blocks),  DO(append_blocks), DO(take_for_chain), DO(push),         DO(publish_duplicates),
    DO(publish_with_keys), DO(split_chain), DO(chain_after), DO(blocks_after), DO(grant),         DO(keep),
    DO(get_lease),    DO(report_leases), DO(snapshot),     DO(make_metrics), DO(add_metrics),     DO(add_metrics_twice),
    DO(lend_page),    DO(audit),
};

int main(void) {
    kvb_hooks hooks = {.struct_size = sizeof hooks, .alloc = counted_alloc, .free = counted_free, .user = &memory};
    CHECK_OK(kvb_set_hooks(&hooks));
    for (size_t at = 0; at < LENGTH(attempts); at++) {
        /* Each begins with buffers that nobody has used. */
        it.pool = make_pool(7, 192, 0, 4);
        it.worker = make_worker(it.pool);
        CHECK_OK(kvb_pool_lanes_create(it.pool, &it.lanes));
        CHECK_OK(kvb_pool_leases_create(it.pool, 1000, &it.leases));
        it.seqs = make_seqs(it.pool, 4);
        count_up(it.tokens, LENGTH(it.tokens), 1);
        it.chain = make_chain(it.pool, it.worker, 40, 30, 1);
        it.promise = make_reservation(it.pool, 60);
        CHECK_OK(kvb_metrics_create(&it.metrics));
        CHECK_OK(add(it.metrics));
        const kvb_pool_report before = pool_report(it.pool);
        for (size_t refused = 1;; refused++) {
            memory.calls = 0;
            memory.refuse = refused;
            const kvb_status status = attempts[at].call();
            memory.refuse = 0;
            const kvb_pool_report after = pool_report(it.pool);
            CHECK_OK(audit());
            if (attempts[at].call != publish_with_keys) {
                CHECK_EQ(after.free, before.free);
                CHECK_EQ(after.idle, before.idle);
            }
            CHECK_EQ(after.held, before.held);
            CHECK_EQ(after.quarantined, 0);
            CHECK_EQ(after.reserved, before.reserved);
            CHECK_EQ(after.shared_references, before.shared_references);
            CHECK_EQ(kvb_leases_used(it.leases, 0), 0);
            if (status == KVB_OK) {
                /* There was something to refuse. */
                if (refused == 1) fprintf(stderr, "%s\n", attempts[at].name);
                CHECK(refused > 1);
                break;
            }
            if (status != KVB_ERR_NO_MEMORY) fprintf(stderr, "%s, allocation %zu\n", attempts[at].name, refused);
            CHECK_STATUS(status, KVB_ERR_NO_MEMORY);
        }
        kvb_metrics_destroy(it.metrics);
        kvb_reservation_destroy(it.promise);
        kvb_chain_destroy(it.chain);
        kvb_seqs_destroy(it.seqs);
        kvb_leases_destroy(it.leases);
        kvb_lanes_destroy(it.lanes);
        kvb_worker_destroy(it.worker);
        kvb_pool_destroy(it.pool);
        CHECK_EQ(memory.live, 0);
    }
    return 0;
}
