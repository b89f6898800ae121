#include "engine/export/package.hpp"

#include "engine/export/package_json.hpp"
#include "engine/export/text.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune {

Capability capability_of(const std::string& arch) {
  int number = 0;
  for (const char c : arch)
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  return {number / 10, number % 10};
}

std::string contents_lines(const Package& package, std::string_view mark) {
  std::string text;
  for (const PackagedCall& call : package.calls) {
    const std::string device = call.device.empty() ? "any device" : call.device;
    text += comment_lines(
        call.described + " on " + device + ", " + package.kernels[call.kernel].image.arch, mark);
    text += comment_lines("  " + call.origin, mark);
  }
  return text;
}

std::string identity(const Package& package) {
  std::string all = package.problem;
  for (const PackagedKernel& kernel : package.kernels) all += sha256(kernel.image.bytes);
  for (const PackagedCall& call : package.calls)
    all += literal(call_json(package, call), Notation::json);
  return sha256(all).substr(0, 16);
}

}  // namespace fa_tune
