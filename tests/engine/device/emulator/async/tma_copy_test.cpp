#include <algorithm>
#include <array>

#include <doctest/doctest.h>

#include "engine/util/half.hpp"
#include "tests/engine/device/emulator/hopper_support.hpp"
#include "tests/helpers.hpp"

// Bulk tensor copies: boxes, what lies outside, steps, swizzles, reductions. What is expected is
// worked out element by element from the coordinates.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

using Coordinates = std::vector<int>;

constexpr int kBoxBytes = 16384;

std::string numbers(const Coordinates& coordinates) {
  std::string text;
  for (const int each : coordinates) text += (text.empty() ? "" : ", ") + std::to_string(each);
  return "{" + text + "}";
}

const std::string kStart = kHopperRegisters + R"(
  .shared .align 8 .b64 bar;
  .shared .align 1024 .b8 box[16384];
  ld.param.u64 %rd1, [out];
  mov.b64 %rd2, map;
  cvta.param.u64 %rd2, %rd2;
)" + kMakeBarrier;
const std::string kParameters = ".param .u64 out, .param .align 64 .b8 map[128]";

// Loads the box at `coordinates` and copies all of the shared memory behind `box` to `out`.
std::string load(const Coordinates& coordinates, std::size_t bytes, const std::string& to = "box") {
  return kernel(kParameters, kStart + R"(
  @%p1 bra WAIT;
  prefetch.tensormap [%rd2];
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], )" +
                                 std::to_string(bytes) + R"(;
  mov.u32 %r2, )" + to + R"(;
  mov.u32 %r3, bar;
  cp.async.bulk.tensor.)" + std::to_string(coordinates.size()) +
                                 R"(d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [%r2], [%rd2, )" + numbers(coordinates) +
                                 "], [%r3];\n" + kWaitForBarrier + dump(kBoxBytes));
}

// Stores the box's words, 1 + i, at `coordinates` by `opcode`.
std::string store(const Coordinates& coordinates, const std::string& opcode) {
  return kernel(kParameters, kStart + fill(kBoxBytes, 1) + R"(
  @%p1 bra DONE;
  mov.u32 %r2, box;
  )" + opcode + R"( [%rd2, )" + numbers(coordinates) +
                                 R"(], [%r2];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
DONE:
)");
}

struct Tensor {
  TensorMap map;
  // Bytes of the buffer that the map looks at, all different enough.
  std::vector<std::uint8_t> bytes;

  std::size_t width() const { return static_cast<std::size_t>(size_of(map.element)); }
  std::size_t taken(std::size_t i) const {
    const std::uint32_t step = i == 0 || map.element_steps.empty() ? 1 : map.element_steps[i];
    return (map.box[i] + step - 1) / step;
  }
  std::size_t elements() const {
    std::size_t count = 1;
    for (std::size_t i = 0; i < map.box.size(); ++i) count *= taken(i);
    return count;
  }
  std::size_t box_size() const { return elements() * width(); }

  // f(number of the element in the box, whether it is inside, its byte in the buffer)
  template <class F>
  void each(const Coordinates& at, F f) const {
    for (std::size_t number = 0; number < elements(); ++number) {
      std::size_t rest = number;
      bool inside = true;
      auto place = static_cast<std::int64_t>(map.offset);
      for (std::size_t i = 0; i < map.box.size(); ++i) {
        const std::uint32_t step = i == 0 || map.element_steps.empty() ? 1 : map.element_steps[i];
        const std::int64_t c = at[i] + static_cast<std::int64_t>(rest % taken(i) * step);
        rest /= taken(i);
        inside &= c >= 0 && c < static_cast<std::int64_t>(map.dims[i]);
        place += c * static_cast<std::int64_t>(i == 0 ? width() : map.strides[i - 1]);
      }
      f(number, inside, static_cast<std::size_t>(inside ? place : 0));
    }
  }
};

// Where byte `at` of a box that begins on 1024 bytes comes to lie: within 8 rows of 128 bytes, 4
// of 128 and so on, the 16-byte column changes with the row (PTX ISA, "Swizzling Modes").
std::size_t moved(std::size_t at, TensorMap::Swizzle swizzle) {
  const std::size_t row = at / 128;
  const std::size_t column = at / 16 % 8;
  constexpr std::array<std::size_t, 4> rows = {1, 2, 4, 8};
  const std::size_t flipped = row % rows[static_cast<std::size_t>(swizzle)];
  return row * 128 + (column ^ flipped) * 16 + at % 16;
}

Tensor tensor(TensorMap::Element element, std::vector<std::uint64_t> dims,
              std::vector<std::uint32_t> box,
              TensorMap::Swizzle swizzle = TensorMap::Swizzle::none) {
  Tensor made;
  made.map.element = element;
  made.map.dims = std::move(dims);
  made.map.box = std::move(box);
  made.map.swizzle = swizzle;
  made.map.offset = 64;
  std::uint64_t stride = (made.map.dims[0] * made.width() + 15) / 16 * 16;
  for (std::size_t i = 1; i < made.map.dims.size(); ++i) {
    made.map.strides.push_back(stride);
    stride *= made.map.dims[i] + 1;  // a gap after each
  }
  made.bytes.resize(64 + stride);
  std::uint32_t state = 1;
  for (auto& byte : made.bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return made;
}

void check_load(const Tensor& tensor, const Coordinates& at, std::uint64_t schedule = 0) {
  HopperBench bench(load(at, tensor.box_size()));
  const BufferHandle out = bench.buffer(std::vector<std::uint8_t>(kBoxBytes));
  TensorMap map = tensor.map;
  map.buffer = bench.buffer(tensor.bytes);
  bench.launch.arguments = {out};
  bench.add_map(map);
  bench.launch.schedule = schedule;
  CHECK(bench.run() == "");
  const auto found = bench.read<std::uint8_t>(out, kBoxBytes);
  std::vector<std::uint8_t> expected(kBoxBytes, 0xff);
  tensor.each(at, [&](std::size_t number, bool inside, std::size_t place) {
    for (std::size_t i = 0; i < tensor.width(); ++i) {
      expected[moved(number * tensor.width() + i, tensor.map.swizzle)] =
          inside ? tensor.bytes[place + i] : 0;
    }
  });
  CHECK(found == expected);
}

}  // namespace

TEST_CASE("a tensor copy of every rank brings a box, and zeros for what lies outside") {
  using E = TensorMap::Element;
  struct Case {
    E element;
    std::vector<std::uint64_t> dims;
    std::vector<std::uint32_t> box;
    std::vector<Coordinates> at;
  };
  const Case cases[] = {
      {E::u32, {300}, {64}, {{0}, {40}, {-8}, {288}, {400}, {-64}}},
      {E::f16, {100, 50}, {32, 16}, {{0, 0}, {8, 3}, {-8, -2}, {88, 45}, {0, 60}}},
      {E::u8, {40, 30, 9}, {16, 8, 4}, {{0, 0, 0}, {32, 25, 7}, {-16, -1, -1}}},
      {E::f32, {20, 10, 6, 5}, {8, 4, 3, 2}, {{0, 0, 0, 0}, {16, 8, 4, 4}, {-4, -1, -1, -1}}},
      {E::u64, {12, 5, 4, 3, 4}, {4, 3, 2, 2, 3}, {{2, 1, 1, 1, 1}, {-2, 3, -1, 2, 2}}},
      {E::bf16, {256, 128}, {64, 64}, {{64, 32}}},
  };
  for (const Case& each : cases) {
    for (const Coordinates& at : each.at) {
      INFO(numbers(at));
      check_load(tensor(each.element, each.dims, each.box), at);
    }
  }
}

TEST_CASE("a tensor copy swizzles by the address in shared memory, in every schedule") {
  using S = TensorMap::Swizzle;
  for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    check_load(tensor(TensorMap::Element::f16, {200, 90}, {64, 40}, S::bytes128), {16, 60},
               schedule);
    check_load(tensor(TensorMap::Element::f32, {200, 90}, {16, 50}, S::bytes64), {-4, 5}, schedule);
    check_load(tensor(TensorMap::Element::u8, {200, 90}, {32, 100}, S::bytes32), {16, -20},
               schedule);
    check_load(tensor(TensorMap::Element::f16, {64, 20, 8}, {64, 8, 4}, S::bytes128), {0, 2, 6},
               schedule);
  }
}

TEST_CASE("a tensor copy steps over elements of outer dimensions") {
  Tensor stepping = tensor(TensorMap::Element::u32, {64, 40, 12}, {16, 10, 5});
  stepping.map.element_steps = {1, 3, 2};
  CHECK(stepping.elements() == 16 * 4 * 3);
  check_load(stepping, {0, 0, 0});
  check_load(stepping, {8, 35, 9});
  check_load(stepping, {-4, -4, -3});
}

TEST_CASE("what lies outside reads as NaN where the map asks for it") {
  Tensor outside = tensor(TensorMap::Element::f32, {8, 8}, {16, 8});
  outside.map.nan_fill = true;
  HopperBench bench(load({-4, 0}, outside.box_size()));
  const BufferHandle out = bench.buffer(std::vector<float>(kBoxBytes / 4));
  outside.map.buffer = bench.buffer(std::vector<float>(1024, 1.5F));
  bench.launch.arguments = {out};
  bench.add_map(outside.map);
  CHECK(bench.run() == "");
  const auto found = bench.read<float>(out, 128);
  for (std::size_t i = 0; i < 128; ++i) {
    const bool inside = i % 16 >= 4 && i % 16 < 12;
    CHECK((inside ? found[i] == 1.5F : found[i] != found[i]));
  }
}

TEST_CASE("a tensor store takes a box back, swizzled as it is, and leaves out what is outside") {
  using S = TensorMap::Swizzle;
  struct Case {
    Tensor tensor;
    Coordinates at;
  };
  const Case cases[] = {
      {tensor(TensorMap::Element::f16, {100, 50}, {64, 20}, S::bytes128), {56, 40}},
      {tensor(TensorMap::Element::u32, {100, 50}, {16, 30}, S::bytes64), {96, 48}},
      {tensor(TensorMap::Element::u8, {100, 50}, {32, 30}, S::bytes32), {80, 3}},
      {tensor(TensorMap::Element::f32, {20, 10, 6, 5}, {8, 4, 3, 2}), {16, 8, 4, 4}},
      {tensor(TensorMap::Element::u32, {300}, {64}), {280}},
      {tensor(TensorMap::Element::u32, {9, 8, 7, 6, 5}, {4, 3, 2, 2, 2}), {8, 6, 6, 5, 4}},
  };
  for (const Case& each : cases) {
    INFO(numbers(each.at));
    HopperBench bench(store(each.at, "cp.async.bulk.tensor." + std::to_string(each.at.size()) +
                                         "d.global.shared::cta.tile.bulk_group"));
    for (bench.launch.schedule = 0; bench.launch.schedule < kSchedules; ++bench.launch.schedule) {
      TensorMap map = each.tensor.map;
      map.buffer = bench.buffer(each.tensor.bytes);
      bench.launch.arguments = {map.buffer};
      bench.add_map(map);
      CHECK(bench.run() == "");
      std::vector<std::uint8_t> expected = each.tensor.bytes;
      each.tensor.each(each.at, [&](std::size_t number, bool inside, std::size_t place) {
        if (!inside) return;
        for (std::size_t i = 0; i < each.tensor.width(); ++i) {
          const std::size_t from = moved(number * each.tensor.width() + i, each.tensor.map.swizzle);
          expected[place + i] = static_cast<std::uint8_t>((from / 4 + 1) >> (8 * (from % 4)));
        }
      });
      CHECK(bench.read<std::uint8_t>(map.buffer, expected.size()) == expected);
    }
  }
}

TEST_CASE(
    "a tensor copy begins where a GPU can begin it: tools/bench/emulator/tensor_coordinates") {
  const auto says = [](const std::string& body, Tensor tensor) {
    HopperBench bench(body);
    tensor.map.buffer = bench.buffer(tensor.bytes);
    const BufferHandle out = bench.buffer(std::vector<std::uint8_t>(kBoxBytes));
    const bool loads = body.contains(".tile.mbarrier");
    bench.launch.arguments = {loads ? out : tensor.map.buffer};
    bench.add_map(tensor.map);
    return bench.run();
  };
  const std::string opcode = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group";
  const auto stored = [&](const Coordinates& at, const Tensor& to) {
    return says(store(at, opcode), to);
  };
  const Tensor words = tensor(TensorMap::Element::u32, {80, 24}, {32, 8});
  const Tensor halves = tensor(TensorMap::Element::f16, {160, 24}, {64, 8});
  for (const std::int32_t column : {-5, -2, -1, 1, 2, 5, 79}) {
    CAPTURE(column);
    CHECK(has(says(load({column, 8}, words.box_size()), words), "not at a multiple of 16"));
    CHECK(has(stored({column, 8}, words), "not at a multiple of 16"));
  }
  CHECK(has(says(load({4, 8}, halves.box_size()), halves), "begins 8 bytes into its rows"));
  CHECK(says(load({8, 8}, halves.box_size()), halves).empty());
  CHECK(says(load({-4, -9}, words.box_size()), words).empty());
  CHECK(has(stored({-4, 8}, words), "begins at (-4, 8), before its tensor"));
  CHECK(has(stored({0, -1}, words), "before its tensor"));
  CHECK(stored({76, 23}, words).empty());
  CHECK(stored({4096, 4096}, words).empty());
}

TEST_CASE("a tensor reduction combines by the map's type") {
  Tensor words = tensor(TensorMap::Element::u32, {50, 20}, {16, 8}, TensorMap::Swizzle::bytes64);
  const Coordinates at = {40, 15};
  struct Case {
    std::string name;
    std::uint32_t (*combined)(std::uint32_t own, std::uint32_t sent);
  };
  const Case cases[] = {
      {"add", [](std::uint32_t a, std::uint32_t b) { return a + b; }},
      {"min", [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); }},
      {"max", [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); }},
      {"inc", [](std::uint32_t a, std::uint32_t b) { return a >= b ? 0 : a + 1; }},
      {"dec", [](std::uint32_t a, std::uint32_t b) { return a == 0 || a > b ? b : a - 1; }},
      {"and", [](std::uint32_t a, std::uint32_t b) { return a & b; }},
      {"or", [](std::uint32_t a, std::uint32_t b) { return a | b; }},
      {"xor", [](std::uint32_t a, std::uint32_t b) { return a ^ b; }},
  };
  for (const Case& each : cases) {
    INFO(each.name);
    HopperBench bench(store(
        at, "cp.reduce.async.bulk.tensor.2d.global.shared::cta." + each.name + ".tile.bulk_group"));
    std::vector<std::uint32_t> before(words.bytes.size() / 4);
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = static_cast<std::uint32_t>(i % 90);
    TensorMap map = words.map;
    map.buffer = bench.buffer(before);
    bench.launch.arguments = {map.buffer};
    bench.add_map(map);
    CHECK(bench.run() == "");
    std::vector<std::uint32_t> expected = before;
    words.each(at, [&](std::size_t number, bool inside, std::size_t place) {
      const auto sent = static_cast<std::uint32_t>(moved(number * 4, words.map.swizzle) / 4 + 1);
      if (inside) expected[place / 4] = each.combined(before[place / 4], sent);
    });
    CHECK(bench.read<std::uint32_t>(map.buffer, expected.size()) == expected);
  }
}

TEST_CASE("a tensor copy in the wrong is named") {
  const Tensor fine = tensor(TensorMap::Element::f16, {100, 50}, {32, 16});
  const auto outcome = [&](const std::string& ptx, const Tensor& tensor, bool with_map = true) {
    HopperBench bench(ptx);
    TensorMap map = tensor.map;
    map.buffer = bench.buffer(tensor.bytes);
    bench.launch.arguments = {bench.buffer(std::vector<std::uint8_t>(kBoxBytes))};
    if (with_map) {
      bench.add_map(map);
    } else {
      bench.launch.arguments.emplace_back(std::vector<std::byte>(128));
    }
    return bench.run();
  };
  CHECK(outcome(load({0, 0}, 1024), fine) == "");
  const std::string hangs = outcome(load({0, 0}, 1040), fine);
  CHECK(hangs.find("0 arrivals and 16 bytes are missing") != std::string::npos);
  // Fewer bytes expected than come leave the phase's count below zero.
  CHECK(outcome(load({0, 0}, 1008), fine).starts_with("deadlock: "));
  CHECK(outcome(load({0, 0}, 1024, "box+15872"), fine).starts_with("out_of_bounds: "));
  CHECK(outcome(load({0, 0}, 1024, "box+64"), fine).find("no multiple of 128") !=
        std::string::npos);
  CHECK(outcome(load({0, 0}, 1024), fine, false).find("there is no tensor map") !=
        std::string::npos);
  CHECK(outcome(load({0, 0, 0}, 1024), fine).find("of 2 dimensions in a copy of 3") !=
        std::string::npos);
  Tensor small = fine;
  small.bytes.resize(5000);  // the map says more than there is
  CHECK(outcome(load({0, 40}, 1024), small).starts_with("out_of_bounds: "));
  Tensor floats = tensor(TensorMap::Element::f32, {100, 50}, {16, 16});
  CHECK(outcome(store({0, 0}, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.bulk_group"),
                floats)
            .find("no such reduction of f32") != std::string::npos);
  const std::string im2col = "cp.async.bulk.tensor.2d.global.shared::cta.im2col_no_offs.bulk_group";
  CHECK(outcome(store({0, 0}, im2col), fine).find("does not know '" + im2col) != std::string::npos);
}

}  // namespace fa_tune::test
