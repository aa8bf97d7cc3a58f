/* The C++ face of fleets: placement, moves, loans, reports. */
#include "need.hpp"

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

using namespace kvblock;

namespace {

constexpr std::array<std::uint32_t, 10> tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

Sequences instance(std::uint32_t shard) {
    const std::array<std::uint64_t, 1> planes{64};
    const std::array<Format, 1> formats{NEED(Format::create(4, 1, planes))};
    const Pool pool = NEED(Pool::create(PoolConfig(8, 4).shard(shard).max_blocks(12)));
    return NEED(Sequences::create(pool, SequencesConfig(4).formats(formats)));
}

}  // namespace

int main() {
    Fleet fleet = NEED(Fleet::create());
    Sequences first = instance(1);
    REFUSED(fleet.add(std::move(first), Member(5, 0)), KVB_ERR_NO_SERVICE);
    CHECK(first);
    const std::uint64_t a = NEED(fleet.add(std::move(first), Member(5, 64).starting().lease_budget(16)));
    CHECK(!first);
    const std::uint64_t b = NEED(fleet.add(instance(2), Member(5, 32).max_service(1000)));
    CHECK_EQ(NEED(fleet.state(a)), KVB_INSTANCE_STARTING);
    NEED(fleet.set_ready(a));
    CHECK_EQ(NEED(fleet.member(b)).raw().service, 32);
    std::array<std::uint64_t, 2> named{};
    CHECK_EQ(NEED(fleet.list(named)), 2);
    CHECK(named[0] == a && named[1] == b);
    CHECK(!fleet.instance(77));

    // Placed by the hit.
    const Admit request{Prompt(tokens)};
    const Placed placed = NEED(fleet.admit(5, request, Placement::most_free));
    CHECK_EQ(placed.instance, a);
    NEED(fleet.instance(a)->computed(placed.admitted.seq, 10));
    const Candidate again = NEED(fleet.check(5, request, Placement::affinity));
    CHECK_EQ(again.instance, a);
    CHECK_EQ(again.hit, 8);
    std::array<Candidate, 2> candidates{};
    CHECK_EQ(NEED(fleet.candidates(5, request, Placement::round_robin, candidates)), 2);
    CHECK_EQ(candidates[0].instance, b);
    REFUSED(fleet.admit(6, request, Placement::affinity), KVB_ERR_NO_SUCH_MODEL);
    const std::vector<std::uint32_t> large(36, 1);
    const Result<Placed> refused = fleet.admit(5, Admit(Prompt(large)), Placement::affinity);
    CHECK(refused.status() == KVB_ERR_NEVER_FITS);
    CHECK_EQ(refused.error().sum(), 16);
    CHECK_EQ(NEED(fleet.largest(5)).ever, 32);
    CHECK_EQ(NEED(fleet.share(a)).memory_used, 3);

    // One is moved, another move is called off.
    Flights flights = NEED(Flights::create(1 << 20));
    const MoveTerms terms = MoveTerms(1, 1, 100).flights(flights);
    Move away = NEED(fleet.start_move(a, placed.admitted.seq, b, request, terms));
    CHECK_EQ(NEED(away.route()).to, b);
    NEED(fleet.abort_move(away));
    NEED(away.destination()->end(0, 0));
    Move moving = NEED(fleet.start_move(a, placed.admitted.seq, b, request, MoveTerms(1, 2, 100)));
    CHECK_EQ(moving.source()->positions(), 10);
    REFUSED(fleet.finish_move(moving), KVB_ERR_NOT_ARRIVED);
    const std::size_t blocks = NEED(moving.destination()->ids()).size();
    CHECK_EQ(NEED(moving.destination()->arrived(0, 0, 0, blocks)), KVB_ANSWER_TAKEN);
    Lanes lanes = NEED(fleet.instance(a)->lanes());
    const Handle there = NEED(fleet.finish_move_after(moving, lanes, 1));
    REFUSED(fleet.finish_move(moving), KVB_ERR_MOVE_OVER);
    CHECK_EQ(NEED(fleet.instance(b)->state(there)).computed, 10);
    CHECK_EQ(NEED(fleet.tick(5)), 0);
    const std::array<Holder, 1> others{lanes};
    NEED(fleet.audit(others));
    NEED(lanes.complete(0, 1));

    // Memory goes to the other one and comes back.
    const std::uint64_t loan = NEED(fleet.lend(a, b, 4));
    CHECK_EQ(NEED(fleet.loan(loan)).given, 4);
    CHECK_EQ(NEED(fleet.settle(loan)).stage, KVB_LOAN_LENT);
    CHECK_EQ(fleet.instance(b)->largest(), 12);
    CHECK_EQ(NEED(fleet.list_loans(named)), 1);
    CHECK_EQ(NEED(fleet.give_back(loan)).stage, KVB_LOAN_OVER);
    REFUSED(fleet.loan(loan), KVB_ERR_NO_SUCH_LOAN);
    CHECK_EQ(fleet.instance(a)->largest(), 8);

    const FleetReport report = NEED(fleet.report());
    CHECK_EQ(report.instances(), 2);
    CHECK_EQ(NEED(report.member(1)).instance, b);
    CHECK_EQ(NEED(report.instance(1)).sequences, 1);
    CHECK_EQ(report.models(), 1);
    CHECK_EQ(NEED(report.model(0)).ready, 2);
    CHECK_EQ(NEED(report.statistics()).placed, 1);
    CHECK_EQ(NEED(fleet.statistics()).never, 1);
    std::array<char, 8192> text{};
    const std::size_t length = NEED(report.text(text));
    CHECK_EQ(std::strlen(text.data()), length);
    Metrics page = NEED(Metrics::create());
    NEED(page.add({}, fleet));
    CHECK(NEED(page.page()).find("kvblock_fleet_") != std::string_view::npos);

    NEED(fleet.drain(b));
    REFUSED(fleet.remove(b), KVB_ERR_NOT_EMPTY);
    NEED(fleet.instance(b)->release(there));
    const Sequences back = NEED(fleet.remove(b));
    CHECK_EQ(back.size(), 0);
    return 0;
}
