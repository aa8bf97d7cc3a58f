/** Some items side by side that somebody else owns. Part of kvblock.hpp. */
#ifndef KVBLOCK_VIEW_HPP
#define KVBLOCK_VIEW_HPP

#include <array>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>
#if __cplusplus >= 202002L
#include <ranges>
#endif

namespace kvblock {

/**
 * A pointer and a number of items: what std::span is since C++20, to which it converts. Made of arrays and of whatever has `data()` and
 * `size()`; borrows them.
 */
template <typename T>
class View {
    // An array of U may be read as one of T: the same type, more const, or a T without further members.
    template <typename U>
    static constexpr bool reads_as = std::is_convertible_v<U*, T*> && sizeof(U) == sizeof(T);

    template <typename C>
    using item_of = std::remove_pointer_t<decltype(std::declval<C&>().data())>;

public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    /** No items. */
    constexpr View() noexcept = default;
    /** `size` items from `data` on. */
    constexpr View(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
    /** All of an array. */
    template <typename U, std::size_t N, std::enable_if_t<reads_as<U>, int> = 0>
    constexpr View(U (&array)[N]) noexcept : data_(array), size_(N) {}
    /** All of a vector, an array, a span, another view. */
    template <typename C, std::enable_if_t<!std::is_same_v<std::remove_cv_t<C>, View> && reads_as<item_of<C>>, int> = 0>
    constexpr View(C& container) noexcept : data_(container.data()), size_(container.size()) {}
    /** The same of one that goes away: for the duration of a call. */
    template <typename C, std::enable_if_t<!std::is_same_v<std::remove_cv_t<C>, View> && reads_as<item_of<const C>>, int> = 0>
    constexpr View(const C& container) noexcept : data_(container.data()), size_(container.size()) {}

    constexpr T* data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T* begin() const noexcept { return data_; }
    constexpr T* end() const noexcept { return data_ + size_; }
    /** An item; `index` is below `size()`. */
    constexpr T& operator[](std::size_t index) const noexcept { return data_[index]; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

/** An item as a batch of one, which it holds. */
template <typename T>
class One {
public:
    constexpr explicit One(T&& item) noexcept : item_(std::move(item)) {}
    constexpr T* data() noexcept { return &item_; }
    constexpr const T* data() const noexcept { return &item_; }
    constexpr std::size_t size() const noexcept { return 1; }

private:
    T item_;
};

/** One item as a batch of one. */
template <typename T>
constexpr View<const T> one(const T& item) noexcept {
    return View<const T>(&item, 1);
}
/** The same of an item that goes away. */
template <typename T, std::enable_if_t<!std::is_reference_v<T> && !std::is_const_v<T>, int> = 0>
constexpr One<T> one(T&& item) noexcept {
    return One<T>(std::move(item));
}

namespace detail {

/** The items between braces, for the duration of a call. */
template <typename T>
constexpr View<const T> listed(std::initializer_list<T> items) noexcept {
    return View<const T>(items.begin(), items.size());
}

// What has other pointers when it is const owns its items; views have the same. An array of const items has these, too.
template <typename C, typename = void>
struct Owns : std::false_type {};
template <typename C>
struct Owns<C, std::void_t<decltype(std::declval<C&>().data())>>
    : std::bool_constant<!std::is_same_v<decltype(std::declval<C&>().data()), decltype(std::declval<const C&>().data())>> {};
template <typename T, std::size_t N>
struct Owns<std::array<T, N>> : std::true_type {};

/** For overloads that refuse containers which would be gone before what borrows their items. */
template <typename C>
using if_goes_away = std::enable_if_t<!std::is_lvalue_reference_v<C> && Owns<std::remove_cv_t<C>>::value, int>;

}  // namespace detail

}  // namespace kvblock

#if __cplusplus >= 202002L
template <typename T>
inline constexpr bool std::ranges::enable_borrowed_range<kvblock::View<T>> = true;
template <typename T>
inline constexpr bool std::ranges::enable_view<kvblock::View<T>> = true;
#endif

#endif  // KVBLOCK_VIEW_HPP
