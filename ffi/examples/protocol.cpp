#include "protocol.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace protocol {
namespace {

constexpr std::array<std::string_view, 3> growths{"on_demand", "cap", "ahead"};
constexpr std::array<std::string_view, 4> reasons{"length", "stop", "cancelled", "abandoned"};

// The next word, which is taken out of the text; empty at its end.
std::string_view next_word(std::string_view& text) {
    const auto from = std::min(text.find_first_not_of(' '), text.size());
    const auto to = std::min(text.find(' ', from), text.size());
    const auto word = text.substr(from, to - from);
    text.remove_prefix(to);
    return word;
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || rest != end) return std::nullopt;
    return value;
}

template <std::size_t count>
std::optional<std::size_t> find(const std::array<std::string_view, count>& names, std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
}

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

// A number of a command: its name, where it goes, and what it may be.
struct Field {
    std::string_view name;
    std::uint64_t* value;
    std::uint64_t least;
    std::uint64_t most;
};

// Reads `name=value` words up to the end; `growth` is NULL where there is none. Gives what is wrong, or nothing.
std::string read_fields(std::string_view words, const std::vector<Field>& fields, Growth* growth) {
    bool named = false;
    for (auto word = next_word(words); !word.empty(); word = next_word(words)) {
        const auto equals = word.find('=');
        if (equals == std::string_view::npos) return quoted(word) + " is not name=value";
        const auto name = word.substr(0, equals);
        const auto value = word.substr(equals + 1);
        if (growth != nullptr && name == "growth") {
            const auto found = find(growths, value);
            if (!found) return "growth is cap, ahead or on_demand, not " + quoted(value);
            *growth = static_cast<Growth>(*found);
            continue;
        }
        const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& it) { return it.name == name; });
        if (field == fields.end()) return "no such field: " + quoted(name);
        const auto read = number(value);
        if (!read || *read < field->least || *read > field->most) {
            return std::string(name) + " is a number from " + std::to_string(field->least) + " to " +
                   std::to_string(field->most) + ", not " + quoted(value);
        }
        *field->value = *read;
        named = named || name == "id";
    }
    return named ? "" : "id is missing";
}

Command parse_submit(std::string_view words) {
    constexpr std::uint64_t any = UINT64_MAX;
    constexpr std::uint64_t tokens = 1'000'000;
    Submit it;
    const std::string wrong = read_fields(words,
                                          {{"id", &it.id, 0, any},
                                           {"tenant", &it.tenant, 0, any},
                                           {"system", &it.system, 0, any},
                                           {"system_tokens", &it.system_tokens, 0, tokens},
                                           {"seed", &it.seed, 0, any},
                                           {"prompt", &it.prompt, 1, tokens},
                                           {"output", &it.output, 1, tokens},
                                           {"branches", &it.branches, 1, 64}},
                                          &it.growth);
    if (!wrong.empty()) return Bad{"submit: " + wrong};
    return it;
}

Command parse_cancel(std::string_view words) {
    Cancel it;
    const std::string wrong = read_fields(words, {{"id", &it.id, 0, UINT64_MAX}}, nullptr);
    if (!wrong.empty()) return Bad{"cancel: " + wrong};
    return it;
}

std::string join(std::string_view verb, std::initializer_list<std::uint64_t> numbers) {
    std::string line(verb);
    for (const auto it : numbers) line += ' ' + std::to_string(it);
    return line;
}

// The next `count` words as numbers, or nothing.
std::optional<std::vector<std::uint64_t>> numbers(std::string_view& words, std::size_t count) {
    std::vector<std::uint64_t> read;
    while (read.size() < count) {
        const auto value = number(next_word(words));
        if (!value) return std::nullopt;
        read.push_back(*value);
    }
    return read;
}

Answer parse_tokens(std::string_view words) {
    const auto head = numbers(words, 3);
    if (!head) return Bad{"tokens"};
    Tokens it{(*head)[0], (*head)[1], (*head)[2], {}};
    for (auto word = next_word(words); !word.empty(); word = next_word(words)) {
        const auto value = number(word);
        if (!value || *value >= model::vocabulary) return Bad{"tokens"};
        it.tokens.push_back(static_cast<model::Token>(*value));
    }
    return it;
}

Answer parse_done(std::string_view words) {
    const auto head = numbers(words, 2);
    const auto reason = find(reasons, next_word(words));
    const auto count = number(next_word(words));
    if (!head || !reason || !count) return Bad{"done"};
    return Done{(*head)[0], (*head)[1], static_cast<Reason>(*reason), *count};
}

}  // namespace

Command parse_command(std::string_view line) {
    const auto verb = next_word(line);
    if (verb == "submit") return parse_submit(line);
    if (verb == "cancel") return parse_cancel(line);
    if (verb != "report" && verb != "quit") return Bad{"no such command: " + quoted(verb)};
    if (!next_word(line).empty()) return Bad{std::string(verb) + " takes nothing"};
    if (verb == "report") return Report{};
    return Quit{};
}

Answer parse_answer(std::string_view line) {
    const auto verb = next_word(line);
    if (verb == "tokens") return parse_tokens(line);
    if (verb == "done") return parse_done(line);
    if (verb == "error") return Error{std::string(line.substr(std::min<std::size_t>(1, line.size())))};
    if (verb == "admitted") {
        const auto read = numbers(line, 3);
        if (read) return Admitted{(*read)[0], (*read)[1], (*read)[2]};
    }
    if (verb == "refused") {
        const auto id = number(next_word(line));
        if (id) return Refused{*id, std::string(line.substr(std::min<std::size_t>(1, line.size())))};
    }
    if (verb == "unknown") {
        const auto id = number(next_word(line));
        if (id) return Unknown{*id};
    }
    if (verb == "report") {
        const auto count = number(next_word(line));
        if (count) return ReportLines{*count};
    }
    return Bad{std::string(verb)};
}

std::string line(const Submit& it) {
    std::string text = "submit";
    const auto add = [&](const char* name, std::uint64_t value) {
        text += ' ';
        text += name;
        text += '=' + std::to_string(value);
    };
    add("id", it.id);
    add("tenant", it.tenant);
    add("system", it.system);
    add("system_tokens", it.system_tokens);
    add("seed", it.seed);
    add("prompt", it.prompt);
    add("output", it.output);
    add("branches", it.branches);
    text += " growth=";
    text += growths[static_cast<std::size_t>(it.growth)];
    return text + '\n';
}

std::string line(const Cancel& it) { return "cancel id=" + std::to_string(it.id) + '\n'; }

std::string line(const Admitted& it) { return join("admitted", {it.id, it.hit, it.positions}) + '\n'; }

std::string line(const Tokens& it) {
    std::string text = join("tokens", {it.id, it.branch, it.first});
    for (const auto token : it.tokens) text += ' ' + std::to_string(token);
    return text + '\n';
}

std::string line(const Done& it) {
    std::string text = join("done", {it.id, it.branch}) + ' ';
    text += reasons[static_cast<std::size_t>(it.reason)];
    return text + ' ' + std::to_string(it.count) + '\n';
}

std::string line(const Refused& it) { return join("refused", {it.id}) + ' ' + it.why + '\n'; }

std::string line(const Unknown& it) { return join("unknown", {it.id}) + '\n'; }

std::string line(const Error& it) { return "error " + it.text + '\n'; }

std::string report(std::string_view text) {
    const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    return join("report", {lines}) + '\n' + std::string(text);
}

void Lines::add(const char* bytes, std::size_t count) {
    received_.erase(0, from_);
    from_ = 0;
    received_.append(bytes, count);
}

void Lines::finish() {
    if (rest() > 0 && received_.back() != '\n') received_ += '\n';
}

bool Lines::next(std::string& line) {
    const auto end = received_.find('\n', from_);
    if (end == std::string::npos) return false;
    line.assign(received_, from_, end - from_);
    from_ = end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
}

}  // namespace protocol
