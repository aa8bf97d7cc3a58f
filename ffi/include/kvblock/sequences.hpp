/** Registries of sequences: what a scheduler talks to. Part of kvblock.hpp. */
#ifndef KVBLOCK_SEQUENCES_HPP
#define KVBLOCK_SEQUENCES_HPP

#include <kvblock.h>
#include <kvblock/admit.hpp>
#include <kvblock/block.hpp>
#include <kvblock/handle.hpp>
#include <kvblock/holder.hpp>
#include <kvblock/lanes.hpp>
#include <kvblock/leases.hpp>
#include <kvblock/object.hpp>
#include <kvblock/pool.hpp>
#include <kvblock/prompt.hpp>
#include <kvblock/result.hpp>
#include <kvblock/step.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace kvblock {

using State = kvb_state;
using SequencesReport = kvb_seqs_report;
using RegistryReport = kvb_registry_report;
using RankReport = kvb_rank_report;

/** A sequence between two registries, with all that it holds on every shard. */
class Detached : public Object<kvb_detached, kvb_detached_destroy> {
public:
    using Object::Object;
    /** Ends it when each shard's lane has passed the fence. Refused, it is as it was. */
    Result<void> release_after(Lanes& lanes, Fence fence) && noexcept {
        return detail::consumed(
            *this, [&](kvb_error* error) { return kvb_detached_release_after(get(), lanes.get(), fence, error); });
    }
};

/** Whom to preempt. */
struct Victims {
    /** How many of the handles were written. */
    std::size_t count = 0;
    /** Whether they free what is needed. */
    bool enough = false;
};

/** Entries of a block table. */
struct Dirty {
    std::size_t first = 0;
    std::size_t count = 0;
};

/** A registry of sequences over one pool or over all shards. One thread at a time may use it, also for `const` calls. */
class Sequences : public Object<kvb_seqs, kvb_seqs_destroy> {
public:
    using Object::Object;

    /** A registry over one pool. */
    static Result<Sequences> create(const PoolRef& pool, const SequencesConfig& config) noexcept {
        return create(one(pool), config);
    }
    /** A registry over several pools, each of which must hold every sequence. */
    static Result<Sequences> create(View<const PoolRef> pools, const SequencesConfig& config) noexcept {
        return detail::made<Sequences, kvb_seqs>([&](kvb_seqs** out, kvb_error* error) {
            // A pool is a pointer and nothing else, as asserted beside it.
            const auto* raw = reinterpret_cast<const kvb_pool* const*>(pools.data());
            return kvb_seqs_create(raw, pools.size(), &config.raw(), out, error);
        });
    }
    /** A registry over ranks that hold every sequence under the same block ids. */
    static Result<Sequences> lockstep(View<const Rank> ranks, const PoolConfig& pool, const SequencesConfig& config) noexcept {
        return detail::made<Sequences, kvb_seqs>([&](kvb_seqs** out, kvb_error* error) {
            return kvb_seqs_create_lockstep(ranks.data(), ranks.size(), &pool.raw(), &config.raw(), out, error);
        });
    }
    /** Another registry over the same shards. */
    Result<Sequences> another(const SequencesConfig& config) const noexcept {
        return detail::made<Sequences, kvb_seqs>([&](kvb_seqs** out, kvb_error* error) {
            return kvb_seqs_create_another(get(), &config.raw(), out, error);
        });
    }
    /** Room for what steps tell, of a batch of `sequences` with `positions` in all. */
    Result<Step> make_step(std::size_t sequences, std::size_t positions) const noexcept {
        return detail::made<Step, kvb_step>(
            [&](kvb_step** out, kvb_error*) { return kvb_step_create(get(), sequences, positions, out); });
    }
    /** A lane for each shard. */
    Result<Lanes> lanes() const noexcept {
        return detail::made<Lanes, kvb_lanes>(
            [&](kvb_lanes** out, kvb_error*) { return kvb_seqs_lanes_create(get(), out); });
    }

    /** How many positions of a prompt are findable on every shard. */
    Result<std::size_t> probe(const Prompt& prompt) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& positions, kvb_error* error) {
            return kvb_seqs_probe(get(), &prompt.raw(), &positions, error);
        });
    }
    /** Whether a request could be admitted; what it would take on each shard, if `costs` has room for that. */
    Result<void> check(const Admit& request, View<Cost> costs = {}) const noexcept {
        if (!costs.empty() && costs.size() < shards()) return Error::too_short(shards(), costs.size());
        return detail::told(
            [&](kvb_error* error) { return kvb_seqs_check(get(), &request.raw(), costs.data(), error); });
    }
    /** Admits a sequence on every shard, or on none. */
    Result<Admitted> admit(const Admit& request) noexcept {
        return detail::told<Admitted>([&](Admitted& out, kvb_error* error) {
            kvb_admitted raw{};
            const kvb_status status = kvb_seqs_admit(get(), &request.raw(), &raw, error);
            out.seq = raw.seq;
            out.hit = raw.hit;
            out.fresh = raw.fresh;
            return status;
        });
    }

    /** Appends positions to each sequence of a batch. `KVB_ERR_PARTIAL`: `Step::failures` tells who got nothing. */
    Result<void> step(View<const Append> batch, Step& step) noexcept {
        return detail::plain(kvb_seqs_step(get(), batch.data(), batch.size(), step.get()));
    }
    /** The same, of a batch in braces: `{{handle, positions}, ...}`. */
    Result<void> step(std::initializer_list<Append> batch, Step& step) noexcept {
        return this->step(detail::listed(batch), step);
    }
    /** Appends positions to one sequence. */
    Result<void> append(Handle seq, std::size_t positions, Step& step) noexcept {
        return detail::told(
            [&](kvb_error* error) { return kvb_seqs_append(get(), seq, positions, step.get(), error); });
    }
    /** Makes sure that a sequence has blocks for so many positions in all. */
    Result<void> ensure(Handle seq, std::size_t positions, Step& step) noexcept {
        return detail::told(
            [&](kvb_error* error) { return kvb_seqs_ensure(get(), seq, positions, step.get(), error); });
    }
    /** How many blocks an append would take beyond what is promised. */
    Result<std::size_t> check_append(Handle seq, std::size_t positions) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& blocks, kvb_error* error) {
            return kvb_seqs_check_append(get(), seq, positions, &blocks, error);
        });
    }
    /** Says which tokens the positions from `at` on are. */
    Result<void> tokens(Handle seq, std::size_t at, const Contents& contents) noexcept {
        return detail::told(
            [&](kvb_error* error) { return kvb_seqs_tokens(get(), seq, at, &contents.raw(), error); });
    }
    /** Says that K/V of the first so many positions is written. */
    Result<void> computed(Handle seq, std::size_t positions) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_seqs_computed(get(), seq, positions, error); });
    }
    /**
     * Tells tokens and what is computed of each sequence of a batch. `KVB_ERR_PARTIAL`: the first `*failed` of `failures`, which has room
     * for the batch or none, tell who was refused.
     */
    Result<void> advance(View<const Progress> batch, View<Failure> failures = {}, std::size_t* failed = nullptr) noexcept {
        if (!failures.empty() && failures.size() < batch.size()) return Error::too_short(batch.size(), failures.size());
        return detail::plain(kvb_seqs_advance(get(), batch.data(), batch.size(), failures.data(), failed));
    }
    /** The same, of a batch in braces. */
    Result<void> advance(std::initializer_list<Progress> batch, View<Failure> failures = {}, std::size_t* failed = nullptr) noexcept {
        return advance(detail::listed(batch), failures, failed);
    }
    /** Says that copies on a shard have been made. */
    Result<void> copied(std::size_t shard, View<const Copy> copies) noexcept {
        return detail::plain(kvb_seqs_copied(get(), shard, copies.data(), copies.size()));
    }

    /** Keeps the first so many positions. */
    Result<void> truncate(Handle seq, std::size_t positions) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_seqs_truncate(get(), seq, positions, error); });
    }
    /** The same, where a device may still touch the blocks behind. */
    Result<void> truncate_after(Handle seq, std::size_t positions, Lanes& lanes, Fence fence) noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_seqs_truncate_after(get(), seq, positions, lanes.get(), fence, error);
        });
    }
    /** Makes branches of a sequence, all or none; as many as `children` has room for. */
    Result<void> fork(Handle parent, View<Handle> children) noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_seqs_fork(get(), parent, children.data(), children.size(), error);
        });
    }
    /** Puts findable blocks in the place of equal ones of the sequence's own, and tells how many. */
    Result<std::size_t> adopt_duplicates(Handle seq) noexcept {
        return detail::told<std::size_t>([&](std::size_t& blocks, kvb_error* error) {
            return kvb_seqs_adopt_duplicates(get(), seq, &blocks, error);
        });
    }
    /** The same, where a device may still touch the sequence's own. */
    Result<std::size_t> adopt_duplicates_after(Handle seq, Lanes& lanes, Fence fence) noexcept {
        return detail::told<std::size_t>([&](std::size_t& blocks, kvb_error* error) {
            return kvb_seqs_adopt_duplicates_after(get(), seq, lanes.get(), fence, &blocks, error);
        });
    }

    /** Ends sequences. `KVB_ERR_STALE`: some name nothing, the others are done. */
    Result<void> release(View<const Handle> seqs) noexcept {
        return detail::plain(kvb_seqs_release(get(), seqs.data(), seqs.size()));
    }
    Result<void> release(std::initializer_list<Handle> seqs) noexcept { return release(detail::listed(seqs)); }
    /** Ends one sequence. */
    Result<void> release(const Handle& seq) noexcept { return release(one(seq)); }
    /** Ends sequences that will come back. */
    Result<void> preempt(View<const Handle> seqs) noexcept {
        return detail::plain(kvb_seqs_preempt(get(), seqs.data(), seqs.size()));
    }
    Result<void> preempt(std::initializer_list<Handle> seqs) noexcept { return preempt(detail::listed(seqs)); }
    /** Ends one sequence that will come back. */
    Result<void> preempt(const Handle& seq) noexcept { return preempt(one(seq)); }
    /** Ends a sequence whose blocks a device may still touch. */
    Result<void> release_after(Handle seq, Lanes& lanes, Fence fence) noexcept {
        return detail::told(
            [&](kvb_error* error) { return kvb_seqs_release_after(get(), seq, lanes.get(), fence, error); });
    }
    /** The same for one that will come back. */
    Result<void> preempt_after(Handle seq, Lanes& lanes, Fence fence) noexcept {
        return detail::told(
            [&](kvb_error* error) { return kvb_seqs_preempt_after(get(), seq, lanes.get(), fence, error); });
    }
    /** Ends every sequence and the registry when each lane has passed the fence. Refused, it is as it was. */
    Result<void> close_after(Lanes& lanes, Fence fence) && noexcept {
        return detail::consumed(
            *this, [&](kvb_error* error) { return kvb_seqs_close_after(get(), lanes.get(), fence, error); });
    }
    /** A table of leases for each shard, which hold at most so many references a shard together. */
    Result<Leases> leases(std::size_t budget) const noexcept {
        return detail::made<Leases, kvb_leases>(
            [&](kvb_leases** out, kvb_error*) { return kvb_seqs_leases_create(get(), budget, out); });
    }
    /** Holds what is published of a sequence until a deadline, whatever becomes of the sequence. */
    Result<Lease> pin(Handle seq, Leases& leases, std::uint64_t owner, std::uint64_t deadline) const noexcept {
        return detail::made<Lease, kvb_lease>([&](kvb_lease** out, kvb_error* error) {
            return kvb_seqs_pin(get(), seq, leases.get(), owner, deadline, out, error);
        });
    }
    /** Takes a sequence out, to be attached to another registry over the same shards. */
    Result<Detached> detach(Handle seq) noexcept {
        return detail::made<Detached, kvb_detached>(
            [&](kvb_detached** out, kvb_error* error) { return kvb_seqs_detach(get(), seq, out, error); });
    }
    /** Takes a detached sequence in and names it anew. Refused, it is as it was. */
    Result<Handle> attach(Detached&& detached) noexcept {
        Result<Handle> attached = detail::told<Handle>([&](Handle& out, kvb_error* error) {
            return kvb_seqs_attach(get(), detached.get(), &out, error);
        });
        if (attached) detail::gone(detached);
        return attached;
    }

    /** Shards that have a table of their own: 1 for ranks in lockstep. */
    std::size_t shards() const noexcept { return kvb_seqs_shards(get()); }
    /** Shards, or ranks in lockstep. */
    std::size_t width() const noexcept { return kvb_seqs_width(get()); }
    /** Sequences that live. */
    std::size_t size() const noexcept { return kvb_seqs_count(get()); }
    /** Sequences that can live at once. */
    std::size_t max_sequences() const noexcept { return kvb_seqs_max(get()); }
    /** Blocks that an admission can have. */
    std::size_t free() const noexcept { return kvb_seqs_free(get()); }
    /** Blocks that one sequence can ever have. */
    std::size_t largest() const noexcept { return kvb_seqs_largest(get()); }
    /** The pool of a shard, as long as the registry lives; null if there is no such. */
    PoolRef pool(std::size_t shard = 0) const noexcept { return PoolRef(kvb_seqs_pool(get(), shard)); }

    /** A sequence's figures. */
    Result<State> state(Handle seq) const noexcept {
        return detail::sized<State>([&](State* out) { return kvb_seqs_get_state(get(), seq, out); });
    }
    /** The block table of a sequence on one shard, until the next call that changes the sequence. */
    Result<View<const std::int32_t>> table(Handle seq, std::size_t shard = 0) const noexcept {
        return detail::plain<View<const std::int32_t>>([&](View<const std::int32_t>& out) {
            const std::int32_t* table = nullptr;
            std::size_t count = 0;
            const kvb_status status = kvb_seqs_get_table(get(), shard, seq, &table, &count);
            out = {table, count};
            return status;
        });
    }
    /** Writes the block tables of a batch to the starts of rows of `stride` entries, and their lengths where these are wanted. */
    Result<void> copy_tables(std::size_t shard, View<const Handle> seqs, View<std::int32_t> rows, std::size_t stride,
                             View<std::size_t> lengths = {}) noexcept {
        if (stride != 0 && rows.size() / stride < seqs.size()) return Error::too_short(seqs.size(), rows.size() / stride);
        if (!lengths.empty() && lengths.size() < seqs.size()) return Error::too_short(seqs.size(), lengths.size());
        return detail::told([&](kvb_error* error) {
            return kvb_seqs_copy_tables(get(), shard, seqs.data(), seqs.size(), rows.data(), stride, lengths.data(), error);
        });
    }
    /** Entries of a block table that are new or others since it was copied, up to its end. */
    Result<Dirty> dirty(Handle seq, std::size_t shard = 0) const noexcept {
        return detail::plain<Dirty>(
            [&](Dirty& out) { return kvb_seqs_get_dirty(get(), shard, seq, &out.first, &out.count); });
    }
    /** Writes the slots of positions from `first` on; as many as `out` has room for. */
    Result<void> slots(Handle seq, std::size_t first, View<std::int64_t> out, std::size_t shard = 0) const noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_seqs_get_slots(get(), shard, seq, first, out.size(), out.data(), error);
        });
    }
    /** The latest sequence of a label, or a handle that names none. */
    Handle find(std::uint64_t label) const noexcept {
        Handle seq;
        // Refused only where there is none.
        (void)kvb_seqs_find(get(), &label, 1, &seq);
        return seq;
    }
    /** The latest sequence of each label. `KVB_ERR_STALE`: some have none, and a handle that names none. */
    Result<void> find(View<const std::uint64_t> labels, View<Handle> out) const noexcept {
        if (out.size() < labels.size()) return Error::too_short(labels.size(), out.size());
        return detail::plain(kvb_seqs_find(get(), labels.data(), labels.size(), out.data()));
    }
    /** Lists the sequences that live, as many as there is room for, and tells how many there are. */
    Result<std::size_t> list(View<Handle> out) const noexcept { return listed(nullptr, out); }
    /** Lists those of one label, the latest first. */
    Result<std::size_t> list(std::uint64_t label, View<Handle> out) const noexcept { return listed(&label, out); }
    /** Chooses whom to preempt, in your order, so that each shard has so many blocks more; `out` has room for all of `order`. */
    Result<Victims> select_victims(View<const Handle> order, View<const std::size_t> need, View<Handle> out) const noexcept {
        if (out.size() < order.size()) return Error::too_short(order.size(), out.size());
        return detail::told<Victims>([&](Victims& victims, kvb_error* error) {
            std::uint32_t enough = 0;
            const kvb_status status = kvb_seqs_select_victims(get(), order.data(), order.size(), need.data(), need.size(),
                                                              out.data(), &victims.count, &enough, error);
            victims.enough = enough != 0;
            return status;
        });
    }

    /** Gives every shard more blocks. */
    Result<void> grow(std::size_t blocks) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_seqs_grow(get(), blocks, error); });
    }
    /** Takes the upper blocks of every shard out of service. */
    Result<void> shrink(std::size_t blocks) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_seqs_shrink(get(), blocks, error); });
    }
    /** Gives one rank or shard another number of blocks. */
    Result<void> resize_rank(std::size_t at, std::size_t blocks) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_seqs_resize_rank(get(), at, blocks, error); });
    }
    /** Blocks above the limit that are not offline yet. */
    std::size_t draining() const noexcept { return kvb_seqs_draining(get()); }
    /** Takes back a block whose content is bad; how many sequences have to be renewed, of which `affected` gets as many as fit. */
    Result<std::size_t> invalidate(std::size_t shard, BlockId block, View<Handle> affected) noexcept {
        return detail::told<std::size_t>([&](std::size_t& count, kvb_error* error) {
            return kvb_seqs_invalidate(get(), shard, block.raw(), affected.data(), affected.size(), &count, error);
        });
    }
    /** Gives a sequence blocks of its own from where it is not computed on. */
    Result<void> renew(Handle seq, Step& step) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_seqs_renew(get(), seq, step.get(), error); });
    }

    /** The figures of the instance. */
    Result<SequencesReport> report() const noexcept {
        return detail::sized<SequencesReport>([&](SequencesReport* out) { return kvb_seqs_get_report(get(), out); });
    }
    /** The figures on one shard. */
    Result<RegistryReport> shard_report(std::size_t shard) const noexcept {
        return detail::sized<RegistryReport>(
            [&](RegistryReport* out) { return kvb_seqs_get_shard_report(get(), shard, out); });
    }
    /** What one rank has. */
    Result<RankReport> rank_report(std::size_t at) const noexcept {
        return detail::sized<RankReport>([&](RankReport* out) { return kvb_seqs_get_rank_report(get(), at, out); });
    }
    /** The figures for a person to read; how long all of the text is. */
    Result<std::size_t> report_text(View<char> text) const noexcept {
        return detail::plain<std::size_t>(
            [&](std::size_t& length) { return kvb_seqs_report_text(get(), text.data(), text.size(), &length); });
    }
    /** Recounts every shard. `others` are all other holders of its pools. */
    Result<void> audit(View<const Holder> others = {}) const noexcept {
        return detail::told(
            [&](kvb_error* error) { return kvb_seqs_audit(get(), others.data(), others.size(), error); });
    }

private:
    Result<std::size_t> listed(const std::uint64_t* label, View<Handle> out) const noexcept {
        return detail::plain<std::size_t>(
            [&](std::size_t& count) { return kvb_seqs_list(get(), label, out.data(), out.size(), &count); });
    }
};

inline Holder::Holder(const Sequences& seqs) noexcept : kvb_holder{KVB_HOLDER_SEQS, 0, seqs.get()} {}
inline Holder::Holder(const Detached& detached) noexcept : kvb_holder{KVB_HOLDER_DETACHED, 0, detached.get()} {}

}  // namespace kvblock

#endif  // KVBLOCK_SEQUENCES_HPP
