#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune {

// Fields one after the other as bytes: numbers as 64 bits in this machine's order, texts behind
// their length. For what this program reads again on the same machine.
class FieldWriter {
 public:
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void signed_number(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void real(double value) { raw(&value, sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  void texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) text(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void raw(const void* value, std::size_t size) {
    bytes_.append(static_cast<const char*>(value), size);
  }

  std::string bytes_;
};

// The way back, for any bytes whatever: goes on after the end, or after what makes no sense, with
// zeros and empty texts; good() tells in the end. Never holds more than the bytes it was given.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    raw(&value, sizeof value);
    return value;
  }
  std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
  double real() {
    double value = 0;
    raw(&value, sizeof value);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > bytes_.size()) {
      good_ = false;
      return {};
    }
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values;
    for (std::uint64_t left = number(); left > 0 && good_; --left) values.push_back(text());
    return values;
  }

  // For who finds a value that cannot be.
  void refuse() { good_ = false; }
  bool still_good() const { return good_; }
  // All was read, nothing is left over.
  bool good() const { return good_ && bytes_.empty(); }

 private:
  void raw(void* value, std::size_t size) {
    if (bytes_.size() < size) {
      good_ = false;
      bytes_ = {};
      return;
    }
    std::memcpy(value, bytes_.data(), size);
    bytes_.remove_prefix(size);
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace fa_tune
