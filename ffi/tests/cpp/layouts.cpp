/* The C++ face of layouts and plans: where blocks are, and how many fit. */
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
    plans();
    return 0;
}
