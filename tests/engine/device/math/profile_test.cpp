#include "engine/device/profile.hpp"

#include <algorithm>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using test::has;

namespace {

std::string message(const std::string& name) {
  try {
    load_profile(name, FA_TUNE_ROOT);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string h100_text() {
  const std::filesystem::path root = FA_TUNE_ROOT;
  return read_file(root / "search_spaces/devices/h100.yaml");
}

// The line of the H100's profile that begins with this.
long line_of(const std::string& begin) {
  const std::string text = h100_text();
  const auto at = text.find("\n" + begin);
  REQUIRE(at != std::string::npos);
  return 2 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

// The H100's profile with one text replaced, in a file of its own; what loading it says.
std::string message_with(const std::string& from, const std::string& to) {
  std::string text = h100_text();
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  const test::ScratchFolder folder;
  write_file(folder / "h100.yaml", text);
  return message((folder / "h100.yaml").string());
}

}  // namespace

TEST_CASE("the profiles that come with fa-tune load and agree with the public rates") {
  const device::DeviceProfile l4 = load_profile("l4", FA_TUNE_ROOT);
  CHECK(l4.arch == "sm_89");
  CHECK(l4.shared_per_block == 99 * 1024);
  CHECK(l4.shared_per_sm == 100 * 1024);
  CHECK(l4.l2_bytes == 48LL * 1024 * 1024);
  CHECK(58 * l4.tensor_f16_flop_per_clock_sm * 2.04e9 == doctest::Approx(121e12).epsilon(0.01));

  const device::DeviceProfile a100 = load_profile("a100", FA_TUNE_ROOT);
  CHECK(a100.arch == "sm_80");
  CHECK(a100.sms * a100.tensor_f16_flop_per_clock_sm * a100.clock_mhz * 1e6 ==
        doctest::Approx(312e12).epsilon(0.01));

  const device::DeviceProfile h100 = load_profile("h100", FA_TUNE_ROOT);
  CHECK(h100.name == "h100");
  CHECK(h100.arch == "sm_90");
  CHECK(h100.sms == 132);
  CHECK(h100.max_threads_per_sm == 2048);
  CHECK(h100.launch_us == 0.9);

  // What the data sheets say of whole chips comes out of the rates of an SM.
  const auto tensor_tflops = [](const char* name) {
    const device::DeviceProfile profile = load_profile(name, FA_TUNE_ROOT);
    return profile.sms * profile.tensor_f16_flop_per_clock_sm * profile.clock_mhz * 1e-6;
  };
  CHECK(tensor_tflops("rtx4090") == doctest::Approx(165.2).epsilon(0.02));
  CHECK(tensor_tflops("l40s") == doctest::Approx(362).epsilon(0.02));
  CHECK(tensor_tflops("rtx3090") == doctest::Approx(71).epsilon(0.02));
  CHECK(tensor_tflops("a10") == doctest::Approx(125).epsilon(0.02));
  CHECK(tensor_tflops("t4") == doctest::Approx(65).epsilon(0.02));
  const auto fp32_tflops = [](const char* name) {
    const device::DeviceProfile profile = load_profile(name, FA_TUNE_ROOT);
    return 2 * profile.sms * profile.fma_f32_per_clock_sm * profile.clock_mhz * 1e-6;
  };
  CHECK(fp32_tflops("rtx4090") == doctest::Approx(82.6).epsilon(0.01));
  CHECK(fp32_tflops("l40s") == doctest::Approx(91.6).epsilon(0.01));
  CHECK(fp32_tflops("rtx3090") == doctest::Approx(35.6).epsilon(0.01));
  CHECK(fp32_tflops("a10") == doctest::Approx(31.2).epsilon(0.01));
  CHECK(fp32_tflops("t4") == doctest::Approx(8.1).epsilon(0.01));
}

TEST_CASE("facts are the limits, under the names of the fields, and the compute capability") {
  const Constants facts = load_profile("l4", FA_TUNE_ROOT).facts();
  CHECK(integer(facts, "sms") == 58);
  CHECK(integer(facts, "max_threads_per_block") == 1024);
  CHECK(integer(facts, "shared_per_block") == 101376);
  CHECK(integer(facts, "l2_bytes") == 50331648);
  CHECK(integer(facts, "compute_capability") == 89);
  CHECK(facts.size() == 14);
}

TEST_CASE("a profile that does not exist is answered with those that do") {
  const std::string said = message("h1000");
  CHECK(has(said, "no device profile 'h1000', did you mean 'h100'?"));
  CHECK(has(said, "known: a10, a100, b200, h100, h200, l4, l40s, rtx3090, rtx4090, t4;"));
}

TEST_CASE("a profile is a device's by its model, then by its architecture and SMs") {
  const auto name = [](const std::string& device, const std::string& arch, int sms) {
    const auto found = profile_of_device(device, arch, sms, FA_TUNE_ROOT);
    return found ? found->name : "none";
  };
  CHECK(name("NVIDIA H200", "sm_90", 132) == "h200");
  CHECK(name("NVIDIA H200 NVL", "sm_90", 132) == "h200");
  CHECK(name("NVIDIA H100 80GB HBM3", "sm_90", 132) == "h100");
  CHECK(name("NVIDIA GH200 480GB", "sm_90", 132) == "h100");
  CHECK(name("NVIDIA A100-SXM4-40GB", "sm_80", 108) == "a100");
  CHECK(name("NVIDIA L4", "sm_89", 58) == "l4");
  CHECK(name("NVIDIA L40S", "sm_89", 142) == "l40s");
  CHECK(name("NVIDIA L40", "sm_89", 142) == "l40s");
  CHECK(name("NVIDIA GeForce RTX 4090", "sm_89", 128) == "rtx4090");
  CHECK(name("NVIDIA GeForce RTX 3090", "sm_86", 82) == "rtx3090");
  CHECK(name("NVIDIA A10", "sm_86", 72) == "a10");
  CHECK(name("NVIDIA A10G", "sm_86", 80) == "a10");
  CHECK(name("Tesla T4", "sm_75", 40) == "t4");
  CHECK(name("NVIDIA B200", "sm_100", 148) == "b200");
  CHECK(name("NVIDIA GeForce RTX 5090", "sm_120", 170) == "none");
}

TEST_CASE("slips in a profile are answered with their place") {
  CHECK(has(message_with("launch_us:", "lunch_us:"), "did you mean 'launch_us'?"));
  CHECK(has(message_with("launch_us:", "lunch_us:"),
            fmt::format("h100.yaml:{}:1: ", line_of("launch_us:"))));
  CHECK(has(message_with("sms: 132", "# gone"), "key 'sms' is missing"));
  CHECK(has(message_with("sms: 132", "sms: many"),
            fmt::format(":{}:6: sms: expected an integer", line_of("sms: 132"))));
  CHECK(has(message_with("sms: 132", "sms: 0"), "sms: expected an integer from 1"));
  CHECK(has(message_with("launch_us: 0.9", "launch_us: -1"), "expected a number above zero"));
  CHECK(has(message_with("arch: sm_90", "arch: hopper"), "such as sm_89"));
  // What lies elsewhere a profile, which may be a stranger's, cannot name.
  for (const char* name : {"../secret.json", "/etc/passwd", "residuals.yaml", "''"})
    CHECK(has(message_with("sms: 132", fmt::format("sms: 132\nresiduals: {}", name)),
              "residuals: expected the name of a .json file that lies beside the profile"));
  CHECK(has(message_with("sms: 132", "sms: 132\nsms: 133"),
            fmt::format(":{}:", line_of("sms: 132") + 1)));
}

TEST_CASE("a range has a slow end and a fast one, whichever way its constant counts") {
  const device::DeviceProfile l4 = load_profile("l4", FA_TUNE_ROOT);
  const emulator::DeviceProfile slow = l4.slowest(), fast = l4.fastest();
  CHECK(slow.clock_mhz < l4.clock_mhz);
  CHECK(fast.clock_mhz == 2040);
  CHECK(slow.l2_latency > l4.l2_latency);
  CHECK(fast.l2_latency < l4.l2_latency);
  CHECK(slow.launch_us > l4.launch_us);
  CHECK(slow.sms == l4.sms);
  CHECK(slow.fma_f32_per_clock_sm == l4.fma_f32_per_clock_sm);
  // How far off an H100's time is was measured with these constants in it.
  CHECK(load_profile("h100", FA_TUNE_ROOT).ranges.empty());
  for (const char* name : {"t4", "a10", "rtx3090", "a100", "l4", "l40s", "rtx4090", "h200", "b200"})
    CHECK_FALSE(load_profile(name, FA_TUNE_ROOT).ranges.empty());
}

TEST_CASE("a rate that a GPU does not have is 0 or left out, others are not") {
  CHECK(load_profile("l4", FA_TUNE_ROOT).wgmma_f16_flop_per_clock_sm == 0);
  CHECK(load_profile("h100", FA_TUNE_ROOT).wgmma_f16_flop_per_clock_sm == 4096);
  CHECK(message_with("fma_f64_per_clock_sm: 64", "# gone") == "no error");
  CHECK(message_with("wgmma_f16_flop_per_clock_sm: 4096", "wgmma_f16_flop_per_clock_sm: 0") ==
        "no error");
  CHECK(has(message_with("wgmma_f16_flop_per_clock_sm: 4096", "wgmma_f16_flop_per_clock_sm: -1"),
            "expected 0 or a number above it"));
}

TEST_CASE("slips in a range are answered with their place") {
  const auto said = [](const std::string& rate) {
    return message_with("launch_us: 0.9", "launch_us: " + rate);
  };
  CHECK(said("{value: 0.9, range: [0.5, 1]}") == "no error");
  CHECK(has(said("{value: 0.9, range: [1, 2]}"), "a range above zero that holds the value"));
  CHECK(has(said("{value: 0.9, range: [0.5, 0.8]}"), "a range above zero that holds the value"));
  CHECK(has(said("{value: 0.9, range: [0.5]}"), "a range such as [1200, 2040]"));
  CHECK(has(said("{value: 0.9, range: [0, 1]}"), "expected a number above zero"));
  CHECK(has(said("{value: 0.9, rage: [0.5, 1]}"), "did you mean 'range'?"));
  CHECK(has(said("{value: 0.9}"), "key 'range' is missing"));
}

}  // namespace fa_tune::test
