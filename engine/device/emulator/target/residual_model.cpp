#include "engine/device/emulator/target/residual_model.hpp"

#include <algorithm>
#include <cmath>

namespace fa_tune::emulator {

const ResidualModel::Kind* ResidualModel::kind(std::string_view name) const {
  const auto found = std::ranges::find(kinds, name, &Kind::name);
  return found == kinds.end() ? nullptr : &*found;
}

ResidualModel::Told ResidualModel::at(std::span<const double> features) const {
  std::vector<float> scaled(scales.size());
  for (std::size_t i = 0; i < scaled.size(); ++i)
    scaled[i] = static_cast<float>(
        std::clamp((features[i] - scales[i].mean) / scales[i].deviation, -limit, limit));
  Told told;
  for (std::size_t kernel = 0; kernel < weights.size(); ++kernel) {
    const float* point = points.data() + kernel * scaled.size();
    float squared = 0;
    for (std::size_t i = 0; i < scaled.size(); ++i)
      squared += (scaled[i] - point[i]) * (scaled[i] - point[i]);
    const double likeness = std::exp(-squared / (2 * width * width));
    told.error += double(weights[kernel]) * likeness;
    told.likeness = std::max(told.likeness, likeness);
  }
  return told;
}

}  // namespace fa_tune::emulator
