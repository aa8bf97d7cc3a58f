/** References for somebody who is no sequence, until a deadline. Part of kvblock.hpp. */
#ifndef KVBLOCK_LEASES_HPP
#define KVBLOCK_LEASES_HPP

#include <kvblock.h>
#include <kvblock/chain.hpp>
#include <kvblock/object.hpp>
#include <kvblock/pool.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using LeasesReport = kvb_leases_report;

/** A handle of a lease. Any thread may use it. */
class Lease : public Object<kvb_lease, kvb_lease_destroy> {
public:
    using Object::Object;
    /** Whose it is. */
    std::uint64_t owner() const noexcept { return kvb_lease_owner(get()); }
    /** When it will be over; 0 if it is. */
    std::uint64_t deadline() const noexcept { return kvb_lease_deadline(get()); }
    /** Shards that it holds blocks of. */
    std::size_t shards() const noexcept { return kvb_lease_shards(get()); }
    /** Its blocks on one shard, as long as this handle lives. */
    Result<View<const std::uint32_t>> ids(std::size_t shard = 0) const noexcept {
        return detail::plain<View<const std::uint32_t>>([&](View<const std::uint32_t>& out) {
            const std::uint32_t* ids = nullptr;
            std::size_t count = 0;
            const kvb_status status = kvb_lease_ids(get(), shard, &ids, &count);
            out = {ids, count};
            return status;
        });
    }
    /** References that it holds on one shard while it lives. */
    std::size_t references(std::size_t shard = 0) const noexcept { return kvb_lease_references(get(), shard); }
    /** Lets it live until a later time. */
    Result<void> extend(std::uint64_t deadline) const noexcept {
        return detail::plain(kvb_lease_extend(get(), deadline));
    }
    /** Whether it lives; if its end has come it is ended. */
    Result<void> check(std::uint64_t now) const noexcept { return detail::plain(kvb_lease_check(get(), now)); }
    /** Ends it now. */
    Result<void> end() const noexcept { return detail::plain(kvb_lease_end(get())); }
};

/** A table of leases for each shard. `Sequences::leases` makes them, too. */
class Leases : public Object<kvb_leases, kvb_leases_destroy> {
public:
    using Object::Object;
    /** A table for one pool, as shard 0. */
    static Result<Leases> create(PoolRef pool, std::size_t budget) noexcept {
        return detail::made<Leases, kvb_leases>(
            [&](kvb_leases** out, kvb_error*) { return kvb_pool_leases_create(pool.get(), budget, out); });
    }
    /** Leases the blocks of a chain, beside the chain. */
    Result<Lease> grant(const Chain& chain, std::uint64_t owner, std::uint64_t deadline) noexcept {
        return detail::made<Lease, kvb_lease>([&](kvb_lease** out, kvb_error* error) {
            return kvb_leases_grant(get(), chain.get(), owner, deadline, out, error);
        });
    }
    /** Makes a chain a lease. Refused, it is as it was. */
    Result<Lease> keep(Chain&& chain, std::uint64_t owner, std::uint64_t deadline) noexcept {
        Result<Lease> kept = detail::made<Lease, kvb_lease>([&](kvb_lease** out, kvb_error* error) {
            return kvb_leases_keep(get(), chain.get(), owner, deadline, out, error);
        });
        if (kept) detail::gone(chain);
        return kept;
    }
    /** Another handle of the lease that an owner has. */
    Result<Lease> lease(std::uint64_t owner) const noexcept {
        return detail::made<Lease, kvb_lease>(
            [&](kvb_lease** out, kvb_error*) { return kvb_leases_get(get(), owner, out); });
    }
    /** Tells the time, and ends what is over; how many ended by it. */
    Result<std::size_t> tick(std::uint64_t now) noexcept {
        return detail::plain<std::size_t>([&](std::size_t& ended) { return kvb_leases_tick(get(), now, &ended); });
    }
    /** References that live leases hold on a shard. */
    std::size_t used(std::size_t shard = 0) const noexcept { return kvb_leases_used(get(), shard); }
    /** The figures on one shard. */
    Result<LeasesReport> report(std::size_t shard = 0) const noexcept {
        return detail::sized<LeasesReport>([&](LeasesReport* out) { return kvb_leases_get_report(get(), shard, out); });
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_LEASES_HPP
