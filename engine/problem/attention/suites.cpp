#include <algorithm>
#include <array>

#include "engine/problem/attention/attention.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::problem {
namespace {

struct Sizes {
  std::int64_t B, H, Lq, Lk;
};

// `sizes.H` counts heads of K and V; each has as many of Q as the timed shape's.
AttentionShape shaped(AttentionShape shape, const Sizes& sizes) {
  const std::int64_t group = shape.group();
  shape.B = sizes.B;
  shape.H = sizes.H * group;
  shape.Hkv = sizes.H;
  shape.Lq = sizes.Lq;
  shape.Lk = sizes.Lk;
  return shape;
}

Suite suite(SuiteName name, const AttentionShape& timed, const std::vector<Sizes>& all) {
  Suite made{.name = name, .shapes = {}};
  for (const Sizes& sizes : all) made.shapes.push_back(shaped(timed, sizes).constants());
  return made;
}

// Shapes shorter than the timed one's window would not feel it: these take turns with windows of
// their own, on the sides that the timed one limits. Nothing but the key itself; a tile's edge; one
// off it; more than a tile.
constexpr std::array<std::int64_t, 7> kLeftWindows = {16, 0, 31, 7, 64, 1, 47};
constexpr std::array<std::int64_t, 5> kRightWindows = {33, 0, 15, 64, 3};

void take_windows(Suite& suite) {
  for (std::size_t i = 0; i < suite.shapes.size(); ++i) {
    AttentionShape shape = AttentionShape::from(suite.shapes[i]);
    if (shape.window_left >= 0) shape.window_left = kLeftWindows[i % kLeftWindows.size()];
    if (shape.window_right >= 0) shape.window_right = kRightWindows[i % kRightWindows.size()];
    suite.shapes[i] = shape.constants();
  }
}

// As if K and V had these heads; fewer where each stands for a group of Q's, so that heads of Q do
// not become too many.
std::vector<Sizes> grouped(std::vector<Sizes> all, std::int64_t group, std::int64_t least) {
  for (Sizes& sizes : all) sizes.H = std::max(std::min(sizes.H, least), sizes.H / group);
  return all;
}

// For each trial, also where an emulator runs it: about 55,000 query-key pairs in all, 1.7 times
// B=1 H=2 L=128. The last shape has more than one tile of 128 keys in a causal row too. With groups
// of heads all of it is as many times more.
const std::vector<Sizes> kQuick = {{1, 1, 64, 65}, {2, 3, 33, 17}, {1, 1, 77, 130}, {1, 2, 65, 63},
                                   {1, 1, 31, 97}, {1, 1, 1, 127}, {1, 1, 160, 160}};

// Aligned at the bottom right, the first 260 queries see no key: whole blocks have none. What goes
// wrong there, a barrier that only a tile would pass, a GPU may run right for years.
constexpr Sizes kBlocksWithoutKeys = {1, 1, 320, 60};

// One below, at and above the tile sizes that kernels use, and lengths that fit none. Two heads of
// 200 queries and 77 keys, aligned at the bottom right: a block that makes several tiles of the
// output meets one that sees no key ahead of one that does.
const std::vector<Sizes> kRagged = {
    {1, 1, 15, 17},   {1, 1, 16, 16},   {1, 1, 17, 15}, {1, 1, 31, 33},   {1, 1, 32, 32},
    {1, 1, 33, 31},   {1, 1, 63, 65},   {1, 1, 64, 64}, {1, 1, 65, 63},   {1, 1, 127, 129},
    {1, 1, 128, 128}, {1, 1, 129, 127}, {1, 1, 1, 1},   {1, 1, 1, 128},   {1, 1, 128, 1},
    {1, 1, 77, 200},  {1, 2, 200, 77},  {2, 2, 50, 70}, {1, 3, 100, 100}, {1, 1, 257, 255}};

// Each with and without causal: the shape this task was first asked for; lengths that are no
// multiple of 64; fewer queries than keys; more queries than keys; and a long one.
const std::vector<Sizes> kTen = {
    {1, 8, 512, 512}, {1, 8, 500, 500}, {2, 4, 256, 640}, {3, 2, 333, 111}, {1, 4, 1024, 1024}};

// About how many query-key pairs a hidden shape has at most.
constexpr std::int64_t kHiddenPairs = 10'000;

}  // namespace

std::vector<Constants> AttentionProblem::hidden_shapes(std::uint64_t seed) const {
  Random random(derive_seed(seed, "hidden shapes"));
  const auto between = [&random](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random.below(most - least + 1));
  };
  std::vector<Sizes> sizes;
  for (int i = 0; i < kHiddenShapes; ++i) {
    const std::int64_t B = between(1, 2), H = between(1, 2), Lq = between(1, 190);
    const std::int64_t room = kHiddenPairs / (B * H * timed_.group() * Lq);
    sizes.push_back({B, H, Lq, between(2, std::clamp<std::int64_t>(room, 20, 400))});
  }
  Suite made = suite(SuiteName::quick, timed_, sizes);
  take_windows(made);
  return made.shapes;
}

std::vector<Suite> attention_suites(const AttentionShape& timed) {
  Suite mission{.name = SuiteName::mission, .shapes = {timed.constants()}};

  AttentionShape causal = timed;
  AttentionShape full = timed;
  causal.causal = true;
  full.causal = false;
  const std::int64_t group = timed.group();

  // Seven shapes of common benchmarks at 8 heads.
  Suite seven = suite(SuiteName::seven, full,
                      grouped({{1, 8, 128, 128},
                               {2, 8, 256, 256},
                               {2, 8, 512, 512},
                               {4, 8, 1024, 1024},
                               {1, 8, 2048, 2048}},
                              group, 1));
  const Suite seven_causal =
      suite(SuiteName::seven, causal, grouped({{2, 8, 512, 512}, {1, 8, 32, 32}}, group, 1));
  seven.shapes.insert(seven.shapes.end(), seven_causal.shapes.begin(), seven_causal.shapes.end());

  Suite both = suite(SuiteName::ten, full, grouped(kTen, group, 1));
  const Suite ten_causal = suite(SuiteName::ten, causal, grouped(kTen, group, 1));
  both.shapes.insert(both.shapes.end(), ten_causal.shapes.begin(), ten_causal.shapes.end());

  std::vector<Sizes> few = kQuick;
  if (timed.causal && timed.alignment == CausalAlignment::bottom_right)
    few.push_back(kBlocksWithoutKeys);
  Suite small = suite(SuiteName::quick, timed, grouped(few, group, 2));
  Suite edges = suite(SuiteName::ragged, timed, grouped(kRagged, group, 2));
  take_windows(small);
  take_windows(edges);
  return {small, edges, seven, both, mission};
}

}  // namespace fa_tune::problem
