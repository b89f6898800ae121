#include <cmath>
#include <cstring>

#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "tools/lone/argument_spec.hpp"
#include "tools/lone/npy.hpp"

namespace fa_tune {
namespace {

std::uint64_t random_bits(Element element, Random& random) {
  for (;;) {
    const std::uint64_t bits = random.next() >> (64 - 8 * size_of(element));
    if (!is_floating(element) || !std::isnan(value_of(element, bits))) return bits;
  }
}

std::uint64_t one_element(const ArgumentSpec& spec, std::uint64_t index, Random& random) {
  const Fill& fill = spec.fill;
  switch (fill.kind) {
    case Fill::Kind::ones:
      return bits_of(spec.element, 1);
    case Fill::Kind::iota:
      return bits_of(spec.element, static_cast<double>(index));
    case Fill::Kind::value:
      return bits_of(spec.element, fill.low);
    case Fill::Kind::normal:
      return bits_of(spec.element, random.normal());
    case Fill::Kind::uniform:
      return bits_of(spec.element, fill.low + (fill.high - fill.low) * random.uniform());
    case Fill::Kind::integers: {
      const auto span = static_cast<std::uint64_t>(fill.high - fill.low) + 1;
      return bits_of(spec.element, fill.low + static_cast<double>(random.below(span)));
    }
    case Fill::Kind::bits:
      return random_bits(spec.element, random);
    case Fill::Kind::unwritten:
    case Fill::Kind::zeros:
    case Fill::Kind::file:
      break;
  }
  return 0;
}

}  // namespace

std::vector<std::byte> content_of(const ArgumentSpec& spec) {
  if (spec.fill.kind == Fill::Kind::unwritten) return {};
  if (spec.fill.kind == Fill::Kind::file)
    return read_npy(read_file(spec.fill.file), spec.fill.file, spec.element, spec.elements());
  std::vector<std::byte> bytes(spec.bytes());
  const auto size = static_cast<std::size_t>(size_of(spec.element));
  Random random(derive_seed(spec.fill.seed, "argument"));
  for (std::uint64_t i = 0; i < spec.elements(); ++i) {
    const std::uint64_t bits = one_element(spec, i, random);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

}  // namespace fa_tune
