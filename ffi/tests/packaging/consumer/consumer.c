/* A small program that uses the library: one pool, one request, and nothing left at its end. */
#include <kvblock.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what, kvb_status status, const kvb_error *error) {
    fprintf(stderr, "%s: %s: %s\n", what, kvb_status_name(status), error->message);
    return 1;
}

int main(void) {
    if (!kvb_abi_matches() || strcmp(kvb_version(), KVB_VERSION) != 0) {
        fprintf(stderr, "the library is version %s, the header %s\n", kvb_version(), KVB_VERSION);
        return 1;
    }
    kvb_error error = {.struct_size = sizeof error};
    kvb_pool_config pool_config = {.struct_size = sizeof pool_config, .blocks = 64, .block_size = 16};
    kvb_pool *pool = NULL;
    kvb_status status = kvb_pool_create(&pool_config, &pool, &error);
    if (status != KVB_OK) return fail("pool", status, &error);

    const kvb_pool *pools[] = {pool};
    kvb_seqs_config seqs_config = {.struct_size = sizeof seqs_config, .max_sequences = 8};
    kvb_seqs *seqs = NULL;
    status = kvb_seqs_create(pools, 1, &seqs_config, &seqs, &error);
    if (status != KVB_OK) return fail("registry", status, &error);

    const uint32_t tokens[40] = {1, 2, 3};
    kvb_admit request = {.struct_size = sizeof request, .prompt = {.tokens = tokens, .token_count = 40}};
    kvb_admitted admitted;
    status = kvb_seqs_admit(seqs, &request, &admitted, &error);
    if (status != KVB_OK) return fail("admission", status, &error);
    if (admitted.hit != 0 || admitted.fresh != 3) return fail("not three new blocks", KVB_OK, &error);

    status = kvb_seqs_release(seqs, &admitted.seq, 1);
    if (status != KVB_OK) return fail("release", status, &error);
    status = kvb_seqs_release(seqs, &admitted.seq, 1);
    if (status != KVB_ERR_STALE) return fail("a second release", status, &error);
    if (kvb_pool_available(pool) != 64) return fail("not all blocks came back", KVB_OK, &error);

    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
    printf("kvblock %s: %s\n", kvb_version(), kvb_status_message(KVB_OK));
    return 0;
}
