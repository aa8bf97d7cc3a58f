/** What became findable, and what ceased to be. Part of kvblock.hpp. */
#ifndef KVBLOCK_EVENTS_HPP
#define KVBLOCK_EVENTS_HPP

#include <kvblock.h>
#include <kvblock/object.hpp>
#include <kvblock/pool.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using Findable = kvb_findable;
using Event = kvb_event;

/** Reads the events of a pool, in order. Any number of readers may read the same ones. */
class EventReader {
public:
    /** Reads from an event on: from the first, or from where a snapshot begins. */
    explicit EventReader(PoolRef pool, std::uint64_t position = 0) noexcept : pool_(pool), position_(position) {}
    /** Reads as many as there is room for, and gives those; adds what was lost before or between them. */
    Result<View<const Event>> read(View<Event> room) noexcept {
        std::size_t count = 0;
        std::uint64_t lost = 0;
        const kvb_status status = kvb_pool_read_events(pool_.get(), &position_, room.data(), room.size(), &count, &lost);
        if (status != KVB_OK) return Error(Status(status));
        lost_ += lost;
        return View<const Event>(room.data(), count);
    }
    /** The number of the next one to read. */
    std::uint64_t position() const noexcept { return position_; }
    /** Events that were lost so far: a snapshot makes up for them. */
    std::uint64_t lost() const noexcept { return lost_; }

private:
    PoolRef pool_;
    std::uint64_t position_;
    std::uint64_t lost_ = 0;
};

/** Every copy that was findable at some moment. */
class Snapshot : public Object<kvb_snapshot, kvb_snapshot_destroy> {
public:
    using Object::Object;
    /** Makes one. */
    static Result<Snapshot> create(PoolRef pool) noexcept {
        return detail::made<Snapshot, kvb_snapshot>(
            [&](kvb_snapshot** out, kvb_error*) { return kvb_pool_snapshot_create(pool.get(), out); });
    }
    /** Events below this number are contained. */
    std::uint64_t from() const noexcept { return kvb_snapshot_from(get()); }
    /** Events from this number on are not. */
    std::uint64_t to() const noexcept { return kvb_snapshot_to(get()); }
    /** The copies, parents before children, as long as it lives. */
    View<const Findable> copies() const noexcept {
        const kvb_findable* first = nullptr;
        std::size_t count = 0;
        // Refused only for an object that owns nothing.
        (void)kvb_snapshot_copies(get(), &first, &count);
        return {first, count};
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_EVENTS_HPP
