/* The C++ face of promises, blocks and chains, of events, transfers, swaps and metrics. */
#include "need.hpp"

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

using namespace kvblock;

namespace {

constexpr std::array<std::uint32_t, 10> tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

// A scheduler with tables of its own.
void chains() {
    Pool pool = NEED(Pool::create(PoolConfig(16, 4)));
    Pool other = NEED(Pool::create(PoolConfig(4, 4).shard(1)));
    Worker worker = NEED(pool.worker());
    Worker foreign = NEED(other.worker());
    Reservation promise = NEED(Reservation::create(pool, 6));
    CHECK_EQ(promise.blocks(), 6);
    NEED(promise.grow(2));
    NEED(promise.shrink(1));
    Reservation part = NEED(promise.split(2));
    CHECK_EQ(promise.blocks() + part.blocks(), 7);
    REFUSED(promise.take(worker, 6), KVB_ERR_EXCEEDS);
    Blocks blocks = NEED(promise.take(worker, 3));
    CHECK_EQ(NEED(blocks.ids()).size(), 3);
    Blocks tail = NEED(blocks.split_off(2));
    NEED(blocks.append(std::move(tail)));
    CHECK(!tail);
    tail = NEED(promise.take(worker, 1));
    REFUSED(std::move(tail).release(foreign), KVB_ERR_WRONG_POOL);
    CHECK(tail);
    const std::array<Holder, 4> holders{promise, part, blocks, tail};
    NEED(audit(pool, holders));
    NEED(std::move(tail).release(worker));
    CHECK(!tail);

    Chain chain = NEED(Chain::create(pool));
    NEED(chain.push(std::move(blocks)));
    CHECK(!blocks);
    const Published published = NEED(chain.publish(worker, Contents(View<const std::uint32_t>(tokens.data(), 8))));
    CHECK_EQ(published.stored, 2);
    CHECK_EQ(published.stopped, KVB_STOPPED_NOT);
    CHECK_EQ(chain.published(), 2);
    NEED(chain.take(worker, part, 1));
    CHECK_EQ(NEED(chain.ids()).size(), 4);
    Chain hit = NEED(Chain::find(pool, worker, Prompt(tokens), part));
    CHECK_EQ(hit.published(), 2);
    CHECK_EQ(NEED(hit.adopt_duplicates(worker)), 0);
    Chain fork = NEED(chain.fork(worker));
    Chain end = NEED(fork.split_off(3));
    REFUSED(chain.publish(worker, Contents(tokens), part), KVB_ERR_LENGTH_MISMATCH);

    Lanes lanes = NEED(Lanes::create(pool));
    Leases leases = NEED(Leases::create(pool, 16));
    const Lease granted = NEED(leases.grant(hit, 1, 10));
    REFUSED(leases.keep(std::move(hit), 1, 10), KVB_ERR_OWNER_TAKEN);
    CHECK(hit);
    const Lease kept = NEED(leases.keep(std::move(hit), 2, 10));
    CHECK(!hit);
    const std::array<Holder, 7> all{promise, part, chain, fork, end, lanes, leases};
    NEED(audit(pool, all));
    REFUSED(std::move(end).release(foreign), KVB_ERR_WRONG_POOL);
    NEED(std::move(end).release(worker));
    REFUSED(std::move(fork).release_after(worker, lanes, 1, 1), KVB_ERR_OUT_OF_RANGE);
    CHECK(fork);
    NEED(std::move(fork).release_after(worker, lanes, 0, 1));
    NEED(std::move(chain).release_after(worker, lanes, 0, 2));
    CHECK(!end && !fork && !chain);
    Blocks last = NEED(promise.take(worker, 1));
    NEED(std::move(last).release_after(worker, lanes, 0, 3));
    NEED(lanes.complete(0, 3));
    NEED(granted.end());
    NEED(kept.end());
    promise.reset();
    part.reset();
    CHECK_EQ(pool.available(), 16);
}

// What becomes findable is told, and a snapshot says the same.
void events() {
    Pool pool = NEED(Pool::create(PoolConfig(8, 4).events(16)));
    Sequences seqs = NEED(Sequences::create(pool, SequencesConfig(2)));
    const Handle seq = NEED(seqs.admit(Admit(Prompt(tokens)))).seq;
    NEED(seqs.computed(seq, 10));
    EventReader reader(pool);
    std::array<Event, 4> room{};
    const View<const Event> read = NEED(reader.read(room));
    CHECK_EQ(read.size(), 2);
    CHECK_EQ(read[0].kind, KVB_EVENT_STORED);
    CHECK_EQ(read[1].copy.parent_key, read[0].copy.key);
    CHECK_EQ(reader.position(), 2);
    CHECK_EQ(reader.lost(), 0);
    const Snapshot snapshot = NEED(Snapshot::create(pool));
    CHECK_EQ(snapshot.copies().size(), 2);
    CHECK_EQ(snapshot.copies()[1].block, read[1].copy.block);
    CHECK_EQ(snapshot.from(), 2);
    CHECK_EQ(snapshot.to(), 2);
    CHECK(NEED(reader.read(room)).empty());
    Pool silent = NEED(Pool::create(PoolConfig(8, 4)));
    REFUSED(EventReader(silent).read(room), KVB_ERR_NO_EVENTS);
}

// A sequence is moved from one instance to another.
void transfers() {
    const std::array<std::uint64_t, 1> planes{64};
    const std::array<Format, 1> formats{NEED(Format::create(4, 1, planes))};
    std::array<Pool, 2> pools{NEED(Pool::create(PoolConfig(8, 4).shard(1))), NEED(Pool::create(PoolConfig(8, 4).shard(2)))};
    Sequences from = NEED(Sequences::create(pools[0], SequencesConfig(2).formats(formats)));
    Sequences to = NEED(Sequences::create(pools[1], SequencesConfig(2).formats(formats)));
    Leases leases = NEED(from.leases(8));
    const Handle seq = NEED(from.admit(Admit(Prompt(tokens)))).seq;
    NEED(from.computed(seq, 10));
    const Export offered = NEED(export_seq(from, seq, leases, Offer(1, 100).move()));
    CHECK_EQ(offered.shards(), 1);
    CHECK_EQ(offered.positions(), 10);
    CHECK_EQ(offered.handover(), KVB_HANDOVER_MOVE);
    CHECK_EQ(offered.phase(), KVB_PHASE_OFFERED);
    CHECK_EQ(NEED(offered.lease()).deadline(), 100);
    CHECK_EQ(NEED(offered.ids()).size(), 3);

    Flights flights = NEED(Flights::create(1 << 20));
    CHECK_EQ(flights.max(), 1 << 20);
    const Imported moved = NEED(import_seq(to, Admit(Prompt(tokens)), Incoming(offered, 1).flights(flights)));
    const Import& import = moved.import_;
    CHECK_EQ(import.shards(), 1);
    CHECK_EQ(import.writers(), 1);
    CHECK_EQ(NEED(import.ids()).size(), 3);
    CHECK_EQ(flights.in_flight(), 3 * 64);
    CHECK(import.is_wanted());
    CHECK_EQ(NEED(import.arrived(0, 0, 0, 2)), KVB_ANSWER_TAKEN);
    CHECK_EQ(import.left(), 1);
    CHECK_EQ(NEED(loading(to, moved.admitted.seq)).left, 1);
    REFUSED(commit(to, moved.admitted.seq), KVB_ERR_NOT_ARRIVED);
    CHECK_EQ(NEED(import.arrived(0, 0, 2, 1)), KVB_ANSWER_TAKEN);
    CHECK_EQ(NEED(import.end(0, 0)), 0);
    NEED(commit(to, moved.admitted.seq));
    CHECK_EQ(offered.phase(), KVB_PHASE_COMMITTED);
    REFUSED(offered.abort(), KVB_ERR_COMMITTED);
    CHECK_EQ(NEED(to.state(moved.admitted.seq)).computed, 10);
    CHECK_EQ(flights.in_flight(), 0);
    NEED(from.release(seq));

    // A copy for a reader outside of this process, and a load from a store that fails.
    Leases there = NEED(to.leases(8));
    const Export copy = NEED(export_seq(to, moved.admitted.seq, there, Offer(1, KVB_NO_DEADLINE)));
    CHECK_EQ(copy.handover(), KVB_HANDOVER_COPY);
    NEED(copy.finish());
    REFUSED(copy.finish(), KVB_ERR_COMMITTED);
    const std::array<std::uint32_t, 9> others{21, 22, 23, 24, 25, 26, 27, 28, 29};
    const Imported loaded = NEED(import_seq(from, Admit(Prompt(others)), Incoming(8, 1).formats(formats)));
    CHECK_EQ(NEED(loaded.import_.failed(0, 0, 0, 1)), KVB_ANSWER_TAKEN);
    CHECK_EQ(NEED(loaded.import_.end(0, 0)), 1);
    CHECK_EQ(NEED(loading(from, loaded.admitted.seq)).failed, 1);
    NEED(from.computed(loaded.admitted.seq, 9));
    NEED(from.audit(one(Holder(leases))));
}

// A sequence waits in another tier, and comes back to what is left of it.
void swaps() {
    Pool small = NEED(Pool::create(PoolConfig(4, 4).shard(1)));
    Pool large = NEED(Pool::create(PoolConfig(16, 4).shard(2)));
    Sequences device = NEED(Sequences::create(small, SequencesConfig(2)));
    Sequences host = NEED(Sequences::create(large, SequencesConfig(2)));
    Leases on_device = NEED(device.leases(8));
    Leases on_host = NEED(host.leases(8));
    const Admit request{Prompt(tokens)};
    const Handle seq = NEED(device.admit(request)).seq;
    NEED(device.computed(seq, 10));
    std::array<std::uint32_t, 4> from{};
    std::array<std::uint32_t, 4> to{};

    REFUSED(swap_seq(device, seq, device, request, on_device, 1), KVB_ERR_SAME_INSTANCE);
    Swap out = NEED(swap_seq(device, seq, host, request, on_device, 1));
    CHECK_EQ(NEED(out.info()).shards, 1);
    CHECK(Handle(NEED(out.info()).source) == seq);
    CHECK_EQ(NEED(out.pairs(0, from, to)), 3);
    const View<const std::int32_t> table = NEED(device.table(seq));
    const View<const std::int32_t> there = NEED(host.table(NEED(out.info()).seq));
    for (std::size_t i = 0; i < 3; i++) {
        CHECK_EQ(from[i], static_cast<std::uint32_t>(table[i]));
        CHECK_EQ(to[i], static_cast<std::uint32_t>(there[i]));
    }
    REFUSED(out.pairs(0, from, View<std::uint32_t>(to.data(), 3)), KVB_ERR_LENGTH_MISMATCH);
    REFUSED(out.pairs(1, from, to), KVB_ERR_OUT_OF_RANGE);
    NEED(out.copying(0, 5));
    CHECK(!out.complete(0, 4));
    REFUSED(out.finish(device, host), KVB_ERR_NOT_COPIED);
    CHECK_EQ(NEED(out.lease()).owner(), 1);
    CHECK(out.complete(0, 5));
    const Handle waiting = NEED(out.finish(device, host));
    CHECK(waiting == Handle(NEED(out.info()).seq));
    REFUSED(out.abort(host), KVB_ERR_SWAP_OVER);
    REFUSED(device.state(seq), KVB_ERR_STALE);

    Swap back = NEED(swap_seq(host, waiting, device, request, on_host, 1));
    CHECK_EQ(NEED(back.info()).hit, 8);
    CHECK_EQ(NEED(back.pairs(0, from, to)), 1);
    const Import import = NEED(back.import_handle());
    CHECK_EQ(import.left(), 1);
    NEED(back.abort(device));
    CHECK_EQ(import.left(), 0);
    CHECK_EQ(NEED(host.state(waiting)).computed, 10);

    // Moved from, it is none; let go of, it is called off.
    Swap other = NEED(swap_seq(host, waiting, device, request, on_host, 1));
    const Handle admitted = NEED(other.info()).seq;
    Swap taken = std::move(other);
    REFUSED(other.info(), KVB_ERR_NULL);
    REFUSED(other.finish(host, device), KVB_ERR_NULL);
    CHECK(!other.complete(0, 9));
    taken.reset();
    NEED(device.release(admitted));
    NEED(host.audit(one(Holder(on_host))));
    NEED(device.audit(one(Holder(on_device))));
}

void metrics() {
    Pool pool = NEED(Pool::create(PoolConfig(8, 4)));
    Sequences seqs = NEED(Sequences::create(pool, SequencesConfig(2)));
    Sequences more = NEED(seqs.another(SequencesConfig(2)));
    const Leases leases = NEED(seqs.leases(8));
    Metrics page = NEED(Metrics::create());
    const std::array<Label, 1> labels{Label{"model", "a"}};
    const std::array<Label, 1> bad{Label{"1", "a"}};
    NEED(page.add(labels, seqs));
    NEED(page.add_registry(one(Label{"model", "b"}), more));
    NEED(page.add(one(Label{"model", "b"}), pool));
    NEED(page.add(labels, leases));
    REFUSED(page.add(bad, pool), KVB_ERR_LABEL_NAME);
    const std::string_view text = NEED(page.page());
    CHECK(text.find("kvblock_pool_") != text.npos && text.find("model=\"b\"") != text.npos);
    std::vector<char> room(text.size() + 1);
    CHECK_EQ(NEED(page.text(room)), text.size());
    CHECK(text == room.data());
}

}  // namespace

int main() {
    chains();
    events();
    transfers();
    swaps();
    metrics();
    return 0;
}
