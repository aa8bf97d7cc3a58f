// Clients on a Unix domain socket: one thread reads lines and writes what others want to send.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "protocol.hpp"

// Made with a pipe: `poll` sees when somebody calls `wake`, which signal handlers may do.
class Wake {
  public:
    Wake();
    ~Wake();
    Wake(const Wake&) = delete;
    Wake& operator=(const Wake&) = delete;

    void wake() const;
    void clear() const;
    int descriptor() const { return ends_[0]; }

  private:
    int ends_[2];
};

// One client. Any thread may send. Who does not read answers, or sends commands faster than they are taken up, is not read from; what
// is under way for it is still answered, up to a limit beyond which it is cut off.
class Connection {
  public:
    Connection(std::uint64_t number, int socket, const Wake& wake) : number_(number), socket_(socket), wake_(wake) {}
    ~Connection() { close(); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    std::uint64_t number() const { return number_; }
    void send(std::string_view text);

    // A command is handed over, has been taken up, has been answered for good.
    void handed_over();
    void taken_up();
    void answered();

  private:
    friend class Connections;

    // These are for the thread that serves. False if the client is gone.
    bool receive();
    bool flush();
    // What others send after that goes nowhere.
    void close();
    // Bytes that are still to be sent; one more than may be if it is cut off.
    std::size_t output();
    // Whether it may send more commands now. When that becomes true by another thread, that thread wakes.
    bool is_heard();

    const std::uint64_t number_;
    int socket_;
    const Wake& wake_;
    std::atomic<std::uint64_t> unanswered_{0};
    // Commands that nobody has taken up.
    std::atomic<std::uint64_t> in_line_{0};

    protocol::Lines received_;
    // It sends no more.
    bool is_at_end_ = false;
    // It has said the last that is heard.
    bool quits_ = false;

    std::mutex mutex_;
    std::string output_;
    // Bytes of it that have been sent.
    std::size_t sent_ = 0;
    bool cut_off_ = false;
};

class Connections {
  public:
    // Listens at `path`, which must not exist. On failure `error()` says why, and nothing is left there. At the end the path is removed, if
    // it is still the socket that was made.
    Connections(std::string path, const Wake& wake);
    ~Connections();
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;

    const std::string& error() const { return error_; }

    // What came from a client. `on_line` answers whether it may send more; `on_end` comes once, when the client is gone or has all answers.
    std::function<bool(const std::shared_ptr<Connection>&, std::string_view)> on_line;
    std::function<void(const std::shared_ptr<Connection>&)> on_end;

    // Serves until `stop` is set and the wake is woken; then nothing is accepted any more, and clients are still connected.
    void serve(const std::atomic<bool>& stop);

    // Sends what is left to those who read it, for a second at most, and closes all connections.
    void close();

  private:
    bool listen();
    void remove_socket() const;
    void accept_clients();
    void let_go(const std::shared_ptr<Connection>& client);
    // False if the client is to be let go.
    bool serve_client(const std::shared_ptr<Connection>& client, short events);
    bool take_lines(const std::shared_ptr<Connection>& client);

    std::string path_;
    // Of the socket there: device and inode.
    dev_t device_ = 0;
    ino_t inode_ = 0;
    const Wake& wake_;
    std::string error_;
    int listener_ = -1;
    // No descriptor was left for another client.
    bool is_full_ = false;
    std::uint64_t accepted_ = 0;
    std::vector<std::shared_ptr<Connection>> clients_;
};
