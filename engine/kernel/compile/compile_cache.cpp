#include <atomic>
#include <optional>

#include "engine/kernel/compile/cache_entry.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"

namespace fa_tune {
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
