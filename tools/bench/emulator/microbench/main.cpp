// What the parts of one SM and of the memory system do in a clock, measured by small kernels: the
// source of the constants in search_spaces/devices.
//
//   bench_microbench cuda:0 [OUT.json]

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/file.hpp"
#include "tools/bench/emulator/microbench/microbench.hpp"

using namespace fa_tune;
using namespace fa_tune::bench;

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_microbench DEVICE [OUT.json]\n");
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
    result["sm"] = measure_instructions(lab);
    if (info.arch == "sm_90") result["warpgroup"] = measure_warpgroup_products(lab);
    result["memory"] = measure_memory(lab, info.sms);
    result["launch_us"] = measure_launches(lab, info.sms);
    if (argc > 2) write_file(argv[2], result.dump(1) + "\n");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_microbench: {}\n", error.what());
    return 3;
  }
}
