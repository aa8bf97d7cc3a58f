// Calls of the library whose failure is a bug of the server.
#pragma once

#include <kvblock.hpp>

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

// What a call gives. If it failed, that is printed, and the process ends with status 3.
template <class T>
T must(kvblock::Result<T> result, const char* call) {
    if (!result) {
        std::fprintf(stderr, "server: %s: %s (%s)\n", call, result.error().message(), result.status().name());
        std::_Exit(3);
    }
    if constexpr (!std::is_void_v<T>) return std::move(result).value();
}
