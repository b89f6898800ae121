#include "engine/node/compile_lane.hpp"

#include <exception>
#include <utility>

#include "engine/worker/wire_format.hpp"

namespace fa_tune::node {

CompileLane::CompileLane(kernel::Compiler& compiler, int jobs, Patience patience)
    : Lane(patience), compiler_(compiler) {
  for (int i = 0; i < jobs; ++i) threads_.emplace_back([this] { work(); });
}

CompileLane::~CompileLane() {
  tasks_.take_all();
  tasks_.close();
}

void CompileLane::start() { at_work() -= static_cast<int>(tasks_.take_all().size()); }

std::optional<Lane::End> CompileLane::on(const message::Message& message,
                                         const std::shared_ptr<Link>& link) {
  const auto* asked = std::get_if<message::Compile>(&message);
  if (asked == nullptr) return lost("it said what is not for compilers");
  ++at_work();
  tasks_.push({link, *asked});
  return std::nullopt;
}

Link::Done CompileLane::on(const worker::message::Request&, Link&) {
  return std::unexpected("it asked compilers what devices are asked");
}

std::optional<Lane::End> CompileLane::failure() {
  const std::lock_guard lock(mutex_);
  if (failed_because_.empty()) return std::nullopt;
  return End{End::How::failed, failed_because_, true};
}

std::string CompileLane::answer_to(const message::Compile& asked) {
  kernel::CompileOutcome outcome = compiler_.compile(asked.request);
  std::string frame =
      outcome ? message::encode(message::CompileDone{asked.number, std::move(*outcome)})
              : message::encode(message::CompileFailed{asked.number, std::move(outcome.error())});
  if (frame.size() <= worker::kMostPayload) return frame;
  return message::encode(message::CompileFailed{
      asked.number, {"what the compiler made of it is too large to send", "", /*lasting=*/false}});
}

void CompileLane::work() {
  while (const auto task = tasks_.pop()) {
    std::string frame;
    try {
      frame = answer_to(task->asked);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      failed_because_ = error.what();
      frame = message::encode(message::Over{failed_because_});
    }
    // Where the engine is lost this is found by who reads from it.
    (void)task->link->send(frame, patience().engine);
    if (failure()) task->link->cut();
    --at_work();
  }
}

}  // namespace fa_tune::node
