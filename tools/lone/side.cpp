#include "tools/lone/side.hpp"

#include <cstdio>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tools/lone/isolated.hpp"

namespace fa_tune {
namespace {

using nlohmann::json;
using Outcome = std::expected<std::vector<LoneOutput>, std::string>;

// Enough for a process to open a GPU and run a small kernel, and not much more.
constexpr int seconds_for_a_kernel = 30;
// How a process that runs one kernel on a GPU is started.
constexpr const char* this_program = "/proc/self/exe";
constexpr const char* answer_word = "--answer-for-side";
constexpr const char* planted_word = "planted";
// Among kept answers: whose they are.
constexpr const char* device_file = "device.cbor";

Outcome run_on(Device& device, Compiler& compiler, const KernelFile& kernel, bool planted,
               const Checks& checks, std::uint64_t schedule) {
  const auto compiled = compiler.compile(kernel.request(device.info(), planted));
  if (!compiled) return std::unexpected("does not compile: " + compiled.error().message);
  LoneLaunch launch = kernel.launch;
  launch.checks = checks;
  launch.schedule = schedule;
  auto outputs = run_lone(device, compiled->image, launch);
  if (outputs) return std::move(*outputs);
  return std::unexpected(to_text(outputs.error().kind) + ": " + outputs.error().message);
}

std::string pack(const json& value) {
  const std::vector<std::uint8_t> bytes = json::to_cbor(value);
  return {bytes.begin(), bytes.end()};
}

std::string pack_outcome(const Outcome& outcome) {
  json answer;
  if (outcome) {
    answer["outputs"] = json::array();
    for (const LoneOutput& each : *outcome) {
      const auto* begin = reinterpret_cast<const std::uint8_t*>(each.bytes.data());
      answer["outputs"].push_back(
          {{"argument", each.argument},
           {"bytes", json::binary(std::vector<std::uint8_t>(begin, begin + each.bytes.size()))}});
    }
  } else {
    answer["fault"] = outcome.error();
  }
  return pack(answer);
}

Outcome unpack(const std::string& text) {
  const json answer = json::from_cbor(text, true, false);
  if (answer.is_discarded()) return std::unexpected("its process broke off");
  if (answer.contains("fault")) return std::unexpected(answer["fault"].get<std::string>());
  std::vector<LoneOutput> outputs;
  for (const json& each : answer["outputs"]) {
    const auto& bytes = each["bytes"].get_binary();
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    outputs.push_back({each["argument"].get<std::size_t>(), {begin, begin + bytes.size()}});
  }
  return outputs;
}

std::string describe(const DeviceInfo& info) {
  return pack(json{{"id", info.id},
                   {"name", info.name},
                   {"arch", info.arch},
                   {"driver", info.driver},
                   {"ptx", info.accepts == BinaryKind::ptx}});
}

DeviceInfo described(const std::string& text) {
  const json from = json::from_cbor(text);
  DeviceInfo info;
  info.id = from["id"].get<std::string>();
  info.name = from["name"].get<std::string>();
  info.arch = from["arch"].get<std::string>();
  info.driver = from["driver"].get<std::string>();
  info.accepts = from["ptx"].get<bool>() ? BinaryKind::ptx : BinaryKind::cubin;
  return info;
}

}  // namespace

Side::Side(std::string name, Compiler& compiler) : name_(std::move(name)), compiler_(compiler) {
  constexpr std::string_view kept = "kept:";
  if (name_.starts_with(kept)) {
    kept_ = name_.substr(kept.size());
    info_ = described(read_file(kept_ / device_file));
    return;
  }
  constexpr std::string_view apart = "apart:";
  if (name_.starts_with(apart)) {
    name_.erase(0, apart.size());
  } else if (!name_.starts_with("cuda")) {
    device_ = open();
    info_ = device_->info();
    return;
  }
  const auto answer = run_isolated({this_program, answer_word, name_}, 60);
  if (!answer) throw MachineError(name_ + ": " + answer.error());
  info_ = described(*answer);
}

std::unique_ptr<Device> Side::open() const { return open_device(name_, {}, find_root()); }

void Side::keep(const std::filesystem::path& folder) {
  keep_ = folder;
  write_file(keep_ / device_file, describe(info_));
}

Outcome Side::run(const KernelFile& kernel, bool planted, const Checks& checks,
                  std::uint64_t schedule) {
  if (!kept_.empty()) {
    const auto file = kept_ / (kernel.name + ".cbor");
    if (planted || !std::filesystem::exists(file)) return std::unexpected("no answer was kept");
    return unpack(read_file(file));
  }
  Outcome outcome = answer(kernel, planted, checks, schedule);
  if (!keep_.empty() && !planted)
    write_file(keep_ / (kernel.name + ".cbor"), pack_outcome(outcome));
  return outcome;
}

Outcome Side::answer(const KernelFile& kernel, bool planted, const Checks& checks,
                     std::uint64_t schedule) {
  if (device_ == nullptr) {
    const auto packed = run_isolated(
        {this_program, answer_word, name_, kernel.file.string(), planted ? planted_word : "right"},
        seconds_for_a_kernel);
    if (!packed) return std::unexpected(packed.error());
    return unpack(*packed);
  }
  return run_on(*device_, compiler_, kernel, planted, checks, schedule);
}

std::optional<int> answer_for_side(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 3 || words[1] != answer_word) return std::nullopt;
  try {
    const auto device = open_device(words[2], {}, find_root());
    std::string text = describe(device->info());
    if (words.size() == 5) {
      const auto compiler = with_cache(open_nvrtc(), cache_folder());
      const KernelFile kernel = KernelFile::load(words[3]);
      text = pack_outcome(run_on(*device, *compiler, kernel, words[4] == planted_word, {}, 0));
    }
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 3;
}

}  // namespace fa_tune
