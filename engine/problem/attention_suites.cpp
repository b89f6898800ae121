#include "engine/problem/attention.hpp"

namespace fa_tune {
namespace {

struct Sizes {
  std::int64_t B, H, Lq, Lk;
};

Constants shaped(AttentionShape shape, const Sizes& sizes) {
  shape.B = sizes.B;
  shape.H = sizes.H;
  shape.Lq = sizes.Lq;
  shape.Lk = sizes.Lk;
  return shape.constants();
}

Suite suite(const std::string& name, const AttentionShape& timed, const std::vector<Sizes>& all) {
  Suite made{.name = name, .shapes = {}};
  for (const Sizes& sizes : all) made.shapes.push_back(shaped(timed, sizes));
  return made;
}

// For each trial, also where an emulator runs it: about 55,000 query-key pairs in all, 1.7 times
// B=1 H=2 L=128. Inputs take turns in the order of enum Inputs, and the order here counts on it:
// the last shape, with more than one tile of 128 keys in a causal row too, gets normal inputs,
// where a missing rescale shows; 33x17 with B and H over 1 gets tripled ones, where fp16 scores
// show.
const std::vector<Sizes> quick = {{1, 1, 64, 65}, {2, 3, 33, 17}, {1, 1, 77, 130}, {1, 2, 65, 63},
                                  {1, 1, 31, 97}, {1, 1, 1, 127}, {1, 1, 160, 160}};

// One below, at and above the tile sizes that kernels use, and lengths that fit none.
const std::vector<Sizes> ragged = {
    {1, 1, 15, 17},   {1, 1, 16, 16},   {1, 1, 17, 15}, {1, 1, 31, 33},   {1, 1, 32, 32},
    {1, 1, 33, 31},   {1, 1, 63, 65},   {1, 1, 64, 64}, {1, 1, 65, 63},   {1, 1, 127, 129},
    {1, 1, 128, 128}, {1, 1, 129, 127}, {1, 1, 1, 1},   {1, 1, 1, 128},   {1, 1, 128, 1},
    {1, 1, 77, 200},  {1, 1, 200, 77},  {2, 2, 50, 70}, {1, 3, 100, 100}, {1, 1, 257, 255}};

// Each with and without causal: the shape this project was first asked for; lengths that are no
// multiple of 64; fewer queries than keys; more queries than keys; and a long one.
const std::vector<Sizes> ten = {
    {1, 8, 512, 512}, {1, 8, 500, 500}, {2, 4, 256, 640}, {3, 2, 333, 111}, {1, 4, 1024, 1024}};

}  // namespace

std::vector<Suite> attention_suites(const AttentionShape& timed) {
  Suite mission{.name = "mission", .shapes = {timed.constants()}};

  AttentionShape causal = timed;
  AttentionShape full = timed;
  causal.causal = true;
  full.causal = false;

  // Seven shapes of common benchmarks at 8 heads.
  Suite seven = suite("seven", full,
                      {{1, 8, 128, 128},
                       {2, 8, 256, 256},
                       {2, 8, 512, 512},
                       {4, 8, 1024, 1024},
                       {1, 8, 2048, 2048}});
  seven.shapes.push_back(shaped(causal, {2, 8, 512, 512}));
  seven.shapes.push_back(shaped(causal, {1, 8, 32, 32}));

  Suite both = suite("ten", full, ten);
  for (const Sizes& sizes : ten) both.shapes.push_back(shaped(causal, sizes));

  return {suite("quick", timed, quick), suite("ragged", timed, ragged), seven, both, mission};
}

}  // namespace fa_tune
