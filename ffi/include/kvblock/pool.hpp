/** One shard: its blocks, and what can be done to all of them. Part of kvblock.hpp. */
#ifndef KVBLOCK_POOL_HPP
#define KVBLOCK_POOL_HPP

#include <kvblock.h>
#include <kvblock/block.hpp>
#include <kvblock/object.hpp>
#include <kvblock/prompt.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace kvblock {

using PoolReport = kvb_pool_report;
using Probe = kvb_probe;
using Resized = kvb_resized;

/** What a pool is to be. */
class PoolConfig {
public:
    /** So many blocks of so many positions. */
    PoolConfig(std::size_t blocks, std::size_t block_size) noexcept {
        raw_.struct_size = sizeof raw_;
        raw_.blocks = blocks;
        raw_.block_size = block_size;
    }
    /** The name of its shard. Give each pool its own. */
    PoolConfig& shard(std::uint32_t shard) noexcept {
        raw_.shard = shard;
        return *this;
    }
    /** The most blocks that it can ever have. */
    PoolConfig& max_blocks(std::size_t blocks) noexcept {
        raw_.max_blocks = blocks;
        return *this;
    }
    /** How many events are kept for readers. */
    PoolConfig& events(std::size_t events) noexcept {
        raw_.events = events;
        return *this;
    }
    /** The key of all keyed hashes. */
    PoolConfig& secret(const std::array<std::uint8_t, 16>& secret) noexcept {
        for (std::size_t i = 0; i < secret.size(); ++i) raw_.secret[i] = secret[i];
        return *this;
    }
    /** Hits are compared with a digest instead of the tokens themselves. */
    PoolConfig& proof_by_digest() noexcept {
        raw_.proof = KVB_PROOF_DIGEST;
        return *this;
    }
    /** Chain keys are XXH3 with a seed instead of SipHash. */
    PoolConfig& xxh3(std::uint64_t seed) noexcept {
        raw_.hash = KVB_HASH_XXH3;
        raw_.hash_seed = seed;
        return *this;
    }
    /** As C has it. */
    const kvb_pool_config& raw() const noexcept { return raw_; }

private:
    kvb_pool_config raw_{};
};

/** What one thread keeps for its calls to one pool. */
class Worker : public Object<kvb_worker, kvb_worker_destroy> {
public:
    using Object::Object;
};

/** A pool of somebody else's: as long as that lives. All calls may run at the same time, each with a worker of its own. */
class PoolRef {
public:
    constexpr PoolRef() noexcept = default;
    constexpr explicit PoolRef(const kvb_pool* raw) noexcept : raw_(raw) {}

    /** For calls of C, or null. */
    constexpr const kvb_pool* get() const noexcept { return raw_; }
    constexpr explicit operator bool() const noexcept { return raw_ != nullptr; }

    /** The name of the shard. */
    std::uint32_t shard() const noexcept { return kvb_pool_shard(raw_); }
    /** Positions of a block. */
    std::size_t block_size() const noexcept { return kvb_pool_block_size(raw_); }
    /** Blocks that are online. */
    std::size_t capacity() const noexcept { return kvb_pool_capacity(raw_); }
    /** Blocks that are free or idle and promised to nobody. */
    std::size_t available() const noexcept { return kvb_pool_available(raw_); }
    /** Blocks that were promised and not taken. */
    std::size_t reserved() const noexcept { return kvb_pool_reserved(raw_); }
    /** Blocks that only fences hold. */
    std::size_t quarantined() const noexcept { return kvb_pool_quarantined(raw_); }

    /** Whether so many blocks could be promised. */
    Result<void> check(std::size_t blocks) const noexcept {
        return detail::told([&](kvb_error* error) { return kvb_pool_check(raw_, blocks, error); });
    }
    /** How much of a prompt is findable. */
    Result<Probe> probe(const Prompt& prompt) const noexcept {
        return detail::told<Probe>(
            [&](Probe& out, kvb_error* error) { return kvb_pool_probe(raw_, &prompt.raw(), &out, error); });
    }
    /** A worker for the calling thread. */
    Result<Worker> worker() const noexcept {
        return detail::made<Worker, kvb_worker>(
            [&](kvb_worker** out, kvb_error* error) { return kvb_worker_create(raw_, out, error); });
    }
    /** Brings the next ids online. */
    Result<Resized> grow(std::size_t blocks) const noexcept {
        return detail::told<Resized>(
            [&](Resized& out, kvb_error* error) { return kvb_pool_grow(raw_, blocks, &out, error); });
    }
    /** Takes the highest ids out of service. */
    Result<Resized> shrink(Worker& worker, std::size_t blocks) const noexcept {
        return detail::told<Resized>(
            [&](Resized& out, kvb_error* error) { return kvb_pool_shrink(raw_, worker.get(), blocks, &out, error); });
    }
    /** Frees idle blocks in the order of reclaim, and tells how many. */
    Result<std::size_t> evict(Worker& worker, std::size_t blocks) const noexcept {
        return detail::told<std::size_t>(
            [&](std::size_t& out, kvb_error* error) { return kvb_pool_evict(raw_, worker.get(), blocks, &out, error); });
    }
    /** Makes every block of a namespace unfindable, and tells how many became free. */
    Result<std::size_t> clear(Worker& worker, const Namespace& space) const noexcept {
        if (!space) return Error(KVB_ERR_NULL);
        return cleared(worker, space.get());
    }
    /** The same for the namespace of the bare model. */
    Result<std::size_t> clear_bare(Worker& worker) const noexcept { return cleared(worker, nullptr); }
    /** Makes every block unfindable, and tells how many became free. */
    Result<std::size_t> clear_all(Worker& worker) const noexcept {
        return detail::told<std::size_t>(
            [&](std::size_t& out, kvb_error* error) { return kvb_pool_clear_all(raw_, worker.get(), &out, error); });
    }
    /** Makes a block and all below it unfindable, and tells how many became free. */
    Result<std::size_t> invalidate(Worker& worker, BlockId block) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& out, kvb_error* error) {
            return kvb_pool_invalidate(raw_, worker.get(), block.raw(), &out, error);
        });
    }
    /** Does some of the reclaimer's work beforehand, and tells how much. */
    Result<std::size_t> maintain(Worker& worker, std::size_t steps) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& out, kvb_error* error) {
            return kvb_pool_maintain(raw_, worker.get(), steps, &out, error);
        });
    }
    /** The figures of the shard. */
    Result<PoolReport> report() const noexcept {
        return detail::sized<PoolReport>([&](PoolReport* out) { return kvb_pool_get_report(raw_, out); });
    }
    /** The figures for a person to read; how long all of the text is. */
    Result<std::size_t> report_text(View<char> text) const noexcept {
        return detail::plain<std::size_t>(
            [&](std::size_t& length) { return kvb_pool_report_text(raw_, text.data(), text.size(), &length); });
    }

protected:
    const kvb_pool* raw_ = nullptr;

private:
    Result<std::size_t> cleared(Worker& worker, const kvb_namespace* space) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& out, kvb_error* error) {
            return kvb_pool_clear(raw_, worker.get(), space, &out, error);
        });
    }
};

/** The blocks of one device or rank. What is made of it keeps it. */
class Pool : public PoolRef {
public:
    constexpr Pool() noexcept = default;
    /** Takes over what `kvb_pool_create` made. */
    explicit Pool(kvb_pool* raw) noexcept : PoolRef(raw) {}
    Pool(Pool&& other) noexcept : PoolRef(other.into_raw()) {}
    Pool& operator=(Pool&& other) noexcept {
        if (this != &other) reset(other.into_raw());
        return *this;
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() { reset(); }

    /** Makes a pool with all of its bookkeeping. */
    static Result<Pool> create(const PoolConfig& config) noexcept {
        return detail::made<Pool, kvb_pool>(
            [&](kvb_pool** out, kvb_error* error) { return kvb_pool_create(&config.raw(), out, error); });
    }

    /** Gives the pool to the caller, who destroys it. */
    [[nodiscard]] kvb_pool* into_raw() noexcept {
        // It was made as one that may be changed.
        return const_cast<kvb_pool*>(std::exchange(raw_, nullptr));
    }
    /** Lets go of what it owns, and owns this. */
    void reset(kvb_pool* raw = nullptr) noexcept {
        kvb_pool* const old = into_raw();
        raw_ = raw;
        kvb_pool_destroy(old);
    }
};

// Arrays of them are arrays of C's pointers.
static_assert(sizeof(PoolRef) == sizeof(const kvb_pool*) && sizeof(Pool) == sizeof(PoolRef));

}  // namespace kvblock

#endif  // KVBLOCK_POOL_HPP
