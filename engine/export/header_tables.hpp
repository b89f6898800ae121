#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/export/package.hpp"

namespace fa_tune::exports {

template <typename T>
std::size_t index_of(const std::vector<T>& all, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(all, name, &T::name) - all.begin());
}

// What the caller of a header names; its tables have their places here.
struct HeaderNames {
  std::vector<problem::Tensor> tensors;
  std::vector<problem::Scalar> options;
  std::vector<std::string> sizes;
};

// The code and the launches of a header as tables, behind what works on them (cxx/launch.hpp).
class HeaderTables {
 public:
  HeaderTables(const Package& package, const HeaderNames& names);

  std::string text() const { return calls(); }

 private:
  std::string code() const;
  std::string calls() const;
  std::string call_tables(std::size_t at) const;
  std::string step(const PackagedCall& call, const PlannedStep& step, std::size_t kernel_number,
                   const std::string& place, std::string& tables) const;
  std::string argument(const PackagedCall& call, const PlannedKernel& kernel,
                       const std::string& name) const;
  std::string map(const PackagedCall& call, const MappedTensor& map) const;
  std::string size_value(const PackagedCall& call, const std::string& name) const;
  std::string long_value(const problem::Scalar& scalar) const;

  const Package& package_;
  const HeaderNames& names_;
  std::vector<std::vector<std::byte>> long_values_;
};

}  // namespace fa_tune::exports
