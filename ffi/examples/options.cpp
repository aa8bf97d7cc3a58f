#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

void Options::number(std::string name, std::uint64_t& value, std::uint64_t least, std::uint64_t most, std::string meaning) {
    options_.push_back({std::move(name), &value, least, most, nullptr, {}, std::move(meaning)});
}

void Options::text(std::string name, std::string& value, std::string meaning) {
    options_.push_back({std::move(name), nullptr, 0, 0, &value, {}, std::move(meaning)});
}

void Options::choice(std::string name, std::uint64_t& value, std::vector<std::string> names, std::string meaning) {
    options_.push_back({std::move(name), &value, 0, 0, nullptr, std::move(names), std::move(meaning)});
}

void Options::read(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--help") help();
        const auto named = [&](const Option& it) { return argument == "--" + it.name; };
        const auto option = std::find_if(options_.begin(), options_.end(), named);
        if (option == options_.end()) refuse("there is no option " + argument);
        if (++i == argc) refuse(argument + " needs a value");
        set(*option, argv[i]);
    }
    for (const auto& option : options_) {
        if (option.text != nullptr && option.text->empty()) refuse("--" + option.name + " is missing");
    }
}

void Options::set(const Option& option, const std::string& value) const {
    if (option.text != nullptr) {
        *option.text = value;
        return;
    }
    if (!option.names.empty()) {
        const auto found = std::find(option.names.begin(), option.names.end(), value);
        if (found == option.names.end()) refuse("--" + option.name + " is " + joined(option.names) + ", not \"" + value + '"');
        *option.number = static_cast<std::uint64_t>(found - option.names.begin());
        return;
    }
    std::uint64_t read = 0;
    const auto end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, read);
    if (error != std::errc{} || rest != end || read < option.least || read > option.most) {
        refuse("--" + option.name + " is a number from " + std::to_string(option.least) + " to " +
               std::to_string(option.most) + ", not \"" + value + '"');
    }
    *option.number = read;
}

void Options::help() const {
    std::printf("%s: %s\n\n", program_.c_str(), purpose_.c_str());
    for (const auto& option : options_) {
        const bool is_choice = !option.names.empty();
        const std::string name = "--" + option.name + (option.text != nullptr ? " TEXT" : is_choice ? " NAME" : " N");
        const std::string preset = option.text != nullptr ? ""
                                   : is_choice            ? ": " + joined(option.names)
                                                          : " [" + std::to_string(*option.number) + ']';
        std::printf("  %-18s %s%s\n", name.c_str(), option.meaning.c_str(), preset.c_str());
    }
    std::exit(0);
}

void Options::refuse(const std::string& why) const {
    std::fprintf(stderr, "%s: %s (see --help)\n", program_.c_str(), why.c_str());
    std::exit(2);
}
