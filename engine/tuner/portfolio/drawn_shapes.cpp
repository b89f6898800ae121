#include "engine/tuner/portfolio/drawn_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

constexpr std::size_t kDrawsOfAShape = 200;

Constants sizes_of(const Constants& shape, const std::vector<std::string>& names) {
  Constants sizes;
  for (const std::string& name : names) sizes.emplace(name, shape.at(name));
  return sizes;
}

double work_of(const Constants& sizes) {
  double work = 1;
  for (const auto& [name, value] : sizes)
    work *= static_cast<double>(std::get<std::int64_t>(value));
  return work;
}

}  // namespace

std::vector<DrawnShape> drawn_shapes(const std::vector<Constants>& shapes,
                                     const std::vector<std::string>& names, std::size_t count,
                                     std::uint64_t seed) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> ranges;
  double most = 0;
  std::vector<Constants> known;
  for (const Constants& shape : shapes) {
    known.push_back(sizes_of(shape, names));
    most = std::max(most, work_of(known.back()));
    for (const std::string& name : names) {
      const std::int64_t size = integer(shape, name);
      auto& [least, largest] = ranges.try_emplace(name, size, size).first->second;
      least = std::min(least, size);
      largest = std::max(largest, size);
    }
  }
  Random random(derive_seed(seed, "shapes to learn from"));
  std::vector<DrawnShape> drawn;
  for (std::size_t i = 0; i < kDrawsOfAShape * count && drawn.size() < count; ++i) {
    DrawnShape made{.like = static_cast<std::size_t>(random.below(shapes.size())), .sizes = {}};
    std::map<std::int64_t, std::int64_t> renewed;  // by what it was
    for (const std::string& name : names) {
      const auto [least, largest] = ranges.at(name);
      const double low = std::log(static_cast<double>(least));
      const double high = std::log(static_cast<double>(largest));
      const std::int64_t size =
          std::clamp(std::int64_t{std::llround(std::exp(low + (high - low) * random.uniform()))},
                     least, largest);
      const auto& kept = renewed.try_emplace(integer(shapes[made.like], name), size).first->second;
      made.sizes.emplace(name, least <= kept && kept <= largest ? kept : size);
    }
    if (work_of(made.sizes) > most || std::ranges::find(known, made.sizes) != known.end()) continue;
    known.push_back(made.sizes);
    drawn.push_back(std::move(made));
  }
  return drawn;
}

}  // namespace fa_tune::tuner
