#include "engine/node/lane.hpp"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace fa_tune::node {

// Tells the engine that this node lives, for as long as it is at something.
class Lane::Beating {
 public:
  Beating(Link& link, const Lane& lane)
      : link_(link), lane_(lane), thread_([this](const std::stop_token& stop) { run(stop); }) {}

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const Patience& patience = lane_.patience();
    while (!changed_.wait_for(lock, stop, patience.beat, [&] { return stop.stop_requested(); }))
      // What is wrong with the link is found by who answers.
      if (lane_.at_work_ > 0 && !link_.send(message::encode(message::Beat{}), patience.engine))
        return;
  }

  Link& link_;
  const Lane& lane_;
  std::mutex mutex_;  // for changed_ alone
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it ends before all else does
};

Lane::End Lane::serve(const std::shared_ptr<Link>& link) {
  start();
  const auto reply = wait_for_message(*link, patience_.handshake, patience_.handshake);
  if (!reply) return lost(reply.error());
  if (const auto* refused = std::get_if<message::Refused>(&*reply))
    return {End::How::refused, refused->why, false};
  if (const auto* over = std::get_if<message::Over>(&*reply))
    return {End::How::over, over->why, true};
  if (!std::holds_alternative<message::Welcome>(*reply)) return lost("it gave no welcome");
  End end = answer_all(link);
  end.welcomed = true;
  return end;
}

// The next request may come in hours; until then the engine says Beat.
Lane::End Lane::answer_all(const std::shared_ptr<Link>& link) {
  const Beating beating(*link, *this);
  for (;;) {
    const auto frame = link->wait(patience_.engine, Link::Milliseconds(0));
    if (!frame) return failure().value_or(lost(frame.error()));
    ++at_work_;
    const auto end = answer(*frame, link);
    --at_work_;
    if (end) return *end;
  }
}

std::optional<Lane::End> Lane::answer(const worker::Frame& frame,
                                      const std::shared_ptr<Link>& link) {
  if (!message::is_message(frame)) {
    const auto request = worker::message::decode_request(frame);
    if (!request) return lost("it said " + request.error());
    const auto done = on(*request, *link);
    return done ? std::nullopt : std::optional(lost(done.error()));
  }
  const auto message = message::decode(frame);
  if (!message) return lost("it said " + message.error());
  if (const auto* over = std::get_if<message::Over>(&*message))
    return End{End::How::over, over->why, true};
  if (const auto* refused = std::get_if<message::Refused>(&*message))
    return End{End::How::refused, refused->why, false};
  return on(*message, link);
}

}  // namespace fa_tune::node
