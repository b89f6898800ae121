#include "engine/device/emulator/target/residual_model.hpp"

#include <algorithm>
#include <cmath>

namespace fa_tune::emulator {

const ResidualModel::Kind* ResidualModel::kind(std::string_view name) const {
  const auto found = std::ranges::find(kinds, name, &Kind::name);
  return found == kinds.end() ? nullptr : &*found;
}

double ResidualModel::at(std::span<const double> features) const {
  std::vector<float> scaled(scales.size());
  for (std::size_t i = 0; i < scaled.size(); ++i)
    scaled[i] = static_cast<float>(
        std::clamp((features[i] - scales[i].mean) / scales[i].deviation, -limit, limit));
  double sum = 0;
  for (std::size_t kernel = 0; kernel < weights.size(); ++kernel) {
    const float* point = points.data() + kernel * scaled.size();
    float squared = 0;
    for (std::size_t i = 0; i < scaled.size(); ++i)
      squared += (scaled[i] - point[i]) * (scaled[i] - point[i]);
    sum += double(weights[kernel]) * std::exp(-squared / (2 * width * width));
  }
  return sum;
}

}  // namespace fa_tune::emulator
