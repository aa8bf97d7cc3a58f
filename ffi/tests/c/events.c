/* What became findable and what ceased to be, read by its numbers; snapshots. */
#include "chain.h"

typedef struct {
    kvb_pool *pool;
    kvb_worker *worker;
} fixture;

/* A pool of 8 blocks that keeps the last `events` events. */
static fixture begin(size_t events) {
    kvb_pool_config config;
    memset(&config, 0, sizeof config);
    config.struct_size = sizeof config;
    config.shard = 7;
    config.blocks = 8;
    config.block_size = 4;
    config.events = events;
    fixture it;
    CHECK_OK(kvb_pool_create(&config, &it.pool, NULL));
    it.worker = make_worker(it.pool);
    return it;
}

static void end(fixture *it) {
    kvb_worker_destroy(it->worker);
    kvb_pool_destroy(it->pool);
}

/* Reads `wanted` events into a buffer of `capacity`, and as many are lost. */
static void read_events(const fixture *it, uint64_t *position, kvb_event *events, size_t capacity, size_t wanted,
                        uint64_t wanted_lost) {
    size_t count = 99;
    uint64_t lost = 99;
    CHECK_OK(kvb_pool_read_events(it->pool, position, events, capacity, &count, &lost));
    CHECK_EQ(count, wanted);
    CHECK_EQ(lost, wanted_lost);
}

static void each_event_is_read_once(void) {
    fixture it = begin(16);
    kvb_chain *chain = make_chain(it.pool, it.worker, 3, 3, 1);
    uint64_t position = 0;
    kvb_event events[8];

    /* A short buffer: the next call goes on behind it. */
    read_events(&it, &position, events, 2, 2, 0);
    CHECK_EQ(position, 2);
    read_events(&it, &position, events + 2, 6, 1, 0);
    CHECK_EQ(position, 3);
    read_events(&it, &position, events + 3, 5, 0, 0);
    for (uint32_t at = 0; at < 3; at++) {
        CHECK_EQ(events[at].sequence, at);
        CHECK_EQ(events[at].kind, KVB_EVENT_STORED);
        CHECK_EQ(events[at].copy.block, at);
        CHECK_EQ(events[at].copy.depth, at);
        CHECK_EQ(events[at].copy.has_parent, at > 0);
        CHECK_EQ(events[at].copy.parent_key, at > 0 ? events[at - 1].copy.key : 0);
        CHECK_EQ(events[at].reserved, 0);
        CHECK_EQ(events[at].copy.reserved, 0);
    }

    /* Evicted leaf first, then a cleared namespace. */
    kvb_chain_destroy(chain);
    CHECK_OK(kvb_pool_evict(it.pool, it.worker, 1, NULL, NULL));
    CHECK_OK(kvb_pool_clear(it.pool, it.worker, NULL, NULL, NULL));
    read_events(&it, &position, events + 3, 5, 3, 0);
    const uint32_t kinds[3] = {KVB_EVENT_REMOVED, KVB_EVENT_CLEARED, KVB_EVENT_CLEARED};
    for (uint32_t at = 0; at < 3; at++) {
        CHECK_EQ(events[3 + at].sequence, 3 + at);
        CHECK_EQ(events[3 + at].kind, kinds[at]);
        CHECK_EQ(events[3 + at].copy.block, 2 - at);
        CHECK_EQ(events[3 + at].copy.generation, events[2 - at].copy.generation);
        CHECK_EQ(events[3 + at].copy.key, events[2 - at].copy.key);
    }

    /* Another reader is another position; none is a place behind the end. */
    position = 0;
    read_events(&it, &position, events, 8, 6, 0);
    position = 1000;
    read_events(&it, &position, events, 8, 0, 0);
    CHECK_EQ(position, 1000);
    end(&it);
}

static void lost_events_are_counted_and_made_up_for(void) {
    fixture it = begin(4);
    kvb_chain *first = make_chain(it.pool, it.worker, 3, 3, 1);
    kvb_chain *second = make_chain(it.pool, it.worker, 3, 3, 100);
    uint64_t position = 0;
    kvb_event events[8];
    read_events(&it, &position, events, 8, 4, 2);
    CHECK_EQ(position, 6);
    CHECK_EQ(events[0].sequence, 2);

    kvb_snapshot *snapshot = NULL;
    CHECK_OK(kvb_pool_snapshot_create(it.pool, &snapshot));
    kvb_chain_destroy(first);
    kvb_chain_destroy(second);
    end(&it);

    /* It needs nobody else. Parents come before children. */
    CHECK_EQ(kvb_snapshot_from(snapshot), 6);
    CHECK_EQ(kvb_snapshot_to(snapshot), 6);
    const kvb_findable *copies;
    size_t count;
    CHECK_OK(kvb_snapshot_copies(snapshot, &copies, &count));
    CHECK_EQ(count, 6);
    for (uint32_t at = 0; at < 6; at++) {
        CHECK_EQ(copies[at].depth, at / 2);
        CHECK_EQ(copies[at].block, at / 2 + at % 2 * 3);
        CHECK_EQ(copies[at].has_parent, at >= 2);
        CHECK_EQ(copies[at].parent_key, at >= 2 ? copies[at - 2].key : 0);
    }
    /* Event 2 was the last block of the first chain. */
    CHECK_EQ(events[0].copy.block, 2);
    CHECK_EQ(events[0].copy.key, copies[4].key);
    CHECK_EQ(events[0].copy.generation, copies[4].generation);
    kvb_snapshot_destroy(snapshot);
}

static void a_pool_without_events(void) {
    fixture it = begin(0);
    kvb_chain *chain = make_chain(it.pool, it.worker, 2, 1, 1);
    kvb_event events[2];
    uint64_t position = 5, lost = 5;
    size_t count = 5;
    CHECK_STATUS(kvb_pool_read_events(it.pool, &position, events, 2, &count, &lost), KVB_ERR_NO_EVENTS);
    CHECK(position == 5 && count == 5 && lost == 5);
    kvb_snapshot *snapshot = NULL;
    CHECK_OK(kvb_pool_snapshot_create(it.pool, &snapshot));
    CHECK_EQ(kvb_snapshot_from(snapshot), 0);
    CHECK_EQ(kvb_snapshot_to(snapshot), 0);
    const kvb_findable *copies;
    CHECK_OK(kvb_snapshot_copies(snapshot, &copies, &count));
    CHECK_EQ(count, 1);
    kvb_snapshot_destroy(snapshot);
    kvb_chain_destroy(chain);
    end(&it);
}

static void null_is_an_error(void) {
    fixture it = begin(4);
    kvb_event events[2];
    uint64_t position = 0;
    size_t count = 5;
    CHECK_STATUS(kvb_pool_read_events(NULL, &position, events, 2, &count, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_pool_read_events(it.pool, NULL, events, 2, &count, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_pool_read_events(it.pool, &position, NULL, 2, &count, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_pool_read_events(it.pool, &position, events, 2, NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_pool_read_events(it.pool, &position, events, SIZE_MAX, &count, NULL), KVB_ERR_LENGTH);
    CHECK_OK(kvb_pool_read_events(it.pool, &position, NULL, 0, &count, NULL));
    CHECK_EQ(count, 0);
    kvb_snapshot *snapshot = NULL;
    const kvb_findable *copies;
    CHECK_STATUS(kvb_pool_snapshot_create(NULL, &snapshot), KVB_ERR_NULL);
    CHECK_STATUS(kvb_pool_snapshot_create(it.pool, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_snapshot_copies(NULL, &copies, &count), KVB_ERR_NULL);
    CHECK_EQ(kvb_snapshot_from(NULL), 0);
    CHECK_EQ(kvb_snapshot_to(NULL), 0);
    kvb_snapshot_destroy(NULL);
    CHECK_OK(kvb_pool_snapshot_create(it.pool, &snapshot));
    CHECK_STATUS(kvb_snapshot_copies(snapshot, NULL, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_snapshot_copies(snapshot, &copies, NULL), KVB_ERR_NULL);
    kvb_snapshot_destroy(snapshot);
    end(&it);
}

int main(void) {
    each_event_is_read_once();
    lost_events_are_counted_and_made_up_for();
    a_pool_without_events();
    null_is_an_error();
    return 0;
}
