/* Every wrapper of the C++ face does what the function of C does: a story over one pool, and the rest around it. */
#include "need.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <unordered_set>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

using namespace kvblock;

namespace {

std::vector<std::uint32_t> counting(std::size_t count, std::uint32_t first) {
    std::vector<std::uint32_t> tokens(count);
    std::iota(tokens.begin(), tokens.end(), first);
    return tokens;
}

void check_text(std::size_t length, const std::array<char, 4096>& text) { CHECK_EQ(std::strlen(text.data()), length); }

void statuses() {
    CHECK(abi_matches());
    CHECK(std::strcmp(version(), KVB_VERSION) == 0);
    const Status status = KVB_ERR_SHORTFALL;
    CHECK(!status.ok() && Status(KVB_OK).ok());
    CHECK(status == KVB_ERR_SHORTFALL && status != KVB_ERR_NULL);
    CHECK(std::strcmp(status.name(), "KVB_ERR_SHORTFALL") == 0);
    CHECK(status.message()[0] != '\0');
    const Error error = Error::too_short(5, 3);
    CHECK_EQ(error.needed(), 5);
    CHECK_EQ(error.available(), 3);
    CHECK_EQ(error.shard(), KVB_NO_SHARD);
    CHECK_EQ(error.instance(), KVB_NO_INSTANCE);
    CHECK(error.message()[0] != '\0');
    CHECK_EQ(error.limit() + error.quarantined() + error.sum() + error.which(), 0);
    CHECK_EQ(error.raw().status, KVB_ERR_TOO_SHORT);
}

void views() {
    std::vector<std::uint32_t> vector = counting(3, 1);
    std::array<std::uint32_t, 2> array{4, 5};
    const std::uint32_t plain[4] = {6, 7, 8, 9};
    View<const std::uint32_t> view = vector;
    CHECK_EQ(view.size(), 3);
    CHECK(view.data() == vector.data() && !view.empty() && view[2] == 3);
    view = array;
    CHECK_EQ(view[1], 5);
    view = plain;
    CHECK_EQ(std::accumulate(view.begin(), view.end(), 0u), 30);
    View<std::uint32_t> changes = vector;
    changes[0] = 11;
    CHECK_EQ(vector[0], 11);
    view = changes;
    CHECK_EQ(one(plain[1])[0], 7);
    CHECK(View<int>().empty() && View<int>().data() == nullptr);
    static_assert(!std::is_convertible_v<std::vector<std::uint64_t>, View<const std::uint32_t>>);
    static_assert(!std::is_convertible_v<const std::vector<int>&, View<int>>);
#if __cplusplus >= 202002L
    const std::span<const std::uint32_t> span = view;
    CHECK_EQ(span.size(), view.size());
    view = span;
    CHECK(view.data() == span.data());
    static_assert(std::ranges::contiguous_range<View<int>> && std::ranges::borrowed_range<View<int>>);
#endif
}

// Admission, hit, steps, branches and their end.
void story() {
    Pool pool = NEED(Pool::create(PoolConfig(24, 4).shard(5).max_blocks(32).events(16).secret({1, 2, 3}).xxh3(7)));
    CHECK_EQ(pool.shard(), 5);
    CHECK_EQ(pool.block_size(), 4);
    CHECK_EQ(pool.capacity(), 24);
    CHECK_EQ(pool.available(), 24);
    CHECK_EQ(pool.reserved() + pool.quarantined(), 0);
    Sequences seqs = NEED(Sequences::create(pool, SequencesConfig(4).watermark(1).positions(32)));
    Step step = NEED(seqs.make_step(4, 16));
    CHECK_EQ(seqs.shards(), 1);
    CHECK_EQ(seqs.width(), 1);
    CHECK_EQ(seqs.max_sequences(), 4);
    CHECK_EQ(seqs.free(), 23);
    CHECK_EQ(seqs.largest(), 23);
    CHECK(seqs.pool().get() == seqs.pool(0).get() && !seqs.pool(1));

    const std::vector<std::uint32_t> tokens = counting(10, 1);
    const Prompt prompt{tokens};
    std::array<Cost, 1> costs{};
    NEED(seqs.check(Admit(prompt).cap(6), costs));
    CHECK_EQ(costs[0].fresh, 3);
    CHECK_EQ(costs[0].promised, 1);
    const Admitted first = NEED(seqs.admit(Admit(prompt).label(7)));
    CHECK_EQ(first.hit, 0);
    CHECK_EQ(first.fresh, 3);
    NEED(seqs.computed(first.seq, 10));
    CHECK_EQ(NEED(seqs.probe(prompt)), 8);
    CHECK_EQ(NEED(pool.probe(prompt)).held, 2);
    CHECK_EQ(NEED(seqs.probe(Prompt(View<const std::uint32_t>(tokens.data(), 8)).full_hit())), 8);
    const Admitted second = NEED(seqs.admit(Admit(prompt).ahead(1).conservative().returning().label(8)));
    CHECK_EQ(second.hit, 8);
    NEED(seqs.computed(second.seq, 10));
    CHECK_EQ(seqs.size(), 2);

    const std::array<Append, 2> batch{Append{first.seq, 1}, Append{second.seq, 1}};
    NEED(seqs.step(batch, step));
    StepLists lists = NEED(step.lists());
    CHECK_EQ(lists.slots.size(), 2);
    CHECK_EQ(lists.slots[0], NEED(seqs.table(first.seq))[2] * 4 + 2);
    CHECK(lists.copies.empty() && lists.fresh.empty() && lists.changes.empty() && step.failures().empty());
    const std::uint32_t token = 99;
    const std::array<Progress, 2> done{progress(first.seq, 10, one(token), 11), progress(second.seq, 10, one(token), 11)};
    std::array<Failure, 2> failures{};
    std::size_t failed = 9;
    NEED(seqs.advance(done, failures, &failed));
    CHECK_EQ(failed, 0);
    REFUSED(seqs.advance(done, failures, &failed), KVB_ERR_PARTIAL);
    CHECK_EQ(failed, 2);
    CHECK_STATUS(failures[1].status, KVB_ERR_NOT_NEXT);
    REFUSED(seqs.advance(done, View<Failure>(failures.data(), 1)), KVB_ERR_TOO_SHORT);
    const std::array<Append, 2> beyond{Append{first.seq, 1000}, Append{Handle(), 1}};
    REFUSED(seqs.step(beyond, step), KVB_ERR_PARTIAL);
    CHECK_EQ(step.failures().size(), 2);
    CHECK_STATUS(step.failures()[0].status, KVB_ERR_NEVER_FITS);

    std::array<Handle, 1> child{};
    NEED(seqs.fork(first.seq, child));
    CHECK_EQ(NEED(seqs.check_append(child[0], 1)), 1);
    NEED(seqs.append(child[0], 1, step));
    lists = NEED(step.lists(0));
    CHECK_EQ(lists.copies.size(), 1);
    CHECK_EQ(lists.copies[0].positions, 3);
    NEED(seqs.copied(0, lists.copies));
    REFUSED(seqs.copied(0, lists.copies), KVB_ERR_STALE);
    REFUSED(step.lists(1), KVB_ERR_OUT_OF_RANGE);
    NEED(seqs.tokens(child[0], 11, Contents(one(token))));
    NEED(seqs.ensure(child[0], 16, step));
    NEED(seqs.truncate(child[0], 9));

    const State state = NEED(seqs.state(second.seq));
    CHECK_EQ(state.growth, KVB_GROWTH_AHEAD);
    CHECK_EQ(state.positions, 11);
    const std::array<Handle, 2> both{first.seq, second.seq};
    std::array<std::int32_t, 8> rows{};
    std::array<std::size_t, 2> lengths{};
    CHECK_EQ(NEED(seqs.dirty(first.seq)).count, 3);
    NEED(seqs.copy_tables(0, both, rows, 4, lengths));
    CHECK_EQ(lengths[1], 3);
    CHECK_EQ(NEED(seqs.dirty(first.seq)).count, 0);
    REFUSED(seqs.copy_tables(0, both, rows, 5, lengths), KVB_ERR_TOO_SHORT);
    std::array<std::int64_t, 11> slots{};
    NEED(seqs.slots(first.seq, 0, slots));
    CHECK_EQ(slots[10], NEED(seqs.table(first.seq))[2] * 4 + 2);

    CHECK(seqs.find(7) == child[0] && !seqs.find(12));
    const std::array<std::uint64_t, 2> labels{7, 12};
    std::array<Handle, 4> found{};
    REFUSED(seqs.find(labels, found), KVB_ERR_STALE);
    CHECK(found[0] == child[0] && found[1] == Handle());
    CHECK_EQ(NEED(seqs.list(found)), 3);
    CHECK_EQ(NEED(seqs.list(7, found)), 2);
    CHECK(found[1] == first.seq && found[1] != child[0]);
    const std::unordered_set<Handle> set(found.begin(), found.begin() + 2);
    CHECK_EQ(set.count(first.seq), 1);
    CHECK_EQ(first.seq.slot(), 0);
    CHECK(second.seq.epoch() != first.seq.epoch());
    const std::array<std::size_t, 1> three{3};
    const Victims victims = NEED(seqs.select_victims(both, three, found));
    CHECK(!victims.enough || victims.count > 0);

    const std::vector<std::uint32_t> large = counting(100, 1);
    Result<Admitted> refused = seqs.admit(Admit(Prompt(large)));
    CHECK(!refused);
    CHECK(refused.error().status() == KVB_ERR_NEVER_FITS);
    CHECK_EQ(refused.error().shard(), 5);
    CHECK_EQ(refused.error().needed(), 25);
    CHECK_EQ(refused.error().limit(), 23);
    CHECK_EQ(NEED(seqs.report()).sequences, 3);
    CHECK_EQ(NEED(seqs.shard_report(0)).copies, 1);
    CHECK_EQ(NEED(seqs.rank_report(0)).shard, 5);
    CHECK_EQ(NEED(pool.report()).block_size, 4);
    std::array<char, 4096> text{};
    check_text(NEED(seqs.report_text(text)), text);
    check_text(NEED(pool.report_text(text)), text);
    NEED(seqs.audit());
    NEED(seqs.preempt(child[0]));
    NEED(seqs.release(both));
    REFUSED(seqs.release(first.seq), KVB_ERR_STALE);
    REFUSED(seqs.preempt(both), KVB_ERR_STALE);
}

// Namespaces, keys, fences, leases, moves.
void around() {
    Pool pool = NEED(Pool::create(PoolConfig(24, 4).proof_by_digest()));
    Sequences seqs = NEED(Sequences::create(pool, SequencesConfig(4)));
    Step step = NEED(seqs.make_step(4, 16));
    const Namespace space = NEED(Namespace::create(NamespaceParts().adapter("lora", 2).salt("").domain("tenant")));
    const std::vector<std::uint32_t> tokens = counting(10, 1);
    const std::array<ExtraKey, 2> extra{ExtraKey{1, 2}, ExtraKey{3, 4}};
    const std::array<std::uint64_t, 2> keys{11, 12};
    const Prompt mine = Prompt(tokens).space(space).extra(extra).keys(keys);
    const Handle seq = NEED(seqs.admit(Admit(mine))).seq;
    NEED(seqs.computed(seq, 10));
    CHECK_EQ(NEED(seqs.probe(mine)), 8);
    CHECK_EQ(NEED(seqs.probe(Prompt(tokens))), 0);
    NEED(seqs.append(seq, 2, step));
    const std::array<std::uint32_t, 2> more{1, 2};
    NEED(seqs.tokens(seq, 10, Contents(more).extra(one(extra[0])).keys(one(keys[0]))));
    NEED(seqs.computed(seq, 12));
    CHECK_EQ(NEED(seqs.state(seq)).published, 3);
    const Handle hidden = NEED(seqs.admit(Admit(Prompt(tokens)).unpublished())).seq;
    NEED(seqs.computed(hidden, 10));
    CHECK_EQ(NEED(seqs.probe(Prompt(tokens))), 0);

    // Two that compute the same.
    const Handle twin = NEED(seqs.admit(Admit(Prompt(tokens)))).seq;
    const Handle other = NEED(seqs.admit(Admit(Prompt(tokens)))).seq;
    NEED(seqs.computed(twin, 10));
    NEED(seqs.computed(other, 10));
    Lanes lanes = NEED(seqs.lanes());
    CHECK_EQ(NEED(seqs.adopt_duplicates_after(other, lanes, 1)), 2);
    CHECK_EQ(NEED(seqs.adopt_duplicates(other)), 0);
    NEED(seqs.truncate_after(other, 8, lanes, 2));
    CHECK_EQ(lanes.waiting(), 3);
    CHECK_EQ(NEED(lanes.complete(0, 2)), 3);
    NEED(seqs.release_after(hidden, lanes, 3));
    NEED(seqs.preempt_after(other, lanes, 3));
    const std::array<Holder, 1> holders{lanes};
    NEED(seqs.audit(holders));

    // A lease outlives the sequence.
    Leases leases = NEED(seqs.leases(8));
    const Lease lease = NEED(seqs.pin(twin, leases, 42, 10));
    CHECK_EQ(lease.owner(), 42);
    CHECK_EQ(lease.deadline(), 10);
    CHECK_EQ(lease.shards(), 1);
    CHECK_EQ(NEED(lease.ids()).size(), 2);
    CHECK_EQ(leases.used(), 2);
    NEED(lease.extend(20));
    CHECK_EQ(NEED(leases.lease(42)).deadline(), 20);
    NEED(lease.check(5));
    CHECK_EQ(NEED(leases.report()).leases, 1);
    const std::array<Holder, 2> both{lanes, leases};
    NEED(seqs.audit(both));
    CHECK_EQ(NEED(leases.tick(20)), 1);
    REFUSED(lease.end(), KVB_ERR_LEASE_ENDED);
    CHECK_EQ(NEED(Leases::create(pool, 1)).used(), 0);

    // To another registry, and refused by a foreign one as it was.
    Pool elsewhere = NEED(Pool::create(PoolConfig(4, 4).shard(9)));
    Sequences foreign = NEED(Sequences::create(elsewhere, SequencesConfig(1)));
    Lanes foreign_lanes = NEED(Lanes::create(elsewhere));
    Sequences there = NEED(seqs.another(SequencesConfig(2)));
    Detached detached = NEED(seqs.detach(twin));
    REFUSED(foreign.attach(std::move(detached)), KVB_ERR_WRONG_POOL);
    REFUSED(std::move(detached).release_after(foreign_lanes, 4), KVB_ERR_WRONG_POOL);
    CHECK(detached);
    const std::array<Holder, 3> all{Holder(lanes), Holder(detached), Holder(there)};
    NEED(seqs.audit(all));
    const Handle moved = NEED(there.attach(std::move(detached)));
    CHECK(!detached);
    CHECK_EQ(NEED(there.state(moved)).computed, 10);
    detached = NEED(there.detach(moved));
    NEED(std::move(detached).release_after(lanes, 4));
    CHECK(!detached);
    REFUSED(std::move(there).close_after(foreign_lanes, 5), KVB_ERR_WRONG_POOL);
    CHECK(there);
    NEED(std::move(there).close_after(lanes, 5));
    CHECK(!there);
    NEED(lanes.complete(0, 5));
    CHECK_EQ(pool.quarantined(), 0);
}

// Upkeep of a pool, elastic capacity, several shards.
void capacity() {
    std::vector<Pool> pools;
    for (std::uint32_t shard = 0; shard < 3; ++shard) pools.push_back(NEED(Pool::create(PoolConfig(16, 4).shard(shard).max_blocks(20))));
    const std::array<std::uint64_t, 2> planes{64, 32};
    std::vector<Format> formats;
    for (int i = 0; i < 3; ++i) formats.push_back(NEED(Format::create(4, 1, planes)));
    CHECK_EQ(formats[0].block_bytes(), 96);
    Sequences seqs = NEED(Sequences::create(pools, SequencesConfig(3).formats(formats)));
    CHECK_EQ(seqs.shards(), 3);
    Step step = NEED(seqs.make_step(2, 8));
    const std::vector<std::uint32_t> tokens = counting(10, 1);
    const Handle seq = NEED(seqs.admit(Admit(Prompt(tokens)))).seq;
    NEED(seqs.computed(seq, 10));
    std::array<Handle, 2> affected{};
    const auto bad = static_cast<std::uint32_t>(NEED(seqs.table(seq, 1))[1]);
    CHECK_EQ(NEED(seqs.invalidate(1, bad, affected)), 1);
    CHECK(affected[0] == seq);
    NEED(seqs.renew(seq, step));
    CHECK_EQ(NEED(step.lists(2)).changes.size(), 1);
    NEED(seqs.grow(2));
    NEED(seqs.shrink(4));
    NEED(seqs.resize_rank(1, 16));
    CHECK_EQ(seqs.draining(), 0);
    CHECK_EQ(seqs.largest(), 14);
    NEED(seqs.computed(seq, 10));
    NEED(seqs.release(seq));

    Worker worker = NEED(pools[0].worker());
    CHECK_EQ(NEED(pools[0].grow(2)).blocks, 2);
    CHECK_EQ(NEED(pools[0].shrink(worker, 1)).blocks, 1);
    NEED(pools[0].check(15));
    REFUSED(pools[0].check(16), KVB_ERR_NEVER_FITS);
    CHECK(NEED(pools[0].maintain(worker, 1)) <= 1);
    CHECK_EQ(NEED(pools[0].evict(worker, 1)), 1);
    REFUSED(pools[0].invalidate(worker, 19), KVB_ERR_NOT_PUBLISHED);
    CHECK_EQ(NEED(pools[0].clear_bare(worker)), 1);
    CHECK_EQ(NEED(pools[0].clear_all(worker)), 0);

    const std::array<Rank, 2> ranks{Rank{1, 0, 10, 0}, Rank{2, 0, 12, 0}};
    const Sequences lockstep = NEED(Sequences::lockstep(ranks, PoolConfig(1, 4), SequencesConfig(1)));
    CHECK_EQ(lockstep.width(), 2);
    CHECK_EQ(NEED(lockstep.rank_report(1)).stranded, 2);
}

// Batches that are written where they are used.
void braces() {
    const Pool pool = NEED(Pool::create(PoolConfig(24, 4)));
    Sequences seqs = NEED(Sequences::create(pool, SequencesConfig(4)));
    Step step = NEED(seqs.make_step(4, 16));
    const std::array<std::uint32_t, 4> tokens{1, 2, 3, 4};
    std::array<Handle, 4> all{};
    for (Handle& seq : all) seq = NEED(seqs.admit(Admit(Prompt(tokens)))).seq;
    NEED(seqs.step({{all[0], 1}, {all[1], 2}}, step));
    CHECK_EQ(NEED(step.lists()).slots.size(), 3);
    NEED(seqs.step({{all[0], 1}}, step));
    NEED(seqs.step({}, step));
    const std::array<std::uint32_t, 2> more{5, 6};
    NEED(seqs.advance({progress(all[0], 4, more, 6), progress(all[1], 4, more, 6)}));
    std::array<Failure, 1> failures{};
    std::size_t failed = 9;
    REFUSED(seqs.advance({{all[0], 4, more.data(), more.size(), 6}}, failures, &failed), KVB_ERR_PARTIAL);
    CHECK_EQ(failed, 1);
    NEED(seqs.advance({}));
    NEED(seqs.preempt({all[0], all[1]}));
    NEED(seqs.release({all[2]}));
    REFUSED(seqs.release({all[2], all[3]}), KVB_ERR_STALE);
    NEED(seqs.release({}));
    NEED(seqs.preempt({}));
    CHECK_EQ(seqs.size(), 0);
}

std::size_t live = 0;

void hooks() {
    const auto alloc = [](std::size_t size, std::size_t, void* user) noexcept {
        ++*static_cast<std::size_t*>(user);
        return std::malloc(size);
    };
    const auto free = [](void* memory, std::size_t, std::size_t, void* user) noexcept {
        --*static_cast<std::size_t*>(user);
        std::free(memory);
    };
    const auto panic = [](const char*, std::size_t, void*) noexcept {};
    // Worker bitmaps and states want no more than a machine word.
    NEED(set_hooks(Hooks(&live).memory(alloc, free).panic(panic)));
    {
        const Namespace space = NEED(Namespace::create(NamespaceParts().salt("salt")));
        CHECK(live > 0);
        REFUSED(reset_hooks(), KVB_ERR_IN_USE);
    }
    CHECK_EQ(live, 0);
    NEED(reset_hooks());
}

}  // namespace

int main() {
    statuses();
    views();
    story();
    around();
    capacity();
    braces();
    hooks();
    return 0;
}
