/** What a step of a batch needs and tells. Part of kvblock.hpp. */
#ifndef KVBLOCK_STEP_HPP
#define KVBLOCK_STEP_HPP

#include <kvblock.h>
#include <kvblock/handle.hpp>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

/** Positions to append to a sequence: `{handle, positions}`. */
using Append = kvb_append;
/** A copy to be made before the step writes. */
using Copy = kvb_copy;
/** An entry of a block table that changed. */
using Change = kvb_change;
/** An item of a batch that failed, and was not changed. */
using Failure = kvb_failure;

/** What a step did for a sequence. Borrows the tokens. */
inline kvb_progress progress(Handle seq, std::size_t at, View<const std::uint32_t> tokens, std::size_t computed) noexcept {
    return {seq, at, tokens.data(), tokens.size(), computed};
}
template <typename C, detail::if_goes_away<C> = 0>
kvb_progress progress(Handle seq, std::size_t at, C&& tokens, std::size_t computed) = delete;
using Progress = kvb_progress;

/** What has to be known and done on one shard before a step runs: the step's, until it is filled again. */
struct StepLists {
    /** Where each appended position goes, in the order of the batch. */
    View<const std::int64_t> slots;
    /** Blocks that are new in a table. */
    View<const std::uint32_t> fresh;
    /** Copies to be made. */
    View<const Copy> copies;
    /** Entries of block tables that changed. */
    View<const Change> changes;
};

/** What a step filled, for each shard. Kept, so that its lists are made once. `Sequences::make_step` makes it. */
class Step : public Object<kvb_step, kvb_step_destroy> {
public:
    using Object::Object;
    /** What has to be done on one shard. */
    Result<StepLists> lists(std::size_t shard = 0) const noexcept {
        return detail::plain<StepLists>([&](StepLists& lists) {
            kvb_step_lists raw{};
            const kvb_status status = kvb_step_get(get(), shard, &raw);
            lists.slots = {raw.slots, raw.slot_count};
            lists.fresh = {raw.fresh, raw.fresh_count};
            lists.copies = {raw.copies, raw.copy_count};
            lists.changes = {raw.changes, raw.change_count};
            return status;
        });
    }
    /** Who got nothing in the last batch, and why. */
    View<const Failure> failures() const noexcept {
        const kvb_failure* first = nullptr;
        std::size_t count = 0;
        // Refused only for an object that owns nothing, which has no failures.
        (void)kvb_step_failures(get(), &first, &count);
        return {first, count};
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_STEP_HPP
