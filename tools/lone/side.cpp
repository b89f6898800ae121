#include "tools/lone/side.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/file.hpp"
#include "engine/base/root.hpp"
#include "engine/device/open.hpp"
#include "tools/lone/isolated.hpp"

namespace fa_tune {
namespace {

using nlohmann::json;
using Outcome = std::expected<std::vector<LoneOutput>, std::string>;

// Enough for a process to open a GPU and run a small kernel, and not much more.
constexpr int seconds_for_a_kernel = 30;
// Among kept answers: whose they are.
constexpr const char* device_file = "device.cbor";

Outcome run_on(Device& device, const KernelImage& image, const LoneLaunch& launch) {
  auto outputs = run_lone(device, image, launch);
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
  if (!name_.starts_with("cuda")) {
    device_ = open();
    info_ = device_->info();
    return;
  }
  const auto answer = run_isolated([this] { return describe(open()->info()); }, 60);
  if (!answer) throw MachineError(name_ + ": " + answer.error());
  info_ = described(*answer);
}

std::unique_ptr<Device> Side::open() const { return open_device(name_, {}, find_root()); }

std::expected<KernelImage, std::string> Side::compile(const KernelFile& kernel, bool planted) {
  auto compiled = compiler_.compile(kernel.request(info_, planted));
  if (!compiled) return std::unexpected("does not compile: " + compiled.error().message);
  return std::move(compiled->image);
}

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
  const auto image = compile(kernel, planted);
  if (!image) return std::unexpected(image.error());
  LoneLaunch launch = kernel.launch;
  launch.checks = checks;
  launch.schedule = schedule;
  if (device_ != nullptr) return run_on(*device_, *image, launch);
  const auto packed = run_isolated([&] { return pack_outcome(run_on(*open(), *image, launch)); },
                                   seconds_for_a_kernel);
  if (!packed) return std::unexpected(packed.error());
  return unpack(*packed);
}

}  // namespace fa_tune
