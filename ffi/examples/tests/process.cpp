#include "process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace {

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

}  // namespace

Process::Process(const std::vector<std::string>& command) {
    int ends[2];
    if (::pipe(ends) != 0) fail("pipe");
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    std::vector<char*> words;
    for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    process_ = ::fork();
    if (process_ < 0) fail("fork");
    if (process_ == 0) {
        ::dup2(ends[1], 1);
        ::dup2(ends[1], 2);
        ::close(ends[1]);
        ::execvp(words[0], words.data());
        ::_exit(127);
    }
    ::close(ends[1]);
    output_end_ = ends[0];
}

Process::~Process() {
    if (process_ > 0) {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    close_output();
}

void Process::close_output() {
    if (output_end_ >= 0) ::close(std::exchange(output_end_, -1));
}

bool Process::read_more() {
    char bytes[4096];
    ssize_t count = 0;
    do {
        count = ::read(output_end_, bytes, sizeof bytes);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    output_.append(bytes, static_cast<std::size_t>(count));
    return true;
}

bool Process::waits_for(const std::string& text) {
    while (output_.find(text) == std::string::npos) {
        if (!read_more()) return false;
    }
    return true;
}

bool Process::is_running() const {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

void Process::send_signal(int signal) const { ::kill(process_, signal); }

Ended Process::wait() {
    while (read_more()) {
    }
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output_};
}

Ended run(const std::vector<std::string>& command) { return Process(command).wait(); }

Directory::Directory() {
    // Not below TMPDIR: the path of a socket is short.
    char name[] = "/tmp/kvblock-XXXXXX";
    if (::mkdtemp(name) == nullptr) fail("mkdtemp");
    path_ = name;
}

Directory::~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}
