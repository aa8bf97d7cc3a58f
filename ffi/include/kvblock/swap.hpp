/** Sequences on their way to another tier of memory and back. Part of kvblock.hpp. */
#ifndef KVBLOCK_SWAP_HPP
#define KVBLOCK_SWAP_HPP

#include <kvblock.h>
#include <kvblock/admit.hpp>
#include <kvblock/handle.hpp>
#include <kvblock/leases.hpp>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>
#include <kvblock/sequences.hpp>
#include <kvblock/transfer.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using SwapInfo = kvb_swap_info;

/** A sequence on its way from one registry to another: copy its blocks, then finish it. Given back before, it is called off. */
class Swap : public Object<kvb_swap, kvb_swap_destroy> {
public:
    using Object::Object;
    /** What it is of. */
    Result<SwapInfo> info() const noexcept {
        return detail::sized<SwapInfo>([&](SwapInfo* out) { return kvb_swap_get_info(get(), out); });
    }
    /** Lists what is to be copied on a shard, from each source to the destination beside it, and tells how many blocks that are. */
    Result<std::size_t> pairs(std::size_t shard, View<std::uint32_t> sources, View<std::uint32_t> destinations) const noexcept {
        if (sources.size() != destinations.size()) return Error(KVB_ERR_LENGTH_MISMATCH);
        return detail::told<std::size_t>([&](std::size_t& count, kvb_error* error) {
            return kvb_swap_pairs(get(), shard, sources.data(), destinations.data(), sources.size(), &count, error);
        });
    }
    /** The lease that holds the source's blocks meanwhile, for an audit when its table is gone. */
    Result<Lease> lease() const noexcept {
        return detail::made<Lease, kvb_lease>(
            [&](kvb_lease** out, kvb_error*) { return kvb_swap_lease(get(), out); });
    }
    /** What holds the destination's blocks meanwhile, for whoever answers when the swap is gone. */
    Result<Import> import_handle() const noexcept {
        return detail::made<Import, kvb_import>(
            [&](kvb_import** out, kvb_error*) { return kvb_swap_import(get(), out); });
    }
    /** The copy on a shard, or a part of it, is launched, and done when this fence has passed. */
    Result<void> copying(std::size_t shard, std::uint64_t fence) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_swap_copying(get(), shard, fence, error); });
    }
    /** A shard's copies have come so far. Whether nothing touches the blocks of any shard any more. */
    bool complete(std::size_t shard, std::uint64_t completed) noexcept { return kvb_swap_complete(get(), shard, completed); }
    /** Ends it when the copies have passed: the name of the sequence where it goes on. */
    Result<Handle> finish(Sequences& from, Sequences& to) noexcept {
        return detail::told<Handle>(
            [&](Handle& seq, kvb_error* error) { return kvb_swap_finish(get(), from.get(), to.get(), &seq, error); });
    }
    /** Calls it off: the source goes on, and the destination gives its blocks back behind the copy. */
    Result<void> abort(Sequences& to) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_swap_abort(get(), to.get(), error); });
    }
};

/** Begins to swap a sequence to another registry; `leases` are those of the one that it leaves. */
inline Result<Swap> swap_seq(Sequences& from, Handle seq, Sequences& to, const Admit& request, Leases& leases,
                             std::uint64_t owner) noexcept {
    return detail::made<Swap, kvb_swap>([&](kvb_swap** out, kvb_error* error) {
        return kvb_seqs_swap_to(from.get(), seq, to.get(), &request.raw(), leases.get(), owner, out, error);
    });
}

}  // namespace kvblock

#endif  // KVBLOCK_SWAP_HPP
