/* One of two units that include everything: nothing may be defined twice in the program. */
#include <kvblock.h>
#include <kvblock.h>

bool other_unit_matches(void);

int main(void) {
    return kvb_abi_matches() && other_unit_matches() ? 0 : 1;
}
