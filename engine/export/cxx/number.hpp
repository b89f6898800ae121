
// A number of 64 bits that a launch is computed with. What overflows or is divided by 0 has no value,
// nor has what rests on it.
struct Number {
  std::int64_t value = 0;
  bool exists = true;

  Number() = default;
  Number(std::int64_t number, bool there = true) : value(number), exists(there) {}
};

// The same where both exist.
inline Number both(const Number& a, const Number& b, std::int64_t value) {
  return {value, a.exists && b.exists};
}

inline bool in_range(std::int64_t value, std::int64_t low, std::int64_t high) {
  return low <= value && value <= high;
}

inline Number operator+(const Number& a, const Number& b) {
  const bool fits = b.value < 0 ? a.value >= INT64_MIN - b.value : a.value <= INT64_MAX - b.value;
  return fits ? both(a, b, a.value + b.value) : Number(0, false);
}

inline Number operator-(const Number& a, const Number& b) {
  const bool fits = b.value < 0 ? a.value <= INT64_MAX + b.value : a.value >= INT64_MIN + b.value;
  return fits ? both(a, b, a.value - b.value) : Number(0, false);
}

inline Number operator-(const Number& a) { return Number(0) - a; }

inline Number operator*(const Number& a, const Number& b) {
  if (a.value == 0 || b.value == 0) return both(a, b, 0);
  if (a.value == -1) return Number(0, a.exists) - b;
  if (b.value == -1) return Number(0, b.exists) - a;
  const bool below = (a.value < 0) != (b.value < 0);
  const std::int64_t end = (below ? INT64_MIN : INT64_MAX) / b.value;
  const bool fits = a.value < 0 ? a.value >= end : a.value <= end;
  return fits ? both(a, b, a.value * b.value) : Number(0, false);
}

inline bool divides(const Number& a, const Number& b) {
  return b.value != 0 && (a.value != INT64_MIN || b.value != -1);
}

inline Number operator/(const Number& a, const Number& b) {
  return divides(a, b) ? both(a, b, a.value / b.value) : Number(0, false);
}

inline Number operator%(const Number& a, const Number& b) {
  if (b.value == -1) return both(a, b, 0);
  return divides(a, b) ? both(a, b, a.value % b.value) : Number(0, false);
}

inline Number floor_div(const Number& a, const Number& b) {
  if (!divides(a, b)) return {0, false};
  const bool below = (a.value < 0) != (b.value < 0) && a.value % b.value != 0;
  return both(a, b, a.value / b.value - (below ? 1 : 0));
}

inline Number ceil_div(const Number& a, const Number& b) {
  if (!divides(a, b)) return {0, false};
  const bool above = (a.value < 0) == (b.value < 0) && a.value % b.value != 0;
  return both(a, b, a.value / b.value + (above ? 1 : 0));
}

inline Number absolute(const Number& a) { return a.value < 0 ? -a : a; }

inline Number least(std::initializer_list<Number> all) {
  Number found = *all.begin();
  for (const Number& each : all) found = both(found, each, std::min(found.value, each.value));
  return found;
}

inline Number most(std::initializer_list<Number> all) {
  Number found = *all.begin();
  for (const Number& each : all) found = both(found, each, std::max(found.value, each.value));
  return found;
}

// Conditions: 1 or 0.
inline Number operator==(const Number& a, const Number& b) {
  return both(a, b, a.value == b.value);
}
inline Number operator!=(const Number& a, const Number& b) {
  return both(a, b, a.value != b.value);
}
inline Number operator<(const Number& a, const Number& b) { return both(a, b, a.value < b.value); }
inline Number operator<=(const Number& a, const Number& b) {
  return both(a, b, a.value <= b.value);
}
inline Number operator>(const Number& a, const Number& b) { return both(a, b, a.value > b.value); }
inline Number operator>=(const Number& a, const Number& b) {
  return both(a, b, a.value >= b.value);
}
inline Number operator!(const Number& a) { return {a.value == 0, a.exists}; }

// The second does not count where the first decides.
inline Number operator&&(const Number& a, const Number& b) {
  return a.exists && a.value == 0 ? a : both(a, b, b.value != 0);
}
inline Number operator||(const Number& a, const Number& b) {
  return a.exists && a.value != 0 ? a : both(a, b, b.value != 0);
}

inline Number choose(const Number& condition, const Number& a, const Number& b) {
  const Number& chosen = condition.value != 0 ? a : b;
  return both(condition, chosen, chosen.value);
}

inline Number one_of(const Number& wanted, std::initializer_list<Number> all) {
  Number found = both(wanted, wanted, 0);
  for (const Number& each : all) found = found || wanted == each;
  return found;
}

// As a kernel takes it.
template <typename T>
std::uint64_t bits_of(std::int64_t number) {
  const T value = static_cast<T>(number);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// What a launch is computed to, and the first reason why there is none.
struct Computed {
  const char* refusal = nullptr;

  void require(const Number& holds, const char* otherwise) {
    if (refusal == nullptr && (!holds.exists || holds.value == 0)) refusal = otherwise;
  }
  std::int64_t within(const Number& number, std::int64_t low, std::int64_t high,
                      const char* otherwise) {
    require(Number(in_range(number.value, low, high), number.exists), otherwise);
    return refusal == nullptr ? number.value : low;
  }
};
