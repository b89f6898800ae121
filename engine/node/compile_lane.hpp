#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/node/lane.hpp"
#include "engine/util/blocking_queue.hpp"

namespace fa_tune::node {

// All compilers of a node: compiles `jobs` sources at a time, each on a thread of its own. What is
// under way when an engine is lost is finished for nobody; what is not begun then is dropped.
class CompileLane final : public Lane {
 public:
  // The compiler must outlive it, and compile in processes of its own. Where it throws, this node
  // compiles no more: the lane has failed.
  CompileLane(kernel::Compiler& compiler, int jobs, Patience patience);
  ~CompileLane() override;

 private:
  struct Task {
    std::shared_ptr<Link> link;
    message::Compile asked;
  };

  void start() override;
  std::optional<End> on(const message::Message& message,
                        const std::shared_ptr<Link>& link) override;
  Link::Done on(const worker::message::Request& request, Link& link) override;
  std::optional<End> failure() override;
  void work();
  std::string answer_to(const message::Compile& asked);

  kernel::Compiler& compiler_;
  std::mutex mutex_;  // guards failed_because_
  std::string failed_because_;
  BlockingQueue<Task> tasks_;
  std::vector<std::jthread> threads_;  // last: they end before all else does
};

}  // namespace fa_tune::node
