/* Memory hooks: sizes and alignments that come back as they went, no memory at any point of any call, and no allocation after creation. */
#include "make.h"

enum { MOST = 4096 };

/* A piece that the library has: from where, how long, how aligned. */
struct piece {
    void *raw;
    void *memory;
    size_t size;
    size_t align;
};

struct ledger {
    struct piece pieces[MOST];
    size_t live;
    size_t calls;
    /* The call that is refused, counted from 1; 0 refuses none. */
    size_t refuse;
};

static struct ledger book;

static void *hooked_alloc(size_t size, size_t align, void *user) {
    struct ledger *it = user;
    CHECK(it == &book);
    CHECK(size > 0 && align > 0 && (align & (align - 1)) == 0);
    if (++it->calls == it->refuse) return NULL;
    CHECK(it->live < MOST);
    struct piece piece = {malloc(size + align), NULL, size, align};
    CHECK(piece.raw != NULL);
    uintptr_t at = ((uintptr_t)piece.raw + align - 1) & ~(uintptr_t)(align - 1);
    piece.memory = (void *)at;
    memset(piece.memory, 0xcd, size);
    it->pieces[it->live++] = piece;
    return piece.memory;
}

static void hooked_free(void *memory, size_t size, size_t align, void *user) {
    struct ledger *it = user;
    for (size_t i = it->live; i-- > 0;) {
        struct piece piece = it->pieces[i];
        if (piece.memory != memory) continue;
        CHECK_EQ(size, piece.size);
        CHECK_EQ(align, piece.align);
        memset(memory, 0xdd, size);
        free(piece.raw);
        it->pieces[i] = it->pieces[--it->live];
        return;
    }
    CHECK(!"memory that was not given");
}

static void hooked_panic(const char *message, size_t length, void *user) {
    CHECK(user == &book);
    fprintf(stderr, "%.*s\n", (int)length, message);
}

struct scene {
    kvb_pool *pools[3];
    kvb_seqs *seqs;
    kvb_worker *worker;
    kvb_lanes *lanes;
    kvb_step *step;
    kvb_leases *leases;
    kvb_format *format;
    kvb_handle seq;
    uint32_t tokens[64];
};

/* Each tries a call that makes something, and undoes what it made. */
typedef kvb_status (*attempt)(struct scene *it);

#define MAKES(name, type, call, destroy) \
    static kvb_status name(struct scene *it) { \
        (void)it; \
        type *out = (type *)it; \
        kvb_status status = call; \
        CHECK((status == KVB_OK) == (out != (type *)it)); \
        if (status == KVB_OK) destroy(out); \
        return status; \
    }

static kvb_pool_config config_of_pool(void) {
    kvb_pool_config config = {.struct_size = sizeof config, .shard = 9, .blocks = 40, .block_size = 4, .events = 8};
    return config;
}

static kvb_status pool_of(kvb_pool **out, uint32_t proof) {
    kvb_pool_config config = config_of_pool();
    config.proof = proof;
    return kvb_pool_create(&config, out, NULL);
}

static kvb_status seqs_of(struct scene *it, size_t shards, size_t positions, const kvb_format *format, kvb_seqs **out) {
    const kvb_format *const formats[3] = {format, format, format};
    kvb_seqs_config config = seqs_config(3);
    config.positions = positions;
    config.formats = formats;
    config.format_count = format == NULL ? 0 : shards;
    const kvb_pool *const pools[3] = {it->pools[0], it->pools[1], it->pools[2]};
    return kvb_seqs_create(pools, shards, &config, out, NULL);
}

static kvb_status lockstep_of(kvb_seqs **out) {
    const kvb_rank ranks[2] = {{1, 0, 12, 0}, {2, 0, 10, 0}};
    kvb_pool_config pool = config_of_pool();
    kvb_seqs_config config = seqs_config(3);
    config.positions = 16;
    return kvb_seqs_create_lockstep(ranks, 2, &pool, &config, out, NULL);
}

static kvb_status another_of(struct scene *it, kvb_seqs **out) {
    kvb_seqs_config config = seqs_config(3);
    config.positions = 16;
    return kvb_seqs_create_another(it->seqs, &config, out, NULL);
}

static kvb_status space_of(kvb_namespace **out) {
    const kvb_namespace_parts parts = {.struct_size = sizeof parts,
                                       .adapter = (const unsigned char *)"lora",
                                       .adapter_size = 4,
                                       .salt = (const unsigned char *)"s",
                                       .salt_size = 1,
                                       .domain = (const unsigned char *)"",
                                       .domain_size = 0};
    return kvb_namespace_create(&parts, out);
}

static kvb_status layout_of(kvb_layout **out) {
    const kvb_plane planes[2] = {{0, 64, 64}, {4096, 64, 64}};
    return kvb_layout_create(planes, 2, 12, out, NULL);
}

static const uint64_t planes[3] = {64, 64, 32};

MAKES(make_a_pool, kvb_pool, pool_of(&out, KVB_PROOF_TOKENS), kvb_pool_destroy)
MAKES(make_a_digest_pool, kvb_pool, pool_of(&out, KVB_PROOF_DIGEST), kvb_pool_destroy)
MAKES(make_a_worker, kvb_worker, kvb_worker_create(it->pools[0], &out, NULL), kvb_worker_destroy)
MAKES(make_a_registry, kvb_seqs, seqs_of(it, 1, 0, NULL, &out), kvb_seqs_destroy)
MAKES(make_a_split, kvb_seqs, seqs_of(it, 3, 32, it->format, &out), kvb_seqs_destroy)
MAKES(make_lockstep, kvb_seqs, lockstep_of(&out), kvb_seqs_destroy)
MAKES(make_another, kvb_seqs, another_of(it, &out), kvb_seqs_destroy)
MAKES(make_a_step, kvb_step, kvb_step_create(it->seqs, 4, 16, &out), kvb_step_destroy)
MAKES(make_lanes, kvb_lanes, kvb_seqs_lanes_create(it->seqs, &out), kvb_lanes_destroy)
MAKES(make_a_lane, kvb_lanes, kvb_pool_lanes_create(it->pools[0], &out), kvb_lanes_destroy)
MAKES(make_a_namespace, kvb_namespace, space_of(&out), kvb_namespace_destroy)
MAKES(make_a_format, kvb_format, kvb_format_create(4, 1, planes, 3, &out, NULL), kvb_format_destroy)
MAKES(make_a_layout, kvb_layout, layout_of(&out), kvb_layout_destroy)
MAKES(make_leases, kvb_leases, kvb_seqs_leases_create(it->seqs, 8, &out), kvb_leases_destroy)
MAKES(make_pool_leases, kvb_leases, kvb_pool_leases_create(it->pools[0], 8, &out), kvb_leases_destroy)

/* Of each call that may allocate what it takes: nothing may have changed where it could not. */
static kvb_status tell_text(struct scene *it) {
    char text[64];
    return kvb_seqs_report_text(it->seqs, text, sizeof text, NULL);
}
static kvb_status report(struct scene *it) {
    kvb_seqs_report report = {.struct_size = sizeof report};
    return kvb_seqs_get_report(it->seqs, &report);
}
static kvb_status shard_report(struct scene *it) {
    kvb_registry_report report = {.struct_size = sizeof report};
    return kvb_seqs_get_shard_report(it->seqs, 0, &report);
}
static kvb_status audit(struct scene *it) {
    kvb_holder others[2] = {holder(KVB_HOLDER_LANES, it->lanes), holder(KVB_HOLDER_LEASES, it->leases)};
    return kvb_seqs_audit(it->seqs, others, 2, NULL);
}
static kvb_status victims(struct scene *it) {
    kvb_handle victim;
    size_t count;
    const size_t need[3] = {1, 1, 1};
    return kvb_seqs_select_victims(it->seqs, &it->seq, 1, need, 3, &victim, &count, NULL, NULL);
}
static kvb_status shrink(struct scene *it) {
    return kvb_pool_shrink(it->pools[0], it->worker, 0, NULL, NULL);
}
static kvb_status shrink_all(struct scene *it) {
    return kvb_seqs_shrink(it->seqs, 0, NULL);
}
static kvb_status clear(struct scene *it) {
    return kvb_pool_clear(it->pools[0], it->worker, NULL, NULL, NULL);
}
static kvb_status invalidate(struct scene *it) {
    size_t count;
    return kvb_seqs_invalidate(it->seqs, 0, 30, NULL, 0, &count, NULL);
}
static kvb_status check_with_keys(struct scene *it) {
    const kvb_extra_key extra[2] = {{1, 2}, {3, 4}};
    kvb_admit asked = request(it->tokens, 8);
    asked.prompt.extra = extra;
    asked.prompt.extra_count = 2;
    return kvb_seqs_check(it->seqs, &asked, NULL, NULL);
}
static kvb_status admit_long(struct scene *it) {
    kvb_admit asked = request(it->tokens, 60);
    kvb_admitted admitted;
    kvb_status status = kvb_seqs_admit(it->seqs, &asked, &admitted, NULL);
    if (status == KVB_OK) CHECK_OK(kvb_seqs_release(it->seqs, &admitted.seq, 1));
    return status;
}
static kvb_status fork_one(struct scene *it) {
    kvb_handle child = {77};
    kvb_status status = kvb_seqs_fork(it->seqs, it->seq, &child, 1, NULL);
    CHECK((status == KVB_OK) == (child.bits != 77));
    if (status == KVB_OK) CHECK_OK(kvb_seqs_release(it->seqs, &child, 1));
    return status;
}
static kvb_status pin(struct scene *it) {
    kvb_lease *lease = NULL;
    kvb_status status = kvb_seqs_pin(it->seqs, it->seq, it->leases, 3, 9, &lease, NULL);
    CHECK((status == KVB_OK) == (lease != NULL));
    if (status == KVB_OK) CHECK_OK(kvb_lease_end(lease));
    kvb_lease_destroy(lease);
    return status;
}
static kvb_status detach(struct scene *it) {
    kvb_detached *out = NULL;
    kvb_status status = kvb_seqs_detach(it->seqs, it->seq, &out, NULL);
    CHECK((status == KVB_OK) == (out != NULL));
    if (status == KVB_OK) CHECK_OK(kvb_seqs_attach(it->seqs, out, &it->seq, NULL));
    return status;
}
static kvb_status truncate_after(struct scene *it) {
    return kvb_seqs_truncate_after(it->seqs, it->seq, 10, it->lanes, 1, NULL);
}
static kvb_status append_long(struct scene *it) {
    kvb_status status = kvb_seqs_append(it->seqs, it->seq, 40, it->step, NULL);
    if (status == KVB_OK) CHECK_OK(kvb_seqs_truncate(it->seqs, it->seq, 10, NULL));
    return status;
}
static kvb_status step_wide(struct scene *it) {
    kvb_append batch[40];
    for (size_t i = 0; i < 40; i++) batch[i] = (kvb_append){it->seq, 0};
    return kvb_seqs_step(it->seqs, batch, 40, it->step);
}
static kvb_status close_after(struct scene *it) {
    kvb_seqs *out = NULL;
    size_t refuse = book.refuse;
    book.refuse = 0;
    CHECK_OK(another_of(it, &out));
    admit(out, it->tokens, 10, 0);
    book.refuse = refuse;
    book.calls = 0;
    kvb_status status = kvb_seqs_close_after(out, it->lanes, 1, NULL);
    if (status != KVB_OK) {
        CHECK_EQ(kvb_seqs_count(out), 1);
        kvb_seqs_destroy(out);
    } else {
        for (size_t i = 0; i < 3; i++) CHECK_OK(kvb_lanes_complete(it->lanes, i, 1, NULL));
    }
    return status;
}

static const struct {
    const char *name;
    attempt call;
    int makes;
} attempts[] = {
#define MAKE(name) {#name, name, 1}
#define DO(name) {#name, name, 0}
    MAKE(make_a_pool),   MAKE(make_a_digest_pool), MAKE(make_a_worker), MAKE(make_a_registry), MAKE(make_a_split),
    MAKE(make_lockstep), MAKE(make_another),       MAKE(make_a_step),   MAKE(make_lanes),      MAKE(make_a_lane),
    MAKE(make_a_namespace), MAKE(make_a_format),   MAKE(make_a_layout), MAKE(make_leases),     MAKE(make_pool_leases),
    DO(tell_text),       DO(report),               DO(shard_report),    DO(audit),             DO(victims),
    DO(shrink),          DO(shrink_all),           DO(clear),           DO(invalidate),        DO(check_with_keys),
    DO(admit_long),      DO(fork_one),             DO(pin),             DO(detach),            DO(truncate_after),
    DO(append_long),     DO(step_wide),            DO(close_after),
};

/* Refuses the first allocation of each, then the second, ..., until it succeeds. */
static void no_memory_anywhere(void) {
    struct scene it;
    for (uint32_t i = 0; i < 3; i++) it.pools[i] = make_pool(i, 32, 40, 4);
    CHECK_OK(kvb_format_create(4, 1, planes, 3, &it.format, NULL));
    CHECK_OK(seqs_of(&it, 3, 16, it.format, &it.seqs));
    CHECK_OK(kvb_worker_create(it.pools[0], &it.worker, NULL));
    CHECK_OK(kvb_seqs_lanes_create(it.seqs, &it.lanes));
    CHECK_OK(kvb_step_create(it.seqs, 2, 2, &it.step));
    CHECK_OK(kvb_seqs_leases_create(it.seqs, 64, &it.leases));
    count_up(it.tokens, LENGTH(it.tokens), 1);
    it.seq = admit(it.seqs, it.tokens, 10, 1).seq;
    for (size_t i = 0; i < LENGTH(attempts); i++) {
        if (attempts[i].call == pin) CHECK_OK(kvb_seqs_computed(it.seqs, it.seq, 10, NULL));
        kvb_pool_report before = pool_report(it.pools[0]);
        size_t live = book.live;
        for (size_t refused = 1;; refused++) {
            book.calls = 0;
            book.refuse = refused;
            kvb_status status = attempts[i].call(&it);
            book.refuse = 0;
            if (status == KVB_OK) {
                CHECK(book.calls < refused);
                /* There was something to refuse. */
                CHECK(refused > 1 || !attempts[i].makes);
                break;
            }
            if (status != KVB_ERR_NO_MEMORY) fprintf(stderr, "%s, allocation %zu\n", attempts[i].name, refused);
            CHECK_STATUS(status, KVB_ERR_NO_MEMORY);
            kvb_pool_report after = pool_report(it.pools[0]);
            CHECK_EQ(after.free, before.free);
            CHECK_EQ(after.idle, before.idle);
            CHECK_EQ(after.held, before.held);
            CHECK_EQ(after.quarantined, before.quarantined);
            CHECK_EQ(after.reserved, before.reserved);
            CHECK_EQ(after.shared_references, before.shared_references);
            CHECK_EQ(state_of(it.seqs, it.seq).positions, 10);
            CHECK_EQ(kvb_seqs_count(it.seqs), 1);
            if (attempts[i].makes) CHECK_EQ(book.live, live);
            CHECK_OK(audit(&it));
        }
        if (attempts[i].makes) CHECK_EQ(book.live, live);
        CHECK_OK(audit(&it));
    }
    kvb_leases_destroy(it.leases);
    kvb_step_destroy(it.step);
    kvb_lanes_destroy(it.lanes);
    kvb_worker_destroy(it.worker);
    kvb_seqs_destroy(it.seqs);
    kvb_format_destroy(it.format);
    for (size_t i = 0; i < 3; i++) kvb_pool_destroy(it.pools[i]);
    CHECK_EQ(book.live, 0);
}

/* With `positions` said and a step with room no call of a step's cycle allocates, from the first one on. */
static void no_allocation_after_creation(size_t shards) {
    struct scene it;
    for (uint32_t i = 0; i < 3; i++) it.pools[i] = make_pool(i, 64, 0, 4);
    kvb_seqs_config config = seqs_config(4);
    config.positions = 32;
    const kvb_pool *const pools[3] = {it.pools[0], it.pools[1], it.pools[2]};
    CHECK_OK(kvb_seqs_create(pools, shards, &config, &it.seqs, NULL));
    CHECK_OK(kvb_step_create(it.seqs, 4, 16, &it.step));
    count_up(it.tokens, LENGTH(it.tokens), 1);
    size_t live = book.live;
    book.calls = 0;
    for (size_t round = 0; round < 20; round++) {
        kvb_admit asked = request(it.tokens, 18);
        asked.growth = (uint32_t)(round % 3);
        asked.growth_amount = 3;
        asked.label = round % 2;
        kvb_admitted first, second;
        CHECK_OK(kvb_seqs_admit(it.seqs, &asked, &first, NULL));
        CHECK_OK(kvb_seqs_computed(it.seqs, first.seq, 18, NULL));
        CHECK_OK(kvb_seqs_admit(it.seqs, &asked, &second, NULL));
        CHECK_OK(kvb_seqs_computed(it.seqs, second.seq, 18, NULL));
        kvb_handle branches[2];
        CHECK_OK(kvb_seqs_fork(it.seqs, second.seq, branches, 2, NULL));
        const kvb_append batch[4] = {{first.seq, 1}, {second.seq, 2}, {branches[0], 3}, {branches[1], 1}};
        CHECK_OK(kvb_seqs_step(it.seqs, batch, 4, it.step));
        for (size_t shard = 0; shard < shards; shard++) {
            kvb_step_lists lists = lists_of(it.step, shard);
            CHECK_EQ(lists.slot_count, 7);
            CHECK(lists.copy_count >= 2);
            CHECK_OK(kvb_seqs_copied(it.seqs, shard, lists.copies, lists.copy_count));
        }
        kvb_progress done[4];
        for (size_t i = 0; i < 4; i++) done[i] = (kvb_progress){batch[i].seq, 18, it.tokens + i, batch[i].positions, 18 + batch[i].positions};
        CHECK_OK(kvb_seqs_advance(it.seqs, done, 4, NULL, NULL));
        CHECK_OK(kvb_seqs_truncate(it.seqs, branches[0], 18, NULL));
        CHECK_OK(kvb_seqs_truncate(it.seqs, branches[1], 5, NULL));
        int32_t rows[4 * 8];
        const kvb_handle all[4] = {first.seq, second.seq, branches[0], branches[1]};
        CHECK_OK(kvb_seqs_copy_tables(it.seqs, 0, all, 4, rows, 8, NULL, NULL));
        CHECK_OK(kvb_seqs_preempt(it.seqs, all, 2));
        CHECK_OK(kvb_seqs_release(it.seqs, all + 2, 2));
        CHECK_EQ(book.calls, 0);
        CHECK_EQ(book.live, live);
    }
    check_audit(it.seqs, NULL, 0);
    kvb_step_destroy(it.step);
    kvb_seqs_destroy(it.seqs);
    for (size_t i = 0; i < 3; i++) kvb_pool_destroy(it.pools[i]);
    CHECK_EQ(book.live, 0);
}

int main(void) {
    kvb_hooks hooks = {.struct_size = sizeof hooks, .alloc = hooked_alloc, .user = &book};
    CHECK_STATUS(kvb_set_hooks(&hooks), KVB_ERR_INVALID);
    hooks.alloc = NULL;
    hooks.free = hooked_free;
    CHECK_STATUS(kvb_set_hooks(&hooks), KVB_ERR_INVALID);
    hooks.struct_size = 4;
    CHECK_STATUS(kvb_set_hooks(&hooks), KVB_ERR_STRUCT_SIZE);
    hooks.struct_size = sizeof hooks;
    hooks.reserved = 1;
    CHECK_STATUS(kvb_set_hooks(&hooks), KVB_ERR_STRUCT_SIZE);

    /* The one for panics alone leaves memory to the library. */
    hooks = (kvb_hooks){.struct_size = sizeof hooks, .panic = hooked_panic, .user = &book};
    CHECK_OK(kvb_set_hooks(&hooks));
    kvb_pool *pool = make_pool(0, 8, 0, 4);
    CHECK_EQ(book.calls, 0);
    hooks.alloc = hooked_alloc;
    hooks.free = hooked_free;
    CHECK_STATUS(kvb_set_hooks(&hooks), KVB_ERR_IN_USE);
    CHECK_STATUS(kvb_set_hooks(NULL), KVB_ERR_IN_USE);
    kvb_pool_destroy(pool);

    CHECK_OK(kvb_set_hooks(&hooks));
    no_memory_anywhere();
    no_allocation_after_creation(1);
    no_allocation_after_creation(3);
    CHECK_OK(kvb_set_hooks(NULL));
    size_t calls = book.calls;
    kvb_pool_destroy(make_pool(0, 8, 0, 4));
    CHECK_EQ(book.calls, calls);
    return 0;
}
