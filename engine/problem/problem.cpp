#include "engine/problem/problem.hpp"

#include <algorithm>

#include "engine/util/error.hpp"

namespace fa_tune::problem {

std::vector<ScalarPart> parts_of(const Scalar& scalar) {
  if (!scalar.plain()) return scalar.parts;
  return {{.name = "", .type = scalar.type, .offset = 0}};
}

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

std::vector<Constants> Problem::hidden_shapes(std::uint64_t) const { return {}; }

SizeFormulas Problem::size_formulas() const {
  throw UserError("a kernel of " + kind() + " is made for one shape");
}

Instance Problem::outline(const Constants& shape) const {
  Instance made = make(shape, Inputs::normal, 0);
  for (Tensor& tensor : made.tensors) tensor.bytes.clear();
  return made;
}

std::string to_text(Inputs inputs) {
  switch (inputs) {
    case Inputs::normal:
      return "normal";
    case Inputs::tripled:
      return "tripled";
    case Inputs::small:
      return "small";
    case Inputs::negated:
      return "negated";
    case Inputs::large_logits:
      return "large_logits";
    case Inputs::distinct_rows:
      return "distinct_rows";
    case Inputs::rare:
      return "rare";
    case Inputs::extreme:
      return "extreme";
  }
  return "unknown";
}

std::string to_text(SuiteName name) {
  switch (name) {
    case SuiteName::quick:
      return "quick";
    case SuiteName::ragged:
      return "ragged";
    case SuiteName::seven:
      return "seven";
    case SuiteName::ten:
      return "ten";
    case SuiteName::mission:
      return "mission";
  }
  return "unknown";
}

std::optional<Suite> find_suite(const Problem& problem, SuiteName name) {
  const auto suites = problem.suites();
  const auto found = std::ranges::find(suites, name, &Suite::name);
  return found == suites.end() ? std::nullopt : std::optional(*found);
}

std::vector<Suite> chosen_suites(const Problem& problem, const std::vector<std::string>& names) {
  const auto all = problem.suites();
  const auto is = [](const std::string& name) {
    return [&name](const Suite& suite) { return to_text(suite.name) == name; };
  };
  for (const std::string& name : names) {
    if (std::ranges::any_of(all, is(name))) continue;
    std::string known;
    for (const Suite& suite : all) known += (known.empty() ? "" : ", ") + to_text(suite.name);
    throw UserError("--suite '" + name + "': expected one of " + known);
  }
  std::vector<Suite> chosen;
  for (const Suite& suite : all)
    if (names.empty() || std::ranges::find(names, to_text(suite.name)) != names.end())
      chosen.push_back(suite);
  return chosen;
}

}  // namespace fa_tune::problem
