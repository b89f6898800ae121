#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/yaml/value.hpp"

namespace fa_tune::search {

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

// Two values of a gene; `from` has the smaller code.
struct Contrast {
  std::size_t gene = 0;
  std::uint16_t from = 0;
  std::uint16_t to = 0;
  friend auto operator<=>(const Contrast&, const Contrast&) = default;
};

// Two contrasts in different genes, the first in the earlier one.
struct DoubleContrast {
  Contrast first;
  Contrast second;
  friend auto operator<=>(const DoubleContrast&, const DoubleContrast&) = default;
};

// Configs that are equal but for one gene, or for two. A pair shows what one value does instead of
// another with all else held fast; a square of four configs shows whether what one gene does hangs
// on another. Within a contrast no config is in two pairs (or squares), so that their differences
// are as independent as the configs' own errors.
class MatchedConfigs {
 public:
  // A config that was not added before, with the figure to compare (here: the log of its time).
  void add(Codes codes, double figure);

  // figure(to) - figure(from), in the order in which pairs became complete.
  const std::map<Contrast, std::vector<double>>& pairs() const { return pairs_; }
  // What the step of the first gene brings at the second's `to`, less what it brings at its `from`.
  // Found when asked for, since a search that runs has no use for them.
  const std::map<DoubleContrast, std::vector<double>>& squares();

 private:
  struct Entry {
    Codes codes;
    double figure = 0;
  };

  std::string key_without(const Codes& codes, std::size_t gene) const;
  // Those that differ from the entry in that gene alone and are older.
  std::vector<std::size_t> older_siblings(std::size_t entry, std::size_t gene) const;
  void find_squares_of(std::size_t entry);

  std::vector<Entry> entries_;
  // By all genes but one, and by which one that is.
  std::vector<std::unordered_map<std::string, std::vector<std::size_t>>> groups_;
  std::map<Contrast, std::vector<double>> pairs_;
  std::map<DoubleContrast, std::vector<double>> squares_;
  std::size_t squared_ = 0;  // entries whose squares are found
};

}  // namespace fa_tune::search
