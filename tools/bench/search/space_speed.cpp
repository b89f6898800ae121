// How long it takes to build, index, draw from and move in spaces: the four of the field's
// benchmark of space construction (their parts written here by hand, with the counts that the
// field publishes) and one of 10^15 configs. One line a space. Time is that of the process, one
// thread, so that other work on the machine counts little; building is the median of nine.
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/space/space.hpp"
#include "engine/util/random.hpp"

using namespace fa_tune;

namespace {

constexpr int kRounds = 9;
constexpr std::size_t kSamples = 10'000;
constexpr std::size_t kVisits = 1'000;

using Numbers = std::vector<std::int64_t>;

Numbers range(std::int64_t first, std::int64_t last, std::int64_t step = 1) {
  Numbers numbers;
  for (std::int64_t number = first; number <= last; number += step) numbers.push_back(number);
  return numbers;
}

space::SpaceParts parts_of(const std::string& name,
                           std::initializer_list<std::pair<std::string, Numbers>> parameters,
                           std::initializer_list<std::string> constraints) {
  space::SpaceParts parts;
  parts.name = name;
  for (const auto& [parameter, numbers] : parameters)
    parts.parameters.push_back({parameter, {numbers.begin(), numbers.end()}, std::nullopt, {}});
  for (const std::string& text : constraints)
    parts.constraints.push_back({expression::Expression::parse(text), "", ""});
  return parts;
}

space::SpaceParts hotspot() {
  Numbers widths = {1, 2, 4, 8, 16};
  for (const std::int64_t width : range(32, 1024, 32)) widths.push_back(width);
  const std::string bytes =
      "(BLOCK_SIZE_X * TILE_SIZE_X + TEMPORAL_TILING_FACTOR * 2) * (BLOCK_SIZE_Y * TILE_SIZE_Y + "
      "TEMPORAL_TILING_FACTOR * 2) * (2 + SH_POWER) * 4";
  return parts_of(
      "hotspot_bat",
      {{"BLOCK_SIZE_X", widths},
       {"BLOCK_SIZE_Y", {1, 2, 4, 8, 16, 32}},
       {"BLOCK_SIZE_Z", {1}},
       {"TILE_SIZE_X", range(1, 10)},
       {"TILE_SIZE_Y", range(1, 10)},
       {"TEMPORAL_TILING_FACTOR", range(1, 10)},
       {"MAX_TFACTOR", {10}},
       {"LOOP_UNROLL_FACTOR_T", range(1, 10)},
       {"SH_POWER", {0, 1}},
       {"BLOCKS_PER_SM", {0, 1, 2, 3, 4}},
       {"MAX_THREADS", {1024}},
       {"MAX_SHARED_MEMORY_BLOCK", {49152}},
       {"MAX_SHARED_MEMORY", {102400}}},
      {"BLOCK_SIZE_X * BLOCK_SIZE_Y >= 32", "TEMPORAL_TILING_FACTOR % LOOP_UNROLL_FACTOR_T == 0",
       "BLOCK_SIZE_X * BLOCK_SIZE_Y <= MAX_THREADS", bytes + " <= MAX_SHARED_MEMORY_BLOCK",
       "BLOCKS_PER_SM == 0 or (" + bytes + ") * BLOCKS_PER_SM <= MAX_SHARED_MEMORY"});
}

space::SpaceParts gemm() {
  const Numbers tiles = {16, 32, 64, 128};
  const Numbers threads = {8, 16, 32};
  const Numbers widths = {1, 2, 4, 8};
  return parts_of("gemm",
                  {{"GEMMK", {0}},
                   {"MWG", tiles},
                   {"NWG", tiles},
                   {"KWG", {16, 32}},
                   {"MDIMC", threads},
                   {"NDIMC", threads},
                   {"MDIMA", threads},
                   {"NDIMB", threads},
                   {"KWI", {2}},
                   {"VWM", widths},
                   {"VWN", widths},
                   {"STRM", {0, 1}},
                   {"STRN", {0, 1}},
                   {"SA", {0, 1}},
                   {"SB", {0, 1}},
                   {"KREG", {1}},
                   {"PRECISION", {32}}},
                  {"KWG % KWI == 0", "MWG % (MDIMC * VWM) == 0", "NWG % (NDIMC * VWN) == 0",
                   "MWG % (MDIMA * VWM) == 0", "NWG % (NDIMB * VWN) == 0",
                   "KWG % ((MDIMC * NDIMC) / MDIMA) == 0", "KWG % ((MDIMC * NDIMC) / NDIMB) == 0",
                   "not (MWG == 128 and NWG == 128 and MDIMC == 8 and NDIMC == 8)"});
}

space::SpaceParts convolution() {
  return parts_of(
      "convolution",
      {{"block_size_x", range(16, 256, 16)},
       {"block_size_y", {1, 2, 4, 8, 16}},
       {"tile_size_x", range(1, 4)},
       {"tile_size_y", range(1, 4)},
       {"read_only", {0, 1}},
       {"use_padding", {0, 1}},
       {"use_shmem", {0, 1}},
       {"use_cmem", {1}},
       {"filter_height", {15}},
       {"filter_width", {15}}},
      {"use_padding == 0 or block_size_x % 32 != 0", "block_size_x * block_size_y <= 1024",
       "use_padding == 0 or use_shmem != 0",
       "use_shmem == 0 or (block_size_x * tile_size_x + (filter_width - 1)) * (block_size_y * "
       "tile_size_y + (filter_height - 1)) < 12 * 1024"});
}

space::SpaceParts dedispersion() {
  return parts_of(
      "dedispersion",
      {{"block_size_x", {1, 2, 4, 8, 16, 32}},
       {"block_size_y", range(32, 256, 8)},
       {"block_size_z", {1}},
       {"tile_size_x", range(1, 4)},
       {"tile_size_y", range(1, 8)},
       {"tile_stride_x", {0, 1}},
       {"tile_stride_y", {0, 1}},
       {"loop_unroll_factor_channel", {0}}},
      {"32 <= block_size_x * block_size_y <= 1024", "tile_size_x > 1 or tile_stride_x == 0",
       "tile_size_y > 1 or tile_stride_y == 0"});
}

// Twenty parameters of eight values with a constraint between every one and the next, two sums over
// five and a product over six of them.
space::SpaceParts large() {
  space::SpaceParts parts;
  parts.name = "large";
  const auto name = [](int i) { return "P" + std::to_string(i); };
  const Numbers numbers = range(1, 8);
  for (int i = 0; i < 20; ++i)
    parts.parameters.push_back({name(i), {numbers.begin(), numbers.end()}, std::nullopt, {}});
  const auto add = [&](const std::string& text) {
    parts.constraints.push_back({expression::Expression::parse(text), "", ""});
  };
  for (int i = 0; i + 1 < 20; ++i) add(name(i) + " + " + name(i + 1) + " <= 14");
  add("P0 + P4 + P8 + P12 + P16 <= 32");
  add("P1 + P5 + P9 + P13 + P17 >= 10");
  add("P2 * P6 * P10 * P14 * P18 * P19 <= 65536");
  return parts;
}

class ProcessorTime {
 public:
  double ms() const { return static_cast<double>(std::clock() - begin_) * 1e3 / CLOCKS_PER_SEC; }

 private:
  std::clock_t begin_ = std::clock();
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Microseconds that each of a number of visits takes, in the mean.
template <typename Action>
double mean_us(std::size_t count, const Action& action) {
  const ProcessorTime watch;
  for (std::size_t i = 0; i < count; ++i) action(i);
  return watch.ms() * 1e3 / static_cast<double>(count);
}

void measure(const space::SpaceParts& parts) {
  std::vector<double> build_ms;
  for (int i = 0; i < kRounds; ++i) {
    const ProcessorTime watch;
    const space::Space space = space::Space::build(parts);
    build_ms.push_back(watch.ms());
  }
  const space::Space space = space::Space::build(parts);
  Random random(1);
  std::vector<space::Genome> genomes(kSamples);
  const double sample_us =
      mean_us(kSamples, [&](std::size_t i) { genomes[i] = space.sample_genome(random); });
  std::size_t valid = 0;
  const double valid_us =
      mean_us(kSamples, [&](std::size_t i) { valid += space.valid(genomes[i]) ? 1 : 0; });
  if (valid != kSamples) fmt::print("{}: {} samples are not valid\n", parts.name, kSamples - valid);
  std::vector<space::Genome> near;
  std::size_t found = 0;
  const auto neighbors_us = [&](space::Neighborhood neighborhood) {
    return mean_us(kVisits, [&](std::size_t i) {
      space.neighbors(genomes[i], neighborhood, near);
      found += near.size();
    });
  };
  const double one_gene_us = neighbors_us(space::Neighborhood::one_gene);
  const double linked_us = neighbors_us(space::Neighborhood::linked);
  const double nearest_us = mean_us(kVisits, [&](std::size_t i) {
    space::Genome wish = genomes[i];
    for (std::size_t gene = 0; gene < wish.size(); ++gene)
      if (random.below(2) == 0) wish[gene] = genomes[kSamples - 1 - i][gene];
    found += space.nearest(wish, random).size();
  });
  fmt::print("{:14} {:>18} of {:<9.4g} {:5} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f}\n",
             parts.name, space.count(), space.cartesian(), space.exact() ? "exact" : "about",
             median(build_ms), sample_us, valid_us, one_gene_us, linked_us, nearest_us);
}

}  // namespace

int main() {
  fmt::print("{:14} {:>18}    {:9} {:5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "space", "valid",
             "all", "", "build ms", "sample us", "valid us", "one us", "linked us", "repair us");
  for (const space::SpaceParts& parts : {hotspot(), gemm(), convolution(), dedispersion(), large()})
    measure(parts);
  return 0;
}
