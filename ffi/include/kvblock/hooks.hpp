/** Functions of the program's that the library uses, and versions. Part of kvblock.hpp. */
#ifndef KVBLOCK_HOOKS_HPP
#define KVBLOCK_HOOKS_HPP

#include <kvblock.h>
#include <kvblock/result.hpp>

#include <cstddef>

namespace kvblock {

/** Memory and panics: see `kvb_hooks`. None of the functions may throw. */
class Hooks {
public:
    using Alloc = void* (*)(std::size_t size, std::size_t align, void* user) noexcept;
    using Free = void (*)(void* memory, std::size_t size, std::size_t align, void* user) noexcept;
    using Panic = void (*)(const char* message, std::size_t length, void* user) noexcept;

    /** `user` is passed to each function. */
    explicit Hooks(void* user = nullptr) noexcept {
        raw_.struct_size = sizeof raw_;
        raw_.user = user;
    }
    /** Where memory comes from and goes to. */
    Hooks& memory(Alloc alloc, Free free) noexcept {
        raw_.alloc = alloc;
        raw_.free = free;
        return *this;
    }
    /** Told when the library finds a bug of its own, before the process is aborted. */
    Hooks& panic(Panic hook) noexcept {
        raw_.panic = hook;
        return *this;
    }
    /** As C has it. */
    const kvb_hooks& raw() const noexcept { return raw_; }

private:
    kvb_hooks raw_{};
};

/** Sets them for the whole process, while no object of the library lives. */
inline Result<void> set_hooks(const Hooks& hooks) noexcept {
    return detail::plain(kvb_set_hooks(&hooks.raw()));
}

/** Sets the library's own again. */
inline Result<void> reset_hooks() noexcept {
    return detail::plain(kvb_set_hooks(nullptr));
}

/** Whether the library has the binary interface of this header. If not, call nothing else. */
inline bool abi_matches() noexcept {
    return kvb_abi_matches();
}

/** The library's version. */
inline const char* version() noexcept {
    return kvb_version();
}

}  // namespace kvblock

#endif  // KVBLOCK_HOOKS_HPP
