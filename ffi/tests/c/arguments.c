/* Arguments that cannot be: sizes of structs, reserved fields, absurd lengths, pointers that are not aligned, short buffers. */
#include "make.h"

/* A struct of a later header: the same with room behind it. */
union later {
    uint32_t struct_size;
    unsigned char bytes[4100];
    kvb_pool_config pool;
    kvb_seqs_config seqs;
    kvb_admit admit;
    kvb_namespace_parts parts;
    kvb_hooks hooks;
    kvb_state state;
    kvb_pool_report pool_report;
    kvb_seqs_report report;
    kvb_registry_report registry;
    kvb_rank_report rank;
    kvb_error error;
    kvb_plan_input input;
    kvb_plan plan;
    kvb_instance_plan instance_plan;
    kvb_member member;
    kvb_fleet_statistics statistics;
    kvb_leases_report leases;
};

struct scene {
    kvb_pool *pool;
    kvb_seqs *seqs;
    kvb_handle seq;
    uint32_t tokens[10];
};

typedef kvb_status (*reading)(const struct scene *it, const union later *given);

static kvb_status read_pool(const struct scene *it, const union later *given) {
    (void)it;
    kvb_pool *pool = NULL;
    kvb_status status = kvb_pool_create(&given->pool, &pool, NULL);
    CHECK((status == KVB_OK) == (pool != NULL));
    kvb_pool_destroy(pool);
    return status;
}

static kvb_status read_seqs(const struct scene *it, const union later *given) {
    const kvb_pool *pool = it->pool;
    kvb_seqs *seqs = NULL;
    kvb_status status = kvb_seqs_create(&pool, 1, &given->seqs, &seqs, NULL);
    CHECK((status == KVB_OK) == (seqs != NULL));
    kvb_seqs_destroy(seqs);
    return status;
}

static kvb_status read_admit(const struct scene *it, const union later *given) {
    return kvb_seqs_check(it->seqs, &given->admit, NULL, NULL);
}

static kvb_status read_parts(const struct scene *it, const union later *given) {
    (void)it;
    kvb_namespace *space = NULL;
    kvb_status status = kvb_namespace_create(&given->parts, &space);
    CHECK((status == KVB_OK) == (space != NULL));
    kvb_namespace_destroy(space);
    return status;
}

static kvb_status read_input(const struct scene *it, const union later *given) {
    (void)it;
    kvb_plan plan = {.struct_size = sizeof plan};
    return kvb_plan_rank(&given->input, &plan, NULL);
}

static kvb_status read_member(const struct scene *it, const union later *given) {
    kvb_fleet *fleet = NULL;
    CHECK_OK(kvb_fleet_create(&fleet));
    kvb_seqs *seqs = make_seqs(it->pool, 1);
    uint64_t name;
    kvb_status status = kvb_fleet_add(fleet, seqs, &given->member, &name, NULL);
    if (status != KVB_OK) kvb_seqs_destroy(seqs);
    kvb_fleet_destroy(fleet);
    return status;
}

/* What is read: too small and absurd sizes are refused, a larger one only if there is something in the part that is not known. */
static void read_sizes(const struct scene *it, reading call, union later good, size_t size) {
    good.struct_size = (uint32_t)size;
    memset(good.bytes + size, 0, sizeof good.bytes - size);
    CHECK_OK(call(it, &good));
    const size_t wrong[4] = {0, size - 1, 4097, UINT32_MAX};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        good.struct_size = (uint32_t)wrong[i];
        CHECK_STATUS(call(it, &good), KVB_ERR_STRUCT_SIZE);
    }
    good.struct_size = (uint32_t)(size + 32);
    CHECK_OK(call(it, &good));
    for (size_t at = size; at < size + 32; at++) {
        good.bytes[at] = 1;
        CHECK_STATUS(call(it, &good), KVB_ERR_STRUCT_SIZE);
        good.bytes[at] = 0;
    }
    good.bytes[size + 32] = 1;
    CHECK_OK(call(it, &good));
}

typedef kvb_status (*writing)(const struct scene *it, union later *out);

static kvb_status write_state(const struct scene *it, union later *out) {
    return kvb_seqs_get_state(it->seqs, it->seq, &out->state);
}
static kvb_status write_pool_report(const struct scene *it, union later *out) {
    return kvb_pool_get_report(it->pool, &out->pool_report);
}
static kvb_status write_report(const struct scene *it, union later *out) {
    return kvb_seqs_get_report(it->seqs, &out->report);
}
static kvb_status write_registry(const struct scene *it, union later *out) {
    return kvb_seqs_get_shard_report(it->seqs, 0, &out->registry);
}
static kvb_status write_rank(const struct scene *it, union later *out) {
    return kvb_seqs_get_rank_report(it->seqs, 0, &out->rank);
}
static kvb_plan_input input(void) {
    kvb_plan_input input;
    memset(&input, 0, sizeof input);
    input.struct_size = sizeof input;
    input.device_memory = 1 << 20;
    input.layers = input.kv_heads = input.head_size = input.element_bits = 8;
    input.block_size = 4;
    return input;
}
static kvb_status write_plan(const struct scene *it, union later *out) {
    (void)it;
    const kvb_plan_input rank = input();
    return kvb_plan_rank(&rank, &out->plan, NULL);
}
static kvb_status write_instance_plan(const struct scene *it, union later *out) {
    (void)it;
    const kvb_plan_input rank = input();
    const kvb_plan_input *const ranks[1] = {&rank};
    return kvb_plan_ranks(ranks, 1, &out->instance_plan, NULL, NULL);
}
static kvb_status write_statistics(const struct scene *it, union later *out) {
    (void)it;
    kvb_fleet *fleet = NULL;
    CHECK_OK(kvb_fleet_create(&fleet));
    kvb_status status = kvb_fleet_get_statistics(fleet, &out->statistics);
    kvb_fleet_destroy(fleet);
    return status;
}
static kvb_status write_leases(const struct scene *it, union later *out) {
    kvb_leases *leases = NULL;
    CHECK_OK(kvb_seqs_leases_create(it->seqs, 1, &leases));
    kvb_status status = kvb_leases_get_report(leases, 0, &out->leases);
    kvb_leases_destroy(leases);
    return status;
}
static kvb_status write_error(const struct scene *it, union later *out) {
    kvb_status status = kvb_seqs_computed(it->seqs, it->seq, 11, &out->error);
    return status == KVB_ERR_BEYOND ? KVB_OK : status;
}

/* What is written: as much as fits, zero where the library knows nothing, the size as it was, and nothing behind it. */
static void write_sizes(const struct scene *it, writing call, size_t size) {
    union later out;
    const size_t wrong[4] = {0, size - 1, 4097, UINT32_MAX};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        memset(&out, 0xab, sizeof out);
        out.struct_size = (uint32_t)wrong[i];
        CHECK_STATUS(call(it, &out), KVB_ERR_STRUCT_SIZE);
        for (size_t at = 4; at < sizeof out.bytes; at++) CHECK_EQ(out.bytes[at], 0xab);
    }
    memset(&out, 0xab, sizeof out);
    out.struct_size = (uint32_t)(size + 32);
    CHECK_OK(call(it, &out));
    CHECK_EQ(out.struct_size, size + 32);
    for (size_t at = size; at < size + 32; at++) CHECK_EQ(out.bytes[at], 0);
    for (size_t at = size + 32; at < sizeof out.bytes; at++) CHECK_EQ(out.bytes[at], 0xab);
}

static void sizes(const struct scene *it) {
    union later given;
    memset(&given, 0, sizeof given);
    given.pool.blocks = given.pool.block_size = 4;
    read_sizes(it, read_pool, given, sizeof given.pool);
    memset(&given, 0, sizeof given);
    given.seqs.max_sequences = 1;
    read_sizes(it, read_seqs, given, sizeof given.seqs);
    memset(&given, 0, sizeof given);
    given.admit = request(it->tokens, 10);
    read_sizes(it, read_admit, given, sizeof given.admit);
    memset(&given, 0, sizeof given);
    read_sizes(it, read_parts, given, sizeof given.parts);

    memset(&given, 0, sizeof given);
    given.input = input();
    read_sizes(it, read_input, given, sizeof given.input);
    memset(&given, 0, sizeof given);
    given.member.service = 1;
    read_sizes(it, read_member, given, sizeof given.member);

    write_sizes(it, write_plan, sizeof(kvb_plan));
    write_sizes(it, write_instance_plan, sizeof(kvb_instance_plan));
    write_sizes(it, write_statistics, sizeof(kvb_fleet_statistics));
    write_sizes(it, write_leases, sizeof(kvb_leases_report));
    write_sizes(it, write_state, sizeof(kvb_state));
    write_sizes(it, write_pool_report, sizeof(kvb_pool_report));
    write_sizes(it, write_report, sizeof(kvb_seqs_report));
    write_sizes(it, write_registry, sizeof(kvb_registry_report));
    write_sizes(it, write_rank, sizeof(kvb_rank_report));
    write_sizes(it, write_error, sizeof(kvb_error));

    /* An error that cannot be told ends the call before it did anything. */
    kvb_error none = {.struct_size = 8};
    CHECK_STATUS(kvb_seqs_truncate(it->seqs, it->seq, 0, &none), KVB_ERR_STRUCT_SIZE);
    CHECK_EQ(state_of(it->seqs, it->seq).positions, 10);
    /* A call that succeeds does not touch it. */
    kvb_error untouched;
    memset(&untouched, 0xab, sizeof untouched);
    untouched.struct_size = sizeof untouched;
    kvb_error before = untouched;
    CHECK_OK(kvb_seqs_computed(it->seqs, it->seq, 0, &untouched));
    CHECK(memcmp(&before, &untouched, sizeof before) == 0);
}

static void reserved_fields(const struct scene *it) {
    const kvb_namespace_parts parts = {.struct_size = sizeof parts, .reserved = 1};
    kvb_namespace *space = NULL;
    CHECK_STATUS(kvb_namespace_create(&parts, &space), KVB_ERR_STRUCT_SIZE);
    const kvb_hooks hooks = {.struct_size = sizeof hooks, .reserved = 1};
    CHECK(kvb_set_hooks(&hooks) != KVB_OK);
    kvb_admit asked = request(it->tokens, 10);
    asked.reserved = 1;
    CHECK_STATUS(kvb_seqs_check(it->seqs, &asked, NULL, NULL), KVB_ERR_STRUCT_SIZE);
    asked.reserved = 0;
    asked.prompt.reserved = 1;
    CHECK_STATUS(kvb_seqs_check(it->seqs, &asked, NULL, NULL), KVB_ERR_STRUCT_SIZE);
    kvb_seqs_config config = seqs_config(1);
    config.reserved = 1;
    kvb_seqs *seqs = NULL;
    CHECK_STATUS(kvb_seqs_create_another(it->seqs, &config, &seqs, NULL), KVB_ERR_STRUCT_SIZE);
    config.reserved = 0;
    const kvb_pool_config pool = {.struct_size = sizeof pool, .block_size = 4};
    const kvb_rank rank = {.reserved = 1, .blocks = 4};
    CHECK_STATUS(kvb_seqs_create_lockstep(&rank, 1, &pool, &config, &seqs, NULL), KVB_ERR_STRUCT_SIZE);
    kvb_holder odd = holder(KVB_HOLDER_SEQS, it->seqs);
    odd.reserved = 1;
    CHECK_STATUS(kvb_seqs_audit(it->seqs, &odd, 1, NULL), KVB_ERR_STRUCT_SIZE);
    CHECK(space == NULL && seqs == NULL);
}

/* More items than memory can hold, and lists whose items cannot lie where they are said to. */
static void lengths(const struct scene *it) {
    const uint64_t words[4] = {0, 0, 0, 0};
    const void *const odd = (const unsigned char *)words + 1;
    const kvb_handle *const handles = (const kvb_handle *)odd;
    kvb_admit asked = request(it->tokens, SIZE_MAX / 4 + 1);
    kvb_handle children[1] = {{77}};
    int32_t row[4];
    size_t count = 77;
#define LENGTH_REFUSED(call) CHECK_STATUS(call, KVB_ERR_LENGTH)
    LENGTH_REFUSED(kvb_seqs_check(it->seqs, &asked, NULL, NULL));
    asked.prompt.token_count = SIZE_MAX;
    LENGTH_REFUSED(kvb_seqs_check(it->seqs, &asked, NULL, NULL));
    asked.prompt.tokens = (const uint32_t *)odd;
    asked.prompt.token_count = 1;
    LENGTH_REFUSED(kvb_seqs_check(it->seqs, &asked, NULL, NULL));
    asked = request(it->tokens, 10);
    asked.prompt.keys = words;
    asked.prompt.key_count = SIZE_MAX / 8;
    LENGTH_REFUSED(kvb_seqs_check(it->seqs, &asked, NULL, NULL));
    asked.prompt.key_count = 0;
    asked.prompt.extra = (const kvb_extra_key *)odd;
    asked.prompt.extra_count = 2;
    LENGTH_REFUSED(kvb_seqs_check(it->seqs, &asked, NULL, NULL));
    LENGTH_REFUSED(kvb_seqs_release(it->seqs, &it->seq, SIZE_MAX));
    LENGTH_REFUSED(kvb_seqs_release(it->seqs, handles, 1));
    LENGTH_REFUSED(kvb_seqs_preempt(it->seqs, handles, 1));
    LENGTH_REFUSED(kvb_seqs_fork(it->seqs, it->seq, children, SIZE_MAX, NULL));
    LENGTH_REFUSED(kvb_seqs_copy_tables(it->seqs, 0, &it->seq, 1, row, SIZE_MAX / 2, NULL, NULL));
    LENGTH_REFUSED(kvb_seqs_get_slots(it->seqs, 0, it->seq, 0, SIZE_MAX, (int64_t *)words, NULL));
    LENGTH_REFUSED(kvb_seqs_find(it->seqs, words, SIZE_MAX, children));
    LENGTH_REFUSED(kvb_seqs_list(it->seqs, NULL, children, SIZE_MAX, &count));
    LENGTH_REFUSED(kvb_seqs_select_victims(it->seqs, &it->seq, SIZE_MAX, NULL, 0, children, &count, NULL, NULL));
    LENGTH_REFUSED(kvb_seqs_audit(it->seqs, (const kvb_holder *)odd, 1, NULL));
    char text[4];
    LENGTH_REFUSED(kvb_seqs_report_text(it->seqs, text, SIZE_MAX, &count));
    LENGTH_REFUSED(kvb_pool_report_text(it->pool, text, SIZE_MAX, &count));
    kvb_format *format = NULL;
    LENGTH_REFUSED(kvb_format_create(4, 0, (const uint64_t *)odd, 1, &format, NULL));
    CHECK_EQ(count, 77);
    CHECK_EQ(children[0].bits, 77);
    CHECK_EQ(state_of(it->seqs, it->seq).positions, 10);
    /* Positions beyond what can be counted are beyond the sequence. */
    CHECK(kvb_seqs_get_slots(it->seqs, 0, it->seq, SIZE_MAX, 2, (int64_t[2]){0}, NULL) != KVB_OK);
    CHECK_STATUS(kvb_seqs_computed(it->seqs, it->seq, SIZE_MAX, NULL), KVB_ERR_BEYOND);
}

typedef kvb_status (*telling)(const struct scene *it, char *text, size_t capacity, size_t *length);

static kvb_status tell_pool(const struct scene *it, char *text, size_t capacity, size_t *length) {
    return kvb_pool_report_text(it->pool, text, capacity, length);
}
static kvb_status tell_seqs(const struct scene *it, char *text, size_t capacity, size_t *length) {
    return kvb_seqs_report_text(it->seqs, text, capacity, length);
}

/* A text is cut off where the buffer ends, between two characters and with a zero; its length is told whole. */
static void texts(const struct scene *it, telling tell) {
    static char whole[1 << 14], part[1 << 14];
    size_t length = 0;
    CHECK_OK(tell(it, whole, sizeof whole, &length));
    CHECK_EQ(strlen(whole), length);
    CHECK(length > 100);
    for (size_t capacity = 0; capacity <= length + 2; capacity++) {
        memset(part, 'x', sizeof part);
        size_t told = 0;
        CHECK_OK(tell(it, part, capacity, &told));
        CHECK_EQ(told, length);
        CHECK_EQ(part[capacity], 'x');
        if (capacity == 0) continue;
        size_t written = strlen(part);
        CHECK(written < capacity && written + 4 >= (capacity < length ? capacity : length));
        CHECK(memcmp(part, whole, written) == 0);
        /* What follows in the whole text begins a character. */
        CHECK(((unsigned char)whole[written] & 0xc0) != 0x80);
    }
}

int main(void) {
    struct scene it;
    it.pool = make_pool(0, 12, 0, 4);
    it.seqs = make_seqs(it.pool, 3);
    count_up(it.tokens, 10, 1);
    it.seq = admit(it.seqs, it.tokens, 10, 5).seq;
    sizes(&it);
    reserved_fields(&it);
    lengths(&it);
    texts(&it, tell_pool);
    texts(&it, tell_seqs);
    CHECK_EQ(kvb_seqs_count(it.seqs), 1);
    check_audit(it.seqs, NULL, 0);
    kvb_seqs_destroy(it.seqs);
    kvb_pool_destroy(it.pool);
    return 0;
}
