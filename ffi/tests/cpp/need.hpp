/* What the C++ tests share: taking the value of a result that must have one. */
#ifndef NEED_HPP
#define NEED_HPP

#include "../c/check.h"

#include <kvblock.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

inline void failed(const kvblock::Error& error, const char* call, int line) {
    std::fprintf(stderr, "line %d: %s: %s: %s\n", line, call, error.status().name(), error.message());
    std::exit(1);
}

template <typename T>
T need(kvblock::Result<T> result, const char* call, int line) {
    if (!result) failed(result.error(), call, line);
    return std::move(result).value();
}

inline void need(kvblock::Result<void> result, const char* call, int line) {
    if (!result) failed(result.error(), call, line);
}

/* The value of a call that must succeed. */
#define NEED(...) need(__VA_ARGS__, #__VA_ARGS__, __LINE__)
/* A call that must be refused. */
#define REFUSED(call, wanted) CHECK_STATUS((call).status().code(), wanted)

#endif
