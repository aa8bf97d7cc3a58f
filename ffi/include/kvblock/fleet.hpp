/** Several instances: where a request goes, moves between them, memory that one lends to another. Part of kvblock.hpp. */
#ifndef KVBLOCK_FLEET_HPP
#define KVBLOCK_FLEET_HPP

#include <kvblock.h>
#include <kvblock/admit.hpp>
#include <kvblock/fleet_report.hpp>
#include <kvblock/handle.hpp>
#include <kvblock/holder.hpp>
#include <kvblock/lanes.hpp>
#include <kvblock/move.hpp>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>
#include <kvblock/sequences.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace kvblock {

using Candidate = kvb_candidate;
using Largest = kvb_largest;
using Loan = kvb_loan;
using Share = kvb_share;

/** What an instance is to a fleet. */
class Member {
public:
    /** It serves a model, a number of yours, and computes so many positions in a step. */
    Member(std::uint64_t model, std::uint64_t service) noexcept {
        raw_.struct_size = sizeof raw_;
        raw_.model = model;
        raw_.service = service;
    }
    /** Takes over what C told. */
    explicit Member(const kvb_member& raw) noexcept : raw_(raw) {}
    Member() noexcept : Member(0, 0) {}
    /** It takes no requests until it is said to be ready. */
    Member& starting() noexcept {
        raw_.flags |= KVB_MEMBER_STARTING;
        return *this;
    }
    /** Positions a step that admissions may bring its demand to. */
    Member& max_service(std::uint64_t positions) noexcept {
        raw_.max_service = positions;
        return *this;
    }
    /** References that the leases of moves from it may hold together on each shard. */
    Member& lease_budget(std::size_t references) noexcept {
        raw_.lease_budget = references;
        return *this;
    }
    /** As C has it. */
    const kvb_member& raw() const noexcept { return raw_; }

private:
    kvb_member raw_{};
};

/** Which of the instances that can take a request comes first. */
enum class Placement : std::uint32_t {
    affinity = KVB_PLACEMENT_AFFINITY,
    most_free = KVB_PLACEMENT_MOST_FREE,
    round_robin = KVB_PLACEMENT_ROUND_ROBIN,
};

/** A request that was admitted on an instance. */
struct Placed {
    std::uint64_t instance = 0;
    Admitted admitted;
};

/** The instances of one scheduler. One thread at a time may use it and them, also for `const` calls. */
class Fleet : public Object<kvb_fleet, kvb_fleet_destroy> {
public:
    using Object::Object;
    /** Without instances. */
    static Result<Fleet> create() noexcept {
        return detail::made<Fleet, kvb_fleet>([&](kvb_fleet** out, kvb_error*) { return kvb_fleet_create(out); });
    }

    /** Takes a registry in and names it. Refused, that is as it was. */
    Result<std::uint64_t> add(Sequences&& seqs, const Member& member) noexcept {
        Result<std::uint64_t> added = detail::told<std::uint64_t>([&](std::uint64_t& out, kvb_error* error) {
            return kvb_fleet_add(get(), seqs.get(), &member.raw(), &out, error);
        });
        if (added) detail::gone(seqs);
        return added;
    }
    /** Takes an instance out. */
    Result<Sequences> remove(std::uint64_t instance) noexcept {
        return detail::made<Sequences, kvb_seqs>(
            [&](kvb_seqs** out, kvb_error* error) { return kvb_fleet_remove(get(), instance, out, error); });
    }
    /** An instance, until one is added or removed; nothing if there is no such. Not to be closed, or moved from. */
    Lent<Sequences> instance(std::uint64_t instance) noexcept {
        return Lent<Sequences>(kvb_fleet_get(get(), instance));
    }
    /** It takes requests from now on. */
    Result<void> set_ready(std::uint64_t instance) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_fleet_set_ready(get(), instance, error); });
    }
    /** It takes no requests from now on. */
    Result<void> drain(std::uint64_t instance) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_fleet_drain(get(), instance, error); });
    }
    /** `KVB_INSTANCE_*`. */
    Result<std::uint32_t> state(std::uint64_t instance) const noexcept {
        return detail::told<std::uint32_t>([&](std::uint32_t& state, kvb_error* error) {
            return kvb_fleet_state(get(), instance, &state, error);
        });
    }
    /** What an instance was added as. */
    Result<Member> member(std::uint64_t instance) const noexcept {
        return detail::told<Member>([&](Member& out, kvb_error* error) {
            kvb_member raw = out.raw();
            const kvb_status status = kvb_fleet_get_member(get(), instance, &raw, error);
            out = Member(raw);
            return status;
        });
    }
    /** Lists the instances, as many as there is room for, and tells how many there are. */
    Result<std::size_t> list(View<std::uint64_t> out) const noexcept {
        return detail::plain<std::size_t>(
            [&](std::size_t& count) { return kvb_fleet_list(get(), out.data(), out.size(), &count); });
    }

    /** Lists the instances that can take a request, the first choice first, and tells how many there are. */
    Result<std::size_t> candidates(std::uint64_t model, const Admit& request, Placement first,
                                   View<Candidate> out) const noexcept {
        return detail::told<std::size_t>([&](std::size_t& count, kvb_error* error) {
            return kvb_fleet_candidates(get(), model, &request.raw(), static_cast<std::uint32_t>(first), out.data(),
                                        out.size(), &count, error);
        });
    }
    /** Where a request would be placed. */
    Result<Candidate> check(std::uint64_t model, const Admit& request, Placement first) const noexcept {
        return detail::told<Candidate>([&](Candidate& out, kvb_error* error) {
            return kvb_fleet_check(get(), model, &request.raw(), static_cast<std::uint32_t>(first), &out, error);
        });
    }
    /** Admits a request on the first choice of those that can take it. */
    Result<Placed> admit(std::uint64_t model, const Admit& request, Placement first) noexcept {
        return detail::told<Placed>([&](Placed& out, kvb_error* error) {
            kvb_placed raw{};
            const auto choice = static_cast<std::uint32_t>(first);
            const kvb_status status = kvb_fleet_admit(get(), model, &request.raw(), choice, &raw, error);
            out.instance = raw.instance;
            out.admitted = {raw.admitted.seq, raw.admitted.hit, raw.admitted.fresh};
            return status;
        });
    }
    /** How large a request of a model may be. */
    Result<Largest> largest(std::uint64_t model) const noexcept {
        return detail::plain<Largest>([&](Largest& out) { return kvb_fleet_largest(get(), model, &out); });
    }
    /** How much of an instance is in use. */
    Result<Share> share(std::uint64_t instance) const noexcept {
        return detail::plain<Share>([&](Share& out) { return kvb_fleet_share(get(), instance, &out); });
    }

    /** Begins to move a sequence; `request` is that as the destination is to have it. */
    Result<Move> start_move(std::uint64_t from, Handle source, std::uint64_t to, const Admit& request,
                            const MoveTerms& terms) noexcept {
        if (!terms.whole()) return Error(KVB_ERR_NULL);
        return detail::made<Move, kvb_move>([&](kvb_move** out, kvb_error* error) {
            return kvb_fleet_start_move(get(), from, source, to, &request.raw(), &terms.raw(), out, error);
        });
    }
    /** Ends a move whose content has all arrived; the sequence's name at the destination. */
    Result<Handle> finish_move(Move& moving) noexcept {
        return detail::told<Handle>([&](Handle& seq, kvb_error* error) {
            return kvb_fleet_finish_move(get(), moving.get(), &seq, error);
        });
    }
    /** The same, where a step at the source may still touch its blocks. */
    Result<Handle> finish_move_after(Move& moving, Lanes& lanes, Fence fence) noexcept {
        return detail::told<Handle>([&](Handle& seq, kvb_error* error) {
            return kvb_fleet_finish_move_after(get(), moving.get(), lanes.get(), fence, &seq, error);
        });
    }
    /** Calls a move off. */
    Result<void> abort_move(Move& moving) noexcept {
        return detail::told([&](kvb_error* error) { return kvb_fleet_abort_move(get(), moving.get(), error); });
    }
    /** Tells the time; how many leases of moves are over now. */
    Result<std::size_t> tick(std::uint64_t now) noexcept {
        return detail::plain<std::size_t>([&](std::size_t& ended) { return kvb_fleet_tick(get(), now, &ended); });
    }

    /** Lends blocks of each rank of an instance to another one on the same devices; names the loan. */
    Result<std::uint64_t> lend(std::uint64_t from, std::uint64_t to, std::size_t blocks) noexcept {
        return detail::told<std::uint64_t>([&](std::uint64_t& loan, kvb_error* error) {
            return kvb_fleet_lend(get(), from, to, blocks, &loan, error);
        });
    }
    /** Lets a loan go on if nothing drains any more, and says how far it is. */
    Result<Loan> settle(std::uint64_t loan) noexcept {
        return detail::told<Loan>([&](Loan& out, kvb_error* error) {
            out.struct_size = sizeof out;
            return kvb_fleet_settle(get(), loan, &out, error);
        });
    }
    /** Gives the memory of a loan back. */
    Result<Loan> give_back(std::uint64_t loan) noexcept {
        return detail::told<Loan>([&](Loan& out, kvb_error* error) {
            out.struct_size = sizeof out;
            return kvb_fleet_give_back(get(), loan, &out, error);
        });
    }
    /** How far a loan was when it was asked last. */
    Result<Loan> loan(std::uint64_t loan) const noexcept {
        return detail::told<Loan>([&](Loan& out, kvb_error* error) {
            out.struct_size = sizeof out;
            return kvb_fleet_get_loan(get(), loan, &out, error);
        });
    }
    /** Lists the loans that are not over, as many as there is room for, and tells how many there are. */
    Result<std::size_t> list_loans(View<std::uint64_t> out) const noexcept {
        return detail::plain<std::size_t>(
            [&](std::size_t& count) { return kvb_fleet_list_loans(get(), out.data(), out.size(), &count); });
    }

    /** What became of the requests so far. */
    Result<FleetStatistics> statistics() const noexcept {
        return detail::sized<FleetStatistics>(
            [&](FleetStatistics* out) { return kvb_fleet_get_statistics(get(), out); });
    }
    /** The figures of the fleet. */
    Result<FleetReport> report() const noexcept {
        return detail::made<FleetReport, kvb_fleet_report>(
            [&](kvb_fleet_report** out, kvb_error*) { return kvb_fleet_report_create(get(), out); });
    }
    /** Recounts every instance. `others` are all other holders of their pools. */
    Result<void> audit(View<const Holder> others = {}) const noexcept {
        return detail::told(
            [&](kvb_error* error) { return kvb_fleet_audit(get(), others.data(), others.size(), error); });
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_FLEET_HPP
