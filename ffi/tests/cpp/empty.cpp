/* An object that owns nothing, moved from for instance, never stands for what null means to C. */
#include "need.hpp"

#include <array>

using namespace kvblock;

namespace {

constexpr std::array<std::uint32_t, 10> tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

Namespace of_tenant(const char* name) { return NEED(Namespace::create(NamespaceParts().salt(name))); }

// Two tenants whose namespaces went elsewhere do not meet in the bare model's.
void tenants() {
    Pool pool = NEED(Pool::create(PoolConfig(64, 4)));
    Sequences seqs = NEED(Sequences::create(pool, SequencesConfig(8)));
    Namespace space = of_tenant("a");
    const Namespace kept = std::move(space);
    Prompt prompt = Prompt(tokens).space(space);
    REFUSED(seqs.admit(Admit(prompt)), KVB_ERR_NULL);
    REFUSED(seqs.check(Admit(prompt.full_hit())), KVB_ERR_NULL);
    REFUSED(seqs.probe(prompt), KVB_ERR_NULL);
    REFUSED(pool.probe(prompt), KVB_ERR_NULL);
    CHECK_EQ(seqs.size(), 0);
    // Said again, and rightly.
    const Handle seq = NEED(seqs.admit(Admit(prompt.space(kept)))).seq;
    NEED(seqs.computed(seq, 10));
    CHECK_EQ(NEED(seqs.probe(prompt)), 8);
    CHECK_EQ(NEED(seqs.probe(Prompt(tokens))), 0);

    Fleet fleet = NEED(Fleet::create());
    REFUSED(fleet.check(1, Admit(Prompt(tokens).space(space)), Placement::affinity), KVB_ERR_NULL);
    REFUSED(fleet.admit(1, Admit(Prompt(tokens).space(space)), Placement::affinity), KVB_ERR_NULL);

    Leases leases = NEED(seqs.leases(8));
    REFUSED(export_seq(seqs, seq, leases, Offer(1, 100), space), KVB_ERR_NULL);
    // The namespace is compared: this one is not the sequence's.
    REFUSED(export_seq(seqs, seq, leases, Offer(1, 100)), KVB_ERR_OTHER_NAMESPACE);
    CHECK_EQ(NEED(export_seq(seqs, seq, leases, Offer(1, 100), kept)).positions(), 10);
}

void pools_and_chains() {
    Pool pool = NEED(Pool::create(PoolConfig(16, 4)));
    Worker worker = NEED(pool.worker());
    Reservation promise = NEED(Reservation::create(pool, 2));
    Chain chain = NEED(Chain::create(pool));
    NEED(chain.take(worker, promise, 2));
    NEED(chain.publish(worker, Contents(View<const std::uint32_t>(tokens.data(), 4))));
    Reservation none;
    REFUSED(chain.publish(worker, Contents(View<const std::uint32_t>(tokens.data() + 4, 4)), none), KVB_ERR_NULL);
    CHECK_EQ(chain.published(), 1);
    NEED(std::move(chain).release(worker));
    const Namespace space;
    REFUSED(Chain::create(pool, space), KVB_ERR_NULL);
    REFUSED(Chain::find(pool, worker, Prompt(tokens).space(space), promise), KVB_ERR_NULL);
    REFUSED(pool.clear(worker, space), KVB_ERR_NULL);
    CHECK_EQ(NEED(pool.clear(worker, of_tenant("b"))), 0);
    CHECK_EQ(NEED(pool.clear_bare(worker)), 1);
}

// Bytes that are to be counted do not go uncounted, and what is to be read here does not come from elsewhere.
void transfers() {
    const std::array<std::uint64_t, 1> planes{64};
    const std::array<Format, 1> formats{NEED(Format::create(4, 1, planes))};
    const Pool pool = NEED(Pool::create(PoolConfig(16, 4)));
    Sequences seqs = NEED(Sequences::create(pool, SequencesConfig(2).formats(formats)));
    const Flights flights;
    const Export source;
    REFUSED(import_seq(seqs, Admit(Prompt(tokens)), Incoming(8, 1).flights(flights)), KVB_ERR_NULL);
    REFUSED(import_seq(seqs, Admit(Prompt(tokens)), Incoming(source, 1)), KVB_ERR_NULL);
    CHECK_EQ(seqs.size(), 0);
    Fleet fleet = NEED(Fleet::create());
    const MoveTerms terms = MoveTerms(1, 1, 100).flights(flights);
    REFUSED(fleet.start_move(0, Handle(), 1, Admit(Prompt(tokens)), terms), KVB_ERR_NULL);
}

}  // namespace

int main() {
    tenants();
    pools_and_chains();
    transfers();
    return 0;
}
