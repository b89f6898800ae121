#include "engine/kernel/compile/compile_cache.hpp"

#include <atomic>
#include <optional>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/log.hpp"
#include "engine/yaml/fields.hpp"

namespace fa_tune {
namespace {

// To be raised when the meaning of the fields, what the compiler is found to warn of, or the
// options the compiler always gives change.
constexpr std::string_view kVersionLine = "fa-tune compile cache 4\n";
constexpr std::size_t kDigestDigits = 64;

void write(FieldWriter& writer, const Compiled& compiled) {
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

Compiled read_compiled(FieldReader& reader) {
  Compiled compiled;
  KernelImage& image = compiled.image;
  image.kind = reader.number() == 0 ? BinaryKind::cubin : BinaryKind::ptx;
  image.arch = reader.text();
  image.kernel = reader.text();
  image.bytes = reader.text();
  image.resources.registers = static_cast<int>(reader.signed_number());
  image.resources.spill_store_bytes = static_cast<int>(reader.signed_number());
  image.resources.spill_load_bytes = static_cast<int>(reader.signed_number());
  image.resources.stack_bytes = static_cast<int>(reader.signed_number());
  image.resources.static_shared_bytes = static_cast<int>(reader.signed_number());
  compiled.warnings = reader.texts();
  compiled.code_hash = reader.text();
  compiled.from_cache = true;
  return compiled;
}

}  // namespace

std::string cache_key(const CompileRequest& request, const std::string& compiler_version) {
  FieldWriter writer;
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
  FieldWriter writer;
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
  FieldReader reader(payload);
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

namespace {

namespace fs = std::filesystem;

class CachedCompiler final : public Compiler {
 public:
  CachedCompiler(std::unique_ptr<Compiler> inner, fs::path folder)
      : inner_(std::move(inner)), folder_(std::move(folder)) {}

  std::string version() const override { return inner_->version(); }

  CompileOutcome compile(const CompileRequest& request) override {
    const std::string key = cache_key(request, inner_->version());
    if (auto known = look_up(key)) return std::move(*known);
    CompileOutcome outcome = inner_->compile(request);
    if (outcome || outcome.error().lasting) remember(key, outcome);
    return outcome;
  }

 private:
  // 256 folders, so that none grows to where listing it is slow.
  fs::path file(const std::string& key) const { return folder_ / key.substr(0, 2) / key.substr(2); }

  std::optional<CompileOutcome> look_up(const std::string& key) const {
    std::error_code error;
    if (!fs::exists(file(key), error)) return std::nullopt;
    try {
      return decode_entry(key, read_file(file(key)));
    } catch (const std::runtime_error& unreadable) {
      log_debug("{}", unreadable.what());
      return std::nullopt;
    }
  }

  void remember(const std::string& key, const CompileOutcome& outcome) {
    try {
      fs::create_directories(file(key).parent_path());
      write_file(file(key), encode_entry(key, outcome));
    } catch (const std::runtime_error& reason) {
      if (!warned_.exchange(true)) log_warning("compile cache is not kept: {}", reason.what());
    }
  }

  std::unique_ptr<Compiler> inner_;
  fs::path folder_;
  std::atomic<bool> warned_ = false;
};

}  // namespace

std::unique_ptr<Compiler> with_cache(std::unique_ptr<Compiler> inner, const fs::path& folder) {
  return std::make_unique<CachedCompiler>(std::move(inner), folder);
}

}  // namespace fa_tune
