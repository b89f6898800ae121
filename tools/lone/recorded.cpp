#include "tools/lone/recorded.hpp"

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/util/hash.hpp"
#include "tools/lone/compare.hpp"

namespace fa_tune {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t most_samples = 16;

std::string hash_of(const ArgumentSpec& spec, const LoneOutput& output) {
  if (!is_floating(spec.element)) return sha256(output.bytes);
  std::vector<std::byte> bytes = output.bytes;
  const auto size = static_cast<std::size_t>(size_of(spec.element));
  const std::uint64_t nan = bits_of(spec.element, NAN);
  for (std::uint64_t i = 0; i < spec.elements(); ++i) {
    if (std::isnan(value_of(spec.element, element_bits(spec.element, bytes, i))))
      std::memcpy(bytes.data() + i * size, &nan, size);
  }
  return sha256(bytes);
}

}  // namespace

ordered_json record(const KernelFile& kernel, const std::vector<LoneOutput>& outputs) {
  ordered_json result = ordered_json::array();
  for (const LoneOutput& output : outputs) {
    const ArgumentSpec& spec = kernel.launch.arguments[output.argument];
    const std::uint64_t step = (spec.elements() + most_samples - 1) / most_samples;
    ordered_json samples = ordered_json::array();
    for (std::uint64_t i = 0; i < spec.elements(); i += step)
      samples.push_back({i, element_bits(spec.element, output.bytes, i)});
    result.push_back({{"argument", output.argument},
                      {"spec", spec.text},
                      {"sha256", hash_of(spec, output)},
                      {"samples", samples}});
  }
  return result;
}

std::string refute(const KernelFile& kernel, const std::vector<LoneOutput>& outputs,
                   const ordered_json& recorded) {
  if (recorded.size() != outputs.size()) return "the record is of other outputs";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ArgumentSpec& spec = kernel.launch.arguments[outputs[i].argument];
    const ordered_json& row = recorded[i];
    if (row.at("spec") != spec.text) return "the record is of " + row.at("spec").dump();
    if (row.at("sha256") == hash_of(spec, outputs[i])) continue;
    if (kernel.agreement.kind == Agreement::Kind::exact || !is_floating(spec.element))
      return fmt::format("argument {} is not what was recorded", outputs[i].argument);
    for (const ordered_json& sample : row.at("samples")) {
      const auto index = sample[0].get<std::uint64_t>();
      const std::uint64_t want = sample[1].get<std::uint64_t>();
      const std::uint64_t got = element_bits(spec.element, outputs[i].bytes, index);
      ArgumentSpec one = spec;
      one.dims = {1};
      const auto difference = compare(one, kernel.agreement, std::as_bytes(std::span(&want, 1)),
                                      std::as_bytes(std::span(&got, 1)));
      if (!difference.agrees)
        return fmt::format("argument {} element {}: {} where {} was recorded", outputs[i].argument,
                           index, value_of(spec.element, got), value_of(spec.element, want));
    }
  }
  return "";
}

std::string describe(const Agreement& agreement) {
  switch (agreement.kind) {
    case Agreement::Kind::exact:
      return "exact";
    case Agreement::Kind::ulp:
      return fmt::format("{} ulp", agreement.bound);
    case Agreement::Kind::absolute:
      return fmt::format("absolute {}", agreement.bound);
  }
  return "";
}

}  // namespace fa_tune
