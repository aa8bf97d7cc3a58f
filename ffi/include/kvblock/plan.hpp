/** How many blocks fit into a device's memory. Part of kvblock.hpp. */
#ifndef KVBLOCK_PLAN_HPP
#define KVBLOCK_PLAN_HPP

#include <kvblock.h>
#include <kvblock/format.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using PlannedRank = kvb_planned_rank;
using InstancePlan = kvb_instance_plan;
using Plan = kvb_plan;

/** One rank: its memory, what of it is not for K/V, and what it keeps of a position. Its members are those of C, with the size set. */
struct PlanInput : kvb_plan_input {
    PlanInput() noexcept : kvb_plan_input{} { struct_size = sizeof(kvb_plan_input); }
};

/** How many blocks fit a rank. */
inline Result<Plan> plan(const PlanInput& rank) noexcept {
    return detail::told<Plan>([&](Plan& out, kvb_error* error) {
        out.struct_size = sizeof out;
        return kvb_plan_rank(&rank, &out, error);
    });
}

/** How many blocks fit ranks that share one table of blocks; what each has, if `each` has room for that. */
inline Result<InstancePlan> plan(View<const kvb_plan_input* const> ranks, View<PlannedRank> each = {}) noexcept {
    if (!each.empty() && each.size() < ranks.size()) return Error::too_short(ranks.size(), each.size());
    return detail::told<InstancePlan>([&](InstancePlan& out, kvb_error* error) {
        out.struct_size = sizeof out;
        return kvb_plan_ranks(ranks.data(), ranks.size(), &out, each.data(), error);
    });
}

/** The plan for a person to read; how long all of the text is. */
inline Result<std::size_t> plan_text(View<const kvb_plan_input* const> ranks, View<char> text) noexcept {
    return detail::told<std::size_t>([&](std::size_t& length, kvb_error* error) {
        return kvb_plan_text(ranks.data(), ranks.size(), text.data(), text.size(), &length, error);
    });
}

/** The format of a rank's blocks. */
inline Result<Format> plan_format(const PlanInput& rank, std::uint32_t element) noexcept {
    return detail::made<Format, kvb_format>(
        [&](kvb_format** out, kvb_error* error) { return kvb_plan_format(&rank, element, out, error); });
}

/** Sequences of so many positions each that fit into so many blocks, if they share nothing. */
inline std::uint64_t sequences_at(std::uint64_t blocks, std::uint64_t block_size, std::uint64_t positions) noexcept {
    return kvb_plan_sequences_at(blocks, block_size, positions);
}

}  // namespace kvblock

#endif  // KVBLOCK_PLAN_HPP
