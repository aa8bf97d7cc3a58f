/* Handles and labels: whatever is named wrongly is stale, and nobody else's. */
#include "make.h"

static kvb_status look(const kvb_seqs *seqs, kvb_handle seq) {
    kvb_state state;
    memset(&state, 0, sizeof state);
    state.struct_size = sizeof state;
    return kvb_seqs_get_state(seqs, seq, &state);
}

/* A slot that is used again has another epoch, so that a late call does not hit the next sequence. */
static void late_calls(void) {
    kvb_pool *pool = make_pool(0, 8, 0, 4);
    kvb_seqs *seqs = make_seqs(pool, 1);
    uint32_t tokens[6];
    count_up(tokens, 6, 1);
    kvb_handle past[4];
    for (size_t i = 0; i < LENGTH(past); i++) {
        past[i] = admit(seqs, tokens, 6, 5).seq;
        CHECK_EQ(kvb_handle_slot(past[i]), 0);
        for (size_t j = 0; j < i; j++) {
            CHECK(past[j].bits != past[i].bits);
            CHECK_STATUS(look(seqs, past[j]), KVB_ERR_STALE);
            CHECK_STATUS(kvb_seqs_release(seqs, &past[j], 1), KVB_ERR_STALE);
        }
        CHECK_OK(look(seqs, past[i]));
        CHECK_OK(kvb_seqs_release(seqs, &past[i], 1));
    }
    /* Any bits at all. */
    uint64_t bits = 1;
    for (int i = 0; i < 10000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        kvb_handle any = {i % 64 == 0 ? (uint64_t)1 << (i / 64 % 64) : bits};
        CHECK_STATUS(look(seqs, any), KVB_ERR_STALE);
    }
    kvb_handle none = {UINT64_MAX};
    CHECK_STATUS(look(seqs, none), KVB_ERR_STALE);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

/* Two registries over one pool, and two pools with other names: the same slot, and never the same handle. */
static void other_registries(void) {
    kvb_pool *pools[2] = {make_pool(1, 8, 0, 4), make_pool(2, 8, 0, 4)};
    kvb_seqs *registries[3] = {make_seqs(pools[0], 2), make_seqs(pools[0], 2), make_seqs(pools[1], 2)};
    uint32_t tokens[6];
    count_up(tokens, 6, 1);
    kvb_handle seqs[3];
    for (size_t i = 0; i < 3; i++) seqs[i] = admit(registries[i], tokens, 6, 0).seq;
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(kvb_handle_slot(seqs[i]), 0);
        for (size_t j = 0; j < 3; j++) CHECK_STATUS(look(registries[j], seqs[i]), i == j ? KVB_OK : KVB_ERR_STALE);
    }
    const kvb_handle twice[3] = {seqs[0], seqs[0], seqs[1]};
    CHECK_STATUS(kvb_seqs_release(registries[0], twice, 3), KVB_ERR_STALE);
    CHECK_EQ(kvb_seqs_count(registries[0]), 0);
    CHECK_EQ(kvb_seqs_count(registries[1]), 1);
    for (size_t i = 0; i < 3; i++) kvb_seqs_destroy(registries[i]);
    for (size_t i = 0; i < 2; i++) kvb_pool_destroy(pools[i]);
}

/* Labels are the caller's names: several sequences may have one, and the latest is found. */
static void labels(void) {
    kvb_pool *pool = make_pool(0, 16, 0, 4);
    kvb_seqs *seqs = make_seqs(pool, 6);
    uint32_t tokens[4];
    count_up(tokens, 4, 1);
    kvb_handle a = admit(seqs, tokens, 4, UINT64_MAX).seq;
    kvb_handle b = admit(seqs, tokens, 4, 0).seq;
    kvb_handle c = admit(seqs, tokens, 4, UINT64_MAX).seq;
    kvb_handle branches[2];
    CHECK_OK(kvb_seqs_fork(seqs, b, branches, 2, NULL));

    const uint64_t asked[3] = {0, UINT64_MAX, 12};
    kvb_handle found[3];
    CHECK_STATUS(kvb_seqs_find(seqs, asked, 3, found), KVB_ERR_STALE);
    CHECK_EQ(found[0].bits, branches[1].bits);
    CHECK_EQ(found[1].bits, c.bits);
    CHECK_EQ(found[2].bits, UINT64_MAX);
    CHECK_OK(kvb_seqs_find(seqs, asked, 2, found));

    kvb_handle list[6];
    size_t count = 0;
    CHECK_OK(kvb_seqs_list(seqs, &asked[0], list, 6, &count));
    CHECK_EQ(count, 3);
    CHECK(list[0].bits == branches[1].bits && list[1].bits == branches[0].bits && list[2].bits == b.bits);
    CHECK_OK(kvb_seqs_list(seqs, NULL, list, 6, &count));
    CHECK_EQ(count, 5);
    for (size_t i = 0; i < 5; i++) CHECK_EQ(kvb_handle_slot(list[i]), i);
    list[1].bits = 77;
    CHECK_OK(kvb_seqs_list(seqs, NULL, list, 1, &count));
    CHECK_EQ(count, 5);
    CHECK_EQ(list[0].bits, a.bits);
    CHECK_EQ(list[1].bits, 77);
    CHECK_OK(kvb_seqs_list(seqs, &asked[2], NULL, 0, &count));
    CHECK_EQ(count, 0);

    /* The latest goes, and the one before it is found again. */
    CHECK_OK(kvb_seqs_release(seqs, &c, 1));
    CHECK_OK(kvb_seqs_find(seqs, &asked[1], 1, found));
    CHECK_EQ(found[0].bits, a.bits);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

/* A sequence goes to another registry with all that it holds, and gets a name there. */
static void moves(void) {
    kvb_pool *pool = make_pool(0, 16, 0, 4);
    kvb_seqs *from = make_seqs(pool, 2);
    kvb_seqs_config config = seqs_config(1);
    kvb_seqs *to = NULL;
    CHECK_OK(kvb_seqs_create_another(from, &config, &to, NULL));
    uint32_t tokens[10];
    count_up(tokens, 10, 1);
    kvb_handle seq = admit(from, tokens, 10, 9).seq;
    CHECK_OK(kvb_seqs_computed(from, seq, 10, NULL));
    kvb_detached *detached = NULL;
    CHECK_OK(kvb_seqs_detach(from, seq, &detached, NULL));
    CHECK_STATUS(look(from, seq), KVB_ERR_STALE);
    kvb_holder between[2] = {holder(KVB_HOLDER_DETACHED, detached), holder(KVB_HOLDER_SEQS, to)};
    check_audit(from, between, 2);
    kvb_handle there;
    CHECK_OK(kvb_seqs_attach(to, detached, &there, NULL));
    kvb_state state = state_of(to, there);
    CHECK_EQ(state.label, 9);
    CHECK_EQ(state.positions, 10);
    CHECK_EQ(state.computed, 10);
    CHECK_EQ(state.published, 2);
    kvb_handle found;
    const uint64_t label = 9;
    CHECK_OK(kvb_seqs_find(to, &label, 1, &found));
    CHECK_EQ(found.bits, there.bits);
    CHECK_STATUS(kvb_seqs_find(from, &label, 1, &found), KVB_ERR_STALE);

    /* Two ends of one that is attached nowhere: now, or when a device has passed a fence. */
    CHECK_OK(kvb_seqs_detach(to, there, &detached, NULL));
    kvb_detached_destroy(detached);
    CHECK_EQ(pool_report(pool).held, 0);
    seq = admit(from, tokens, 10, 9).seq;
    CHECK_OK(kvb_seqs_detach(from, seq, &detached, NULL));
    kvb_lanes *lanes = NULL;
    CHECK_OK(kvb_pool_lanes_create(pool, &lanes));
    CHECK_OK(kvb_detached_release_after(detached, lanes, 1, NULL));
    CHECK_EQ(kvb_pool_quarantined(pool), 3);
    seq = admit(from, tokens, 10, 9).seq;
    CHECK_OK(kvb_seqs_close_after(from, lanes, 2, NULL));
    size_t back = 0;
    CHECK_OK(kvb_lanes_complete(lanes, 0, 2, &back));
    CHECK_EQ(back, 4);
    CHECK_EQ(kvb_pool_available(pool), 16);
    kvb_lanes_destroy(lanes);
    kvb_seqs_destroy(to);
    kvb_pool_destroy(pool);
}

int main(void) {
    late_calls();
    other_registries();
    labels();
    moves();
    return 0;
}
