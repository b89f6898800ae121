#include "engine/kernel/cache_entry.hpp"

#include <cstring>

#include "engine/base/hash.hpp"

namespace fa_tune {
namespace {

// To be raised when the meaning of the fields or the options the compiler always gives change.
constexpr std::string_view kVersionLine = "fa-tune compile cache 2\n";
constexpr std::size_t kDigestDigits = 64;

class Writer {
 public:
  void number(std::uint64_t value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof raw);
  }
  void signed_number(int value) { number(static_cast<std::uint64_t>(std::int64_t{value})); }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  void texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) text(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Goes on after the end with zeros and empty texts; good() tells in the end. The checksum has been
// compared before, so only a mistake of the writer's could get here.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (bytes_.size() < sizeof value) {
      good_ = false;
      return 0;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  int signed_number() { return static_cast<int>(static_cast<std::int64_t>(number())); }
  std::string text() {
    const std::uint64_t size = number();
    if (size > bytes_.size()) {
      good_ = false;
      return {};
    }
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values;
    for (std::uint64_t left = number(); left > 0 && good_; --left) values.push_back(text());
    return values;
  }
  bool good() const { return good_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

void write(Writer& writer, const Compiled& compiled) {
  const KernelImage& image = compiled.image;
  writer.number(image.kind == BinaryKind::cubin ? 0 : 1);
  writer.text(image.arch);
  writer.text(image.kernel);
  writer.text(image.bytes);
  writer.signed_number(image.resources.registers);
  writer.signed_number(image.resources.spill_store_bytes);
  writer.signed_number(image.resources.spill_load_bytes);
  writer.signed_number(image.resources.stack_bytes);
  writer.signed_number(image.resources.static_shared_bytes);
  writer.texts(compiled.warnings);
  writer.text(compiled.code_hash);
}

Compiled read_compiled(Reader& reader) {
  Compiled compiled;
  KernelImage& image = compiled.image;
  image.kind = reader.number() == 0 ? BinaryKind::cubin : BinaryKind::ptx;
  image.arch = reader.text();
  image.kernel = reader.text();
  image.bytes = reader.text();
  image.resources.registers = reader.signed_number();
  image.resources.spill_store_bytes = reader.signed_number();
  image.resources.spill_load_bytes = reader.signed_number();
  image.resources.stack_bytes = reader.signed_number();
  image.resources.static_shared_bytes = reader.signed_number();
  compiled.warnings = reader.texts();
  compiled.code_hash = reader.text();
  compiled.from_cache = true;
  return compiled;
}

}  // namespace

std::string cache_key(const CompileRequest& request, const std::string& compiler_version) {
  Writer writer;
  writer.text(kVersionLine);
  writer.text(compiler_version);
  writer.text(request.source.text);
  writer.text(request.source.kernel);
  writer.text(request.arch);
  writer.number(request.kind == BinaryKind::cubin ? 0 : 1);
  writer.texts(request.options);
  return sha256(writer.take());
}

std::string encode_entry(const std::string& key, const CompileOutcome& outcome) {
  Writer writer;
  writer.text(key);
  writer.number(outcome ? 1 : 0);
  if (outcome) {
    write(writer, *outcome);
  } else {
    writer.text(outcome.error().message);
    writer.text(outcome.error().log);
  }
  const std::string payload = writer.take();
  return std::string(kVersionLine) + sha256(payload) + payload;
}

std::optional<CompileOutcome> decode_entry(const std::string& key, std::string_view bytes) {
  if (bytes.size() < kVersionLine.size() + kDigestDigits || !bytes.starts_with(kVersionLine))
    return std::nullopt;
  bytes.remove_prefix(kVersionLine.size());
  const std::string_view digest = bytes.substr(0, kDigestDigits);
  const std::string_view payload = bytes.substr(kDigestDigits);
  if (sha256(payload) != digest) return std::nullopt;
  Reader reader(payload);
  if (reader.text() != key) return std::nullopt;
  CompileOutcome outcome = std::unexpected(CompileFailure{});
  if (reader.number() == 1) {
    outcome = read_compiled(reader);
  } else {
    std::string message = reader.text();
    outcome = std::unexpected(CompileFailure{std::move(message), reader.text()});
  }
  if (!reader.good()) return std::nullopt;
  return outcome;
}

}  // namespace fa_tune
