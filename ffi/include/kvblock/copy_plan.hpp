/** How blocks get from one layout to another, and in which order. Part of kvblock.hpp. */
#ifndef KVBLOCK_COPY_PLAN_HPP
#define KVBLOCK_COPY_PLAN_HPP

#include <kvblock.h>
#include <kvblock/block.hpp>
#include <kvblock/layout.hpp>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using PlaneCopy = kvb_plane_copy;

/** Some heads of both sides. */
struct HeadSlice {
    /** The first head that is read. */
    std::uint32_t source_first;
    /** The head that it becomes. */
    std::uint32_t destination_first;
    /** How many heads. */
    std::uint32_t heads;
};

/** How blocks get from one layout to another. Any thread may use it. */
class CopyRoute : public Object<kvb_copy_route, kvb_copy_route_destroy> {
public:
    using Object::Object;
    /** Whole blocks; in place, if the two are one layout. */
    static Result<CopyRoute> create(const Layout& source, const Layout& destination) noexcept {
        return detail::made<CopyRoute, kvb_copy_route>([&](kvb_copy_route** out, kvb_error* error) {
            return kvb_copy_route_create(source.get(), destination.get(), out, error);
        });
    }
    /** Some heads of blocks, in every plane. */
    static Result<CopyRoute> create(const Layout& source, const Layout& destination, HeadSlice slice) noexcept {
        return detail::made<CopyRoute, kvb_copy_route>([&](kvb_copy_route** out, kvb_error* error) {
            return kvb_copy_route_create_heads(source.get(), destination.get(), slice.source_first, slice.destination_first,
                                               slice.heads, out, error);
        });
    }
    /** Bytes that are copied of a block, in all planes together. */
    std::uint64_t block_bytes() const noexcept { return kvb_copy_route_block_bytes(get()); }
    /** Whether source and destination are one layout of one memory. */
    bool is_in_place() const noexcept { return kvb_copy_route_is_in_place(get()); }
    /** Lists what is done in each plane, and tells how many planes there are. */
    Result<std::size_t> planes(View<PlaneCopy> out) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& count, kvb_error* error) {
            return kvb_copy_route_planes(get(), out.data(), out.size(), &count, error);
        });
    }
};

/** Pairs of blocks that are to be copied along a route, checked and in waves: as if they were copied one after another. */
class CopyPlan : public Object<kvb_copy_plan, kvb_copy_plan_destroy> {
public:
    using Object::Object;
    /** Without pairs, and with room for so many. */
    static Result<CopyPlan> create(const CopyRoute& route, std::size_t room = 0) noexcept {
        return detail::made<CopyPlan, kvb_copy_plan>([&](kvb_copy_plan** out, kvb_error* error) {
            return kvb_copy_plan_create(route.get(), room, out, error);
        });
    }
    /** Replaces the pairs, from each source to the destination beside it: all of them, or none. */
    Result<void> set(BlockIds sources, BlockIds destinations) noexcept {
        if (sources.size() != destinations.size()) return Error(KVB_ERR_LENGTH_MISMATCH);
        return detail::told([&](kvb_error* error) {
            return kvb_copy_plan_set(get(), sources.data(), destinations.data(), sources.size(), error);
        });
    }
    /** How many pairs there are. */
    std::size_t pairs() const noexcept { return kvb_copy_plan_pairs(get()); }
    /** Bytes that are copied, in all planes together. */
    std::uint64_t bytes() const noexcept { return kvb_copy_plan_bytes(get()); }
    /** How many waves there are: each may begin when the one before it has ended. */
    std::size_t waves() const noexcept { return kvb_copy_plan_waves(get()); }
    /** Lists the pairs of a wave, which may be copied in any order, and tells how many there are. */
    Result<std::size_t> wave(std::size_t wave, View<std::uint32_t> sources, View<std::uint32_t> destinations) const noexcept {
        if (sources.size() != destinations.size()) return Error(KVB_ERR_LENGTH_MISMATCH);
        return detail::told<std::size_t>([&](std::size_t& count, kvb_error* error) {
            return kvb_copy_plan_wave(get(), wave, sources.data(), destinations.data(), sources.size(), &count, error);
        });
    }
    /** Lists the bytes of a wave in the planes that are copied as they are, and tells how many runs they are. */
    Result<std::size_t> wave_runs(std::size_t wave, View<PairRun> out) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& count, kvb_error* error) {
            return kvb_copy_plan_wave_runs(get(), wave, out.data(), out.size(), &count, error);
        });
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_COPY_PLAN_HPP
