#include "engine/node/node_compiler.hpp"

#include <utility>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/printable.hpp"
#include "engine/worker/remote_compiler.hpp"

namespace fa_tune::node {
namespace {

// Silence is counted in looks of this length: see Link::wait.
constexpr Link::Milliseconds kReadLook{250};

}  // namespace

NodeCompiler::NodeCompiler(std::shared_ptr<Link> link, const message::Hello& hello,
                           Patience patience, OnGone on_gone)
    : link_(std::move(link)),
      node_(hello.node),
      version_(hello.compiler),
      headers_(hello.headers),
      patience_(patience),
      on_gone_(std::move(on_gone)),
      reader_([this] { read(); }) {}

NodeCompiler::~NodeCompiler() { link_->cut(); }

kernel::CompileOutcome NodeCompiler::compile(const kernel::CompileRequest& request) {
  if (auto refused = worker::refuse_large(request)) return std::unexpected(std::move(*refused));
  std::uint64_t number = 0;
  std::future<Answer> answer;
  {
    const std::lock_guard lock(mutex_);
    if (!lost_because_.empty()) throw CompilerGone(lost_because_);
    number = next_++;
    answer = awaited_[number].get_future();
  }
  if (auto sent =
          link_->send(message::encode(message::Compile{number, request}), patience_.silence);
      !sent)
    lose(sent.error());
  else if (answer.wait_for(patience_.compile) != std::future_status::ready)
    lose(fmt::format("no answer in {} ms", patience_.compile.count()));
  if (Answer outcome = answer.get()) {
    if (!*outcome || worker::is_answer_to(request, **outcome)) return std::move(*outcome);
    lose("it made other kernels than it was asked for");
  }
  throw CompilerGone(lost_because());
}

void NodeCompiler::read() {
  for (Link::Milliseconds silent{0};;) {
    const auto came = link_->next(kReadLook);
    if (!came) return lose(came.error());
    if (came->frame)
      if (const std::string wrong = take(*came->frame); !wrong.empty()) return lose(wrong);
    silent = came->moved || !is_asked() ? Link::Milliseconds(0) : silent + kReadLook;
    if (silent >= patience_.silence)
      return lose(fmt::format("it says nothing for {} ms", patience_.silence.count()));
  }
}

std::string NodeCompiler::lost_because() const {
  const std::lock_guard lock(mutex_);
  return lost_because_;
}

bool NodeCompiler::is_asked() {
  const std::lock_guard lock(mutex_);
  return !awaited_.empty();
}

// What is wrong with it; empty if nothing is.
std::string NodeCompiler::take(const worker::Frame& frame) {
  auto message = message::decode(frame);
  if (!message) return "it said " + message.error();
  if (std::holds_alternative<message::Beat>(*message)) return {};
  if (auto* done = std::get_if<message::CompileDone>(&*message)) {
    const auto most = static_cast<double>(patience_.compile.count());
    if (!(done->compiled.milliseconds >= 0 && done->compiled.milliseconds <= most))
      return "it said a time of compiling that is none";
    return settle(done->number, std::move(done->compiled));
  }
  if (auto* failed = std::get_if<message::CompileFailed>(&*message))
    return settle(failed->number, std::unexpected(std::move(failed->failure)));
  if (const auto* over = std::get_if<message::Over>(&*message))
    return "it compiles no more: " + printable(over->why, kLongestReason);
  return "it said what compilers do not say";
}

std::string NodeCompiler::settle(std::uint64_t number, kernel::CompileOutcome outcome) {
  const std::lock_guard lock(mutex_);
  const auto awaited = awaited_.find(number);
  if (awaited == awaited_.end()) return "it answered what it was not asked";
  awaited->second.set_value(std::move(outcome));
  awaited_.erase(awaited);
  return {};
}

void NodeCompiler::lose(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!lost_because_.empty()) return;
    lost_because_ = fmt::format("the compilers of node {} are gone: {}", node_, why);
    for (auto& [number, answer] : awaited_) answer.set_value(std::nullopt);
    awaited_.clear();
  }
  link_->cut();
  on_gone_();
}

}  // namespace fa_tune::node
