/** What calls answer: a status, an error with its figures, or a value. Part of kvblock.hpp. */
#ifndef KVBLOCK_RESULT_HPP
#define KVBLOCK_RESULT_HPP

#include <kvblock.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace kvblock {

/** A number of the C interface, `KVB_OK` or one of `KVB_ERR_*`. */
class Status {
public:
    /** A number. */
    constexpr Status(kvb_status code) noexcept : code_(code) {}
    template <typename B, std::enable_if_t<std::is_same_v<B, bool>, int> = 0>
    Status(B) = delete;

    constexpr bool ok() const noexcept { return code_ == KVB_OK; }
    constexpr kvb_status code() const noexcept { return code_; }
    /** `KVB_ERR_SHORTFALL` for instance. */
    const char* name() const noexcept { return kvb_status_name(code_); }
    /** A sentence. */
    const char* message() const noexcept { return kvb_status_message(code_); }

    friend constexpr bool operator==(Status a, Status b) noexcept { return a.code_ == b.code_; }
    friend constexpr bool operator!=(Status a, Status b) noexcept { return a.code_ != b.code_; }

private:
    kvb_status code_;
};

/** Why a call failed, and with which figures: see `kvb_error`. */
class Error {
public:
    /** One without figures. */
    explicit Error(Status status) noexcept : Error(blank()) { raw_.status = status.code(); }
    /** What C told. */
    explicit Error(const kvb_error& raw) noexcept : raw_(raw) {}

    /** A buffer of the caller's has room for `given` items and `needed` would do. */
    static Error too_short(std::size_t needed, std::size_t given) noexcept {
        Error error(KVB_ERR_TOO_SHORT);
        error.raw_.needed = needed;
        error.raw_.available = given;
        return error;
    }

    Status status() const noexcept { return raw_.status; }
    /** Where it failed, or `KVB_NO_SHARD`. */
    std::uint32_t shard() const noexcept { return raw_.shard; }
    /** Which of several it is about, where the status says so. */
    std::uint32_t which() const noexcept { return raw_.which; }
    std::uint64_t needed() const noexcept { return raw_.needed; }
    std::uint64_t available() const noexcept { return raw_.available; }
    std::uint64_t limit() const noexcept { return raw_.limit; }
    /** Blocks that come back by themselves when a fence passes. */
    std::uint64_t quarantined() const noexcept { return raw_.quarantined; }
    /** The instance of a fleet, or `KVB_NO_INSTANCE`. */
    std::uint64_t instance() const noexcept { return raw_.instance; }
    /** Blocks that all instances of a fleet have together. */
    std::uint64_t sum() const noexcept { return raw_.sum; }
    /** A sentence, with the numbers where there are any. */
    const char* message() const noexcept {
        return raw_.message[0] != '\0' ? raw_.message : kvb_status_message(raw_.status);
    }
    /** As C has it. */
    const kvb_error& raw() const noexcept { return raw_; }

    /** One to be filled by a call. */
    static kvb_error blank() noexcept {
        kvb_error raw;
        raw.struct_size = sizeof raw;
        raw.status = KVB_OK;
        raw.shard = KVB_NO_SHARD;
        raw.which = 0;
        raw.needed = raw.available = raw.limit = raw.quarantined = 0;
        raw.instance = KVB_NO_INSTANCE;
        raw.sum = 0;
        raw.message[0] = '\0';
        return raw;
    }

private:
    kvb_error raw_;
};

namespace detail {

/** A bug of the program: a result was not looked at, or not the right way. */
[[noreturn]] inline void misread(const char* why) noexcept {
    std::fprintf(stderr, "kvblock: a result has not what is read of it: %s\n", why);
    std::abort();
}

}  // namespace detail

/** A value, or why there is none. Look whether there is one before `value()`. */
template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) noexcept : ok_(true), value_(std::move(value)) {}
    Result(const Error& error) noexcept : ok_(false), error_(error) {}
    Result(Result&& other) noexcept : ok_(other.ok_) {
        if (ok_) {
            ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
        } else {
            ::new (static_cast<void*>(&error_)) Error(other.error_);
        }
    }
    Result(const Result&) = delete;
    Result& operator=(const Result&) = delete;
    Result& operator=(Result&&) = delete;
    ~Result() {
        if (ok_) value_.~T();
    }

    /** Whether there is a value. */
    explicit operator bool() const noexcept { return ok_; }
    /** `KVB_OK`, or the error's. */
    Status status() const noexcept { return ok_ ? Status(KVB_OK) : error_.status(); }
    /** The value, if there is one; else the process is aborted, as by `*`, `->` and by `error()` of what did not fail. */
    T& value() & noexcept {
        look(ok_);
        return value_;
    }
    const T& value() const& noexcept {
        look(ok_);
        return value_;
    }
    /** Of a result that goes away: taken out of it, so that what is made of it may stay. */
    T value() && noexcept {
        look(ok_);
        return std::move(value_);
    }
    T& operator*() & noexcept { return value(); }
    const T& operator*() const& noexcept { return value(); }
    T operator*() && noexcept { return std::move(*this).value(); }
    T* operator->() & noexcept { return &value(); }
    const T* operator->() const& noexcept { return &value(); }
    /** What it points to would be gone: take `value()`, or name the result. */
    const T* operator->() const&& = delete;
    /** The error, if there is no value. */
    const Error& error() const& noexcept {
        look(!ok_);
        return error_;
    }
    Error error() && noexcept {
        look(!ok_);
        return error_;
    }

private:
    void look(bool right) const noexcept {
        if (!right) detail::misread(ok_ ? "no error" : error_.message());
    }

    bool ok_;
    union {
        T value_;
        Error error_;
    };
};

/** Done, or why not. */
template <>
class [[nodiscard]] Result<void> {
public:
    Result() noexcept : ok_(true), nothing_() {}
    Result(const Error& error) noexcept : ok_(false), error_(error) {}

    /** Whether it was done. */
    explicit operator bool() const noexcept { return ok_; }
    /** `KVB_OK`, or the error's. */
    Status status() const noexcept { return ok_ ? Status(KVB_OK) : error_.status(); }
    /** The error, if there is one; else the process is aborted. */
    const Error& error() const& noexcept {
        if (ok_) detail::misread("no error");
        return error_;
    }
    Error error() && noexcept { return static_cast<const Result&>(*this).error(); }

    [[nodiscard]] friend bool operator==(const Result& result, Status status) noexcept { return result.status() == status; }
    [[nodiscard]] friend bool operator!=(const Result& result, Status status) noexcept { return result.status() != status; }

private:
    bool ok_;
    union {
        char nothing_;
        Error error_;
    };
};

namespace detail {

/** Makes a call that writes a `T` and tells its error. */
template <typename T, typename Call>
Result<T> told(Call call) noexcept {
    T value{};
    kvb_error error = Error::blank();
    const kvb_status status = call(value, &error);
    if (status == KVB_OK) return Result<T>(std::move(value));
    error.status = status;
    return Result<T>(Error(error));
}

/** Makes a call that tells its error. */
template <typename Call>
Result<void> told(Call call) noexcept {
    kvb_error error = Error::blank();
    const kvb_status status = call(&error);
    if (status == KVB_OK) return Result<void>();
    error.status = status;
    return Result<void>(Error(error));
}

/** What a call that only has a status answered. */
inline Result<void> plain(kvb_status status) noexcept {
    if (status == KVB_OK) return Result<void>();
    return Result<void>(Error(Status(status)));
}

/** Makes a call that writes a `T` and only has a status. */
template <typename T, typename Call>
Result<T> plain(Call call) noexcept {
    T value{};
    const kvb_status status = call(value);
    if (status == KVB_OK) return Result<T>(std::move(value));
    return Result<T>(Error(Status(status)));
}

/** Makes a call that fills a struct which begins with its size. */
template <typename T, typename Call>
Result<T> sized(Call call) noexcept {
    T value{};
    value.struct_size = sizeof value;
    const kvb_status status = call(&value);
    if (status == KVB_OK) return Result<T>(value);
    return Result<T>(Error(Status(status)));
}

}  // namespace detail
}  // namespace kvblock

#endif  // KVBLOCK_RESULT_HPP
