// How fast is the emulator on one core?
//
//   bench_emulator_speed [OUT.json [WORD]]    only what has WORD in its name
//
// GFLOP/s of bit-exact mma.sync by format, from a PTX kernel that is a loop of mma; and the
// attention templates at the mission shape, whole: seconds of processor time and million warp
// instructions a second. Time is that of the process (std::clock), one emulator thread, so that
// other work on the machine counts little; the best of three runs.

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/emulated.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

namespace fa_tune::bench {
namespace {

struct Mma {
  const char* opcode;  // without mma.sync.aligned.
  const char* type;    // of an accumulator's register
  int d, a, b;         // registers
  double flop;         // of one instruction
};

constexpr Mma kFormats[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", "f32", 4, 4, 2, 2.0 * 16 * 8 * 16},
    {"m16n8k8.row.col.f32.f16.f16.f32", "f32", 4, 2, 1, 2.0 * 16 * 8 * 8},
    {"m16n8k16.row.col.f16.f16.f16.f16", "b32", 2, 4, 2, 2.0 * 16 * 8 * 16},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", "f32", 4, 4, 2, 2.0 * 16 * 8 * 16},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", "f32", 4, 4, 2, 2.0 * 16 * 8 * 8},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", "f32", 4, 4, 2, 2.0 * 16 * 8 * 32},
    {"m16n8k32.row.col.f32.e5m2.e5m2.f32", "f32", 4, 4, 2, 2.0 * 16 * 8 * 32},
    {"m16n8k32.row.col.s32.s8.s8.s32", "b32", 4, 4, 2, 2.0 * 16 * 8 * 32},
    {"m8n8k4.row.col.f64.f64.f64.f64", "f64", 2, 1, 1, 2.0 * 8 * 8 * 4},
};
constexpr int kRounds = 20000;
constexpr int kChains = 4;  // independent mma in the loop's body

std::string registers(const char* name, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, first + i);
  return text + "}";
}

// Operands are drawn bits made tame: exponents near one, in any of the formats.
std::string loop_of(const Mma& format) {
  const bool f64 = std::string_view(format.type) == "f64";
  const char* operand = f64 ? "f64" : "b32";
  const int bytes = f64 ? 8 : 4;
  std::string text = fmt::format(
      ".version 9.0\n.target sm_89\n.address_size 64\n.visible .entry k(.param .u64 in)\n{{\n"
      ".reg .b64 %q<4>; .reg .b32 %t<4>; .reg .pred %p; .reg .{0} %a<4>; .reg .{0} %b<2>;\n"
      ".reg .{1} %d<{2}>;\nld.param.u64 %q0, [in]; mov.u32 %t0, %tid.x;\n"
      "mul.wide.u32 %q1, %t0, {3}; add.u64 %q0, %q0, %q1;\n",
      operand, format.type, kChains * format.d, bytes * 8);
  for (int i = 0; i < format.a; ++i)
    text += fmt::format("ld.global.{} %a{}, [%q0+{}];\n", operand, i, i * bytes);
  for (int i = 0; i < format.b; ++i)
    text += fmt::format("ld.global.{} %b{}, [%q0+{}];\n", operand, i, (4 + i) * bytes);
  for (int i = 0; i < kChains * format.d; ++i)
    text += fmt::format("mov.{} %d{}, {};\n", format.type, i, f64 ? "0d0000000000000000" : "0");
  text += "mov.u32 %t1, 0;\nLOOP:\n";
  for (int i = 0; i < kChains; ++i) {
    const std::string d = registers("d", i * format.d, format.d);
    text += fmt::format("mma.sync.aligned.{} {}, {}, {}, {};\n", format.opcode, d,
                        registers("a", 0, format.a), registers("b", 0, format.b), d);
  }
  text += fmt::format("add.u32 %t1, %t1, 1; setp.lt.u32 %p, %t1, {}; @%p bra LOOP;\n", kRounds);
  for (int i = 0; i < kChains * format.d; ++i)
    text += fmt::format("st.global.{} [%q0+{}], %d{};\n", format.type, 6 * bytes, i);
  return text + "ret;\n}\n";
}

void need(const std::expected<void, device::Fault>& outcome) {
  if (!outcome) throw MachineError(outcome.error().message);
}

device::KernelHandle load(device::Device& device, const KernelImage& image) {
  const auto kernel = device.load(image);
  if (!kernel) throw MachineError(kernel.error().message);
  return *kernel;
}

double seconds_of(device::Device& device, const device::Launch& launch) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    need(device.launch(launch));
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

Json mma_speed(const std::string& profile, const std::string& word) {
  Json rows = Json::array();
  const auto device = device::open_emulator(device::load_profile(profile, find_root()), 1);
  for (const Mma& format : kFormats) {
    if (std::string(format.opcode).find(word) == std::string::npos) continue;
    KernelImage image;
    image.kind = BinaryKind::ptx;
    image.kernel = "k";
    image.bytes = loop_of(format);
    device::Launch launch;
    launch.kernel = load(*device, image);
    launch.config.block = {32, 1, 1};
    // Bytes 0x38 to 0x3b: near one as f16, bf16, tf32, e4m3, e5m2 and f64.
    std::vector<std::byte> input(32 * 8 * 8);
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = static_cast<std::byte>(0x38 + (i * 7 + i / 8) % 4);
    }
    const device::BufferHandle buffer = device->allocate(input.size());
    need(device->write(buffer, 0, input));
    launch.arguments = {buffer};
    const double seconds = seconds_of(*device, launch);
    const double gflops = format.flop * kChains * kRounds / seconds / 1e9;
    fmt::print("{:<6} {:<40} {:>8.2f} GFLOP/s\n", profile, format.opcode, gflops);
    rows.push_back(Json{{"profile", profile}, {"mma", format.opcode}, {"gflop_per_s", gflops}});
  }
  return rows;
}

Json template_speed(const std::string& word) {
  Json rows = Json::array();
  const tuner::TuningTask task = ShapeName{"1,8,512,64"}.open("l4.yaml");
  const auto device = device::open_emulator(device::load_profile("l4", find_root()), 1);
  const auto compiler = compiler_with("");
  Workplace workplace(task, *device);
  for (const space::Preset& preset : task.file.presets) {
    if (preset.name.find(word) == std::string::npos) continue;
    const auto compiled = compiler->compile(request_of(task, preset.config, device->info()));
    if (!compiled) throw MachineError(compiled.error().message);
    const device::KernelHandle kernel = load(*device, compiled->image);
    device::Launch launch = workplace.launch(preset.config, kernel);
    const double seconds = seconds_of(*device, launch);
    const auto timing = device->time(launch, {});
    if (!timing) throw MachineError(timing.error().message);
    const Json detail = Json::parse(timing->detail_json);
    const double instructions = detail.at("counters").at("warp_instructions").get<double>();
    launch.checks = device::Checks::all();
    const double checked = seconds_of(*device, launch);
    fmt::print(
        "{:<20} whole launch {:>7.3f} s, {:>8.2f} million warp instructions/s, checked {:>7.3f} "
        "s\n",
        preset.name, seconds, instructions / seconds / 1e6, checked);
    rows.push_back(Json{{"preset", preset.name},
                        {"seconds", seconds},
                        {"checked_seconds", checked},
                        {"warp_instructions", instructions},
                        {"million_per_s", instructions / seconds / 1e6}});
  }
  return rows;
}

int emulator_speed(const std::string& out, const std::string& word) {
  Json result = {{"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))}};
  result["mma"] = mma_speed("a100", word);
  for (const Json& row : mma_speed("h100", word)) result["mma"].push_back(row);
  result["templates"] = template_speed(word);
  if (!out.empty()) write_file(out, result.dump(1) + "\n");
  return 0;
}

}  // namespace
}  // namespace fa_tune::bench

int main(int argc, char** argv) {
  try {
    return fa_tune::bench::emulator_speed(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_emulator_speed: {}\n", error.what());
    return 3;
  }
}
