// What the parts of one SM and of the memory system do in a clock, measured by small kernels: the
// source of the constants in search_spaces/devices.
//
//   bench_microbench cuda:0 [OUT.json [PART...]]
//
// PART: sm, code, operands, scheduling, warpgroup, product_turns, issue_slots, beside_products, cluster,
// copies, stores, memory, l1_loads, atomics, launch_us; all of them if none is named.

#include <algorithm>
#include <array>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tools/bench/emulator/microbench/microbench.hpp"

using namespace fa_tune;
using namespace fa_tune::bench;

namespace {

constexpr std::array<std::string_view, 15> kParts = {
    "sm",        "code",          "operands",    "scheduling",
    "warpgroup", "product_turns", "issue_slots", "beside_products",
    "cluster",   "copies",        "stores",      "memory",
    "l1_loads",  "atomics",       "launch_us"};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_microbench DEVICE [OUT.json [PART...]]\n");
    return 2;
  }
  try {
    const auto device = device::open_device(argv[1], device::DeviceProfile{}, find_root());
    const auto compiler = kernel::open_nvrtc();
    const device::DeviceInfo& info = device->info();
    Json result = {{"device", info.name},
                   {"driver", info.driver},
                   {"compiler", compiler->version()},
                   {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))}};
    Lab lab(*device, *compiler);
    const std::vector<std::string> wanted(argv + std::min(argc, 3), argv + argc);
    for (const std::string& part : wanted)
      if (std::ranges::find(kParts, part) == kParts.end())
        throw UserError(
            fmt::format("there is no part '{}'; there are {}", part, fmt::join(kParts, ", ")));
    const auto measure = [&](const std::string& part, const auto& how) {
      if (wanted.empty() || std::ranges::find(wanted, part) != wanted.end()) result[part] = how();
    };
    measure("sm", [&] { return measure_instructions(lab); });
    measure("code", [&] { return measure_code(lab); });
    measure("operands", [&] { return measure_operands(lab); });
    measure("scheduling", [&] { return measure_scheduling(lab, info.sms); });
    if (info.arch == "sm_90") {
      measure("warpgroup", [&] { return measure_warpgroup_products(lab); });
      measure("product_turns", [&] { return measure_product_turns(lab); });
      measure("issue_slots", [&] { return measure_issue_slots(lab); });
      measure("beside_products", [&] { return measure_shared_beside_products(lab); });
      measure("cluster", [&] { return measure_cluster(lab); });
      measure("copies", [&] { return measure_copies(lab, info.sms); });
      measure("stores", [&] { return measure_stores(lab, info.sms); });
    }
    measure("memory", [&] { return measure_memory(lab, info.sms); });
    measure("l1_loads", [&] { return measure_l1_loads(lab); });
    measure("atomics", [&] { return measure_atomics(lab, info.sms); });
    measure("launch_us", [&] { return measure_launches(lab, info.sms); });
    if (argc > 2) write_file(argv[2], result.dump(1) + "\n");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_microbench: {}\n", error.what());
    return 3;
  }
}
