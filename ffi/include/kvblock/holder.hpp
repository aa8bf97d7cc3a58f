/** Who holds blocks, for audits. Part of kvblock.hpp. */
#ifndef KVBLOCK_HOLDER_HPP
#define KVBLOCK_HOLDER_HPP

#include <kvblock.h>
#include <kvblock/chain.hpp>
#include <kvblock/lanes.hpp>
#include <kvblock/leases.hpp>
#include <kvblock/pool.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

namespace kvblock {

class Detached;
class Import;
class Sequences;

/** Somebody who holds blocks or credits. Borrows it. */
struct Holder : kvb_holder {
    Holder(const Sequences& seqs) noexcept;
    Holder(const Detached& detached) noexcept;
    /** One whose registry is gone. */
    Holder(const Import& import) noexcept;
    Holder(const Lanes& lanes) noexcept : kvb_holder{KVB_HOLDER_LANES, 0, lanes.get()} {}
    Holder(const Leases& leases) noexcept : kvb_holder{KVB_HOLDER_LEASES, 0, leases.get()} {}
    /** One whose table is gone. */
    Holder(const Lease& lease) noexcept : kvb_holder{KVB_HOLDER_LEASE, 0, lease.get()} {}
    Holder(const Reservation& reservation) noexcept : kvb_holder{KVB_HOLDER_RESERVATION, 0, reservation.get()} {}
    Holder(const Blocks& blocks) noexcept : kvb_holder{KVB_HOLDER_BLOCKS, 0, blocks.get()} {}
    Holder(const Chain& chain) noexcept : kvb_holder{KVB_HOLDER_CHAIN, 0, chain.get()} {}
};
static_assert(sizeof(Holder) == sizeof(kvb_holder));

/** Recounts a pool. `holders` are all who hold some of it. */
inline Result<void> audit(PoolRef pool, View<const Holder> holders = {}) noexcept {
    return detail::told(
        [&](kvb_error* error) { return kvb_pool_audit(pool.get(), holders.data(), holders.size(), error); });
}

}  // namespace kvblock

#endif  // KVBLOCK_HOLDER_HPP
