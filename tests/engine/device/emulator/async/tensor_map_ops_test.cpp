#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/engine/device/emulator/hopper_support.hpp"
#include "tests/helpers.hpp"

// Tensor maps that a kernel makes: what is loaded through them is what is loaded through the same
// map of the host's.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

constexpr int kBoxBytes = 4096;
constexpr std::size_t kInputBytes = 32768;

const std::string kStart = kHopperRegisters + R"(
  .shared .align 8 .b64 bar;
  .shared .align 1024 .b8 box[4096];
  .shared .align 128 .b8 made[256];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd5, [in];
  ld.param.u64 %rd2, [room];
  mov.u32 %r4, made;
  cvt.u64.u32 %rd6, %r4;
)" + kMakeBarrier + fill(kBoxBytes, 1);

const std::string kZeros = R"(
  setp.lt.u32 %p2, %r1, 32;
  mov.u32 %r6, 0;
  shl.b32 %r5, %r1, 2;
  add.u32 %r5, %r5, %r4;
  @%p2 st.shared.u32 [%r5], %r6;
)";
const std::string kSync = "bar.warp.sync -1;\n";
const std::string kCopy =
    "@%p2 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
    "[%rd2], [%rd6], 128;\n";

// Loads a box, which begins 16 bytes into its rows and 1 into other dimensions, by the map at %rd2,
// and copies it out.
std::string load(std::size_t rank, std::size_t bytes, int column) {
  std::vector<std::string> coordinates(rank, "1");
  coordinates[0] = "%r7";
  return fmt::format(
             "@%p2 fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n"
             "bar.sync 0;\n@%p1 bra WAIT;\n"
             "mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], {};\n"
             "mov.u32 %r2, box;\nmov.u32 %r3, bar;\nmov.u32 %r7, {};\n"
             "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
             "[%r2], [%rd2, {{{}}}], [%r3];\n",
             bytes, column, rank, fmt::join(coordinates, ", ")) +
         kWaitForBarrier + dump(kBoxBytes);
}

std::string replace(const std::string& field, const std::string& operands, int bits = 32,
                    const std::string& space = ".shared::cta") {
  const bool shared = space == ".shared::cta";
  return fmt::format("tensormap.replace.tile.{}{}.b1024.b{} [{}], {};\n", field, space, bits,
                     shared ? "%rd6" : "%rd2", operands);
}

// Makes all of a map.
std::string replace_all(const TensorMap& map) {
  // The ISA's numbers: f32 that flushes comes between f32 and f64.
  constexpr std::array<int, 10> elements = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10};
  std::string text = fmt::format("add.u64 %rd7, %rd5, {};\n", map.offset);
  text += replace("global_address", "%rd7", 64);
  text += replace("rank", std::to_string(map.dims.size() - 1));
  for (std::size_t i = 0; i < map.dims.size(); ++i) {
    text += fmt::format("mov.u32 %r7, {};\n", map.box[i]) +
            replace("box_dim", fmt::format("{}, %r7", i));
    text += replace("global_dim", fmt::format("{}, {}", i, map.dims[i]));
    const std::uint32_t step = map.element_steps.empty() ? 1 : map.element_steps[i];
    text += replace("element_stride", fmt::format("{}, {}", i, step));
    if (i > 0) {
      text += fmt::format("mov.u64 %rd7, {};\n", map.strides[i - 1]) +
              replace("global_stride", fmt::format("{}, %rd7", i - 1), 64);
    }
  }
  text += replace("elemtype", std::to_string(elements.at(static_cast<std::size_t>(map.element))));
  text += replace("swizzle_mode", std::to_string(static_cast<int>(map.swizzle)));
  text += replace("fill_mode", map.nan_fill ? "1" : "0");
  return text + replace("interleave_layout", "0");
}

// The first thread changes the map, which the first warp has made zeros.
std::string making(const std::string& changes, const std::string& before = kZeros + kSync,
                   const std::string& copy = kSync + kCopy) {
  return kStart + before + "setp.lt.u32 %p2, %r1, 32;\n@%p1 bra CHANGED;\n" + changes +
         "CHANGED:\n" + copy;
}

const std::string kParameters = ".param .u64 out, .param .u64 in, .param .u64 room";

std::size_t box_bytes(const TensorMap& map) {
  std::size_t bytes = static_cast<std::size_t>(size_of(map.element)) * map.box[0];
  for (std::size_t i = 1; i < map.box.size(); ++i) {
    const std::uint32_t step = map.element_steps.empty() ? 1 : map.element_steps[i];
    bytes *= (map.box[i] + step - 1) / step;
  }
  return bytes;
}

std::string load(const TensorMap& map) {
  return load(map.dims.size(), box_bytes(map), 16 / size_of(map.element));
}

struct Scene {
  explicit Scene(const std::string& ptx)
      : bench(ptx),
        out(bench.buffer(std::vector<std::uint8_t>(kBoxBytes))),
        in(bench.buffer(counting(kInputBytes / 4))),
        room(bench.buffer(std::vector<std::uint8_t>(128))) {
    bench.launch.arguments = {out, in, room};
    bench.launch.checks = Checks::all();
  }
  std::vector<std::uint8_t> box() { return bench.read<std::uint8_t>(out, kBoxBytes); }

  HopperBench bench;
  BufferHandle out, in, room;
};

TensorMap map_of(TensorMap::Element element, std::vector<std::uint64_t> dims,
                 std::vector<std::uint64_t> strides, std::vector<std::uint32_t> box) {
  TensorMap map;
  map.element = element;
  map.offset = 48;
  map.dims = std::move(dims);
  map.strides = std::move(strides);
  map.box = std::move(box);
  return map;
}

const TensorMap kPlain = map_of(TensorMap::Element::f16, {40, 20}, {96}, {16, 8});

std::string text_of(const std::string& body, const TensorMap& map = kPlain) {
  return kernel(kParameters, body + load(map));
}

std::string outcome(const std::string& body) { return Scene(text_of(body)).bench.run(); }

}  // namespace

TEST_CASE("a kernel makes a tensor map from zeros, and loads by it as by the host's") {
  using E = TensorMap::Element;
  std::vector<TensorMap> maps = {
      kPlain,
      map_of(E::u8, {300}, {}, {64}),
      map_of(E::bf16, {40, 20, 4}, {80, 1600}, {64, 4, 2}),
      map_of(E::f32, {20, 10, 9, 9}, {80, 800, 2400}, {8, 4, 3, 2}),
      map_of(E::f64, {12, 9, 9, 9, 9}, {96, 192, 288, 384}, {2, 3, 2, 2, 3}),
      map_of(E::f32, {20, 40}, {80}, {4, 16}),
      map_of(E::s64, {10, 12}, {80}, {2, 8}),
  };
  maps[0].swizzle = TensorMap::Swizzle::bytes32;
  maps[2].swizzle = TensorMap::Swizzle::bytes128;
  maps[3].swizzle = TensorMap::Swizzle::bytes64;
  maps[3].nan_fill = true;
  maps[5].element_steps = {1, 3};
  for (TensorMap& map : maps) {
    CAPTURE(map.dims.size());
    Scene own(text_of(making(replace_all(map)), map));
    Scene host(kernel(kParameters + ", .param .align 64 .b8 map[128]",
                      kStart +
                          "setp.lt.u32 %p2, %r1, 32;\nmov.b64 %rd2, map;\n"
                          "cvta.param.u64 %rd2, %rd2;\n" +
                          load(map)));
    map.buffer = host.in;
    host.bench.add_map(map);
    CHECK(host.bench.run() == "");
    for (own.bench.launch.schedule = 0; own.bench.launch.schedule < kSchedules;
         ++own.bench.launch.schedule) {
      CHECK(own.bench.run() == "");
      CHECK(own.box() == host.box());
    }
  }
}

TEST_CASE("a kernel changes a map that lies in global memory") {
  // The second map begins 4 rows later.
  TensorMap later = kPlain;
  later.offset += 4 * kPlain.strides[0];
  Scene direct(text_of(making(replace_all(later))));
  CHECK(direct.bench.run() == "");
  const std::string change = fmt::format("add.u64 %rd7, %rd5, {};\n", later.offset);
  for (const std::string space : {".global", ""}) {
    Scene changed(text_of(making(replace_all(kPlain)) + "@%p1 bra AGAIN;\n" + change +
                          replace("global_address", "%rd7", 64, space) + "AGAIN:\n"));
    CHECK(changed.bench.run() == "");
    CHECK(changed.box() == direct.box());
  }
}

TEST_CASE("a tensor map that is made wrong is named") {
  const std::string all = replace_all(kPlain);
  CHECK(outcome(making(all)) == "");
  const auto with = [&](const std::string& more) { return outcome(making(all + more)); };
  CHECK(has(with("add.u64 %rd7, %rd5, 8;\n" + replace("global_address", "%rd7", 64)),
            "no multiple of 16"));
  CHECK(has(with(replace("rank", "5")), "5 for the rank less one of a tensor map; 0 to 4 go"));
  CHECK(has(with(replace("box_dim", "1, 0")), "box size 1 of a tensor map is 0; 1 to 256 go"));
  CHECK(has(with(replace("box_dim", "0, 257")), "box size 0 of a tensor map is 257"));
  CHECK(has(with(replace("global_dim", "1, 0")), "dimension 1 of a tensor map has 0 elements"));
  CHECK(has(with(replace("global_stride", "0, 24", 64)), "stride 1 of a tensor map is 24 bytes"));
  CHECK(has(with(replace("global_stride", "3, 1099511627776", 64)), "stride 4 of a tensor map"));
  CHECK(has(with(replace("element_stride", "1, 9")), "element step 1 of a tensor map is 9"));
  CHECK(has(with(replace("element_stride", "1, 0")), "element step 1 of a tensor map is 0"));
  CHECK(has(with(replace("box_dim", "0, 4")), "a row of the box has 8 bytes"));
  CHECK(has(with(replace("swizzle_mode", "1") + replace("box_dim", "0, 24")),
            "a row of the box has 48 bytes"));
  // What was never set.
  for (const char* left_out : {"rank", "elemtype", "element_stride"}) {
    std::string some;
    std::size_t begin = 0;
    while (begin < all.size()) {
      const std::size_t end = all.find('\n', begin) + 1;
      const std::string line = all.substr(begin, end - begin);
      if (!line.contains(left_out)) some += line;
      begin = end;
    }
    CHECK(has(outcome(making(some)), "there is no tensor map"));
  }
  // Neither zeros nor a map; a map that was never copied.
  const std::string ones = std::string(kZeros).replace(kZeros.find("%r6, 0;"), 7, "%r6, 1;");
  CHECK(has(outcome(making(all, ones + kSync)), "neither a tensor map to change nor 128 zero"));
  CHECK(has(outcome(making(all, kZeros + kSync, "")), "there is no tensor map"));
}

TEST_CASE("a tensor map's accesses are those of other memory") {
  const std::string all = replace_all(kPlain);
  CHECK(outcome(making(all, kZeros)).starts_with("race: "));
  CHECK(outcome(making(all, kZeros + kSync, kCopy)).starts_with("race: "));
  const std::string part = std::string(kZeros).replace(kZeros.find("32;"), 3, "30;");
  CHECK(has(outcome(making(all, part + kSync)), "of which nobody has written 8"));
  CHECK(outcome(making("add.u64 %rd6, %rd6, 32;\n" + all)).starts_with("misaligned: "));
  CHECK(outcome(making("add.u64 %rd6, %rd6, 65536;\n" + all)).starts_with("out_of_bounds: "));
  const auto copied = [&](const std::string& before) {
    return outcome(making(all, kZeros + kSync, kSync + before + kCopy));
  };
  CHECK(copied("add.u64 %rd2, %rd2, 64;\n").starts_with("out_of_bounds: "));
  CHECK(copied("add.u64 %rd6, %rd6, 192;\n").starts_with("out_of_bounds: "));
  CHECK(copied("add.u64 %rd2, %rd2, 16;\n").starts_with("misaligned: "));
  CHECK(has(copied("@%p1 add.u64 %rd6, %rd6, 128;\n"), "another tensor map than thread 0"));
  CHECK(copied("setp.lt.u32 %p2, %r1, 16;\n").starts_with("barrier: "));
}

TEST_CASE("what the emulator does not know of tensor maps is refused when a kernel is loaded") {
  const auto refused = [](const std::string& text) { return outcome(making(text)); };
  for (const char* unknown : {"elemtype 8", "elemtype 11", "elemtype 13", "swizzle_mode 4",
                              "fill_mode 2", "interleave_layout 1"}) {
    CAPTURE(unknown);
    const std::string line(unknown);
    const std::size_t space = line.find(' ');
    CHECK(has(refused(replace(line.substr(0, space), line.substr(space + 1))), "does not know"));
  }
  CHECK(has(refused(replace("elemtype", "%r1")), "a constant is expected"));
  CHECK(has(refused(replace("box_dim", "5, 1")), "the dimension is expected"));
  CHECK(has(refused(replace("global_stride", "4, 16", 64)), "the dimension is expected"));
  CHECK(has(refused(replace("global_stride", "0, 16", 32)), "does not know"));
  std::string short_copy = kCopy;
  short_copy.replace(short_copy.find("128"), 3, "64");
  CHECK(has(outcome(making("", kZeros, short_copy)), "128 bytes are expected"));
}

}  // namespace fa_tune::test
