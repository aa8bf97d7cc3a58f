/** Who used a block last, and what has to pass before somebody else may. Part of kvblock.hpp. */
#ifndef KVBLOCK_FENCES_HPP
#define KVBLOCK_FENCES_HPP

#include <kvblock.h>
#include <kvblock/block.hpp>
#include <kvblock/copy_plan.hpp>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using Waits = kvb_waits;

/** The last use of each block on each timeline. What is recorded must have waited for what it answered. */
class Fences : public Object<kvb_fences, kvb_fences_destroy> {
public:
    using Object::Object;
    /** Without timelines and memories. */
    static Result<Fences> create() noexcept {
        return detail::made<Fences, kvb_fences>([&](kvb_fences** out, kvb_error*) { return kvb_fences_create(out); });
    }
    /** One timeline more, and its number. */
    Result<std::uint32_t> add_timeline() noexcept {
        return detail::told<std::uint32_t>([&](std::uint32_t& timeline, kvb_error* error) {
            return kvb_fences_add_timeline(get(), &timeline, error);
        });
    }
    /** Knows so many blocks of a memory from now on. */
    Result<void> track(std::uint32_t memory, std::size_t blocks) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_fences_track(get(), memory, blocks, error); });
    }
    /** What has to pass on each other timeline before a plan may begin on this one. */
    Result<Waits> waits_for(const CopyPlan& plan, std::uint32_t on) const noexcept {
        return detail::told<Waits>([&](Waits& out, kvb_error* error) {
            out.struct_size = sizeof out;
            return kvb_fences_waits_for(get(), plan.get(), on, &out, error);
        });
    }
    /** A plan is done on a timeline once a fence of it has passed. */
    Result<void> record(const CopyPlan& plan, std::uint32_t on, std::uint64_t fence) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_fences_record(get(), plan.get(), on, fence, error); });
    }
    /** What has to pass on each other timeline before blocks may be read or written (`KVB_ACCESS_*`) on this one. */
    Result<Waits> waits_for(std::uint32_t memory, BlockIds blocks, std::uint32_t access, std::uint32_t on) const noexcept {
        return detail::told<Waits>([&](Waits& out, kvb_error* error) {
            out.struct_size = sizeof out;
            return kvb_fences_waits_for_blocks(get(), memory, blocks.data(), blocks.size(), access, on, &out, error);
        });
    }
    /** Blocks have been read or written (`KVB_ACCESS_*`) on a timeline once a fence of it has passed. */
    Result<void> record(std::uint32_t memory, BlockIds blocks, std::uint32_t access, std::uint32_t on,
                        std::uint64_t fence) noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_fences_record_blocks(get(), memory, blocks.data(), blocks.size(), access, on, fence, error);
        });
    }
    /** A timeline has passed this fence: nobody is told to wait for it, or an earlier one, any more. */
    Result<void> completed(std::uint32_t timeline, std::uint64_t fence) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_fences_completed(get(), timeline, fence, error); });
    }
    /** The last fence recorded on a timeline; 0 if there is none. */
    Result<std::uint64_t> last(std::uint32_t timeline) const noexcept {
        return detail::told<std::uint64_t>([&](std::uint64_t& fence, kvb_error* error) {
            return kvb_fences_last(get(), timeline, &fence, error);
        });
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_FENCES_HPP
