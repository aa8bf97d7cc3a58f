/* The smallest program that uses the library: does it fit its header, and does it answer? */
#include <kvblock.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    if (!kvb_abi_matches()) {
        fprintf(stderr, "the library has binary interface %u, the header %u\n", (unsigned)kvb_abi_version(),
                (unsigned)KVB_ABI_VERSION);
        return 1;
    }
    if (strcmp(kvb_version(), KVB_VERSION) != 0) {
        fprintf(stderr, "the library is version %s, the header %s\n", kvb_version(), KVB_VERSION);
        return 1;
    }
    printf("kvblock %s: %s\n", kvb_version(), kvb_status_message(KVB_OK));
    return 0;
}
