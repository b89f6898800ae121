#include "engine/node/device_lane.hpp"

#include <utility>

#include "engine/util/error.hpp"
#include "engine/worker/worker_main.hpp"

namespace fa_tune::node {

void DeviceLane::start() {
  begun_ = false;
  asked_ = 0;
  offload_.reset();
}

std::optional<Lane::End> DeviceLane::on(const message::Message& message,
                                        const std::shared_ptr<Link>& link) {
  if (const auto* number = std::get_if<message::Number>(&message)) {
    asked_ = number->number;
    return std::nullopt;
  }
  if (!std::holds_alternative<message::Begin>(message)) return lost("it said what nodes say");
  const auto sent = reply(begin(), *link);
  return sent ? std::nullopt : std::optional(lost(sent.error()));
}

Link::Done DeviceLane::on(const worker::message::Request& request, Link& link) {
  const auto with = tensor_bytes_with(request);
  const auto after = tensor_bytes_after(request);
  if (!with || !after) return std::unexpected("it said tensors that are larger than a window");
  if (auto came = link.receive_tensors(window_.bytes().first(*with), patience().engine,
                                       patience().for_tensors(*with));
      !came)
    return came;
  const auto answered = answer_to(request);
  if (!answered) return {};
  if (auto sent = reply(*answered, link); !sent) return sent;
  if (!std::holds_alternative<worker::message::Done>(*answered)) return {};
  return link.send_tensors(window_.bytes().first(*after), patience().engine);
}

// Each number is good for one answer.
Link::Done DeviceLane::reply(const Answer& answer, Link& link) {
  const message::Number number{std::exchange(asked_, 0)};
  if (number.number == 0) return std::unexpected("it asked without a number");
  return link.send(message::encode(number) + worker::message::encode(answer), patience().engine);
}

// In a process in which nothing has run.
DeviceLane::Answer DeviceLane::begin() {
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
std::optional<DeviceLane::Answer> DeviceLane::answer_to(const worker::message::Request& request) {
  const bool answered = worker::message::is_answered(request);
  if (!begun_ && !answered) return std::nullopt;
  const auto* offload = std::get_if<worker::message::Offload>(&request);
  if (begun_ && offload != nullptr) return answer_to(*offload);
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

// What ends meanwhile is told with the answer, and is the end of what the engine has here too.
DeviceLane::Answer DeviceLane::answer_to(const worker::message::Offload& offload) {
  if (!device_->ready()) {
    begun_ = false;
    return worker::message::Faulted{{device::FaultKind::device_lost, device_->lost_because()},
                                    /*ends=*/true};
  }
  const std::size_t before = device_->deaths().size();
  worker::message::Offloaded done;
  Answer answer = worker::answer_to([&]() -> Answer {
    try {
      if (offload_ == nullptr) offload_ = serve_(*device_);
      done.answer = offload_->answer(offload.work);
    } catch (const MachineError&) {
      if (device_->deaths().size() == before) throw;
      done.broken_off = true;
    }
    return done;
  });
  const auto deaths = device_->deaths().subspan(before);
  if (deaths.empty()) return answer;
  begun_ = false;
  done.deaths.assign(deaths.begin(), deaths.end());
  return std::holds_alternative<worker::message::Offloaded>(answer) ? Answer(done) : answer;
}

}  // namespace fa_tune::node
