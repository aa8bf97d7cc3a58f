/** Objects of the library that the program owns. Part of kvblock.hpp. */
#ifndef KVBLOCK_OBJECT_HPP
#define KVBLOCK_OBJECT_HPP

#include <kvblock.h>
#include <kvblock/result.hpp>

#include <type_traits>
#include <utility>

namespace kvblock {

/**
 * Owns one object of the C interface, or none: destroyed with it, moved but not copied. A moved-from one owns nothing; calls by it are
 * answered `KVB_ERR_NULL`.
 */
template <typename T, void (*destroy)(T*)>
class Object {
public:
    /** Owns nothing. */
    constexpr Object() noexcept = default;
    /** Takes over what a create function of C made. */
    explicit Object(T* raw) noexcept : raw_(raw) {}
    Object(Object&& other) noexcept : raw_(other.into_raw()) {}
    Object& operator=(Object&& other) noexcept {
        if (this != &other) reset(other.into_raw());
        return *this;
    }
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object() { reset(); }

    /** For calls of C, or null. */
    T* get() const noexcept { return raw_; }
    /** Whether it owns anything. */
    explicit operator bool() const noexcept { return raw_ != nullptr; }
    /** Gives the object to the caller, who destroys it. */
    [[nodiscard]] T* into_raw() noexcept { return std::exchange(raw_, nullptr); }
    /** Destroys what it owns, and owns this. */
    void reset(T* raw = nullptr) noexcept {
        T* const old = std::exchange(raw_, raw);
        if (old != nullptr) destroy(old);
    }

private:
    T* raw_ = nullptr;
};

namespace detail {

/** Makes an object by a call that writes a pointer and tells its error. */
template <typename T, typename Raw, typename Call>
Result<T> made(Call call) noexcept {
    Raw* raw = nullptr;
    kvb_error error = Error::blank();
    const kvb_status status = call(&raw, &error);
    if (status == KVB_OK) return Result<T>(T(raw));
    error.status = status;
    return Result<T>(Error(error));
}

/** Forgets an object that a call has taken. */
template <typename T, void (*destroy)(T*)>
void gone(Object<T, destroy>& object) noexcept {
    (void)object.into_raw();
}

/** Makes a call that takes an object away if it succeeds. */
template <typename O, typename Call>
Result<void> consumed(O& object, Call call) noexcept {
    Result<void> done = told(call);
    if (done) gone(object);
    return done;
}

}  // namespace detail

/** An object of somebody else's, or none: used as one's own by `*` and `->`, and never destroyed by this. */
template <typename O>
class Lent {
public:
    /** Borrows what C lent. */
    template <typename T>
    explicit Lent(T* raw) noexcept : object_(raw) {}
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() { detail::gone(object_); }

    /** Whether there is one. */
    explicit operator bool() const noexcept { return static_cast<bool>(object_); }
    O& operator*() noexcept { return object_; }
    O* operator->() noexcept { return &object_; }

private:
    std::remove_const_t<O> object_;
};

}  // namespace kvblock

#endif  // KVBLOCK_OBJECT_HPP
