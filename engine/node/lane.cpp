#include "engine/node/lane.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "engine/util/error.hpp"
#include "engine/worker/worker_main.hpp"

namespace fa_tune::node {
namespace {

using Milliseconds = Link::Milliseconds;

// How long a wait for an engine's next request is, which may come in hours.
constexpr Milliseconds kIdleLook{60'000};

Lane::End lost(const std::string& why) { return {Lane::End::How::lost, why, false}; }

}  // namespace

// Tells the engine that this node lives, for as long as it is at something.
class Lane::Beating {
 public:
  Beating(Link& link, const Patience& patience)
      : link_(link),
        patience_(patience),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void set_busy(bool busy) { busy_ = busy; }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, stop, patience_.beat, [&] { return stop.stop_requested(); }))
      // What is wrong with the link is found by who answers.
      if (busy_ && !link_.send(message::encode(message::Beat{}), patience_.engine)) return;
  }

  Link& link_;
  Patience patience_;
  std::atomic<bool> busy_{false};
  std::mutex mutex_;  // for changed_ alone
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it ends before all else does
};

Lane::End Lane::serve(Link& link, const message::Hello& hello) {
  begun_ = false;
  if (auto sent = link.send(message::encode(hello), patience_.engine); !sent)
    return lost(sent.error());
  const auto reply = wait_for_message(link, patience_.handshake, patience_.handshake);
  if (!reply) return lost(reply.error());
  if (!std::holds_alternative<message::Welcome>(*reply))
    return on(*reply, link).value_or(lost("it gave no welcome"));
  End end = answer_all(link);
  end.welcomed = true;
  return end;
}

Lane::End Lane::answer_all(Link& link) {
  Beating beating(link, patience_);
  for (;;) {
    const auto came = link.next(kIdleLook);
    if (!came) return lost(came.error());
    if (!came->frame) continue;
    beating.set_busy(true);
    if (message::is_message(*came->frame)) {
      const auto message = message::decode(*came->frame);
      if (!message) return lost("it said " + message.error());
      if (const auto end = on(*message, link)) return *end;
    } else {
      const auto request = worker::message::decode_request(*came->frame);
      if (!request) return lost("it said " + request.error());
      if (auto done = on(*request, link); !done) return lost(done.error());
    }
    beating.set_busy(false);
  }
}

std::optional<Lane::End> Lane::on(const message::Message& message, Link& link) {
  if (const auto* over = std::get_if<message::Over>(&message))
    return End{End::How::over, over->why, true};
  if (const auto* refused = std::get_if<message::Refused>(&message))
    return End{End::How::refused, refused->why, false};
  if (!std::holds_alternative<message::Begin>(message)) return lost("it said what nodes say");
  const auto sent = link.send(worker::message::encode(begin()), patience_.engine);
  return sent ? std::nullopt : std::optional(lost(sent.error()));
}

Link::Done Lane::on(const worker::message::Request& request, Link& link) {
  const auto with = tensor_bytes_with(request);
  const auto after = tensor_bytes_after(request);
  if (!with || !after) return std::unexpected("it said tensors that are larger than a window");
  if (auto came = link.receive_tensors(window_.bytes().first(*with), patience_.engine); !came)
    return came;
  const auto answered = answer(request);
  if (!answered) return {};
  if (auto sent = link.send(worker::message::encode(*answered), patience_.engine); !sent)
    return sent;
  if (!std::holds_alternative<worker::message::Done>(*answered)) return {};
  return link.send_tensors(window_.bytes().first(*after), patience_.engine);
}

// In a process in which nothing has run.
Lane::Answer Lane::begin() {
  Answer opened = worker::answer_to([this]() -> Answer {
    if (device_ == nullptr) {
      device_ = open_();
      service_.emplace(*device_, window_.bytes());
    } else {
      service_->release_all();
      if (!device_->renew()) throw MachineError(device_->info().id + " is lost");
    }
    return worker::message::DeviceOpened{worker::message::kVersion, device_->info()};
  });
  begun_ = std::holds_alternative<worker::message::DeviceOpened>(opened);
  return opened;
}

// A death is the end of this worker, as the engine sees it: handles that it has say nothing to the
// next.
std::optional<Lane::Answer> Lane::answer(const worker::message::Request& request) {
  if (!begun_) {
    if (!worker::message::is_answered(request)) return std::nullopt;
    return worker::message::Failed{worker::message::Failed::Whose::machine,
                                   "a device that was not begun was asked"};
  }
  const std::size_t before = device_->deaths().size();
  auto answer = service_->answer(request);
  if (device_->deaths().size() > before) {
    begun_ = false;
    answer = worker::message::Faulted{device_->deaths().back(), /*ends=*/true};
  } else if (answer) {
    const auto* faulted = std::get_if<worker::message::Faulted>(&*answer);
    if (faulted != nullptr && faulted->ends) begun_ = false;
  }
  return answer;
}

}  // namespace fa_tune::node
