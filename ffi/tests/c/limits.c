/* What cannot be had for other reasons than want of blocks: more references than a block can count, and content that is still to come. */
#include "make.h"

/* A block counts its owners; one more than it can count is refused before anything is done. */
static void references(void) {
    const size_t most = ((size_t)1 << 20) - 1;
    kvb_pool *pool = make_pool(0, 4, 0, 4);
    kvb_seqs *seqs = make_seqs(pool, most + 2);
    uint32_t tokens[4];
    count_up(tokens, 4, 1);
    kvb_handle seq = admit(seqs, tokens, 4, 1).seq;
    kvb_handle *children = malloc((most + 1) * sizeof *children);
    CHECK(children != NULL);
    children[0].bits = 77;
    kvb_error error = no_error();
    CHECK_STATUS(kvb_seqs_fork(seqs, seq, children, most, &error), KVB_ERR_TOO_MANY_REFERENCES);
    CHECK_EQ(children[0].bits, 77);
    CHECK_EQ(kvb_seqs_count(seqs), 1);
    CHECK_EQ(pool_report(pool).shared_references, 0);
    /* As many as can be counted are no problem. */
    CHECK_OK(kvb_seqs_fork(seqs, seq, children, most - 1, NULL));
    CHECK_EQ(pool_report(pool).shared_references, most - 1);
    kvb_lanes *lanes = NULL;
    CHECK_OK(kvb_seqs_lanes_create(seqs, &lanes));
    CHECK_STATUS(kvb_seqs_fork(seqs, seq, children, 1, &error), KVB_ERR_TOO_MANY_REFERENCES);
    CHECK_OK(kvb_seqs_release(seqs, children, most - 1));
    CHECK_EQ(pool_report(pool).shared_references, 0);
    check_audit(seqs, NULL, 0);
    free(children);
    kvb_lanes_destroy(lanes);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

/* What is still to come is not computed, cut off, shared or taken elsewhere; the sequence may grow behind it. */
static void loading(void) {
    kvb_pool *pool = make_pool(0, 12, 0, 4);
    kvb_seqs *seqs = make_seqs(pool, 3);
    kvb_step *step = make_step(seqs);
    uint32_t tokens[13];
    count_up(tokens, 13, 1);
    kvb_admit asked = request(tokens, 13);
    const kvb_incoming incoming = {.struct_size = sizeof incoming, .writers = 1, .positions = 12};
    kvb_admitted admitted;
    kvb_import *import = NULL;
    CHECK_OK(kvb_seqs_import(seqs, &asked, &incoming, &admitted, &import, NULL));
    uint32_t answer = 9;
    CHECK_OK(kvb_import_arrived(import, 0, 0, 0, 1, &answer, NULL));
    CHECK_EQ(answer, KVB_ANSWER_TAKEN);
    kvb_loading load = {.struct_size = sizeof load};
    CHECK_OK(kvb_seqs_loading(seqs, admitted.seq, &load));
    CHECK_EQ(load.arrived, 4);
    CHECK_EQ(load.left, 2);

    const kvb_state before = state_of(seqs, admitted.seq);
    kvb_error error = no_error();
    kvb_handle child = {77};
    kvb_detached *detached = NULL;
    kvb_failure failure;
    size_t failed = 0;
#define IS_LOADING(call) \
    CHECK_STATUS(call, KVB_ERR_LOADING); \
    CHECK_STATUS(error.status, KVB_ERR_LOADING); \
    CHECK_EQ(error.available, 4); \
    error = no_error()
    IS_LOADING(kvb_seqs_computed(seqs, admitted.seq, 13, &error));
    IS_LOADING(kvb_seqs_truncate(seqs, admitted.seq, 3, &error));
    IS_LOADING(kvb_seqs_fork(seqs, admitted.seq, &child, 1, &error));
    IS_LOADING(kvb_seqs_detach(seqs, admitted.seq, &detached, &error));
    const kvb_progress done = {admitted.seq, 0, NULL, 0, 13};
    CHECK_STATUS(kvb_seqs_advance(seqs, &done, 1, &failure, &failed), KVB_ERR_PARTIAL);
    CHECK_STATUS(failure.status, KVB_ERR_LOADING);
    const kvb_state after = state_of(seqs, admitted.seq);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    CHECK(child.bits == 77 && detached == NULL);

    CHECK_OK(kvb_seqs_append(seqs, admitted.seq, 1, step, NULL));
    CHECK_OK(kvb_import_arrived(import, 0, 0, 1, 2, &answer, NULL));
    CHECK_OK(kvb_seqs_loading(seqs, admitted.seq, &load));
    CHECK_EQ(load.arrived, 12);
    CHECK_OK(kvb_seqs_computed(seqs, admitted.seq, 13, NULL));
    CHECK_EQ(state_of(seqs, admitted.seq).published, 3);
    check_audit(seqs, NULL, 0);
    kvb_import_destroy(import);
    kvb_step_destroy(step);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

int main(void) {
    references();
    loading();
    return 0;
}
