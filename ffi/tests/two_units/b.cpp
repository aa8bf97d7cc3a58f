/* The other one. */
#include <kvblock.h>
#if __has_include(<kvblock.hpp>)
#include <kvblock.hpp>
#include <kvblock.hpp>
#endif

bool other_unit_matches(void);

bool other_unit_matches(void) {
    return kvb_abi_matches();
}
