#include "engine/search/classic/gene_codes.hpp"

namespace fa_tune {

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

}  // namespace fa_tune
