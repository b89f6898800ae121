#include "engine/node/link.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "engine/worker/shared_window.hpp"

namespace fa_tune::node {
namespace {

using Milliseconds = Link::Milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kTensorFrame = std::size_t{1} << 20;
// Silence is counted in looks of this length, not in seconds: this process may have been stopped,
// and what was said meanwhile is read first.
constexpr Milliseconds kWaitLook{250};

template <typename Piece>
std::optional<std::size_t> total(const std::vector<Piece>& pieces) {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces) {
    if (piece.bytes > worker::Window::kBytes - bytes) return std::nullopt;
    bytes += piece.bytes;
  }
  return bytes;
}

template <typename Piece>
std::optional<std::size_t> one(const Piece& piece) {
  return total(std::vector<Piece>{piece});
}

}  // namespace

Link::Done Link::send(std::string_view frame, Milliseconds patience) {
  return channel_->send(frame, patience);
}

Link::Done Link::beat() { return channel_->offer(message::encode(message::Beat{})); }

Link::Done Link::send_tensors(std::span<const std::byte> bytes, Milliseconds patience) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kTensorFrame));
    bytes = bytes.subspan(piece.size());
    const std::string_view payload(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (auto sent = send(worker::encode_frame(message::kTensorBytes, payload), patience); !sent)
      return sent;
  }
  return {};
}

std::expected<Link::Came, std::string> Link::next(Milliseconds most) {
  const auto whole = [this]() -> std::expected<Came, std::string> {
    auto frame = reader_.next();
    if (!frame) return std::unexpected("it said " + frame.error());
    return Came{std::move(*frame), true};
  };
  auto came = whole();
  if (!came || came->frame) return came;
  std::string bytes;
  const auto moved = channel_->receive(bytes, most);
  if (!moved) return std::unexpected(moved.error());
  if (!*moved) return Came{};
  reader_.feed(bytes);
  return whole();
}

// Nothing if the time is over.
std::expected<std::optional<worker::Frame>, std::string> Link::wait_until(
    Milliseconds silence, std::optional<Instant> until) {
  for (Milliseconds silent{0};;) {
    const Milliseconds look = std::min(kWaitLook, silence);
    auto came = next(look);
    if (!came) return std::unexpected(came.error());
    if (came->frame && !is_beat(*came->frame)) return std::move(came->frame);
    silent = came->moved ? Milliseconds(0) : silent + look;
    if (silent >= silence)
      return std::unexpected(fmt::format("it says nothing for {} ms", silence.count()));
    if (until && Clock::now() >= *until) return std::nullopt;
  }
}

std::expected<worker::Frame, std::string> Link::wait(Milliseconds silence, Milliseconds deadline) {
  const bool ends = deadline > Milliseconds(0);
  auto frame = wait_until(silence, ends ? std::optional(Clock::now() + deadline) : std::nullopt);
  if (!frame) return std::unexpected(frame.error());
  if (!*frame) return std::unexpected(fmt::format("no answer in {} ms", deadline.count()));
  return std::move(**frame);
}

Link::Done Link::receive_tensors(std::span<std::byte> room, Milliseconds silence,
                                 Milliseconds deadline) {
  const auto until = Clock::now() + deadline;
  while (!room.empty()) {
    const auto came = wait_until(silence, until);
    if (!came) return std::unexpected(came.error());
    if (!*came)
      return std::unexpected(fmt::format("of its tensors {} bytes have not come in {} ms",
                                         room.size(), deadline.count()));
    const auto& frame = *came;
    const std::string& bytes = frame->payload;
    if (frame->kind != message::kTensorBytes || bytes.empty() || bytes.size() > room.size())
      return std::unexpected(
          fmt::format("it said a frame of kind {} with {} bytes where tensors "
                      "of {} bytes were to come",
                      frame->kind, bytes.size(), room.size()));
    std::memcpy(room.data(), bytes.data(), bytes.size());
    room = room.subspan(bytes.size());
  }
  return {};
}

std::expected<message::Message, std::string> wait_for_message(Link& link, Milliseconds silence,
                                                              Milliseconds deadline) {
  const auto frame = link.wait(silence, deadline);
  if (!frame) return std::unexpected(frame.error());
  auto message = message::decode(*frame);
  if (!message) return std::unexpected("it said " + message.error());
  return message;
}

bool is_beat(const worker::Frame& frame) {
  if (!message::is_message(frame)) return false;
  const auto message = message::decode(frame);
  return message && std::holds_alternative<message::Beat>(*message);
}

std::optional<std::size_t> tensor_bytes_with(const worker::message::Request& request) {
  if (const auto* write = std::get_if<worker::message::Write>(&request)) return one(*write);
  if (const auto* step = std::get_if<worker::message::Step>(&request)) return total(step->writes);
  return 0;
}

std::optional<std::size_t> tensor_bytes_after(const worker::message::Request& request) {
  if (const auto* read = std::get_if<worker::message::Read>(&request)) return one(*read);
  if (const auto* step = std::get_if<worker::message::Step>(&request)) return total(step->reads);
  return 0;
}

}  // namespace fa_tune::node
