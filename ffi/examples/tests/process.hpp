// Programs that a test runs.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

struct Ended {
    // The exit status, or 128 and the signal.
    int status;
    // Standard output and error.
    std::string output;
};

class Process {
  public:
    explicit Process(const std::vector<std::string>& command);
    // One that was not waited for is killed.
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    // Waits until the output contains this; false if it ended before.
    bool waits_for(const std::string& text);
    // False when it has ended and was not waited for.
    bool is_running() const;
    void send_signal(int signal) const;
    // Reads no more: who writes gets SIGPIPE.
    void close_output();
    Ended wait();

  private:
    // Reads what there is; false at the end.
    bool read_more();

    pid_t process_ = -1;
    int output_end_ = -1;
    std::string output_;
};

// Runs a program to its end.
Ended run(const std::vector<std::string>& command);

// A directory of its own, removed with what is in it.
class Directory {
  public:
    Directory();
    ~Directory();
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;

    std::string file(const std::string& name) const { return path_ + '/' + name; }

  private:
    std::string path_;
};
