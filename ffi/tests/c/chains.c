/* Chains: what is found, published and shared, and how they end. */
#include "chain.h"

typedef struct {
    kvb_pool *pool, *other;
    kvb_worker *worker, *foreign;
} fixture;

static fixture begin(size_t blocks) {
    fixture it;
    it.pool = make_pool(7, blocks, 0, 4);
    it.other = make_pool(7, blocks, 0, 4);
    it.worker = make_worker(it.pool);
    it.foreign = make_worker(it.other);
    return it;
}

/* Nobody holds anything but these. */
static void end_with(fixture *it, const kvb_holder *holders, size_t count) {
    CHECK_OK(kvb_pool_audit(it->pool, holders, count, NULL));
    CHECK_OK(kvb_pool_audit(it->other, NULL, 0, NULL));
    kvb_worker_destroy(it->worker);
    kvb_worker_destroy(it->foreign);
    kvb_pool_destroy(it->pool);
    kvb_pool_destroy(it->other);
}

static void end(fixture *it) {
    end_with(it, NULL, 0);
}

/* The chain that is found for `count` tokens from 1 on, at most `pay` idle blocks of it. */
static kvb_chain *find(fixture *it, size_t count, uint32_t flags, size_t pay, const kvb_namespace *space) {
    uint32_t tokens[64];
    count_up(tokens, count, 1);
    kvb_prompt prompt = {0};
    prompt.space = space;
    prompt.tokens = tokens;
    prompt.token_count = count;
    prompt.flags = flags;
    kvb_reservation *purse = make_reservation(it->pool, pay);
    kvb_chain *chain = NULL;
    CHECK_OK(kvb_pool_find(it->pool, it->worker, &prompt, purse, &chain, NULL));
    kvb_reservation_destroy(purse);
    return chain;
}

#define CHECK_PUBLISHED(done, new, old, why)                                                                              \
    do {                                                                                                            \
        const kvb_published was = (done);                                                                           \
        CHECK_EQ(was.stored, new);                                                                                      \
        CHECK_EQ(was.duplicates, old);                                                                                  \
        CHECK_EQ(was.stopped, why);                                                                                     \
    } while (0)

static void what_is_published_is_found(void) {
    fixture it = begin(16);
    kvb_error error = no_error();
    kvb_chain *chain = make_chain(it.pool, it.worker, 3, 2, 1);
    CHECK_CHAIN(chain, 2, 0, 1, 2);
    CHECK_POOL(it.pool, 13, 0, 3, 0, 0);

    /* Held blocks are found for nothing. */
    kvb_chain *found = find(&it, 9, 0, 0, NULL);
    CHECK_CHAIN(found, 2, 0, 1);
    CHECK_OK(kvb_chain_release(chain, it.worker, &error));
    CHECK_POOL(it.pool, 14, 0, 2, 0, 0);
    CHECK_OK(kvb_chain_release(found, it.worker, &error));
    CHECK_POOL(it.pool, 14, 2, 0, 0, 0);

    /* Idle ones are paid for, one by one, and a token is left to compute unless all may be found. */
    found = find(&it, 9, 0, 1, NULL);
    CHECK_CHAIN(found, 1, 0);
    CHECK_POOL(it.pool, 14, 1, 1, 0, 0);
    kvb_chain_destroy(found);
    found = find(&it, 8, 0, 8, NULL);
    CHECK_CHAIN(found, 1, 0);
    kvb_chain_destroy(found);
    found = find(&it, 8, KVB_PROMPT_FULL_HIT, 8, NULL);
    CHECK_CHAIN(found, 2, 0, 1);
    CHECK_POOL(it.pool, 14, 0, 2, 0, 0);
    kvb_chain_destroy(found);
    CHECK_POOL(it.pool, 14, 2, 0, 0, 0);
    end(&it);
}

static void namespaces_and_extra_keys_keep_apart(void) {
    fixture it = begin(16);
    kvb_error error = no_error();
    kvb_namespace_parts parts = {0};
    parts.struct_size = sizeof parts;
    parts.salt = (const unsigned char *)"pepper";
    parts.salt_size = 6;
    kvb_namespace *space = NULL;
    CHECK_OK(kvb_namespace_create(&parts, &space));
    kvb_chain *chain = NULL;
    CHECK_OK(kvb_pool_chain_create(it.pool, space, &chain));
    kvb_reservation *promise = make_reservation(it.pool, 1);
    CHECK_OK(kvb_chain_take(chain, it.worker, promise, 1, &error));
    CHECK_PUBLISHED(publish(chain, it.worker, 1, 1, NULL), 1, 0, KVB_STOPPED_NOT);
    kvb_chain *found = find(&it, 5, 0, 0, NULL);
    CHECK_EQ(kvb_chain_published(found), 0);
    kvb_chain_destroy(found);
    found = find(&it, 5, 0, 0, space);
    CHECK_CHAIN(found, 1, 0);
    kvb_chain_destroy(found);
    kvb_chain_destroy(chain);
    kvb_namespace_destroy(space);

    /* The same tokens with and without an extra key are two contents. */
    const kvb_extra_key key = {5, 6};
    uint32_t tokens[5];
    count_up(tokens, 5, 1);
    kvb_contents contents = {0};
    contents.tokens = tokens;
    contents.token_count = 4;
    contents.extra = &key;
    contents.extra_count = 1;
    kvb_published done;
    CHECK_OK(kvb_pool_chain_create(it.pool, NULL, &chain));
    CHECK_OK(kvb_reservation_grow(promise, 1, &error));
    CHECK_OK(kvb_chain_take(chain, it.worker, promise, 1, &error));
    CHECK_OK(kvb_chain_publish(chain, it.worker, &contents, NULL, &done, &error));
    CHECK_PUBLISHED(done, 1, 0, KVB_STOPPED_NOT);
    found = find(&it, 5, 0, 0, NULL);
    CHECK_EQ(kvb_chain_published(found), 0);
    kvb_chain_destroy(found);
    kvb_prompt prompt = {0};
    prompt.tokens = tokens;
    prompt.token_count = 5;
    prompt.extra = &key;
    prompt.extra_count = 1;
    CHECK_OK(kvb_pool_find(it.pool, it.worker, &prompt, promise, &found, &error));
    CHECK_CHAIN(found, 1, 1);
    kvb_chain_destroy(found);
    prompt.extra_count = 0;
    prompt.key_count = 2;
    const uint64_t keys[2] = {1, 2};
    prompt.keys = keys;
    CHECK_REFUSAL(KVB_ERR_LENGTH_MISMATCH, 1, 2, 0,
               kvb_pool_find(it.pool, it.worker, &prompt, promise, &found, &error));
    kvb_chain_destroy(chain);
    kvb_reservation_destroy(promise);
    CHECK_POOL(it.pool, 14, 2, 0, 0, 0);
    end(&it);
}

static void duplicates_are_paid_for_and_adopted(void) {
    fixture it = begin(16);
    kvb_error error = no_error();
    kvb_chain *first = make_chain(it.pool, it.worker, 3, 2, 1);
    kvb_chain *second = make_chain(it.pool, it.worker, 3, 2, 1);
    CHECK_CHAIN(second, 2, 3, 4, 5);
    CHECK_POOL(it.pool, 10, 0, 6, 0, 0);
    size_t adopted = 9;
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0,
               kvb_chain_adopt_duplicates(second, it.foreign, &adopted, &error));
    CHECK_EQ(adopted, 9);
    CHECK_OK(kvb_chain_adopt_duplicates(second, it.worker, &adopted, &error));
    CHECK_EQ(adopted, 2);
    CHECK_CHAIN(second, 2, 0, 1, 5);
    CHECK_POOL(it.pool, 12, 0, 4, 0, 0);
    CHECK_OK(kvb_chain_release(first, it.worker, &error));
    CHECK_OK(kvb_chain_release(second, it.worker, &error));
    CHECK_POOL(it.pool, 14, 2, 0, 0, 0);

    /* The copies are idle now: holding them costs credits, of which none is left but in a promise. */
    kvb_reservation *promise = make_reservation(it.pool, 16), *elsewhere = make_reservation(it.other, 2);
    kvb_chain *third = NULL;
    CHECK_OK(kvb_pool_chain_create(it.pool, NULL, &third));
    CHECK_OK(kvb_chain_take(third, it.worker, promise, 2, &error));
    CHECK_PUBLISHED(publish(third, it.worker, 2, 1, NULL), 0, 0, KVB_STOPPED_UNPAID);
    CHECK_POOL(it.pool, 12, 2, 2, 0, 14);
    uint32_t tokens[8];
    count_up(tokens, 8, 1);
    kvb_contents contents = {0};
    contents.tokens = tokens;
    contents.token_count = 8;
    kvb_published done = {9, 9, 9, 9};
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0,
               kvb_chain_publish(third, it.worker, &contents, elsewhere, &done, &error));
    CHECK_EQ(done.stored, 9);
    CHECK_PUBLISHED(publish(third, it.worker, 2, 1, promise), 0, 2, KVB_STOPPED_NOT);
    CHECK_EQ(kvb_reservation_blocks(promise), 12);
    CHECK_POOL(it.pool, 12, 0, 4, 0, 12);
    kvb_holder holders[2] = {{KVB_HOLDER_CHAIN, 0, third}, {KVB_HOLDER_RESERVATION, 0, promise}};
    CHECK_OK(kvb_pool_audit(it.pool, holders, 2, &error));
    kvb_chain_destroy(third);
    kvb_reservation_destroy(promise);
    kvb_reservation_destroy(elsewhere);
    CHECK_POOL(it.pool, 14, 2, 0, 0, 0);
    end(&it);
}

static void publishing_says_why_it_stopped(void) {
    fixture it = begin(64);
    kvb_error error = no_error();
    /* A private block with two owners. */
    kvb_chain *chain = make_chain(it.pool, it.worker, 2, 1, 1), *fork = NULL;
    CHECK_OK(kvb_chain_fork(chain, it.worker, &fork, &error));
    CHECK_CHAIN(fork, 1, 0, 1);
    CHECK_POOL(it.pool, 62, 0, 2, 0, 0);
    CHECK_PUBLISHED(publish(chain, it.worker, 1, 5, NULL), 0, 0, KVB_STOPPED_SHARED);
    CHECK_OK(kvb_chain_release(fork, it.worker, &error));
    CHECK_PUBLISHED(publish(chain, it.worker, 1, 5, NULL), 1, 0, KVB_STOPPED_NOT);
    kvb_chain_destroy(chain);

    /* A tail below what was not published. */
    chain = make_chain(it.pool, it.worker, 3, 1, 100);
    kvb_chain *tail = NULL;
    CHECK_OK(kvb_chain_split_off(chain, 2, &tail, &error));
    CHECK_PUBLISHED(publish(tail, it.worker, 1, 108, NULL), 0, 0, KVB_STOPPED_GAP);
    kvb_chain_destroy(tail);

    /* Bad content. */
    const uint32_t *ids;
    size_t count;
    CHECK_OK(kvb_chain_ids(chain, &ids, &count));
    CHECK_OK(kvb_pool_invalidate(it.pool, it.worker, ids[0], NULL, &error));
    CHECK_PUBLISHED(publish(chain, it.worker, 1, 104, NULL), 0, 0, KVB_STOPPED_CUT);
    kvb_chain_destroy(chain);
    CHECK_POOL(it.pool, 62, 2, 0, 0, 0);

    /* One chain key for different contents: two buckets of 8 fill up. */
    kvb_chain *chains[17];
    const uint64_t key = 1;
    for (uint32_t at = 0; at < 17; at++) {
        const uint32_t tokens[4] = {at, 0, 0, 0};
        kvb_contents contents = {tokens, 4, NULL, 0, &key, 1};
        kvb_published done;
        chains[at] = make_chain(it.pool, it.worker, 1, 0, 0);
        CHECK_OK(kvb_chain_publish(chains[at], it.worker, &contents, NULL, &done, &error));
        CHECK_PUBLISHED(done, at < 16 ? 1 : 0, 0, at < 16 ? KVB_STOPPED_NOT : KVB_STOPPED_INDEX_FULL);
    }
    for (uint32_t at = 0; at < 17; at++) {
        kvb_chain_destroy(chains[at]);
    }
    size_t evicted = 0;
    CHECK_OK(kvb_pool_evict(it.pool, it.worker, 64, &evicted, &error));
    CHECK_EQ(evicted, 18);

    /* The upper half of the pool is leaving. */
    chain = make_chain(it.pool, it.worker, 64, 0, 0);
    kvb_resized resized;
    CHECK_OK(kvb_pool_shrink(it.pool, it.worker, 60, &resized, &error));
    CHECK_EQ(resized.draining, 60);
    CHECK_PUBLISHED(publish(chain, it.worker, 6, 1, NULL), 4, 0, KVB_STOPPED_DRAINING);
    kvb_chain_destroy(chain);
    CHECK_POOL(it.pool, 0, 4, 0, 0, 0);
    end(&it);
}

static void a_tail_holds_its_published_head(void) {
    fixture it = begin(16);
    kvb_error error = no_error();
    kvb_chain *head = make_chain(it.pool, it.worker, 4, 3, 1), *tail = NULL;
    CHECK_REFUSAL(KVB_ERR_EXCEEDS, 5, 4, 0, kvb_chain_split_off(head, 5, &tail, &error));
    CHECK(tail == NULL);
    CHECK_OK(kvb_chain_split_off(head, 2, &tail, &error));
    CHECK_CHAIN(head, 2, 0, 1);
    CHECK_CHAIN(tail, 1, 2, 3);
    kvb_holder holders[2] = {{KVB_HOLDER_CHAIN, 0, head}, {KVB_HOLDER_CHAIN, 0, tail}};
    CHECK_OK(kvb_pool_audit(it.pool, holders, 2, &error));
    CHECK_OK(kvb_chain_release(head, it.worker, &error));
    CHECK_POOL(it.pool, 12, 0, 4, 0, 0);
    CHECK_PUBLISHED(publish(tail, it.worker, 1, 13, NULL), 1, 0, KVB_STOPPED_NOT);
    CHECK_OK(kvb_chain_release(tail, it.worker, &error));
    CHECK_POOL(it.pool, 12, 4, 0, 0, 0);
    end(&it);
}

static void refusals_change_nothing(void) {
    fixture it = begin(16);
    kvb_error error = no_error();
    kvb_chain *chain = make_chain(it.pool, it.worker, 3, 1, 1), *out = NULL;
    kvb_reservation *promise = make_reservation(it.pool, 2), *elsewhere = make_reservation(it.other, 3);
    kvb_blocks *blocks = NULL, *strangers = NULL;
    CHECK_OK(kvb_reservation_take(promise, it.worker, 1, &blocks, &error));
    CHECK_OK(kvb_reservation_take(elsewhere, it.foreign, 2, &strangers, &error));
    uint32_t tokens[12];
    count_up(tokens, 12, 5);
    kvb_contents contents = {tokens, 3, NULL, 0, NULL, 0};
    kvb_prompt prompt = {NULL, tokens, 12, NULL, 0, NULL, 0, 0, 0};
    kvb_published done = {9, 9, 9, 9};

    CHECK_REFUSAL(KVB_ERR_LENGTH_MISMATCH, 0, 3, 0,
               kvb_chain_publish(chain, it.worker, &contents, NULL, &done, &error));
    contents.token_count = 12;
    CHECK_REFUSAL(KVB_ERR_LENGTH_MISMATCH, 8, 12, 0,
               kvb_chain_publish(chain, it.worker, &contents, NULL, &done, &error));
    contents.token_count = 8;
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_chain_publish(chain, it.foreign, &contents, NULL, &done, &error));
    CHECK_REFUSAL(KVB_ERR_EXCEEDS, 2, 1, 0, kvb_chain_take(chain, it.worker, promise, 2, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_chain_take(chain, it.worker, elsewhere, 1, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_chain_take(chain, it.foreign, promise, 1, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_chain_push(chain, strangers, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_chain_fork(chain, it.foreign, &out, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_chain_release(chain, it.foreign, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_pool_find(it.pool, it.worker, &prompt, elsewhere, &out, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0, kvb_pool_find(it.pool, it.foreign, &prompt, promise, &out, &error));
    prompt.flags = 2;
    CHECK_REFUSAL(KVB_ERR_INVALID, 0, 0, 0, kvb_pool_find(it.pool, it.worker, &prompt, promise, &out, &error));
    CHECK(out == NULL);
    CHECK_EQ(done.stored, 9);
    CHECK_CHAIN(chain, 1, 0, 1, 2);
    CHECK_POOL(it.pool, 12, 0, 4, 0, 1);
    CHECK_POOL(it.other, 14, 0, 2, 0, 1);

    /* Who holds what: nobody may be missing or be somebody else's. */
    kvb_holder holders[4] = {{KVB_HOLDER_CHAIN, 0, chain},
                             {KVB_HOLDER_BLOCKS, 0, blocks},
                             {KVB_HOLDER_RESERVATION, 0, promise},
                             {KVB_HOLDER_BLOCKS, 0, strangers}};
    CHECK_OK(kvb_pool_audit(it.pool, holders, 3, &error));
    CHECK_REFUSAL(KVB_ERR_INCONSISTENT, 0, 0, 0, kvb_pool_audit(it.pool, holders, 2, &error));
    CHECK_REFUSAL(KVB_ERR_INCONSISTENT, 0, 0, 0, kvb_pool_audit(it.pool, holders + 1, 2, &error));
    CHECK_REFUSAL(KVB_ERR_INCONSISTENT, 0, 0, 0, kvb_pool_audit(it.pool, holders, 4, &error));
    holders[3].kind = 99;
    CHECK_REFUSAL(KVB_ERR_INVALID, 0, 0, 0, kvb_pool_audit(it.pool, holders, 4, &error));
    holders[3].kind = KVB_HOLDER_CHAIN;
    holders[3].object = NULL;
    CHECK_REFUSAL(KVB_ERR_NULL, 0, 0, 0, kvb_pool_audit(it.pool, holders, 4, &error));

    CHECK_OK(kvb_chain_push(chain, blocks, &error));
    CHECK_CHAIN(chain, 1, 0, 1, 2, 3);
    kvb_chain_destroy(chain);
    kvb_blocks_destroy(strangers);
    kvb_reservation_destroy(promise);
    kvb_reservation_destroy(elsewhere);
    end(&it);
}

static void a_chain_waits_for_a_fence(void) {
    fixture it = begin(16);
    kvb_error error = no_error();
    kvb_lanes *lanes = NULL, *elsewhere = NULL;
    CHECK_OK(kvb_pool_lanes_create(it.pool, &lanes));
    CHECK_OK(kvb_pool_lanes_create(it.other, &elsewhere));
    kvb_chain *chain = make_chain(it.pool, it.worker, 12, 2, 1);
    CHECK_REFUSAL(KVB_ERR_OUT_OF_RANGE, 0, 0, 0,
               kvb_chain_release_after(chain, it.worker, lanes, 1, 3, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0,
               kvb_chain_release_after(chain, it.worker, elsewhere, 0, 3, &error));
    CHECK_REFUSAL(KVB_ERR_WRONG_POOL, 0, 0, 0,
               kvb_chain_release_after(chain, it.foreign, lanes, 0, 3, &error));
    CHECK_POOL(it.pool, 4, 0, 12, 0, 0);
    CHECK_OK(kvb_chain_release_after(chain, it.worker, lanes, 0, 3, &error));
    CHECK_POOL(it.pool, 4, 0, 0, 12, 0);
    kvb_holder holder = {KVB_HOLDER_LANES, 0, lanes};
    CHECK_OK(kvb_pool_audit(it.pool, &holder, 1, &error));

    /* What is published is found meanwhile, for nothing. */
    kvb_chain *found = find(&it, 9, 0, 0, NULL);
    CHECK_CHAIN(found, 2, 0, 1);
    CHECK_POOL(it.pool, 4, 0, 2, 10, 0);
    size_t back = 0;
    CHECK_OK(kvb_lanes_complete(lanes, 0, 3, &back));
    CHECK_EQ(back, 10);
    CHECK_POOL(it.pool, 14, 0, 2, 0, 0);

    /* A chain keeps its pool. */
    kvb_lanes_destroy(lanes);
    kvb_lanes_destroy(elsewhere);
    holder.kind = KVB_HOLDER_CHAIN;
    holder.object = found;
    end_with(&it, &holder, 1);
    CHECK_CHAIN(found, 2, 0, 1);
    kvb_chain_destroy(found);
}

int main(void) {
    what_is_published_is_found();
    namespaces_and_extra_keys_keep_apart();
    duplicates_are_paid_for_and_adopted();
    publishing_says_why_it_stopped();
    a_tail_holds_its_published_head();
    refusals_change_nothing();
    a_chain_waits_for_a_fence();
    return 0;
}
