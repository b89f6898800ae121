// Are the emulator's tensor cores those of a GPU, bit for bit?
//
//   bench_tensor_core DEVICE MILLIONS SEED [OUT.json] [FORMAT...]
//   bench_tensor_core cuda:0 1 1 tensor_core_h100.json
//   bench_tensor_core cuda:0 1 1 out.json wgmma e4m3      only formats whose name has one of these
//   bench_tensor_core --layouts cuda:0 OUT.json            what wmma.load puts into registers
//   bench_tensor_core --wmma cuda:0 OUT.json               tiles by wmma, against emulator:h100
//   bench_tensor_core --again FILE.json                    computes its differing cases anew
//
// For every form of mma.sync and wgmma: MILLIONS million random dot-adds (operands of all
// exponents, subnormals, infinities, NaN, zeros of both signs, sums that cancel) are computed on
// the device by the instruction itself and by the emulator's arithmetic with the rules of sm_90,
// and compared. The file holds up to 200 cases that differ, a format, with their operands.

#include <ctime>
#include <span>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tools/bench/emulator/tensor_core/parts.hpp"

namespace fa_tune::bench {
namespace {

using nlohmann::ordered_json;
using Register = Registers::Register;

constexpr std::size_t kMostCases = 200;
constexpr std::size_t kWarpsPerBlock = 4;
constexpr std::size_t kWarpsPerLaunch = 4096;

struct RunCounts {
  std::uint64_t dot_adds = 0;
  std::uint64_t identical = 0;
  ordered_json cases = ordered_json::array();
  ordered_json by_draw = ordered_json::object();  // how many differ
};

std::string hex(std::uint64_t bits) { return fmt::format("{:x}", bits); }

ordered_json case_of(const Format& format, const Operands& operands, std::size_t row,
                     std::size_t column, std::uint64_t device, std::uint64_t emulator) {
  ordered_json a = ordered_json::array();
  ordered_json b = ordered_json::array();
  for (std::size_t k = 0; k < static_cast<std::size_t>(format.kind.k); ++k) {
    a.push_back(hex(operands.a[row][k]));
    b.push_back(hex(operands.b[column][k]));
  }
  return {{"draw", to_text(operands.draw)},
          {"a", a},
          {"b", b},
          {"c", hex(operands.c[row][column])},
          {"device", hex(device)},
          {"emulator", hex(emulator)}};
}

// The operands of every warp of one launch.
std::vector<Operands> draw_launch(const Format& format, Random& random) {
  std::vector<Operands> all;
  all.reserve(kWarpsPerLaunch);
  for (std::size_t warp = 0; warp < kWarpsPerLaunch; ++warp) {
    const std::size_t block = warp / kWarpsPerBlock;
    const auto draw = static_cast<Draw>(block % static_cast<std::size_t>(Draw::count));
    all.push_back(draw_operands(format, draw, random));
    if (format.wgmma) all.back().b = all[block * kWarpsPerBlock].b;
    cancel(format, all.back(), random);
  }
  return all;
}

// Registers of all warps one after the other, as the kernel reads them.
template <class Word>
std::vector<std::byte> pack(const std::vector<Registers>& all, int count, auto member) {
  std::vector<Word> words;
  words.reserve(all.size() * static_cast<std::size_t>(count) * 32);
  for (const Registers& each : all) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      for (const std::uint64_t word : (each.*member)[i]) {
        words.push_back(static_cast<Word>(word));
      }
    }
  }
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

// d of every warp.
template <class Word>
std::vector<std::array<Register, 4>> run(device::Device& device, device::KernelHandle kernel,
                                         const Format& format, const std::vector<Registers>& all) {
  const std::vector<std::byte> inputs[] = {pack<Word>(all, format.a_registers(), &Registers::a),
                                           pack<Word>(all, format.b_registers(), &Registers::b),
                                           pack<Word>(all, format.sums(), &Registers::c)};
  device::Launch launch;
  launch.kernel = kernel;
  launch.config.grid = {static_cast<std::uint32_t>(all.size() / kWarpsPerBlock), 1, 1};
  launch.config.block = {static_cast<std::uint32_t>(32 * kWarpsPerBlock), 1, 1};
  std::vector<device::BufferHandle> buffers;
  for (const auto& input : inputs) {
    buffers.push_back(device.allocate(input.size()));
    need(device.write(buffers.back(), 0, input));
    launch.arguments.emplace_back(buffers.back());
  }
  const auto registers = static_cast<std::size_t>(format.sums());
  std::vector<Word> words(all.size() * registers * 32);
  buffers.push_back(device.allocate(words.size() * sizeof(Word)));
  launch.arguments.emplace_back(buffers.back());
  need(device.launch(launch));
  need(device.read(buffers.back(), 0, std::as_writable_bytes(std::span(words))));
  for (const device::BufferHandle buffer : buffers) device.release(buffer);
  std::vector<std::array<Register, 4>> results(all.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    results[i / 32 / registers][i / 32 % registers][i % 32] = words[i];
  }
  return results;
}

void compare(const Format& format, const Operands& operands, const std::array<Register, 4>& device,
             const std::array<Register, 4>& emulated, RunCounts& counts) {
  const auto found = from_registers(format, device);
  const auto expected = from_registers(format, emulated);
  for (std::size_t row = 0; row < static_cast<std::size_t>(format.m); ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      ++counts.dot_adds;
      if (found[row][column] == expected[row][column]) {
        ++counts.identical;
        continue;
      }
      auto& count = counts.by_draw[to_text(operands.draw)];
      count = count.is_null() ? 1 : count.get<int>() + 1;
      // Few of each kind, so that one does not hide the others.
      if (counts.cases.size() < kMostCases && count.get<std::size_t>() <= kMostCases / 8) {
        counts.cases.push_back(
            case_of(format, operands, row, column, found[row][column], expected[row][column]));
      }
    }
  }
}

RunCounts check(device::Device& device, kernel::Compiler& compiler, const Format& format,
                double millions, std::uint64_t seed) {
  kernel::CompileRequest request;
  request.source = {format.source(), "k", ""};
  request.arch = format.arch();
  request.kind = device.info().accepts;
  const auto compiled = compiler.compile(request);
  if (!compiled) throw MachineError(compiled.error().message);
  const auto kernel = device.load(compiled->image);
  if (!kernel) throw MachineError(kernel.error().message);
  Random random(derive_seed(seed, format.name));
  RunCounts counts;
  while (static_cast<double>(counts.dot_adds) < millions * 1e6) {
    const std::vector<Operands> operands = draw_launch(format, random);
    std::vector<Registers> registers;
    registers.reserve(operands.size());
    for (const Operands& each : operands) registers.push_back(to_registers(format, each));
    const auto results = format.f64 ? run<std::uint64_t>(device, *kernel, format, registers)
                                    : run<std::uint32_t>(device, *kernel, format, registers);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      compare(format, operands[i], results[i], emulate(format, registers[i]), counts);
    }
  }
  device.unload(*kernel);
  return counts;
}

std::string first_case(const RunCounts& counts) {
  if (counts.cases.empty()) return "";
  const ordered_json& first = counts.cases.front();
  const auto words = [](const ordered_json& list) {
    std::string text;
    for (const auto& each : list) text += (text.empty() ? "" : " ") + each.get<std::string>();
    return text;
  };
  return fmt::format("    a {}\n    b {}\n    c {} device {} emulator {} ({})\n", words(first["a"]),
                     words(first["b"]), first["c"].get<std::string>(),
                     first["device"].get<std::string>(), first["emulator"].get<std::string>(),
                     first["draw"].get<std::string>());
}

bool wanted(const Format& format, std::span<char*> words) {
  if (words.empty()) return true;
  for (const char* word : words) {
    if (format.name.find(word) != std::string::npos) return true;
  }
  return false;
}

ordered_json provenance(const device::Device& device, const kernel::Compiler& compiler) {
  return {{"device", device.info().name},
          {"driver", device.info().driver},
          {"compiler", compiler.version()},
          {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))}};
}

int layouts(const std::string& name, const std::string& out) {
  const auto device =
      device::open_device(name, device::load_profile("h100", find_root()), find_root());
  const auto compiler = kernel::open_nvrtc();
  ordered_json result = provenance(*device, *compiler);
  result["loads"] = wmma_layouts(*device, *compiler);
  write_file(out, result.dump() + "\n");
  return 0;
}

int wmma(const std::string& name, const std::string& out) {
  const device::DeviceProfile profile = device::load_profile("h100", find_root());
  const auto device = device::open_device(name, profile, find_root());
  const auto emulated = device::open_device("emulator:h100", profile, find_root());
  const auto compiler = kernel::open_nvrtc();
  ordered_json result = provenance(*device, *compiler);
  result["forms"] = compare_wmma(*device, *emulated, *compiler, 4096, 1);
  write_file(out, result.dump(1) + "\n");
  return 0;
}

// The cases of a file, computed anew: how many now give what the device gave.
int again(const std::string& file) {
  const ordered_json recorded = ordered_json::parse(read_file(file));
  int different = 0;
  for (const Format& format : all_formats()) {
    for (const ordered_json& row : recorded.at("formats")) {
      if (row.at("format") != format.name || !row.contains("different")) continue;
      int cases = 0;
      int mended = 0;
      for (const ordered_json& each : row["different"]) {
        const auto word = [](const ordered_json& text) {
          return std::stoull(text.get<std::string>(), nullptr, 16);
        };
        Operands operands;
        for (std::size_t k = 0; k < each["a"].size(); ++k) {
          operands.a[0][k] = word(each["a"][k]);
          operands.b[0][k] = word(each["b"][k]);
        }
        operands.c[0][0] = word(each["c"]);
        const auto sums = emulate(format, to_registers(format, operands));
        ++cases;
        mended += from_registers(format, sums)[0][0] == word(each["device"]) ? 1 : 0;
      }
      if (cases > 0) fmt::print("{:<68} {} of {} cases agree\n", format.name, mended, cases);
      different += cases - mended;
    }
  }
  return different == 0 ? 0 : 1;
}

int tensor_core(const std::string& name, double millions, std::uint64_t seed,
                const std::string& out, std::span<char*> words) {
  const auto device =
      device::open_device(name, device::load_profile("h100", find_root()), find_root());
  const auto compiler = kernel::open_nvrtc();
  ordered_json rows = ordered_json::array();
  int different = 0;
  fmt::print("{:<68} {:>10} {:>10}\n", "format", "dot-adds", "identical");
  for (const Format& format : all_formats()) {
    if (!wanted(format, words)) continue;
    ordered_json row = {{"format", format.name}};
    try {
      const RunCounts counts = check(*device, *compiler, format, millions, seed);
      fmt::print("{:<68} {:>10} {:>10}\n{}", format.name, counts.dot_adds, counts.identical,
                 first_case(counts));
      row.update({{"dot_adds", counts.dot_adds},
                  {"identical", counts.identical},
                  {"different_by_draw", counts.by_draw},
                  {"different", counts.cases}});
      different += counts.identical == counts.dot_adds ? 0 : 1;
    } catch (const MachineError& error) {
      fmt::print("{:<68} {}\n", format.name, error.what());
      row["error"] = error.what();
      ++different;
    }
    std::fflush(stdout);
    rows.push_back(row);
  }
  ordered_json result = provenance(*device, *compiler);
  result.update({{"seed", seed}, {"formats", rows}});
  if (!out.empty()) write_file(out, result.dump(1) + "\n");
  fmt::print("{} of {} formats differ\n", different, rows.size());
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fa_tune::bench

int main(int argc, char** argv) {
  if (argc < 3 || (argc < 4 && std::string_view(argv[1]) != "--again")) {
    fmt::print(stderr, "usage: bench_tensor_core DEVICE MILLIONS SEED [OUT.json] [FORMAT...]\n");
    return 2;
  }
  try {
    if (std::string_view(argv[1]) == "--wmma") return fa_tune::bench::wmma(argv[2], argv[3]);
    if (std::string_view(argv[1]) == "--again") return fa_tune::bench::again(argv[2]);
    if (std::string_view(argv[1]) == "--layouts") return fa_tune::bench::layouts(argv[2], argv[3]);
    const int rest = std::min(argc, 5);
    return fa_tune::bench::tensor_core(argv[1], std::stod(argv[2]), std::stoull(argv[3]),
                                       argc > 4 ? argv[4] : "",
                                       std::span(argv + rest, argv + argc));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_tensor_core: {}\n", error.what());
    return 3;
  }
}
