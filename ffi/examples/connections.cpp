#include "connections.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

// Of one client. It is not heard while more bytes wait for it, or that many commands.
constexpr std::size_t heard_output = std::size_t{1} << 18;
constexpr std::uint64_t most_in_line = 64;

// It is cut off when so many bytes wait for it.
constexpr std::size_t most_output = std::size_t{16} << 20;

void set_nonblocking(int descriptor) {
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

bool is_transient(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Wake::Wake() {
    if (::pipe(ends_) != 0) {
        std::perror("server: pipe");
        std::exit(1);
    }
    set_nonblocking(ends_[0]);
    set_nonblocking(ends_[1]);
}

Wake::~Wake() {
    ::close(ends_[0]);
    ::close(ends_[1]);
}

// A full pipe wakes as well.
void Wake::wake() const {
    const int before = errno;
    const ssize_t written = ::write(ends_[1], "", 1);
    static_cast<void>(written);
    errno = before;
}

void Wake::clear() const {
    char bytes[256];
    while (::read(ends_[0], bytes, sizeof bytes) > 0) {
    }
}

void Connection::close() {
    const std::lock_guard lock(mutex_);
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    cut_off_ = true;
    output_ = std::string();
    sent_ = 0;
}

void Connection::send(std::string_view text) {
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        if (cut_off_) return;
        first = output_.empty();
        output_ += text;
        if (output_.size() - sent_ > most_output) {
            cut_off_ = true;
            output_ = std::string();
            sent_ = 0;
            first = true;
        }
    }
    if (first) wake_.wake();
}

void Connection::handed_over() {
    ++unanswered_;
    ++in_line_;
}

void Connection::taken_up() {
    if (in_line_-- == most_in_line) wake_.wake();
}

void Connection::answered() {
    --unanswered_;
    wake_.wake();
}

bool Connection::receive() {
    char bytes[4096];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count < 0) return is_transient(errno);
    received_.add(bytes, static_cast<std::size_t>(count));
    if (count > 0) return true;
    received_.finish();
    is_at_end_ = true;
    return true;
}

bool Connection::flush() {
    const std::lock_guard lock(mutex_);
    if (cut_off_) return false;
    if (output_.empty()) return true;
    const ssize_t count = ::send(socket_, output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
    if (count < 0) return is_transient(errno);
    sent_ += static_cast<std::size_t>(count);
    // Not each time: what is behind it has to move.
    if (sent_ >= output_.size() / 2) output_.erase(0, std::exchange(sent_, 0));
    return true;
}

std::size_t Connection::output() {
    const std::lock_guard lock(mutex_);
    return cut_off_ ? most_output + 1 : output_.size() - sent_;
}

bool Connection::is_heard() { return !quits_ && in_line_ < most_in_line && output() <= heard_output; }

Connections::Connections(std::string path, const Wake& wake) : path_(std::move(path)), wake_(wake) {
    if (listen()) return;
    error_ = path_ + ": " + std::strerror(errno);
}

Connections::~Connections() {
    if (listener_ >= 0) ::close(listener_);
    remove_socket();
}

bool Connections::listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
    struct stat made {};
    if (::lstat(path_.c_str(), &made) != 0) return false;
    device_ = made.st_dev;
    inode_ = made.st_ino;
    set_nonblocking(listener_);
    return ::listen(listener_, 64) == 0;
}

void Connections::remove_socket() const {
    struct stat there {};
    if (inode_ == 0 || ::lstat(path_.c_str(), &there) != 0) return;
    if (there.st_dev == device_ && there.st_ino == inode_) ::unlink(path_.c_str());
}

void Connections::serve(const std::atomic<bool>& stop) {
    while (!stop) {
        // Descriptors may come back that were not a client's: so from time to time it tries.
        const int wait = is_full_ ? 100 : -1;
        std::vector<pollfd> watched{{wake_.descriptor(), POLLIN, 0}, {is_full_ ? -1 : listener_, POLLIN, 0}};
        for (const auto& client : clients_) {
            const short output = client->output() > 0 ? POLLOUT : 0;
            const short input = client->is_heard() ? POLLIN : 0;
            watched.push_back({client->socket_, static_cast<short>(input | output), 0});
        }
        const int ready = ::poll(watched.data(), watched.size(), wait);
        if (ready < 0 && errno != EINTR) {
            std::perror("server: poll");
            return;
        }
        if (ready < 0) continue;
        if (ready == 0) is_full_ = false;
        wake_.clear();
        std::vector<std::shared_ptr<Connection>> kept;
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            if (serve_client(clients_[i], watched[i + 2].revents)) {
                kept.push_back(clients_[i]);
            } else {
                let_go(clients_[i]);
            }
        }
        clients_ = std::move(kept);
        if (watched[1].revents != 0) accept_clients();
    }
}

void Connections::accept_clients() {
    for (int socket = ::accept(listener_, nullptr, nullptr); socket >= 0;
         socket = ::accept(listener_, nullptr, nullptr)) {
        set_nonblocking(socket);
        clients_.push_back(std::make_shared<Connection>(++accepted_, socket, wake_));
    }
    is_full_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

void Connections::let_go(const std::shared_ptr<Connection>& client) {
    client->close();
    is_full_ = false;
    on_end(client);
}

bool Connections::serve_client(const std::shared_ptr<Connection>& client, short events) {
    // Not who only sends no more: it still hears.
    if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0) return false;
    if ((events & POLLIN) != 0 && !client->receive()) return false;
    if (!client->flush() || !take_lines(client)) return false;
    // Asked before the output is looked at: what is answered has been sent.
    const bool is_answered = client->unanswered_ == 0;
    return !client->quits_ || !is_answered || client->output() > 0;
}

bool Connections::take_lines(const std::shared_ptr<Connection>& client) {
    std::string line;
    while (client->is_heard()) {
        const bool is_whole = client->received_.next(line);
        if (is_whole ? line.size() > protocol::longest_line : client->received_.rest() > protocol::longest_line) {
            client->send(protocol::line(protocol::Error{"the line is too long"}));
            client->flush();
            return false;
        }
        if (!is_whole && !client->is_at_end_) return true;
        client->quits_ = !is_whole || !on_line(client, line);
    }
    return true;
}

void Connections::close() {
    using std::chrono::steady_clock;
    const auto until = steady_clock::now() + std::chrono::seconds(1);
    for (;;) {
        std::vector<std::shared_ptr<Connection>> kept;
        std::vector<pollfd> watched;
        for (const auto& client : clients_) {
            if (!client->flush() || client->output() == 0) {
                client->close();
                continue;
            }
            kept.push_back(client);
            watched.push_back({client->socket_, POLLOUT, 0});
        }
        clients_ = std::move(kept);
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now()).count();
        if (clients_.empty() || left <= 0) break;
        ::poll(watched.data(), watched.size(), static_cast<int>(left));
    }
    clients_.clear();
}
