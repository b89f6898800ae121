#include "engine/worker/remote_compiler.hpp"

#include <mutex>
#include <utility>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/worker/session.hpp"
#include "engine/worker/wire_format.hpp"

namespace fa_tune::worker {
namespace {

using SessionPtr = std::unique_ptr<ProcessSession>;

class RemoteCompiler final : public kernel::Compiler {
 public:
  explicit RemoteCompiler(RemoteCompilerOptions options) : options_(std::move(options)) {
    auto [session, opened] = start();
    version_ = std::move(opened.compiler);
    headers_ = std::move(opened.headers);
    idle_.push_back(std::move(session));
  }

  std::string version() const override { return version_; }
  std::string headers() const override { return headers_; }

  kernel::CompileOutcome compile(const kernel::CompileRequest& request) override {
    if (auto refused = refuse_large(request)) return std::unexpected(std::move(*refused));
    constexpr int kTries = 2;
    std::string trouble;
    OutsideKills kills;
    for (int i = 0; i < kTries;) {
      SessionPtr session = trouble.empty() ? take() : start().first;
      auto answer = session->ask(message::Compile{request}, options_.deadline);
      if (answer) {
        give_back(std::move(session));
        return outcome_of(std::move(*answer), request);
      }
      trouble = answer.error().text;
      if (!answer.error().killed)
        ++i;
      else if (!kills.bearable())
        throw MachineError("a source cannot be compiled: " + kills.text());
    }
    return std::unexpected(kernel::CompileFailure{"the compiler ended over it, twice: " + trouble,
                                                  "", /*lasting=*/false});
  }

 private:
  std::pair<SessionPtr, message::CompilerOpened> start() const {
    auto session = std::make_unique<ProcessSession>(options_.words);
    auto answer = session->greet(options_.start);
    for (OutsideKills kills; !answer && answer.error().killed && kills.bearable();) {
      session = std::make_unique<ProcessSession>(options_.words);
      answer = session->greet(options_.start);
    }
    if (!answer) throw MachineError("the compiler's process: " + answer.error().text);
    if (const auto* failed = std::get_if<message::Failed>(&*answer)) message::throw_failed(*failed);
    auto* opened = std::get_if<message::CompilerOpened>(&*answer);
    if (opened == nullptr || opened->version != message::kVersion)
      throw MachineError("the compiler's process is not a worker of this fa-tune");
    return {std::move(session), std::move(*opened)};
  }

  SessionPtr take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        SessionPtr session = std::move(idle_.back());
        idle_.pop_back();
        return session;
      }
    }
    return start().first;
  }

  void give_back(SessionPtr session) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(session));
  }

  static kernel::CompileOutcome outcome_of(message::Answer answer,
                                           const kernel::CompileRequest& request) {
    if (auto* compiled = std::get_if<kernel::Compiled>(&answer)) {
      if (is_answer_to(request, *compiled)) return std::move(*compiled);
      return std::unexpected(
          kernel::CompileFailure{"the compiler made other kernels of it", "", /*lasting=*/false});
    }
    if (auto* failure = std::get_if<kernel::CompileFailure>(&answer))
      return std::unexpected(std::move(*failure));
    if (const auto* failed = std::get_if<message::Failed>(&answer))
      // What a source of a stranger makes a compiler throw is about the source.
      return std::unexpected(kernel::CompileFailure{failed->text, "", /*lasting=*/false});
    throw MachineError("the compiler's process answered another question");
  }

  RemoteCompilerOptions options_;
  std::string version_;
  std::string headers_;
  std::mutex mutex_;  // guards idle_
  std::vector<SessionPtr> idle_;
};

}  // namespace

std::optional<kernel::CompileFailure> refuse_large(const kernel::CompileRequest& request) {
  // The rest of a request is short; no honest source is near it.
  constexpr std::size_t kMostSource = kMostPayload / 2;
  if (request.source.text.size() <= kMostSource) return std::nullopt;
  return kernel::CompileFailure{fmt::format("the source has {} bytes; a compiler takes at most {}",
                                            request.source.text.size(), kMostSource),
                                "", /*lasting=*/true};
}

bool is_answer_to(const kernel::CompileRequest& request, const kernel::Compiled& compiled) {
  return compiled.image.more.size() == request.source.more.size();
}

std::unique_ptr<kernel::Compiler> open_remote_compiler(RemoteCompilerOptions options) {
  return std::make_unique<RemoteCompiler>(std::move(options));
}

}  // namespace fa_tune::worker
