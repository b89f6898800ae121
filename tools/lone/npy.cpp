#include "tools/lone/npy.hpp"

#include <fmt/format.h>

#include "engine/util/error.hpp"
#include "engine/util/npy.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune {
namespace {

std::string type_code(Element element) {
  const bool foreign =
      element == Element::bf16 || element == Element::e4m3 || element == Element::e5m2;
  const std::string name = to_text(element);
  const char letter = foreign ? 'u' : name[0];
  const int bytes = size_of(element);
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', letter, bytes);
}

}  // namespace

std::string write_npy(Element element, const std::vector<std::uint64_t>& dims,
                      std::span<const std::byte> bytes) {
  return npy_text(type_code(element), dims, bytes);
}

std::vector<std::byte> read_npy(const std::string& text, const std::string& name, Element element,
                                std::uint64_t count) {
  const NpyArray array = parse_npy(text, name);
  if (array.type != type_code(element))
    throw UserError(fmt::format("{}: holds {}, expected {} for {}", name, quote_text(array.type),
                                type_code(element), to_text(element)));
  const std::size_t want = count * static_cast<std::size_t>(size_of(element));
  if (array.bytes.size() != want)
    throw UserError(
        fmt::format("{}: holds {} bytes of data, expected {}", name, array.bytes.size(), want));
  return {array.bytes.begin(), array.bytes.end()};
}

}  // namespace fa_tune
