#include "tools/lone/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/util/hash.hpp"

namespace fa_tune::lone {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kMostSamples = 16;

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

bool within(const ArgumentSpec& spec, const Agreement& agreement, std::uint64_t ulp,
            double absolute) {
  if (ulp == 0) return true;
  if (!is_floating(spec.element)) return false;
  switch (agreement.kind) {
    case Agreement::Kind::exact:
      return false;
    case Agreement::Kind::ulp:
      return static_cast<double>(ulp) <= agreement.bound;
    case Agreement::Kind::absolute:
      return absolute <= agreement.bound;
  }
  return false;
}

}  // namespace

Difference& Difference::operator+=(const Difference& other) {
  elements += other.elements;
  identical += other.identical;
  worst_ulp = std::max(worst_ulp, other.worst_ulp);
  worst_absolute = std::max(worst_absolute, other.worst_absolute);
  first = agrees ? other.first : first;
  agrees = agrees && other.agrees;
  return *this;
}

std::uint64_t element_bits(Element element, std::span<const std::byte> bytes, std::uint64_t index) {
  const auto size = static_cast<std::size_t>(size_of(element));
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

Difference compare(const ArgumentSpec& spec, const Agreement& agreement,
                   std::span<const std::byte> a, std::span<const std::byte> b) {
  Difference result;
  result.elements = spec.elements();
  bool differs = false;
  for (std::uint64_t i = 0; i < result.elements; ++i) {
    const std::uint64_t x = element_bits(spec.element, a, i);
    const std::uint64_t y = element_bits(spec.element, b, i);
    if (x == y) {
      ++result.identical;
      continue;
    }
    if (!is_floating(spec.element)) {
      result.agrees = false;
      if (!differs) result.first = i;
      differs = true;
      continue;
    }
    const std::uint64_t ulp = ulps_between(spec.element, x, y);
    const bool nan = std::isnan(value_of(spec.element, x)) && ulp == 0;
    if (nan) {
      ++result.identical;
      continue;
    }
    double off = std::abs(value_of(spec.element, x) - value_of(spec.element, y));
    if (std::isnan(off)) off = INFINITY;
    // Zeros of both signs are no ulp apart and yet not the same.
    const bool fine = within(spec, agreement, std::max<std::uint64_t>(ulp, 1), off);
    if (!fine && result.agrees) result.first = i;
    if (!differs && result.agrees) result.first = i;
    differs = true;
    result.agrees = result.agrees && fine;
    result.worst_ulp = std::max({result.worst_ulp, ulp, std::uint64_t{1}});
    result.worst_absolute = std::max(result.worst_absolute, off);
  }
  return result;
}

std::string summary_of(const ArgumentSpec& spec, const LoneOutput& output) {
  double least = INFINITY;
  double most = -INFINITY;
  double sum = 0;
  std::uint64_t finite = 0;
  for (std::uint64_t i = 0; i < spec.elements(); ++i) {
    const double value = value_of(spec.element, element_bits(spec.element, output.bytes, i));
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
    ++finite;
  }
  std::string text = fmt::format("argument {:<2} {:<24}", output.argument, spec.text);
  if (finite > 0)
    text += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", least, most,
                        sum / static_cast<double>(finite));
  if (finite < spec.elements()) text += fmt::format("  {} not finite", spec.elements() - finite);
  return text + "  sha256 " + sha256(output.bytes).substr(0, 16);
}

ordered_json record(const KernelFile& kernel, const std::vector<LoneOutput>& outputs) {
  ordered_json result = ordered_json::array();
  for (const LoneOutput& output : outputs) {
    const ArgumentSpec& spec = kernel.launch.arguments[output.argument];
    const std::uint64_t step = (spec.elements() + kMostSamples - 1) / kMostSamples;
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

}  // namespace fa_tune::lone
