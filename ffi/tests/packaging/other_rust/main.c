/* Two libraries that are written in Rust, in one program. */
#include <kvblock.h>

#include <stdio.h>
#include <string.h>

uint64_t other_sum(void);
int32_t other_catches_a_panic(void);

int main(void) {
    if (!kvb_abi_matches() || strcmp(kvb_status_name(KVB_ERR_SHORTFALL), "KVB_ERR_SHORTFALL") != 0) {
        fputs("kvblock does not answer beside another Rust library\n", stderr);
        return 1;
    }
    if (other_sum() != 300 || other_catches_a_panic() != 1) {
        fputs("the other Rust library does not work beside kvblock\n", stderr);
        return 1;
    }
    return 0;
}
