#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// Values as bytes, and back: numbers as 64 bits in this machine's order, texts and lists behind
// their length. For what this program reads again on the same machine.
//
// The fields of a type are listed once, by a function `fields(archive, value)` that calls
// archive(value.a, value.b, ...); Putter writes them, Getter reads them.
namespace fa_tune::wire {

class Putter {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T> || std::integral<T>)
      raw(static_cast<std::uint64_t>(value));
    else if constexpr (std::floating_point<T>)
      raw(static_cast<double>(value));
    else
      // fields() takes what it reads into and what it writes from alike; a Putter changes nothing.
      fields(*this, const_cast<T&>(value));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  void put(const std::string& value) {
    raw(std::uint64_t{value.size()});
    bytes_ += value;
  }
  void put(const std::vector<std::byte>& value) {
    raw(std::uint64_t{value.size()});
    bytes_.append(reinterpret_cast<const char*>(value.data()), value.size());
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    raw(std::uint64_t{values.size()});
    for (const T& value : values) put(value);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename First, typename Second>
  void put(const std::pair<First, Second>& value) {
    put(value.first);
    put(value.second);
  }
  template <typename Key, typename T>
  void put(const std::map<Key, T>& values) {
    raw(std::uint64_t{values.size()});
    for (const auto& each : values) put(each);
  }
  template <typename... T>
  void put(const std::variant<T...>& value) {
    raw(std::uint64_t{value.index()});
    std::visit([this](const auto& one) { this->put(one); }, value);
  }

  void raw(auto value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }

  std::string bytes_;
};

// Takes any bytes whatever: goes on after the end, or after what makes no sense, with zeros and
// empty texts; good() tells in the end. Never holds more than the bytes it was given. Every value
// is checked as it is read: a number for its range, an enumerator for being one (by last_of), a
// count for what is left to come.
class Getter {
 public:
  explicit Getter(std::string_view bytes) : bytes_(bytes) {}

  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  // All was read, nothing is left over.
  bool good() const { return good_ && bytes_.empty(); }

 private:
  template <typename T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      using Number = std::underlying_type_t<T>;
      const auto number = raw<std::uint64_t>();
      // A handle is any number of its type; every other enumeration says which is its last.
      if constexpr (requires { last_of(*this, T{}); }) {
        if (number > static_cast<std::uint64_t>(last_of(*this, T{}))) return refuse();
      } else {
        static_assert(sizeof(Number) == sizeof number);
      }
      value = static_cast<T>(number);
    } else if constexpr (std::same_as<T, bool>) {
      const auto number = raw<std::uint64_t>();
      if (number > 1) return refuse();
      value = number == 1;
    } else if constexpr (std::unsigned_integral<T>) {
      const auto number = raw<std::uint64_t>();
      if (number > std::numeric_limits<T>::max()) return refuse();
      value = static_cast<T>(number);
    } else if constexpr (std::signed_integral<T>) {
      const auto number = raw<std::int64_t>();
      if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max())
        return refuse();
      value = static_cast<T>(number);
    } else if constexpr (std::floating_point<T>) {
      value = static_cast<T>(raw<double>());
    } else {
      fields(*this, value);
    }
  }
  void get(std::string& value) { value = text(); }
  void get(std::vector<std::byte>& value) {
    const auto bytes = std::as_bytes(std::span(text()));
    value.assign(bytes.begin(), bytes.end());
  }
  // One at a time: a count that promises more than there is ends with the bytes.
  template <typename T>
  void get(std::vector<T>& values) {
    values.clear();
    for (auto left = raw<std::uint64_t>(); left > 0 && good_; --left) {
      T value{};
      get(value);
      values.push_back(std::move(value));
    }
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there)
      get(value.emplace());
    else
      value.reset();
  }
  template <typename First, typename Second>
  void get(std::pair<First, Second>& value) {
    get(value.first);
    get(value.second);
  }
  // Keys that are not in their order, or twice, make no sense.
  template <typename Key, typename T>
  void get(std::map<Key, T>& values) {
    values.clear();
    for (auto left = raw<std::uint64_t>(); left > 0 && good_; --left) {
      std::pair<Key, T> each{};
      get(each);
      if (!values.empty() && !(values.rbegin()->first < each.first)) return refuse();
      values.insert(values.end(), std::move(each));
    }
  }
  template <typename... T>
  void get(std::variant<T...>& value) {
    const auto index = raw<std::uint64_t>();
    if (index >= sizeof...(T)) return refuse();
    choose(value, index, std::index_sequence_for<T...>{});
  }
  template <typename Variant, std::size_t... i>
  void choose(Variant& value, std::uint64_t index, std::index_sequence<i...>) {
    ((index == i ? get(value.template emplace<i>()) : void()), ...);
  }

  template <typename T>
  T raw() {
    T value{};
    if (bytes_.size() < sizeof value) {
      refuse();
      bytes_ = {};
      return value;
    }
    bytes_.copy(reinterpret_cast<char*>(&value), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view text() {
    const auto size = raw<std::uint64_t>();
    if (size > bytes_.size()) {
      refuse();
      return {};
    }
    const std::string_view found = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return found;
  }
  void refuse() { good_ = false; }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace fa_tune::wire
