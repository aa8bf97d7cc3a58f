/** Promises, private blocks and chains, for schedulers that keep block tables of their own. Part of kvblock.hpp. */
#ifndef KVBLOCK_CHAIN_HPP
#define KVBLOCK_CHAIN_HPP

#include <kvblock.h>
#include <kvblock/lanes.hpp>
#include <kvblock/object.hpp>
#include <kvblock/pool.hpp>
#include <kvblock/prompt.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using Published = kvb_published;

/** Blocks that their owner holds alone. */
class Blocks : public Object<kvb_blocks, kvb_blocks_destroy> {
public:
    using Object::Object;
    /** Their ids, until the next call that changes or ends them. */
    Result<View<const std::uint32_t>> ids() const noexcept {
        return detail::plain<View<const std::uint32_t>>([&](View<const std::uint32_t>& out) {
            const std::uint32_t* ids = nullptr;
            std::size_t count = 0;
            const kvb_status status = kvb_blocks_ids(get(), &ids, &count);
            out = {ids, count};
            return status;
        });
    }
    /** Keeps the first `at` and splits the others off. */
    Result<Blocks> split_off(std::size_t at) noexcept {
        return detail::made<Blocks, kvb_blocks>(
            [&](kvb_blocks** out, kvb_error* error) { return kvb_blocks_split_off(get(), at, out, error); });
    }
    /** Puts others behind these. Refused, they are as they were. */
    Result<void> append(Blocks&& others) noexcept {
        return detail::consumed(others, [&](kvb_error* error) { return kvb_blocks_append(get(), others.get(), error); });
    }
    /** Gives them back. Refused, they are as they were. */
    Result<void> release(Worker& worker) && noexcept {
        return detail::consumed(*this, [&](kvb_error* error) { return kvb_blocks_release(get(), worker.get(), error); });
    }
    /** Gives them back when a shard's lane has passed a fence. Refused, they are as they were. */
    Result<void> release_after(Worker& worker, Lanes& lanes, std::size_t shard, Fence fence) && noexcept {
        return detail::consumed(*this, [&](kvb_error* error) {
            return kvb_blocks_release_after(get(), worker.get(), lanes.get(), shard, fence, error);
        });
    }
};

/** The right to so many blocks: taking within it never fails for want of blocks. */
class Reservation : public Object<kvb_reservation, kvb_reservation_destroy> {
public:
    using Object::Object;
    /** Promises so many blocks of a pool. */
    static Result<Reservation> create(PoolRef pool, std::size_t blocks) noexcept {
        return detail::made<Reservation, kvb_reservation>(
            [&](kvb_reservation** out, kvb_error* error) { return kvb_pool_reserve(pool.get(), blocks, out, error); });
    }
    /** Blocks that are still promised. */
    std::size_t blocks() const noexcept { return kvb_reservation_blocks(get()); }
    /** Promises more. */
    Result<void> grow(std::size_t blocks) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_reservation_grow(get(), blocks, error); });
    }
    /** Gives some of it back. */
    Result<void> shrink(std::size_t blocks) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_reservation_shrink(get(), blocks, error); });
    }
    /** Splits some of it off. */
    Result<Reservation> split(std::size_t blocks) noexcept {
        return detail::made<Reservation, kvb_reservation>(
            [&](kvb_reservation** out, kvb_error* error) { return kvb_reservation_split(get(), blocks, out, error); });
    }
    /** Takes blocks of it. */
    Result<Blocks> take(Worker& worker, std::size_t blocks) noexcept {
        return detail::made<Blocks, kvb_blocks>([&](kvb_blocks** out, kvb_error* error) {
            return kvb_reservation_take(get(), worker.get(), blocks, out, error);
        });
    }
};

/** What one owner holds of a path from the root: a published head, then private blocks. */
class Chain : public Object<kvb_chain, kvb_chain_destroy> {
public:
    using Object::Object;
    /** An empty one for prompts of the bare model. */
    static Result<Chain> create(PoolRef pool) noexcept { return create(pool, nullptr); }
    /** An empty one for prompts of a namespace. */
    static Result<Chain> create(PoolRef pool, const Namespace& space) noexcept {
        if (!space) return Error(KVB_ERR_NULL);
        return create(pool, space.get());
    }
    /** Holds the longest prefix of a prompt that is findable; idle blocks of it cost one of `pay` each. */
    static Result<Chain> find(PoolRef pool, Worker& worker, const Prompt& prompt, Reservation& pay) noexcept {
        return detail::made<Chain, kvb_chain>([&](kvb_chain** out, kvb_error* error) {
            return kvb_pool_find(pool.get(), worker.get(), &prompt.raw(), pay.get(), out, error);
        });
    }
    /** The block table, until the next call that changes or ends the chain. */
    Result<View<const std::uint32_t>> ids() const noexcept {
        return detail::plain<View<const std::uint32_t>>([&](View<const std::uint32_t>& out) {
            const std::uint32_t* ids = nullptr;
            std::size_t count = 0;
            const kvb_status status = kvb_chain_ids(get(), &ids, &count);
            out = {ids, count};
            return status;
        });
    }
    /** Blocks from the start whose content is findable, or was. */
    std::size_t published() const noexcept { return kvb_chain_published(get()); }
    /** Takes blocks of a promise to the end of the table. */
    Result<void> take(Worker& worker, Reservation& promise, std::size_t blocks) noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_chain_take(get(), worker.get(), promise.get(), blocks, error);
        });
    }
    /** Puts private blocks at the end of the table. Refused, they are as they were. */
    Result<void> push(Blocks&& blocks) noexcept {
        return detail::consumed(blocks, [&](kvb_error* error) { return kvb_chain_push(get(), blocks.get(), error); });
    }
    /** Makes the next whole blocks findable; what has to be held for duplicates is paid from what is available. */
    Result<Published> publish(Worker& worker, const Contents& contents) noexcept {
        return publish(worker, contents, nullptr);
    }
    /** The same, paid by a promise. */
    Result<Published> publish(Worker& worker, const Contents& contents, Reservation& pay) noexcept {
        if (!pay) return Error(KVB_ERR_NULL);
        return publish(worker, contents, pay.get());
    }
    /** A second owner of every block. */
    Result<Chain> fork(Worker& worker) const noexcept {
        return detail::made<Chain, kvb_chain>(
            [&](kvb_chain** out, kvb_error* error) { return kvb_chain_fork(get(), worker.get(), out, error); });
    }
    /** Keeps the first `at` blocks and splits the others off. */
    Result<Chain> split_off(std::size_t at) noexcept {
        return detail::made<Chain, kvb_chain>(
            [&](kvb_chain** out, kvb_error* error) { return kvb_chain_split_off(get(), at, out, error); });
    }
    /** Puts findable copies in the place of duplicates, and tells how many. */
    Result<std::size_t> adopt_duplicates(Worker& worker) noexcept {
        return detail::told<std::size_t>([&](std::size_t& adopted, kvb_error* error) {
            return kvb_chain_adopt_duplicates(get(), worker.get(), &adopted, error);
        });
    }
    /** Gives every reference back. Refused, it is as it was. */
    Result<void> release(Worker& worker) && noexcept {
        return detail::consumed(*this, [&](kvb_error* error) { return kvb_chain_release(get(), worker.get(), error); });
    }
    /** Gives every reference back when a shard's lane has passed a fence. Refused, it is as it was. */
    Result<void> release_after(Worker& worker, Lanes& lanes, std::size_t shard, Fence fence) && noexcept {
        return detail::consumed(*this, [&](kvb_error* error) {
            return kvb_chain_release_after(get(), worker.get(), lanes.get(), shard, fence, error);
        });
    }

private:
    static Result<Chain> create(PoolRef pool, const kvb_namespace* space) noexcept {
        return detail::made<Chain, kvb_chain>(
            [&](kvb_chain** out, kvb_error*) { return kvb_pool_chain_create(pool.get(), space, out); });
    }
    Result<Published> publish(Worker& worker, const Contents& contents, kvb_reservation* pay) noexcept {
        return detail::told<Published>([&](Published& out, kvb_error* error) {
            return kvb_chain_publish(get(), worker.get(), &contents.raw(), pay, &out, error);
        });
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_CHAIN_HPP
