/* Two libraries that are written in Rust, each with its own memory and its own panics, in one program. */
#include <kvblock.h>

#include <stdio.h>

uint64_t other_sum(void);
int32_t other_catches_a_panic(void);

int main(void) {
    kvb_pool_config config = {.struct_size = sizeof config, .blocks = 1000, .block_size = 16};
    kvb_pool *pool = NULL;
    if (!kvb_abi_matches() || kvb_pool_create(&config, &pool, NULL) != KVB_OK || kvb_pool_available(pool) != 1000) {
        fputs("kvblock does not work beside another Rust library\n", stderr);
        return 1;
    }
    if (other_sum() != 300 || other_catches_a_panic() != 1) {
        fputs("the other Rust library does not work beside kvblock\n", stderr);
        return 1;
    }
    kvb_pool_destroy(pool);
    return 0;
}
