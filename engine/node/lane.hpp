#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "engine/node/link.hpp"

namespace fa_tune::node {

// A node's end of one connection. One thread's.
class Lane {
 public:
  // What became of a connection.
  struct End {
    enum class How {
      over,     // the engine has no more to ask
      refused,  // the engine wants nothing of this lane
      lost,     // the engine, or the way there
      failed,   // what this lane lends
    };
    How how = How::lost;
    std::string why;        // one line
    bool welcomed = false;  // the engine had taken it in
    bool denied = false;    // the engine has another key
  };

  virtual ~Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Waits to be welcomed, where a hello has gone out, and answers until there is an end.
  End serve(const std::shared_ptr<Link>& link);

 protected:
  explicit Lane(Patience patience) : patience_(patience) {}

  static End lost(const std::string& why) { return {End::How::lost, why, false}; }
  const Patience& patience() const { return patience_; }
  // While it is above 0 the engine is told that this node lives.
  std::atomic<int>& at_work() { return at_work_; }

 private:
  class Beating;

  // A connection begins.
  virtual void start() {}
  // What is for this kind of lane alone.
  virtual std::optional<End> on(const message::Message& message,
                                const std::shared_ptr<Link>& link) = 0;
  virtual Link::Done on(const worker::message::Request& request, Link& link) = 0;
  // The end, if what this lane lends has failed.
  virtual std::optional<End> failure() { return std::nullopt; }

  End answer_all(const std::shared_ptr<Link>& link);
  std::optional<End> answer(const worker::Frame& frame, const std::shared_ptr<Link>& link);

  Patience patience_;
  std::atomic<int> at_work_{0};
};

}  // namespace fa_tune::node
