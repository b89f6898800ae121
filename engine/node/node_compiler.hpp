#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/node/link.hpp"

namespace fa_tune::node {

// The compilers of a node, as the engine has them: as many calls at a time as the node offers.
// Whatever is wrong with the link or with the node is CompilerGone, for all calls.
class NodeCompiler final : public kernel::Compiler {
 public:
  // Called once, when lost_because() has been set, by any thread: the compiler's own one too, so it
  // must not end the compiler, nor let go of it.
  using OnGone = std::function<void()>;

  NodeCompiler(std::shared_ptr<Link> link, const message::Hello& hello, Patience patience,
               OnGone on_gone);
  ~NodeCompiler() override;
  NodeCompiler(const NodeCompiler&) = delete;
  NodeCompiler& operator=(const NodeCompiler&) = delete;

  kernel::CompileOutcome compile(const kernel::CompileRequest& request) override;
  std::string version() const override { return version_; }
  std::string headers() const override { return headers_; }
  // Why it throws CompilerGone from now on, in one line; empty as long as it does not.
  std::string lost_because() const;

 private:
  // Nothing where the node is gone.
  using Answer = std::optional<kernel::CompileOutcome>;

  void read();
  std::string take(const worker::Frame& frame);
  std::string settle(std::uint64_t number, kernel::CompileOutcome outcome);
  bool is_asked();
  void lose(const std::string& why);

  std::shared_ptr<Link> link_;
  std::string node_;
  std::string version_;
  std::string headers_;
  Patience patience_;
  OnGone on_gone_;
  mutable std::mutex mutex_;  // guards all below but the thread
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::promise<Answer>> awaited_;  // by number
  std::string lost_because_;
  std::jthread reader_;
};

}  // namespace fa_tune::node
