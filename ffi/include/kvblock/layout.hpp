/** Where blocks are in memory, and which bytes a copy is of. Part of kvblock.hpp. */
#ifndef KVBLOCK_LAYOUT_HPP
#define KVBLOCK_LAYOUT_HPP

#include <kvblock.h>
#include <kvblock/block.hpp>
#include <kvblock/format.hpp>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using Plane = kvb_plane;
using Tile = kvb_tile;
using Run = kvb_run;
using PairRun = kvb_pair_run;

/** Where the blocks of a shard are: a part in each of its planes. */
class Layout : public Object<kvb_layout, kvb_layout_destroy> {
public:
    using Object::Object;
    /** Says where so many blocks are. */
    static Result<Layout> create(View<const Plane> planes, std::size_t blocks) noexcept {
        return detail::made<Layout, kvb_layout>([&](kvb_layout** out, kvb_error* error) {
            return kvb_layout_create(planes.data(), planes.size(), blocks, out, error);
        });
    }
    /** Says where so many blocks are in a memory, a number of yours, and what is inside of each plane's: nothing known, or a tile each. */
    static Result<Layout> create(View<const Plane> planes, View<const Tile> tiles, std::size_t blocks,
                                 std::uint32_t memory) noexcept {
        if (!tiles.empty() && tiles.size() != planes.size()) return Error(KVB_ERR_LENGTH_MISMATCH);
        return detail::made<Layout, kvb_layout>([&](kvb_layout** out, kvb_error* error) {
            const Tile* const inside = tiles.empty() ? nullptr : tiles.data();
            return kvb_layout_create_tiled(planes.data(), inside, planes.size(), blocks, memory, out, error);
        });
    }
    /** In which memory it is. */
    std::uint32_t memory() const noexcept { return kvb_layout_memory(get()); }
    /** Bytes of a block, in all planes together. */
    std::uint64_t block_bytes() const noexcept { return kvb_layout_block_bytes(get()); }
    /** The format of its blocks. */
    Result<Format> format(std::size_t block_size, std::uint32_t element) const noexcept {
        return detail::made<Format, kvb_format>([&](kvb_format** out, kvb_error* error) {
            return kvb_layout_format(get(), block_size, element, out, error);
        });
    }
    /** Where a block begins in a plane. */
    Result<std::uint64_t> address(std::size_t plane, BlockId block) const noexcept {
        return detail::told<std::uint64_t>([&](std::uint64_t& out, kvb_error* error) {
            return kvb_layout_address(get(), plane, block.raw(), &out, error);
        });
    }
    /** Lists the bytes of some blocks, and tells how many runs they are. */
    Result<std::size_t> runs(BlockIds blocks, View<Run> out) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& count, kvb_error* error) {
            return kvb_layout_runs(get(), blocks.data(), blocks.size(), out.data(), out.size(), &count, error);
        });
    }
    /** Lists what has to be copied from blocks of this layout to as many of another, and tells how many runs that are. */
    Result<std::size_t> pair_runs(BlockIds sources, const Layout& destination, BlockIds destinations,
                                  View<PairRun> out) const noexcept {
        if (sources.size() != destinations.size()) return Error(KVB_ERR_LENGTH_MISMATCH);
        return detail::told<std::size_t>([&](std::size_t& count, kvb_error* error) {
            return kvb_layout_pair_runs(get(), sources.data(), destination.get(), destinations.data(), sources.size(),
                                        out.data(), out.size(), &count, error);
        });
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_LAYOUT_HPP
