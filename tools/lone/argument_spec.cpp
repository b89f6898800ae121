#include "tools/lone/argument_spec.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::lone {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(mark, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

class SpecParser {
 public:
  explicit SpecParser(const std::string& text) { spec_.text = text; }

  ArgumentSpec run() {
    std::string rest = spec_.text;
    if (take(rest, "tmap:")) spec_.is_tensor_map = true;
    if (take(rest, "out:")) {
      spec_.role = ArgumentSpec::Role::out;
    } else if (take(rest, "inout:")) {
      spec_.role = ArgumentSpec::Role::inout;
    } else if (take(rest, "freed:")) {
      spec_.role = ArgumentSpec::Role::freed;
    } else if (take(rest, "struct:")) {
      spec_.role = ArgumentSpec::Role::by_value;
    }
    if (spec_.is_tensor_map) {
      const auto parts = split(rest, ',');
      for (std::size_t i = 1; i < parts.size(); ++i) map_option(parts[i]);
      rest = parts[0];
    }
    const std::size_t equals = rest.find('=');
    shape(rest.substr(0, equals));
    const std::string filling = equals == std::string::npos ? "" : rest.substr(equals + 1);
    if (spec_.dims.empty()) {
      scalar(filling);
    } else if (equals != std::string::npos) {
      fill(filling);
    } else if (!spec_.is_output()) {
      fail("a buffer that is read needs a content, such as '=zeros' or '=normal:1'");
    }
    if (spec_.is_tensor_map && spec_.box.size() != spec_.dims.size())
      fail("a tensor map needs 'box=' with as many sizes as the buffer has dimensions");
    return std::move(spec_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("argument {}: {}", quote_text(spec_.text), what));
  }

  static bool take(std::string& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.erase(0, prefix.size());
    return true;
  }

  std::uint64_t whole(const std::string& text) const {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const bool hex = text.starts_with("0x");
    const auto [stop, error] =
        std::from_chars(text.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
    if (error != std::errc{} || stop != end || text.empty())
      fail(quote_text(text) + " is no whole number");
    return value;
  }

  double number(const std::string& text) const {
    char* stop = nullptr;
    const double value = std::strtod(text.c_str(), &stop);
    if (text.empty() || *stop != '\0') fail(quote_text(text) + " is no number");
    return value;
  }

  std::vector<std::uint64_t> sizes(const std::string& text) const {
    std::vector<std::uint64_t> result;
    for (const std::string& part : split(text, 'x')) {
      result.push_back(whole(part));
      if (result.back() == 0 || result.back() > kMostBytes) fail("a size must be 1 or more");
    }
    return result;
  }

  void shape(const std::string& text) {
    const std::size_t bracket = text.find('[');
    const std::string name = text.substr(0, bracket);
    const auto element = element_of(name);
    if (!element)
      fail(fmt::format("{} is no type; expected one of {}", quote_text(name), element_names()));
    spec_.element = *element;
    if (bracket == std::string::npos) return;
    if (!text.ends_with(']')) fail("expected ']' after the sizes");
    spec_.dims = sizes(text.substr(bracket + 1, text.size() - bracket - 2));
    auto bytes = static_cast<std::uint64_t>(size_of(spec_.element));
    for (const std::uint64_t size : spec_.dims) {
      if (size > kMostBytes / bytes) fail("more than 4 GiB");
      bytes *= size;
    }
  }

  void scalar(const std::string& text) {
    if (spec_.role != ArgumentSpec::Role::in || spec_.is_tensor_map)
      fail("a scalar can only be read; a buffer needs sizes, such as f32[64]");
    spec_.role = ArgumentSpec::Role::scalar;
    if (text.empty()) fail("a scalar needs a value, such as i32=5");
    if (is_floating(spec_.element)) {
      spec_.scalar_bits = bits_of(spec_.element, number(text));
      return;
    }
    const bool negative = text.starts_with('-');
    const std::uint64_t magnitude = whole(negative ? text.substr(1) : text);
    const int width = 8 * size_of(spec_.element);
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() >> (64 - width);
    const bool is_signed = spec_.element == Element::i8 || spec_.element == Element::i16 ||
                           spec_.element == Element::i32 || spec_.element == Element::i64;
    const std::uint64_t limit = is_signed ? (most >> 1) + (negative ? 1 : 0) : negative ? 0 : most;
    if (magnitude > limit) fail(fmt::format("{} does not fit {}", text, to_text(spec_.element)));
    spec_.scalar_bits = (negative ? 0 - magnitude : magnitude) & most;
  }

  void fill(const std::string& text) {
    if (text.starts_with("file:")) {
      spec_.fill.kind = Fill::Kind::file;
      spec_.fill.file = text.substr(5);
      return;
    }
    const auto parts = split(text, ':');
    const std::string& name = parts[0];
    const auto want = [&](std::size_t least, std::size_t most) {
      if (parts.size() - 1 < least || parts.size() - 1 > most)
        fail(fmt::format("'{}' takes {} after it, separated by ':'", name,
                         most == 0       ? std::string("nothing")
                         : least == most ? fmt::format("{} numbers", most)
                                         : fmt::format("{} to {} numbers", least, most)));
    };
    const auto seeded = [&](Fill::Kind kind) {
      spec_.fill.kind = kind;
      spec_.fill.seed = whole(parts[1]);
      if (parts.size() == 3) fail(fmt::format("'{}' takes both bounds or none", name));
      if (parts.size() == 4) {
        spec_.fill.low = number(parts[2]);
        spec_.fill.high = number(parts[3]);
        if (spec_.fill.low > spec_.fill.high) fail("the lower bound is above the upper one");
      }
    };
    if (name == "zeros" || name == "ones" || name == "iota") {
      want(0, 0);
      spec_.fill.kind = name == "zeros"  ? Fill::Kind::zeros
                        : name == "ones" ? Fill::Kind::ones
                                         : Fill::Kind::iota;
    } else if (name == "value") {
      want(1, 1);
      spec_.fill.kind = Fill::Kind::value;
      spec_.fill.low = number(parts[1]);
    } else if (name == "normal" || name == "bits") {
      want(1, 1);
      seeded(name == "normal" ? Fill::Kind::normal : Fill::Kind::bits);
    } else if (name == "uniform") {
      want(1, 3);
      seeded(Fill::Kind::uniform);
    } else if (name == "integers") {
      want(3, 3);
      seeded(Fill::Kind::integers);
    } else {
      fail(
          fmt::format("{} is no content; expected zeros, ones, iota, value:X, normal:SEED, "
                      "uniform:SEED[:LOW:HIGH], integers:SEED:LEAST:MOST, bits:SEED or file:NAME",
                      quote_text(name)));
    }
  }

  void map_option(const std::string& text) {
    using Swizzle = device::TensorMap::Swizzle;
    if (text == "nan") {
      spec_.nan_fill = true;
    } else if (text == "swizzle=none") {
      spec_.swizzle = Swizzle::none;
    } else if (text == "swizzle=32") {
      spec_.swizzle = Swizzle::bytes32;
    } else if (text == "swizzle=64") {
      spec_.swizzle = Swizzle::bytes64;
    } else if (text == "swizzle=128") {
      spec_.swizzle = Swizzle::bytes128;
    } else if (text.starts_with("box=")) {
      for (const std::uint64_t size : sizes(text.substr(4)))
        spec_.box.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(size, 1 << 30)));
    } else {
      fail(quote_text(text) +
           " is no option of a tensor map; expected box=RxC, "
           "swizzle=none|32|64|128 or nan");
    }
  }

  ArgumentSpec spec_;
};

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

std::uint64_t ArgumentSpec::elements() const {
  std::uint64_t count = 1;
  for (const std::uint64_t size : dims) count *= size;
  return count;
}

std::uint64_t ArgumentSpec::bytes() const {
  return elements() * static_cast<std::uint64_t>(size_of(element));
}

ArgumentSpec parse_argument(const std::string& text) { return SpecParser(text).run(); }

std::vector<std::byte> content_of(const ArgumentSpec& spec) {
  if (spec.fill.kind == Fill::Kind::unwritten) return {};
  if (spec.fill.kind == Fill::Kind::file)
    return read_npy(read_file(spec.fill.file, kArrayFile), spec.fill.file, spec.element,
                    spec.elements());
  std::vector<std::byte> bytes(spec.bytes());
  const auto size = static_cast<std::size_t>(size_of(spec.element));
  Random random(derive_seed(spec.fill.seed, "argument"));
  for (std::uint64_t i = 0; i < spec.elements(); ++i) {
    const std::uint64_t bits = one_element(spec, i, random);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

}  // namespace fa_tune::lone
