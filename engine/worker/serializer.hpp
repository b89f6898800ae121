#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/yaml/fields.hpp"

// A message's fields are listed once, by a function `fields(archive, message)` that calls
// archive(message.a, message.b, ...); Putter writes them, Getter reads them. Every value of a
// message is checked as it is read: a number for its range, an enumerator for being one (by
// last_of), a count for what is left to come.
namespace fa_tune::wire {

class Putter {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return writer_.take(); }

 private:
  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>)
      writer_.number(static_cast<std::uint64_t>(value));
    else if constexpr (std::same_as<T, bool> || std::unsigned_integral<T>)
      writer_.number(value);
    else if constexpr (std::signed_integral<T>)
      writer_.signed_number(value);
    else if constexpr (std::floating_point<T>)
      writer_.real(value);
    else
      // fields() takes what it reads into and what it writes from alike; a Putter changes nothing.
      fields(*this, const_cast<T&>(value));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  void put(const std::string& value) { writer_.text(value); }
  void put(const std::vector<std::byte>& value) {
    writer_.text({reinterpret_cast<const char*>(value.data()), value.size()});
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    writer_.number(values.size());
    for (const T& value : values) put(value);
  }
  template <typename... T>
  void put(const std::variant<T...>& value) {
    writer_.number(value.index());
    std::visit([this](const auto& one) { put(one); }, value);
  }

  FieldWriter writer_;
};

class Getter {
 public:
  explicit Getter(std::string_view bytes) : reader_(bytes) {}

  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool good() const { return reader_.good(); }

 private:
  template <typename T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      using Number = std::underlying_type_t<T>;
      const std::uint64_t number = reader_.number();
      // A handle is any number of its type; every other enumeration says which is its last.
      if constexpr (requires { last_of(T{}); }) {
        if (number > static_cast<std::uint64_t>(last_of(T{}))) return reader_.refuse();
      } else {
        static_assert(sizeof(Number) == sizeof number);
      }
      value = static_cast<T>(number);
    } else if constexpr (std::same_as<T, bool>) {
      const std::uint64_t number = reader_.number();
      if (number > 1) return reader_.refuse();
      value = number == 1;
    } else if constexpr (std::unsigned_integral<T>) {
      const std::uint64_t number = reader_.number();
      if (number > std::numeric_limits<T>::max()) return reader_.refuse();
      value = static_cast<T>(number);
    } else if constexpr (std::signed_integral<T>) {
      const std::int64_t number = reader_.signed_number();
      if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max())
        return reader_.refuse();
      value = static_cast<T>(number);
    } else if constexpr (std::floating_point<T>) {
      value = reader_.real();
    } else {
      fields(*this, value);
    }
  }
  void get(std::string& value) { value = reader_.text(); }
  void get(std::vector<std::byte>& value) {
    const std::string bytes = reader_.text();
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    value.assign(begin, begin + bytes.size());
  }
  // One at a time: a count that promises more than there is ends with the bytes.
  template <typename T>
  void get(std::vector<T>& values) {
    values.clear();
    for (std::uint64_t left = reader_.number(); left > 0 && reader_.still_good(); --left) {
      T value{};
      get(value);
      values.push_back(std::move(value));
    }
  }
  template <typename... T>
  void get(std::variant<T...>& value) {
    const std::uint64_t index = reader_.number();
    if (index >= sizeof...(T)) return reader_.refuse();
    choose(value, index, std::index_sequence_for<T...>{});
  }
  template <typename Variant, std::size_t... i>
  void choose(Variant& value, std::uint64_t index, std::index_sequence<i...>) {
    ((index == i ? get(value.template emplace<i>()) : void()), ...);
  }

  FieldReader reader_;
};

}  // namespace fa_tune::wire
