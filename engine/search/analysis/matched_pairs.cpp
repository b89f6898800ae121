#include "engine/search/analysis/matched_pairs.hpp"

#include <algorithm>
#include <utility>

namespace fa_tune::search {

Codes GeneCodes::encode(const Config& config) {
  Codes codes(genes_.size(), kAbsent);
  for (const auto& [name, value] : config.settings()) {
    const auto [known, is_new] = by_name_.try_emplace(name, genes_.size());
    if (is_new) {
      genes_.push_back({name, {}, {}});
      codes.push_back(kAbsent);
    }
    Gene& gene = genes_[known->second];
    const auto next = static_cast<std::uint16_t>(gene.values.size());
    const auto [code, is_new_value] = gene.codes.try_emplace(value, next);
    if (is_new_value) gene.values.push_back(value);
    codes[known->second] = code->second;
  }
  return codes;
}

namespace {

// The contrast of two codes of a gene, and whether `from` is the first of them.
std::pair<Contrast, bool> contrast_of(std::size_t gene, std::uint16_t one, std::uint16_t other) {
  return {{gene, std::min(one, other), std::max(one, other)}, one < other};
}

}  // namespace

// Genes at the end that are absent do not count: they were unknown when older keys were made.
std::string MatchedConfigs::key_without(const Codes& codes, std::size_t gene) const {
  std::size_t length = codes.size();
  while (length > 0 && (codes[length - 1] == kAbsent || length - 1 == gene)) --length;
  std::string key;
  key.reserve(2 * length);
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint16_t code = i == gene ? kAbsent : codes[i];
    key.push_back(static_cast<char>(code & 0xFF));
    key.push_back(static_cast<char>(code >> 8));
  }
  return key;
}

void MatchedConfigs::add(Codes codes, double figure) {
  const std::size_t entry = entries_.size();
  entries_.push_back({std::move(codes), figure});
  const Codes& mine = entries_.back().codes;
  if (groups_.size() < mine.size()) groups_.resize(mine.size());
  for (std::size_t gene = 0; gene < mine.size(); ++gene) {
    if (mine[gene] == kAbsent) continue;
    auto& group = groups_[gene][key_without(mine, gene)];
    for (const std::size_t other : group) {
      const Entry& older = entries_[other];
      const auto [contrast, forward] = contrast_of(gene, older.codes[gene], mine[gene]);
      pairs_[contrast].push_back(forward ? figure - older.figure : older.figure - figure);
    }
    group.push_back(entry);
  }
}

std::vector<std::size_t> MatchedConfigs::older_siblings(std::size_t entry, std::size_t gene) const {
  const Codes& codes = entries_[entry].codes;
  if (codes[gene] == kAbsent) return {};
  std::vector<std::size_t> siblings = groups_[gene].at(key_without(codes, gene));
  siblings.erase(std::lower_bound(siblings.begin(), siblings.end(), entry), siblings.end());
  return siblings;
}

void MatchedConfigs::find_squares_of(std::size_t entry) {
  const Entry& last = entries_[entry];
  std::vector<std::vector<std::size_t>> siblings(last.codes.size());
  for (std::size_t gene = 0; gene < siblings.size(); ++gene)
    siblings[gene] = older_siblings(entry, gene);
  for (std::size_t g = 0; g < siblings.size(); ++g)
    for (const std::size_t across_id : siblings[g]) {
      const Entry& across = entries_[across_id];
      for (std::size_t h = g + 1; h < siblings.size(); ++h) {
        if (siblings[h].empty()) continue;
        const auto corners = groups_[h].find(key_without(across.codes, h));
        if (corners == groups_[h].end()) continue;
        for (const std::size_t up_id : siblings[h]) {
          const Entry& up = entries_[up_id];
          for (const std::size_t corner_id : corners->second) {
            const Entry& corner = entries_[corner_id];
            if (corner_id >= entry || corner.codes[h] != up.codes[h]) continue;
            const auto [first, g_forward] = contrast_of(g, across.codes[g], last.codes[g]);
            const auto [second, h_forward] = contrast_of(h, up.codes[h], last.codes[h]);
            const double difference = (last.figure - across.figure) - (up.figure - corner.figure);
            squares_[{first, second}].push_back(g_forward == h_forward ? difference : -difference);
          }
        }
      }
    }
}

const std::map<DoubleContrast, std::vector<double>>& MatchedConfigs::squares() {
  for (; squared_ < entries_.size(); ++squared_) find_squares_of(squared_);
  return squares_;
}

}  // namespace fa_tune::search
