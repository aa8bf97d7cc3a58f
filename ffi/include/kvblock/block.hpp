/** Which blocks: entries of block tables and lists of ids name them in two integer types. Part of kvblock.hpp. */
#ifndef KVBLOCK_BLOCK_HPP
#define KVBLOCK_BLOCK_HPP

#include <kvblock.h>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kvblock {

/** A block's id, of any integer. One that is negative or too large names no block, and is refused as such. */
class BlockId {
public:
    template <typename I, std::enable_if_t<std::is_integral_v<I> && !std::is_same_v<I, bool>, int> = 0>
    constexpr BlockId(I id) noexcept : id_(fits(id) ? static_cast<std::uint32_t>(id) : UINT32_MAX) {}

    /** As C has it. */
    constexpr std::uint32_t raw() const noexcept { return id_; }

private:
    template <typename I>
    static constexpr bool fits(I id) noexcept {
        return id >= 0 && static_cast<std::make_unsigned_t<I>>(id) <= UINT32_MAX;
    }

    std::uint32_t id_;
};

/** Ids of blocks for the duration of a call: of what has them as `std::uint32_t`, or as the `std::int32_t` of block tables. */
class BlockIds {
    template <typename C, typename T>
    using if_views = std::enable_if_t<std::is_convertible_v<C, View<const T>>, int>;

public:
    constexpr BlockIds() noexcept = default;
    template <typename C, if_views<C, std::uint32_t> = 0>
    constexpr BlockIds(C&& ids) noexcept : ids_(ids) {}
    template <typename C, if_views<C, std::int32_t> = 0, typename = void>
    BlockIds(C&& ids) noexcept {
        const View<const std::int32_t> table(ids);
        // The unsigned type of the same size may read them; an entry that names no block, below zero, is too large then.
        ids_ = {reinterpret_cast<const std::uint32_t*>(table.data()), table.size()};
    }

    constexpr const std::uint32_t* data() const noexcept { return ids_.data(); }
    constexpr std::size_t size() const noexcept { return ids_.size(); }

private:
    View<const std::uint32_t> ids_;
};

}  // namespace kvblock

#endif  // KVBLOCK_BLOCK_HPP
