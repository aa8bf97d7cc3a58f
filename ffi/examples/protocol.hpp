// What client and server say to each other: lines of text, one command or answer a line.
//
//   submit id=7 tenant=1 system=2 system_tokens=64 seed=7 prompt=100 output=20 branches=2 growth=ahead
//   cancel id=7
//   report
//   quit                               so is the end of what a client sends
//
//   admitted ID HIT POSITIONS          the first admission: positions found in the cache, of how many
//   tokens ID BRANCH FIRST TOKEN...    tokens of an answer, from its token number FIRST on
//   done ID BRANCH REASON COUNT        the branch has ended with so many tokens: length, stop, cancelled, or
//                                      abandoned: the server ends
//   refused ID REASON                  the request does not run: never, or not now as the queue is full
//   unknown ID                         nothing of that id is there to be cancelled
//   report LINES                       then so many lines of text
//   error TEXT                         the line was no command
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model.hpp"

namespace protocol {

// A longer line ends the connection.
constexpr std::size_t longest_line = 1024;

// What is promised to a request beyond its prompt: KVB_GROWTH_*.
enum class Growth { on_demand, cap, ahead };

struct Submit {
    std::uint64_t id = 0;
    std::uint64_t tenant = 0;
    std::uint64_t system = 0;
    std::uint64_t system_tokens = 0;
    std::uint64_t seed = 0;
    std::uint64_t prompt = 1;
    std::uint64_t output = 1;
    std::uint64_t branches = 1;
    Growth growth = Growth::on_demand;
};

struct Cancel {
    std::uint64_t id = 0;
};

struct Report {};

// No more commands: the connection is closed when all is answered.
struct Quit {};

// What is wrong with a line.
struct Bad {
    std::string why;
};

using Command = std::variant<Bad, Submit, Cancel, Report, Quit>;

Command parse_command(std::string_view line);
std::string line(const Submit& submit);
std::string line(const Cancel& cancel);

enum class Reason { length, stop, cancelled, abandoned };

struct Admitted {
    std::uint64_t id, hit, positions;
};

struct Tokens {
    std::uint64_t id, branch, first;
    std::vector<model::Token> tokens;
};

struct Done {
    std::uint64_t id, branch;
    Reason reason;
    std::uint64_t count;
};

struct Refused {
    std::uint64_t id;
    std::string why;
};

struct Unknown {
    std::uint64_t id;
};

struct ReportLines {
    std::uint64_t count;
};

struct Error {
    std::string text;
};

using Answer = std::variant<Bad, Admitted, Tokens, Done, Refused, Unknown, ReportLines, Error>;

Answer parse_answer(std::string_view line);
std::string line(const Admitted& answer);
std::string line(const Tokens& answer);
std::string line(const Done& answer);
std::string line(const Refused& answer);
std::string line(const Unknown& answer);
std::string line(const Error& answer);
// `text` ends with a line feed.
std::string report(std::string_view text);

// What was received, cut into lines.
class Lines {
  public:
    void add(const char* bytes, std::size_t count);
    // Nothing follows: what is there of a line is one.
    void finish();
    // The next whole line; false if there is none.
    bool next(std::string& line);
    // Bytes of a line that has not ended.
    std::size_t rest() const { return received_.size() - from_; }

  private:
    std::string received_;
    std::size_t from_ = 0;
};

}  // namespace protocol
