/** Names of sequences. Part of kvblock.hpp. */
#ifndef KVBLOCK_HANDLE_HPP
#define KVBLOCK_HANDLE_HPP

#include <kvblock.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace kvblock {

/** Names one sequence of one registry, from its admission to its end. Made by registries; one made of nothing names no sequence. */
struct Handle : kvb_handle {
    constexpr Handle() noexcept : kvb_handle{UINT64_MAX} {}
    constexpr Handle(kvb_handle raw) noexcept : kvb_handle(raw) {}

    /** Below the registry's `max_sequences`: an index for what you keep beside it. */
    std::uint32_t slot() const noexcept { return kvb_handle_slot(*this); }
    /** Which sequence of the pool it was. */
    std::uint64_t epoch() const noexcept { return kvb_handle_epoch(*this); }
    /** Whether it names a sequence, of the past maybe. */
    constexpr explicit operator bool() const noexcept { return bits != UINT64_MAX; }

    friend constexpr bool operator==(Handle a, Handle b) noexcept { return a.bits == b.bits; }
    friend constexpr bool operator!=(Handle a, Handle b) noexcept { return a.bits != b.bits; }
};

// Arrays of them are arrays of C's.
static_assert(sizeof(Handle) == sizeof(kvb_handle) && alignof(Handle) == alignof(kvb_handle));
static_assert(std::is_standard_layout_v<Handle> && std::is_trivially_copyable_v<Handle>);

}  // namespace kvblock

template <>
struct std::hash<kvblock::Handle> {
    std::size_t operator()(kvblock::Handle handle) const noexcept { return std::hash<std::uint64_t>()(handle.bits); }
};

#endif  // KVBLOCK_HANDLE_HPP
