/** Objects of the library that the program owns. Part of kvblock.hpp. */
#ifndef KVBLOCK_OBJECT_HPP
#define KVBLOCK_OBJECT_HPP

#include <kvblock.h>

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
    Object(Object&& other) noexcept : raw_(other.release()) {}
    Object& operator=(Object&& other) noexcept {
        if (this != &other) reset(other.release());
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
    [[nodiscard]] T* release() noexcept { return std::exchange(raw_, nullptr); }
    /** Destroys what it owns, and owns this. */
    void reset(T* raw = nullptr) noexcept {
        T* const old = std::exchange(raw_, raw);
        if (old != nullptr) destroy(old);
    }

private:
    T* raw_ = nullptr;
};

}  // namespace kvblock

#endif  // KVBLOCK_OBJECT_HPP
