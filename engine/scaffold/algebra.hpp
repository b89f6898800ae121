#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fa_tune::scaffold {

// A sum of products of named unknowns with integer factors: what an index of a kernel may be at
// most, in its sizes and in what it is launched with. Nothing where it is not known, too long, or
// beyond 64 bits.
class Polynomial {
 public:
  using Product = std::vector<std::string>;  // sorted; the empty one is 1

  Polynomial() = default;
  Polynomial(std::int64_t number);  // NOLINT: a number is one
  explicit Polynomial(const std::string& name) : terms_{{{name}, 1}} {}

  const std::map<Product, std::int64_t>& terms() const { return terms_; }
  std::optional<std::int64_t> number() const;
  bool names(std::string_view name) const;
  friend bool operator==(const Polynomial&, const Polynomial&) = default;

 private:
  friend class Algebra;
  std::map<Product, std::int64_t> terms_;  // no factor is 0
};

using Bound = std::optional<Polynomial>;

// Computes with them. Quotients are names of their own, of which it knows what they are: times
// their divisor they are what was divided, as (n / 16) * 16 is n where 16 divides it.
class Algebra {
 public:
  Bound sum(const Bound& a, const Bound& b, std::int64_t sign = 1) const;
  Bound product(const Bound& a, const Bound& b) const;
  // Of an exact number; rounded up where that is what the text does: (n + 15) / 16.
  Bound quotient(const Bound& a, const Bound& b);
  Bound rounded_up_quotient(const Bound& a, const Bound& b);
  // That `name` stands for a / b, rounded up.
  void define(const std::string& name, const Polynomial& a, const Polynomial& b);

  // What a quotient's name stands for; nothing for another name.
  std::optional<std::pair<Polynomial, Polynomial>> parts(const std::string& name) const;

  // The number that it is where each name is what `value_of` says.
  double at(const Polynomial& bound,
            const std::function<double(const std::string&)>& value_of) const;
  // All names in it, those within quotients too.
  std::vector<std::string> names(const Polynomial& bound) const;
  using Spelling = std::function<std::string(const std::string&)>;
  // As an expression of a space: "n * 4 + 1", "ceil_div(n, 16)".
  std::string text(const Polynomial& bound, const Spelling& spelling) const;
  // As a list of sizes, whose product it is.
  std::vector<std::string> factors(const Polynomial& bound, const Spelling& spelling) const;

 private:
  struct Quotient {
    Polynomial of, by;
    bool rounded_up = false;
    int depth = 1;  // 2 of a quotient of quotients
  };
  Bound divided(const Polynomial& a, const Polynomial& b) const;
  bool reduce(Polynomial::Product& names, std::int64_t& factor, Polynomial& left) const;
  std::string spelled(const std::string& name, const Spelling& spelling) const;
  Bound name_of(Quotient quotient);
  int depth_of(const Polynomial& bound) const;

  std::map<std::string, Quotient> quotients_;
};

}  // namespace fa_tune::scaffold
