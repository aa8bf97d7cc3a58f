/** Sequences whose content goes elsewhere, or comes from there. Part of kvblock.hpp. */
#ifndef KVBLOCK_TRANSFER_HPP
#define KVBLOCK_TRANSFER_HPP

#include <kvblock.h>
#include <kvblock/admit.hpp>
#include <kvblock/format.hpp>
#include <kvblock/holder.hpp>
#include <kvblock/leases.hpp>
#include <kvblock/object.hpp>
#include <kvblock/prompt.hpp>
#include <kvblock/result.hpp>
#include <kvblock/sequences.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using Loading = kvb_loading;

/** The computed blocks of a sequence, offered to be read. Any thread may use it. */
class Export : public Object<kvb_export, kvb_export_destroy> {
public:
    using Object::Object;
    /** Shards that it offers blocks of. */
    std::size_t shards() const noexcept { return kvb_export_shards(get()); }
    /** The blocks on one shard, as long as it lives. */
    Result<View<const std::uint32_t>> ids(std::size_t shard = 0) const noexcept {
        return detail::plain<View<const std::uint32_t>>([&](View<const std::uint32_t>& out) {
            const std::uint32_t* ids = nullptr;
            std::size_t count = 0;
            const kvb_status status = kvb_export_ids(get(), shard, &ids, &count);
            out = {ids, count};
            return status;
        });
    }
    /** Computed positions in the blocks. */
    std::size_t positions() const noexcept { return kvb_export_positions(get()); }
    /** `KVB_HANDOVER_*`. */
    std::uint32_t handover() const noexcept { return kvb_export_handover(get()); }
    /** `KVB_PHASE_*`. */
    std::uint32_t phase() const noexcept { return kvb_export_phase(get()); }
    /** The lease that holds the blocks meanwhile. */
    Result<Lease> lease() const noexcept {
        return detail::made<Lease, kvb_lease>(
            [&](kvb_lease** out, kvb_error*) { return kvb_export_lease(get(), out); });
    }
    /** Calls it off. */
    Result<void> abort() const noexcept {
        return detail::told([&](kvb_error* error) { return kvb_export_abort(get(), error); });
    }
    /** A reader outside of this process has all of it. */
    Result<void> finish() const noexcept {
        return detail::told([&](kvb_error* error) { return kvb_export_finish(get(), error); });
    }
};

/** Under which terms blocks are offered. */
class Offer {
public:
    /** A copy for somebody else, held for an owner until a deadline. */
    Offer(std::uint64_t owner, std::uint64_t deadline) noexcept {
        raw_.struct_size = sizeof raw_;
        raw_.handover = KVB_HANDOVER_COPY;
        raw_.owner = owner;
        raw_.deadline = deadline;
    }
    /** The sequence itself is to go on elsewhere. */
    Offer& move() noexcept {
        raw_.handover = KVB_HANDOVER_MOVE;
        return *this;
    }
    /** As C has it. */
    const kvb_offer& raw() const noexcept { return raw_; }

private:
    kvb_offer raw_{};
};

namespace detail {

inline Result<Export> exported(Sequences& seqs, Handle seq, Leases& leases, const Offer& offer,
                               const kvb_namespace* space) noexcept {
    return made<Export, kvb_export>([&](kvb_export** out, kvb_error* error) {
        return kvb_seqs_export(seqs.get(), seq, space, leases.get(), &offer.raw(), out, error);
    });
}

}  // namespace detail

/** Offers what is computed of a sequence of the bare model to be read. */
inline Result<Export> export_seq(Sequences& seqs, Handle seq, Leases& leases, const Offer& offer) noexcept {
    return detail::exported(seqs, seq, leases, offer, nullptr);
}

/** The same for one that was admitted in a namespace. */
inline Result<Export> export_seq(Sequences& seqs, Handle seq, Leases& leases, const Offer& offer,
                                 const Namespace& space) noexcept {
    if (!space) return Error(KVB_ERR_NULL);
    return detail::exported(seqs, seq, leases, offer, space.get());
}

/** The most bytes that transfers may have under way together. Any thread may use it. */
class Flights : public Object<kvb_flights, kvb_flights_destroy> {
public:
    using Object::Object;
    static Result<Flights> create(std::uint64_t max_bytes) noexcept {
        return detail::made<Flights, kvb_flights>(
            [&](kvb_flights** out, kvb_error*) { return kvb_flights_create(max_bytes, out); });
    }
    /** The cap. */
    std::uint64_t max() const noexcept { return kvb_flights_max(get()); }
    /** Bytes under way. */
    std::uint64_t in_flight() const noexcept { return kvb_flights_in_flight(get()); }
};

/** What is to come for a sequence. Borrows all that it is made of: none may be an object that goes away. */
class Incoming {
public:
    Incoming(const Export&& source, std::uint32_t writers) = delete;
    template <typename C, detail::if_goes_away<C> = 0>
    Incoming& formats(C&& formats) = delete;
    Incoming& flights(const Flights&& flights) = delete;
    /** From outside of this process: so many positions from the start, each block filled by so many writers. */
    Incoming(std::size_t positions, std::uint32_t writers) noexcept {
        raw_.struct_size = sizeof raw_;
        raw_.positions = positions;
        raw_.writers = writers;
    }
    /** All that an export of this process offers. */
    Incoming(const Export& source, std::uint32_t writers) noexcept : Incoming(std::size_t(0), writers) {
        raw_.source = source.get();
        has_source_ = static_cast<bool>(source);
    }
    /** How the content is laid out there: one for each shard. */
    Incoming& formats(View<const Format> formats) noexcept {
        raw_.formats = reinterpret_cast<const kvb_format* const*>(formats.data());
        raw_.format_count = formats.size();
        return *this;
    }
    /** Where the bytes under way are counted. */
    Incoming& flights(const Flights& flights) noexcept {
        raw_.flights = flights.get();
        has_flights_ = static_cast<bool>(flights);
        return *this;
    }
    /** Whether no object that it was given was an empty one: it is refused as `KVB_ERR_NULL` then. */
    bool whole() const noexcept { return has_source_ && has_flights_; }
    /** As C has it. */
    const kvb_incoming& raw() const noexcept { return raw_; }

private:
    kvb_incoming raw_{};
    bool has_source_ = true;
    bool has_flights_ = true;
};

/** Blocks of a sequence that are being filled. Any thread may use it. */
class Import : public Object<kvb_import, kvb_import_destroy> {
public:
    using Object::Object;
    /** Shards that have blocks to be filled. */
    std::size_t shards() const noexcept { return kvb_import_shards(get()); }
    /** The blocks on one shard, as long as it lives. */
    Result<View<const std::uint32_t>> ids(std::size_t shard = 0) const noexcept {
        return detail::plain<View<const std::uint32_t>>([&](View<const std::uint32_t>& out) {
            const std::uint32_t* ids = nullptr;
            std::size_t count = 0;
            const kvb_status status = kvb_import_ids(get(), shard, &ids, &count);
            out = {ids, count};
            return status;
        });
    }
    /** Writers of each shard. */
    std::size_t writers() const noexcept { return kvb_import_writers(get()); }
    /** Blocks that some writer may still touch. */
    std::size_t left() const noexcept { return kvb_import_left(get()); }
    /** Whether somebody still waits for the content. */
    bool is_wanted() const noexcept { return kvb_import_is_wanted(get()); }
    /** A writer has written its part of some blocks; `KVB_ANSWER_*`. */
    Result<std::uint32_t> arrived(std::size_t shard, std::size_t writer, std::size_t first, std::size_t count) const noexcept {
        return detail::told<std::uint32_t>([&](std::uint32_t& answer, kvb_error* error) {
            return kvb_import_arrived(get(), shard, writer, first, count, &answer, error);
        });
    }
    /** A writer will not write its part of some blocks; `KVB_ANSWER_*`. */
    Result<std::uint32_t> failed(std::size_t shard, std::size_t writer, std::size_t first, std::size_t count) const noexcept {
        return detail::told<std::uint32_t>([&](std::uint32_t& answer, kvb_error* error) {
            return kvb_import_failed(get(), shard, writer, first, count, &answer, error);
        });
    }
    /** A writer touches nothing more; how many blocks it had not answered for. */
    Result<std::size_t> end(std::size_t shard, std::size_t writer) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& missing, kvb_error* error) {
            return kvb_import_end(get(), shard, writer, &missing, error);
        });
    }
};

inline Holder::Holder(const Import& import) noexcept : kvb_holder{KVB_HOLDER_IMPORT, 0, import.get()} {}

/** A sequence that was admitted, and what is to come for it. */
struct Imported {
    Admitted admitted;
    Import import_;
};

/** Admits a sequence whose first positions come from elsewhere. */
inline Result<Imported> import_seq(Sequences& seqs, const Admit& request, const Incoming& incoming) noexcept {
    if (!incoming.whole()) return Error(KVB_ERR_NULL);
    return detail::told<Imported>([&](Imported& out, kvb_error* error) {
        kvb_admitted admitted{};
        kvb_import* raw = nullptr;
        const kvb_status status = kvb_seqs_import(seqs.get(), &request.raw(), &incoming.raw(), &admitted, &raw, error);
        out.import_.reset(raw);
        out.admitted = {admitted.seq, admitted.hit, admitted.fresh};
        return status;
    });
}

/** How far the load of a sequence is. What has arrived on every shard is computed by this call. */
inline Result<Loading> loading(Sequences& seqs, Handle seq) noexcept {
    return detail::sized<Loading>([&](Loading* out) { return kvb_seqs_loading(seqs.get(), seq, out); });
}

/** Takes over a sequence that was being moved here. */
inline Result<void> commit(Sequences& seqs, Handle seq) noexcept {
    return detail::told([&](kvb_error* error) { return kvb_seqs_commit(seqs.get(), seq, error); });
}

}  // namespace kvblock

#endif  // KVBLOCK_TRANSFER_HPP
