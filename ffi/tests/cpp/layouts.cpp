/* The C++ face of layouts, copy plans, fences and capacity plans: where blocks are, how they are copied, and how many fit. */
#include "need.hpp"

#include <array>
#include <cstring>
#include <vector>

using namespace kvblock;

namespace {

// Where blocks are.
void layouts() {
    const std::array<Plane, 2> planes{Plane{0, 64, 64}, Plane{4096, 128, 64}};
    const Layout layout = NEED(Layout::create(planes, 16));
    CHECK_EQ(layout.block_bytes(), 128);
    CHECK_EQ(NEED(layout.format(4, 1)).block_bytes(), 128);
    CHECK_EQ(NEED(layout.address(1, 3)), 4096 + 3 * 128);
    const std::array<std::uint32_t, 3> from{1, 2, 5};
    const std::array<std::uint32_t, 3> to{7, 8, 9};
    std::array<Run, 6> runs{};
    CHECK_EQ(NEED(layout.runs(from, runs)), 2 + 3);
    std::array<PairRun, 6> pairs{};
    CHECK_EQ(NEED(layout.pair_runs(from, layout, to, pairs)), 2 + 3);
    REFUSED(layout.pair_runs(from, layout, View<const std::uint32_t>(to.data(), 2), pairs), KVB_ERR_LENGTH_MISMATCH);
}

// Block tables as they are: signed, and filled up with entries that name no block.
void tables() {
    const std::array<Plane, 1> planes{Plane{0, 64, 64}};
    const Layout layout = NEED(Layout::create(planes, 16));
    std::array<Run, 6> runs{};
    std::array<PairRun, 6> pairs{};
    const std::array<std::uint32_t, 3> others{7, 8, 9};
    const Pool pool = NEED(Pool::create(PoolConfig(16, 4)));
    Sequences seqs = NEED(Sequences::create(pool, SequencesConfig(1)));
    const std::array<std::uint32_t, 12> prompt{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const Handle seq = NEED(seqs.admit(Admit(Prompt(prompt)))).seq;
    const View<const std::int32_t> table = NEED(seqs.table(seq));
    CHECK_EQ(NEED(layout.address(0, table[1])), 64u * static_cast<std::uint64_t>(table[1]));
    CHECK(NEED(layout.runs(table, runs)) >= 1);
    CHECK(NEED(layout.pair_runs(NEED(seqs.table(seq)), layout, others, pairs)) >= 1);
    CHECK(NEED(layout.pair_runs(others, layout, std::vector<std::int32_t>{1, 2, 5}, pairs)) == 2);
    const std::int32_t filled[2] = {3, -1};
    REFUSED(layout.runs(filled, runs), KVB_ERR_NO_SUCH_BLOCK);
    REFUSED(layout.address(0, filled[1]), KVB_ERR_NO_SUCH_BLOCK);
    REFUSED(layout.address(0, std::uint64_t(1) << 32), KVB_ERR_NO_SUCH_BLOCK);
    CHECK_EQ(NEED(layout.address(0, std::size_t(15))), 15 * 64);
    CHECK_EQ(NEED(layout.runs({}, runs)), 0);
    NEED(seqs.computed(seq, 12));
    std::array<Handle, 1> affected{};
    CHECK_EQ(NEED(seqs.invalidate(0, table[2], affected)), 1);
    Worker worker = NEED(pool.worker());
    REFUSED(pool.invalidate(worker, table[2]), KVB_ERR_NOT_PUBLISHED);
    REFUSED(pool.invalidate(worker, -1), KVB_ERR_NO_SUCH_BLOCK);
}

// How they get elsewhere, in another order of heads and in waves, and who waits for whom.
void copies() {
    constexpr Tile nhd{KVB_ORDER_NHD, 2, 4, 2, 8};
    constexpr Tile hnd{KVB_ORDER_HND, 2, 4, 2, 8};
    const std::array<Plane, 1> here{Plane{0, 128, 128}};
    const std::array<Plane, 1> there{Plane{1 << 16, 128, 128}};
    const Layout source = NEED(Layout::create(here, one(nhd), 16, 0));
    const Layout destination = NEED(Layout::create(there, one(hnd), 32, 1));
    CHECK_EQ(destination.memory(), 1);
    REFUSED(Layout::create(here, std::array<Tile, 2>{nhd, nhd}, 16, 0), KVB_ERR_LENGTH_MISMATCH);
    CHECK_EQ(NEED(Layout::create(here, {}, 16, 5)).memory(), 5);
    const CopyRoute route = NEED(CopyRoute::create(source, destination));
    CHECK_EQ(route.block_bytes(), 128);
    CHECK(!route.is_in_place());
    std::array<PlaneCopy, 1> planes{};
    CHECK_EQ(NEED(route.planes(planes)), 1);
    CHECK(planes[0].kind == KVB_COPY_PERMUTE && planes[0].access == 8 && planes[0].destination.head == 4 * 8);
    const CopyRoute half = NEED(CopyRoute::create(source, destination, HeadSlice{1, 0, 1}));
    CHECK_EQ(half.block_bytes(), 64);
    REFUSED(CopyRoute::create(source, destination, HeadSlice{2, 0, 1}), KVB_ERR_OUT_OF_RANGE);
    REFUSED(CopyRoute::create(source, Layout()), KVB_ERR_NULL);

    const CopyRoute inside = NEED(CopyRoute::create(source, source));
    CHECK(inside.is_in_place());
    CopyPlan plan = NEED(CopyPlan::create(inside, 3));
    NEED(plan.set(std::array<std::uint32_t, 3>{7, 6, 10}, std::array<std::int32_t, 3>{11, 10, 3}));
    CHECK_EQ(plan.pairs(), 3);
    CHECK_EQ(plan.bytes(), 3 * 128);
    CHECK_EQ(plan.waves(), 2);
    std::array<std::uint32_t, 3> from{};
    std::array<std::uint32_t, 3> to{};
    CHECK_EQ(NEED(plan.wave(0, from, to)), 2);
    CHECK(from[0] == 6 && to[0] == 10 && from[1] == 7 && to[1] == 11);
    std::array<PairRun, 2> runs{};
    CHECK_EQ(NEED(plan.wave_runs(0, runs)), 1);
    CHECK_EQ(runs[0].bytes, 256);
    REFUSED(plan.wave(2, from, to), KVB_ERR_OUT_OF_RANGE);
    REFUSED(plan.wave(0, from, View<std::uint32_t>(to.data(), 2)), KVB_ERR_LENGTH_MISMATCH);
    REFUSED(plan.set(from, std::array<std::uint32_t, 2>{1, 2}), KVB_ERR_LENGTH_MISMATCH);
    const Result<void> twice = plan.set(std::array<std::uint32_t, 2>{0, 1}, std::array<std::uint32_t, 2>{9, 9});
    CHECK(twice == KVB_ERR_DUPLICATE_DESTINATION);
    CHECK_EQ(plan.pairs(), 3);

    Fences fences = NEED(Fences::create());
    const std::uint32_t compute = NEED(fences.add_timeline());
    const std::uint32_t copier = NEED(fences.add_timeline());
    NEED(fences.track(0, 16));
    const std::array<std::uint32_t, 1> six{6};
    NEED(fences.record(0, six, KVB_ACCESS_WRITE, compute, 41));
    CHECK_EQ(NEED(fences.waits_for(plan, copier)).fences[compute], 41);
    NEED(fences.record(plan, copier, 1));
    CHECK_EQ(NEED(fences.waits_for(0, six, KVB_ACCESS_WRITE, compute)).fences[copier], 1);
    CHECK_EQ(NEED(fences.waits_for(0, six, KVB_ACCESS_READ, compute)).count, 0);
    NEED(fences.completed(copier, 1));
    CHECK_EQ(NEED(fences.waits_for(0, six, KVB_ACCESS_WRITE, compute)).count, 0);
    CHECK_EQ(NEED(fences.last(compute)), 41);
    REFUSED(fences.record(plan, copier, 0), KVB_ERR_NOT_LATER);
    const Fences moved = std::move(fences);
    REFUSED(fences.add_timeline(), KVB_ERR_NULL);
    REFUSED(moved.waits_for(CopyPlan(), copier), KVB_ERR_NULL);
}

// How many fit.
void plans() {
    PlanInput rank;
    rank.device_memory = 1 << 30;
    rank.weights = 1 << 29;
    rank.layers = 4;
    rank.kv_heads = 2;
    rank.head_size = 64;
    rank.element_bits = 16;
    rank.block_size = 16;
    const Plan plan_of_one = NEED(plan(rank));
    CHECK_EQ(plan_of_one.block_bytes, 4u * 2 * 2 * 64 * 2 * 16);
    CHECK_EQ(plan_of_one.blocks, (std::uint64_t(1) << 29) / plan_of_one.block_bytes);
    const std::array<const kvb_plan_input*, 2> ranks{&rank, &rank};
    std::array<PlannedRank, 2> each{};
    CHECK_EQ(NEED(plan(ranks, each)).blocks, plan_of_one.blocks);
    CHECK_EQ(each[1].stranded_blocks, 0);
    std::array<char, 4096> text{};
    const std::size_t length = NEED(plan_text(ranks, text));
    CHECK_EQ(std::strlen(text.data()), length);
    CHECK_EQ(NEED(plan_format(rank, 1)).block_bytes(), plan_of_one.block_bytes);
    CHECK_EQ(sequences_at(10, 16, 17), 5);
}

}  // namespace

int main() {
    layouts();
    tables();
    copies();
    plans();
    return 0;
}
