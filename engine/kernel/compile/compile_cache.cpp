#include "engine/kernel/compile/compile_cache.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/log.hpp"

namespace fa_tune::kernel {
namespace {

// To be raised when the meaning of the fields, what the compiler is found to warn of, or the
// options the compiler always gives change.
constexpr std::string_view kVersionLine = "fa-tune compile cache 9\n";
constexpr std::size_t kDigestDigits = 64;

// What is kept of a compiled kernel.
void kept(auto& archive, auto& compiled) {
  archive(compiled.image, compiled.warnings, compiled.code_hash);
}

}  // namespace

std::string cache_key(const CompileRequest& request, const std::string& compiler_version) {
  wire::Putter put;
  put(std::string(kVersionLine), compiler_version, request.source.text, request.source.kernel,
      request.source.more, request.arch, request.kind, request.options);
  return sha256(put.take());
}

std::string encode_entry(const std::string& key, const CompileOutcome& outcome) {
  wire::Putter put;
  put(key, outcome.has_value());
  if (outcome)
    kept(put, *outcome);
  else
    put(outcome.error().message, outcome.error().log);
  const std::string payload = put.take();
  return std::string(kVersionLine) + sha256(payload) + payload;
}

std::optional<CompileOutcome> decode_entry(const std::string& key, std::string_view bytes) {
  if (bytes.size() < kVersionLine.size() + kDigestDigits || !bytes.starts_with(kVersionLine))
    return std::nullopt;
  bytes.remove_prefix(kVersionLine.size());
  const std::string_view digest = bytes.substr(0, kDigestDigits);
  const std::string_view payload = bytes.substr(kDigestDigits);
  if (sha256(payload) != digest) return std::nullopt;
  wire::Getter get(payload);
  std::string found;
  bool is_compiled = false;
  get(found, is_compiled);
  if (found != key) return std::nullopt;
  CompileOutcome outcome = std::unexpected(CompileFailure{});
  if (is_compiled) {
    outcome = Compiled{};
    kept(get, *outcome);
    outcome->from_cache = true;
  } else {
    get(outcome.error().message, outcome.error().log);
  }
  if (!get.good()) return std::nullopt;
  return outcome;
}

namespace {

namespace fs = std::filesystem;

class CachedCompiler final : public Compiler {
 public:
  CachedCompiler(std::shared_ptr<Compiler> inner, fs::path folder)
      : inner_(std::move(inner)), folder_(std::move(folder)) {}

  std::string version() const override { return inner_->version(); }
  std::string headers() const override { return inner_->headers(); }
  void cancel_waiting() override { inner_->cancel_waiting(); }

  CompileOutcome compile(const CompileRequest& request) override {
    const std::string key = cache_key(request, inner_->version());
    const Turn turn(*this, key);
    if (auto known = look_up(key)) return std::move(*known);
    CompileOutcome outcome = inner_->compile(request);
    if (outcome || outcome.error().lasting) remember(key, outcome);
    return outcome;
  }

 private:
  // Who asks for what another call has under way waits for it, and then finds it remembered. Where
  // it is not, as it failed and may not fail again, it is compiled again.
  class Turn {
   public:
    Turn(CachedCompiler& cache, std::string key) : cache_(cache), key_(std::move(key)) {
      std::unique_lock lock(cache_.mutex_);
      cache_.changed_.wait(lock, [this] { return cache_.under_way_.insert(key_).second; });
    }
    ~Turn() {
      {
        const std::lock_guard lock(cache_.mutex_);
        cache_.under_way_.erase(key_);
      }
      cache_.changed_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    CachedCompiler& cache_;
    std::string key_;
  };

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

  std::shared_ptr<Compiler> inner_;
  fs::path folder_;
  std::atomic<bool> warned_ = false;
  std::mutex mutex_;  // guards under_way_
  std::condition_variable changed_;
  std::set<std::string> under_way_;  // keys
};

}  // namespace

std::unique_ptr<Compiler> with_cache(std::shared_ptr<Compiler> inner, const fs::path& folder) {
  return std::make_unique<CachedCompiler>(std::move(inner), folder);
}

}  // namespace fa_tune::kernel
