#include "client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace {

double milliseconds(std::chrono::steady_clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

int connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (made < 0) return -1;
    if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return made;
    const int why = errno;
    ::close(made);
    errno = why;
    return -1;
}

void Outcome::add(const Outcome& other) {
    completed += other.completed;
    cancelled += other.cancelled;
    refused += other.refused;
    tokens += other.tokens;
    hit += other.hit;
    prompts += other.prompts;
    first.insert(first.end(), other.first.begin(), other.first.end());
    whole.insert(whole.end(), other.whole.begin(), other.whole.end());
    if (wrong.empty()) wrong = other.wrong;
    is_cut_off = is_cut_off || other.is_cut_off;
}

// Not std::uniform_int_distribution, which differs between libraries.
std::uint64_t Client::draw(std::uint64_t least, std::uint64_t most) { return least + random_() % (most - least + 1); }

Outcome Client::run(const std::string& path, std::uint64_t requests, std::uint64_t depth) {
    socket_ = connect_to(path);
    if (socket_ < 0) {
        wrong(path + ": " + std::strerror(errno));
        return outcome_;
    }
    while (outcome_.wrong.empty() && !outcome_.is_cut_off && (last_id_ < requests || !pending_.empty())) {
        while (last_id_ < requests && pending_.size() < depth) submit();
        if (lines_.next(line_)) {
            take(line_);
        } else if (!receive()) {
            outcome_.is_cut_off = true;
        }
    }
    // The server says good-bye by closing.
    if (outcome_.wrong.empty() && !outcome_.is_cut_off && send("quit\n")) {
        while (receive()) {
        }
        // A cancel of what had just ended may be answered then, and nothing else.
        while (lines_.next(line_)) take(line_);
    }
    ::close(socket_);
    return outcome_;
}

void Client::submit() {
    Pending it{};
    auto& submit = it.submit;
    submit.id = ++last_id_;
    submit.tenant = draw(1, mixture_.tenants);
    submit.system = draw(1, mixture_.systems);
    submit.system_tokens = draw(0, mixture_.system_tokens);
    submit.prompt = draw(1, mixture_.prompt);
    submit.output = draw(1, mixture_.output);
    submit.branches = chance(mixture_.forked) ? draw(1, mixture_.branches) : 1;
    submit.growth = static_cast<protocol::Growth>(draw(0, 2));
    submit.seed = random_();
    if (chance(mixture_.repeated)) {
        // Some ask for the same as others, at any time: equal blocks are computed at once, or found.
        submit.seed = draw(1, 4);
        submit.system_tokens = 0;
        submit.prompt = mixture_.prompt;
    }
    it.cancel_at = chance(mixture_.cancelled) ? draw(1, submit.output) : UINT64_MAX;

    auto last = model::start(submit.tenant);
    for (const auto token : model::prompt(submit.system, submit.system_tokens, submit.seed, submit.prompt)) {
        last = model::digest(token, last);
    }
    it.branches.assign(submit.branches, Branch{last});
    it.open = submit.branches;
    it.sent = Clock::now();
    const std::string line = protocol::line(submit);
    pending_.emplace(submit.id, std::move(it));
    send(line);
}

bool Client::send(const std::string& text) {
    std::string_view rest = text;
    while (!rest.empty()) {
        pollfd ready{socket_, POLLIN | POLLOUT, 0};
        ::poll(&ready, 1, -1);
        const ssize_t count = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        const bool is_later = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
        if ((count < 0 && !is_later) || ((ready.revents & POLLIN) != 0 && !receive())) {
            outcome_.is_cut_off = true;
            return false;
        }
        if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

bool Client::receive() {
    char bytes[16384];
    ssize_t count = 0;
    do {
        count = ::recv(socket_, bytes, sizeof bytes, 0);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    lines_.add(bytes, static_cast<std::size_t>(count));
    return true;
}

void Client::wrong(const std::string& what) {
    if (outcome_.wrong.empty()) outcome_.wrong = line_.empty() ? what : what + ": " + line_;
}

void Client::take(const std::string& line) {
    std::visit([this](const auto& answer) { take(answer); }, protocol::parse_answer(line));
}

Client::Pending* Client::pending(std::uint64_t id) {
    const auto found = pending_.find(id);
    if (found != pending_.end()) return &found->second;
    wrong("no such request");
    return nullptr;
}

Client::Branch* Client::branch(std::uint64_t id, std::uint64_t branch) {
    auto* it = pending(id);
    if (it == nullptr) return nullptr;
    if (branch < it->branches.size() && !it->branches[branch].is_done) return &it->branches[branch];
    wrong("no such branch");
    return nullptr;
}

void Client::take(const protocol::Admitted& answer) {
    const auto* it = pending(answer.id);
    if (it == nullptr) return;
    const auto positions = it->submit.system_tokens + it->submit.prompt;
    if (answer.positions != positions || answer.hit >= positions) return wrong("not the prompt");
    outcome_.hit += answer.hit;
    outcome_.prompts += positions;
}

void Client::take(const protocol::Tokens& answer) {
    auto* branch = this->branch(answer.id, answer.branch);
    if (branch == nullptr) return;
    auto& it = *pending(answer.id);
    if (answer.first != branch->count) return wrong("tokens are missing");
    for (const auto token : answer.tokens) {
        const auto expected = model::sample(branch->last, static_cast<std::uint32_t>(answer.branch));
        if (token != expected) return wrong("the token must be " + std::to_string(expected));
        if (branch->is_stopped || branch->count == it.submit.output) return wrong("a token after the end");
        if (it.tokens == 0) outcome_.first.push_back(milliseconds(Clock::now() - it.sent));
        branch->last = model::digest(token, branch->last);
        branch->is_stopped = token == model::end_of_text;
        ++branch->count;
        ++it.tokens;
        ++outcome_.tokens;
    }
    if (it.tokens < it.cancel_at || it.is_cancelled) return;
    it.is_cancelled = true;
    send(protocol::line(protocol::Cancel{answer.id}));
}

void Client::take(const protocol::Done& answer) {
    auto* branch = this->branch(answer.id, answer.branch);
    if (branch == nullptr) return;
    auto& it = *pending(answer.id);
    if (answer.count != branch->count) return wrong("tokens are missing");
    if (answer.reason == protocol::Reason::abandoned) {
        // The server ends. Nothing else is expected of it.
        outcome_.is_cut_off = true;
        return;
    }
    const bool is_right = answer.reason == protocol::Reason::stop     ? branch->is_stopped
                          : answer.reason == protocol::Reason::length ? branch->count == it.submit.output
                                                                      : it.is_cancelled;
    if (!is_right) return wrong("not the reason");
    branch->is_done = true;
    if (--it.open == 0) finish(pending_.find(answer.id));
}

void Client::finish(std::map<std::uint64_t, Pending>::iterator it) {
    outcome_.whole.push_back(milliseconds(Clock::now() - it->second.sent));
    // As the server counts: whether the cancel came in time.
    const auto& branches = it->second.branches;
    const bool is_whole = std::all_of(branches.begin(), branches.end(), [&](const Branch& branch) {
        return branch.is_stopped || branch.count == it->second.submit.output;
    });
    ++(is_whole ? outcome_.completed : outcome_.cancelled);
    pending_.erase(it);
}

void Client::take(const protocol::Refused& answer) {
    if (pending(answer.id) == nullptr) return;
    pending_.erase(answer.id);
    ++outcome_.refused;
}

// A request may end while its cancel is on the way.
void Client::take(const protocol::Unknown& answer) {
    if (answer.id == 0 || answer.id > last_id_ || pending_.count(answer.id) != 0) wrong("it was known");
}
