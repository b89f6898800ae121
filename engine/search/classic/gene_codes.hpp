#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/yaml/value.hpp"

namespace fa_tune {

// A config as one small number a gene, so that configs can be compared and looked up fast. Learns
// names and values as they come; what a config does not have is kAbsent. Needs no space, so that
// runs are read whose space is gone.
using Codes = std::vector<std::uint16_t>;
inline constexpr std::uint16_t kAbsent = 0xFFFF;

class GeneCodes {
 public:
  // As long as the genes known by now; compare with same_length.
  Codes encode(const Config& config);
  // Codes made earlier, with kAbsent for the genes that came later.
  void lengthen(Codes& codes) const { codes.resize(genes_.size(), kAbsent); }

  std::size_t genes() const { return genes_.size(); }
  const std::string& name(std::size_t gene) const { return genes_[gene].name; }
  const std::vector<Value>& values(std::size_t gene) const { return genes_[gene].values; }

 private:
  struct Gene {
    std::string name;
    std::vector<Value> values;
    std::map<Value, std::uint16_t> codes;
  };
  std::vector<Gene> genes_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace fa_tune
