/* The other one. */
#include <kvblock.h>
#include <kvblock.h>

bool other_unit_matches(void);

bool other_unit_matches(void) {
    return kvb_abi_matches();
}
