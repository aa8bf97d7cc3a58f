/* Results: comparison with statuses, and that nothing is ever read that is not there, in any kind of build. */
#include "need.hpp"

#include <array>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace kvblock;

namespace {

// Whether the process is aborted by a call.
template <typename Call>
bool aborts(Call call) {
    std::fflush(nullptr);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        // What it says is expected.
        (void)close(STDERR_FILENO);
        call();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

void misread(const Pool& pool) {
    Result<Worker> done = pool.worker();
    Result<Worker> refused = PoolRef().worker();
    const Result<Worker>& look = refused;
    CHECK(!refused && refused.error().status() == KVB_ERR_NULL);
    CHECK(!aborts([&] { (void)done.value(); }));
    CHECK(!aborts([&] { (void)refused.error(); }));
    CHECK(aborts([&] { (void)refused.value(); }));
    CHECK(aborts([&] { (void)*refused; }));
    CHECK(aborts([&] { (void)refused->get(); }));
    CHECK(aborts([&] { (void)look.value(); }));
    CHECK(aborts([&] { (void)*look; }));
    CHECK(aborts([&] { (void)look->get(); }));
    CHECK(aborts([&] { (void)std::move(refused).value(); }));
    CHECK(aborts([&] { (void)*PoolRef().worker(); }));
    CHECK(aborts([&] { (void)done.error(); }));
    const Result<void> checked = pool.check(1);
    CHECK(!aborts([&] { (void)pool.check(9).error(); }));
    CHECK(aborts([&] { (void)checked.error(); }));
    CHECK(aborts([&] { (void)pool.check(1).error(); }));
}

void compare(const Pool& pool) {
    CHECK(pool.check(1) == KVB_OK && !(pool.check(1) != KVB_OK));
    CHECK(pool.check(9) == KVB_ERR_NEVER_FITS && pool.check(9) != KVB_OK);
    const Status wanted = KVB_ERR_NEVER_FITS;
    const Result<void> refused = pool.check(9);
    CHECK(refused == wanted && refused == refused.error().status());
    const kvb_status number = KVB_ERR_NULL;
    CHECK(pool.check(9) != number);
}

void look(const Pool& pool) {
    const Result<Worker> worker = pool.worker();
    CHECK(worker->get() != nullptr && (*worker).get() == worker.value().get());
    const Result<Probe> probe = pool.probe(Prompt());
    CHECK_EQ(probe->held + (*probe).held, 0);
    // In one expression, of results that have no name.
    CHECK_EQ(pool.check(9).error().needed(), 9);
    CHECK_EQ(pool.probe(Prompt()).value().held, 0);
}

}  // namespace

int main() {
    const Pool pool = NEED(Pool::create(PoolConfig(8, 4)));
    misread(pool);
    compare(pool);
    look(pool);
    return 0;
}
