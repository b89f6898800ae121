#include "engine/scaffold/algebra.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fa_tune::scaffold {
namespace {

// Indices that people write are far shorter.
constexpr std::size_t kMostTerms = 12;
constexpr std::size_t kMostNames = 8;
constexpr std::int64_t kMostFactor = std::int64_t{1} << 62;
// Quotients of quotients: what is in them is looked at again and again.
constexpr int kMostDepth = 2;
constexpr std::size_t kMostQuotients = 200;

std::string with_brackets(const std::string& text) {
  return text.find(' ') == text.npos || text.starts_with("ceil_div(") ? text : "(" + text + ")";
}

}  // namespace

Polynomial::Polynomial(std::int64_t number) {
  if (number != 0) terms_[{}] = number;
}

std::optional<std::int64_t> Polynomial::number() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

bool Polynomial::names(std::string_view name) const {
  return std::ranges::any_of(terms_, [&](const auto& term) {
    return std::ranges::find(term.first, name) != term.first.end();
  });
}

Bound Algebra::sum(const Bound& a, const Bound& b, std::int64_t sign) const {
  if (!a || !b) return std::nullopt;
  Polynomial all = *a;
  for (const auto& [names, factor] : b->terms_) {
    std::int64_t more = 0;
    std::int64_t& held = all.terms_[names];
    if (__builtin_mul_overflow(factor, sign, &more) || __builtin_add_overflow(held, more, &held) ||
        held > kMostFactor || held < -kMostFactor)
      return std::nullopt;
    if (held == 0) all.terms_.erase(names);
  }
  if (all.terms_.size() > kMostTerms) return std::nullopt;
  return all;
}

// Takes a quotient and its divisor out of a product; `left` is what was divided.
bool Algebra::reduce(Polynomial::Product& names, std::int64_t& factor, Polynomial& left) const {
  for (const std::string& name : names) {
    const auto found = quotients_.find(name);
    if (found == quotients_.end() || found->second.by.terms_.size() != 1) continue;
    const auto& [by, times] = *found->second.by.terms_.begin();
    if (times <= 0 || factor % times != 0) continue;
    Polynomial::Product rest = names;
    rest.erase(std::ranges::find(rest, name));
    if (!std::ranges::includes(rest, by)) continue;
    Polynomial::Product without;
    std::ranges::set_difference(rest, by, std::back_inserter(without));
    left = found->second.of;
    names = std::move(without);
    factor /= times;
    return true;
  }
  return false;
}

Bound Algebra::product(const Bound& a, const Bound& b) const {
  if (!a || !b) return std::nullopt;
  Bound all = Polynomial();
  for (const auto& [first, times] : a->terms_)
    for (const auto& [second, more] : b->terms_) {
      Polynomial::Product names;
      std::ranges::merge(first, second, std::back_inserter(names));
      std::int64_t factor = 0;
      if (__builtin_mul_overflow(times, more, &factor) || names.size() > kMostNames)
        return std::nullopt;
      Polynomial left;
      Polynomial term;
      if (reduce(names, factor, left)) {
        term.terms_[names] = factor;
        all = sum(all, product(term, left));
      } else {
        term.terms_[names] = factor;
        all = sum(all, term);
      }
      if (!all) return std::nullopt;
    }
  return all;
}

// Where every part can be divided.
Bound Algebra::divided(const Polynomial& a, const Polynomial& b) const {
  if (b.terms_.size() != 1) return std::nullopt;
  const auto& [by, times] = *b.terms_.begin();
  if (times <= 0) return std::nullopt;
  Polynomial result;
  for (const auto& [names, factor] : a.terms_) {
    if (!std::ranges::includes(names, by) || factor % times != 0) return std::nullopt;
    Polynomial::Product rest;
    std::ranges::set_difference(names, by, std::back_inserter(rest));
    result.terms_[rest] = factor / times;
  }
  return result;
}

int Algebra::depth_of(const Polynomial& bound) const {
  int most = 0;
  for (const auto& [names, factor] : bound.terms_)
    for (const std::string& name : names)
      if (const auto found = quotients_.find(name); found != quotients_.end())
        most = std::max(most, found->second.depth);
  return most;
}

Bound Algebra::name_of(Quotient quotient) {
  quotient.depth = 1 + std::max(depth_of(quotient.of), depth_of(quotient.by));
  if (quotient.depth > kMostDepth) return std::nullopt;
  for (const auto& [name, known] : quotients_)
    if (known.of == quotient.of && known.by == quotient.by &&
        known.rounded_up == quotient.rounded_up)
      return Polynomial(name);
  const std::string name = fmt::format("/{}", quotients_.size());
  quotients_[name] = std::move(quotient);
  return Polynomial(name);
}

Bound Algebra::quotient(const Bound& a, const Bound& b) {
  if (!a || !b || b->terms_.empty() || quotients_.size() > kMostQuotients) return std::nullopt;
  if (const Bound exact = divided(*a, *b)) return exact;
  const auto number = a->number(), by = b->number();
  if (number && by && *number >= 0 && *by > 0) return Polynomial(*number / *by);
  // (n + d - 1) / d
  const Bound rest = sum(sum(a, b, -1), Polynomial(1));
  if (rest && !rest->terms_.empty() && rest->terms_.size() < a->terms_.size())
    return rounded_up_quotient(rest, b);
  return name_of({*a, *b, false});
}

Bound Algebra::rounded_up_quotient(const Bound& a, const Bound& b) {
  if (!a || !b || b->terms_.empty() || quotients_.size() > kMostQuotients) return std::nullopt;
  if (const Bound exact = divided(*a, *b)) return exact;
  return name_of({*a, *b, true});
}

void Algebra::define(const std::string& name, const Polynomial& a, const Polynomial& b) {
  quotients_[name] = {a, b, true, 1 + std::max(depth_of(a), depth_of(b))};
}

std::optional<std::pair<Polynomial, Polynomial>> Algebra::parts(const std::string& name) const {
  const auto found = quotients_.find(name);
  if (found == quotients_.end()) return std::nullopt;
  return std::pair(found->second.of, found->second.by);
}

double Algebra::at(const Polynomial& bound,
                   const std::function<double(const std::string&)>& value_of) const {
  double all = 0;
  for (const auto& [names, factor] : bound.terms_) {
    auto term = static_cast<double>(factor);
    for (const std::string& name : names) {
      const auto found = quotients_.find(name);
      if (found == quotients_.end()) {
        term *= value_of(name);
        continue;
      }
      const double ratio = at(found->second.of, value_of) / at(found->second.by, value_of);
      term *= found->second.rounded_up ? std::ceil(ratio) : std::floor(ratio);
    }
    all += term;
  }
  return all;
}

std::vector<std::string> Algebra::names(const Polynomial& bound) const {
  std::set<std::string> found;
  for (const auto& [names, factor] : bound.terms_)
    for (const std::string& name : names) {
      const auto quotient = quotients_.find(name);
      if (quotient == quotients_.end()) {
        found.insert(name);
        continue;
      }
      for (const Polynomial* part : {&quotient->second.of, &quotient->second.by})
        for (const std::string& each : this->names(*part)) found.insert(each);
    }
  return {found.begin(), found.end()};
}

std::string Algebra::spelled(const std::string& name, const Spelling& spelling) const {
  const auto found = quotients_.find(name);
  if (found == quotients_.end()) return spelling(name);
  const std::string of = text(found->second.of, spelling), by = text(found->second.by, spelling);
  if (by == "1") return with_brackets(of);
  if (found->second.rounded_up) return fmt::format("ceil_div({}, {})", of, by);
  return fmt::format("({} / {})", with_brackets(of), with_brackets(by));
}

std::string Algebra::text(const Polynomial& bound, const Spelling& spelling) const {
  std::string all;
  // The longest products first, the number last.
  std::vector<std::pair<Polynomial::Product, std::int64_t>> terms(bound.terms_.begin(),
                                                                  bound.terms_.end());
  std::ranges::stable_sort(terms, std::greater{},
                           [](const auto& term) { return term.first.size(); });
  for (const auto& [names, factor] : terms) {
    std::vector<std::string> parts;
    const std::int64_t size = factor < 0 ? -factor : factor;
    for (const std::string& name : names) parts.push_back(spelled(name, spelling));
    if (size != 1 || names.empty()) parts.push_back(std::to_string(size));
    if (all.empty())
      all = factor < 0 ? "-" : "";
    else
      all += factor < 0 ? " - " : " + ";
    all += fmt::format("{}", fmt::join(parts, " * "));
  }
  return all.empty() ? "0" : all;
}

std::vector<std::string> Algebra::factors(const Polynomial& bound, const Spelling& spelling) const {
  if (bound.terms_.size() != 1) return {text(bound, spelling)};
  const auto& [names, factor] = *bound.terms_.begin();
  std::vector<std::string> parts;
  for (const std::string& name : names) parts.push_back(spelled(name, spelling));
  if (factor != 1 || names.empty()) parts.push_back(std::to_string(factor));
  return parts;
}

}  // namespace fa_tune::scaffold
