#include "engine/node/lane.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "engine/util/error.hpp"
#include "engine/worker/worker_main.hpp"

namespace fa_tune::node {
namespace {

using Milliseconds = Link::Milliseconds;

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

// The next request may come in hours; until then the engine says Beat.
Lane::End Lane::answer_all(Link& link) {
  Beating beating(link, patience_);
  asked_ = 0;
  for (;;) {
    const auto frame = link.wait(patience_.engine, Milliseconds(0));
    if (!frame) return lost(frame.error());
    beating.set_busy(true);
    if (message::is_message(*frame)) {
      const auto message = message::decode(*frame);
      if (!message) return lost("it said " + message.error());
      if (const auto end = on(*message, link)) return *end;
    } else {
      const auto request = worker::message::decode_request(*frame);
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
  if (const auto* number = std::get_if<message::Number>(&message)) {
    asked_ = number->number;
    return std::nullopt;
  }
  if (!std::holds_alternative<message::Begin>(message)) return lost("it said what nodes say");
  const auto sent = reply(begin(), link);
  return sent ? std::nullopt : std::optional(lost(sent.error()));
}

Link::Done Lane::on(const worker::message::Request& request, Link& link) {
  const auto with = tensor_bytes_with(request);
  const auto after = tensor_bytes_after(request);
  if (!with || !after) return std::unexpected("it said tensors that are larger than a window");
  if (auto came = link.receive_tensors(window_.bytes().first(*with), patience_.engine,
                                       patience_.for_tensors(*with));
      !came)
    return came;
  const auto answered = answer(request);
  if (!answered) return {};
  if (auto sent = reply(*answered, link); !sent) return sent;
  if (!std::holds_alternative<worker::message::Done>(*answered)) return {};
  return link.send_tensors(window_.bytes().first(*after), patience_.engine);
}

// Each number is good for one answer.
Link::Done Lane::reply(const Answer& answer, Link& link) {
  const message::Number number{std::exchange(asked_, 0)};
  if (number.number == 0) return std::unexpected("it asked without a number");
  return link.send(message::encode(number) + worker::message::encode(answer), patience_.engine);
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
  death_.reset();
  return opened;
}

// A death is the end of this worker, as the engine sees it: handles that it has say nothing to the
// next. It is told with the next answer that the engine waits for.
std::optional<Lane::Answer> Lane::answer(const worker::message::Request& request) {
  const bool answered = worker::message::is_answered(request);
  if (!begun_ && !answered) return std::nullopt;
  if (begun_) {
    const std::size_t before = device_->deaths().size();
    auto answer = service_->answer(request);
    if (device_->deaths().size() > before) {
      begun_ = false;
      death_ = worker::message::Faulted{device_->deaths().back(), /*ends=*/true};
    } else if (answer) {
      const auto* faulted = std::get_if<worker::message::Faulted>(&*answer);
      if (faulted != nullptr && faulted->ends) begun_ = false;
      return answer;
    }
    if (!answered) return std::nullopt;
  }
  if (death_) return std::exchange(death_, std::nullopt);
  return worker::message::Failed{worker::message::Failed::Whose::machine,
                                 "a device that was not begun was asked"};
}

}  // namespace fa_tune::node
