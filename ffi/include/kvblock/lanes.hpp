/** What waits for a device or a peer. Part of kvblock.hpp. */
#ifndef KVBLOCK_LANES_HPP
#define KVBLOCK_LANES_HPP

#include <kvblock.h>
#include <kvblock/object.hpp>
#include <kvblock/pool.hpp>
#include <kvblock/result.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

/** A point on the timeline of one lane: a number of yours that does not go back. */
using Fence = std::uint64_t;

/** What was released while a device or a peer may still touch it, on each shard. `Sequences::lanes` makes them, too. */
class Lanes : public Object<kvb_lanes, kvb_lanes_destroy> {
public:
    using Object::Object;
    /** One lane for a pool, as shard 0. */
    static Result<Lanes> create(PoolRef pool) noexcept {
        return detail::made<Lanes, kvb_lanes>(
            [&](kvb_lanes** out, kvb_error*) { return kvb_pool_lanes_create(pool.get(), out); });
    }
    /** The stream of a shard has passed a fence; how many blocks became free or idle by it. */
    Result<std::size_t> complete(std::size_t shard, Fence fence) noexcept {
        return detail::plain<std::size_t>(
            [&](std::size_t& blocks) { return kvb_lanes_complete(get(), shard, fence, &blocks); });
    }
    /** References that wait on all shards. */
    std::size_t waiting() const noexcept { return kvb_lanes_waiting(get()); }
};

}  // namespace kvblock

#endif  // KVBLOCK_LANES_HPP
