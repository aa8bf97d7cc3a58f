/* Who owns what: objects are moved and not copied, destroy what they own once, and own nothing after they were moved from. */
#include "../c/check.h"

#include <kvblock.hpp>

#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

using namespace kvblock;

namespace {

std::size_t live = 0;

void* count_alloc(std::size_t size, std::size_t align, void*) noexcept {
    ++live;
    const std::size_t least = align < sizeof(void*) ? sizeof(void*) : align;
    // Which wants a multiple of the alignment.
    return std::aligned_alloc(least, (size + least - 1) / least * least);
}

void count_free(void* memory, std::size_t, std::size_t, void*) noexcept {
    --live;
    std::free(memory);
}

template <typename T>
constexpr bool is_owner = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
                          std::is_nothrow_default_constructible_v<T> && !std::is_copy_constructible_v<T> &&
                          !std::is_copy_assignable_v<T> && sizeof(T) == sizeof(void*);

static_assert(is_owner<Pool> && is_owner<Worker> && is_owner<Sequences> && is_owner<Step> && is_owner<Lanes>);
static_assert(is_owner<Detached> && is_owner<Namespace> && is_owner<Format> && is_owner<Layout>);
static_assert(is_owner<Leases> && is_owner<Lease>);
static_assert(!std::is_copy_constructible_v<Result<Pool>> && std::is_nothrow_move_constructible_v<Result<Pool>>);
static_assert(std::is_trivially_copyable_v<Handle> && std::is_trivially_copyable_v<PoolRef> && std::is_trivially_copyable_v<Status>);
// What views and batches are made of are the structs of C.
static_assert(std::is_same_v<Append, kvb_append> && std::is_same_v<Progress, kvb_progress> && std::is_same_v<Copy, kvb_copy>);
static_assert(std::is_same_v<Change, kvb_change> && std::is_same_v<Failure, kvb_failure> && std::is_same_v<ExtraKey, kvb_extra_key>);
static_assert(sizeof(Handle) == sizeof(kvb_handle) && sizeof(Holder) == sizeof(kvb_holder) && sizeof(PlanInput) == sizeof(kvb_plan_input));

// What is taken out of a result that goes away stays: `for (auto block : seqs.table(seq).value())`.
using Table = View<const std::int32_t>;
static_assert(std::is_same_v<decltype(std::declval<Result<Table>>().value()), Table>);
static_assert(std::is_same_v<decltype(*std::declval<Result<Table>>()), Table>);
static_assert(std::is_same_v<decltype(*std::declval<Result<Pool>>()), Pool>);

Pool make_pool() {
    Result<Pool> made = Pool::create(PoolConfig(8, 4));
    CHECK(made);
    return std::move(made).value();
}

Sequences make_seqs(const Pool& pool) {
    Result<Sequences> made = Sequences::create(pool, SequencesConfig(2));
    CHECK(made);
    return *std::move(made);
}

void moves() {
    Pool pool = make_pool();
    kvb_pool* const raw = const_cast<kvb_pool*>(pool.get());
    Pool other = std::move(pool);
    CHECK(other && other.get() == raw);
    CHECK(!pool && pool.get() == nullptr);
    // Its calls are answered, and nothing happens.
    CHECK_EQ(pool.capacity(), 0);
    CHECK(pool.check(1).status() == KVB_ERR_NULL);
    CHECK(pool.worker().status() == KVB_ERR_NULL);

    Pool& same = other;
    other = std::move(same);
    CHECK(other.get() == raw);

    // What was there before goes.
    const std::size_t before = live;
    Pool third = make_pool();
    CHECK(live > before);
    third = std::move(other);
    CHECK_EQ(live, before);
    CHECK(third.get() == raw && !other);
    CHECK(third.into_raw() == raw && !third);
    third.reset(raw);
    CHECK(third);
    third.reset();
    CHECK(!third);
    CHECK_EQ(live, 0);
}

void empty_objects() {
    Sequences none;
    Step no_step;
    CHECK(!none && none.size() == 0 && none.shards() == 0 && !none.pool());
    CHECK(none.step({}, no_step).status() == KVB_ERR_NULL);
    CHECK(none.admit(Admit(Prompt())).status() == KVB_ERR_NULL);
    CHECK(none.report().status() == KVB_ERR_NULL);
    CHECK(none.attach(Detached()).status() == KVB_ERR_NULL);
    CHECK(no_step.failures().empty());
    CHECK(no_step.lists().status() == KVB_ERR_NULL);
    CHECK_EQ(Lanes().waiting() + Leases().used() + Lease().shards(), 0);
    CHECK_EQ(Format().block_bytes() + Layout().block_bytes(), 0);
}

void results() {
    Result<Pool> made = Pool::create(PoolConfig(8, 4));
    Result<Pool> moved = std::move(made);
    CHECK(moved && moved.status().ok());
    CHECK_EQ(moved->capacity(), 8);
    CHECK_EQ((*moved).capacity(), 8);
    const Result<Pool>& look = moved;
    CHECK_EQ(look.value().capacity(), 8);
    Result<Pool> refused = Pool::create(PoolConfig(0, 4));
    Result<Pool> also_refused = std::move(refused);
    CHECK(!also_refused);
    CHECK(also_refused.error().status() == KVB_ERR_NO_BLOCKS);
    CHECK(also_refused.status() == KVB_ERR_NO_BLOCKS);
    // One that nobody takes destroys what it has.
    { const Result<Pool> dropped = Pool::create(PoolConfig(8, 4)); }
    const Result<void> done = moved->check(1);
    CHECK(done && done.status().ok());
    const Result<void> not_done = moved->check(9);
    CHECK(!not_done && not_done.error().needed() == 9);
}

void order_of_destruction() {
    // The pool goes first, and lives in what was made of it.
    Sequences seqs;
    Lanes lanes;
    {
        Pool pool = make_pool();
        seqs = make_seqs(pool);
        lanes = *seqs.lanes();
    }
    CHECK_EQ(seqs.pool().capacity(), 8);
    const std::uint32_t tokens[3] = {1, 2, 3};
    Result<Admitted> admitted = seqs.admit(Admit(Prompt(tokens)));
    CHECK(admitted);
    Result<Detached> detached = seqs.detach(admitted->seq);
    CHECK(detached);
    seqs.reset();
    CHECK_EQ(lanes.waiting(), 0);

    // Containers of them work as of anything that moves.
    std::vector<Pool> pools;
    for (int i = 0; i < 20; ++i) pools.push_back(make_pool());
    pools.erase(pools.begin());
    std::swap(pools.front(), pools.back());
    CHECK_EQ(pools.front().capacity(), 8);
}

}  // namespace

int main() {
    CHECK(set_hooks(Hooks().memory(count_alloc, count_free)));
    moves();
    CHECK_EQ(live, 0);
    empty_objects();
    CHECK_EQ(live, 0);
    results();
    CHECK_EQ(live, 0);
    order_of_destruction();
    CHECK_EQ(live, 0);
    return 0;
}
