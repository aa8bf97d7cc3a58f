// Arguments of a program: `--name value`, each a number within limits or a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

class Options {
  public:
    // What the program is for, as --help says it.
    Options(std::string program, std::string purpose) : program_(std::move(program)), purpose_(std::move(purpose)) {}

    // `value` holds the default, and gets what is given.
    void number(std::string name, std::uint64_t& value, std::uint64_t least, std::uint64_t most, std::string meaning);
    // One that must be given.
    void text(std::string name, std::string& value, std::string meaning);

    // One of some names; `value` is which.
    void choice(std::string name, std::uint64_t& value, std::vector<std::string> names, std::string meaning);

    // Reads the arguments. For --help, and for one that is wrong, it says so and ends the program: with 0 and 2.
    void read(int argc, char** argv);

  private:
    struct Option {
        std::string name;
        std::uint64_t* number;
        std::uint64_t least;
        std::uint64_t most;
        std::string* text;
        std::vector<std::string> names;
        std::string meaning;
    };

    [[noreturn]] void help() const;
    [[noreturn]] void refuse(const std::string& why) const;
    void set(const Option& option, const std::string& value) const;

    std::string program_;
    std::string purpose_;
    std::vector<Option> options_;
};
