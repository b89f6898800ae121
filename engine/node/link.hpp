#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/node/node_messages.hpp"
#include "engine/node/tls_channel.hpp"
#include "engine/worker/messages.hpp"
#include "engine/worker/wire_format.hpp"

namespace fa_tune::node {

// How long each side waits for the other.
struct Patience {
  using Milliseconds = std::chrono::milliseconds;

  Milliseconds handshake{10'000};  // for the proof of the key, and then for the first words
  Milliseconds beat{2'000};  // how often a node that is at a request says so, and the engine always
  // A node that says nothing for so long while it is asked something is gone.
  Milliseconds silence{15'000};
  // An engine that says or takes nothing for so long is gone. One that was stopped may go on.
  Milliseconds engine{120'000};
  // Besides a worker's deadline, which the node keeps: the way there and back, and what it takes to
  // end a worker.
  Milliseconds slack{60'000};
  // For a source, which a node tries twice, with a minute for each and for a new worker. Beyond it
  // the node's compilers are gone.
  Milliseconds compile{300'000};
  Milliseconds mebibyte{1'000};  // that tensors may take for each, besides the slack

  // Until this number of bytes of tensors has come.
  Milliseconds for_tensors(std::size_t bytes) const {
    return slack + mebibyte * static_cast<long>(bytes >> 20);
  }
};

// Frames on a channel. One thread reads; several may send, each frame as a whole.
class Link {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using Done = std::expected<void, std::string>;

  explicit Link(std::unique_ptr<TlsChannel> channel) : channel_(std::move(channel)) {}

  // After an error of any of these, one line, the link is of no use.
  Done send(std::string_view frame, Milliseconds patience);
  // That this side lives. It waits for nothing, and is left out where something else is being sent.
  Done beat();
  // Bytes of tensors, in frames of a mebibyte.
  Done send_tensors(std::span<const std::byte> bytes, Milliseconds patience);
  // The next frame, after a wait of at most `most` for more of it; nothing if it is not whole then.
  // `moved`: whether anything came.
  struct Came {
    std::optional<worker::Frame> frame;
    bool moved = false;
  };
  std::expected<Came, std::string> next(Milliseconds most);
  // The next frame that is no Beat, after a silence of at most `silence`, and before `deadline` if
  // that is not 0.
  std::expected<worker::Frame, std::string> wait(Milliseconds silence, Milliseconds deadline);
  // As many bytes as there is room for, on the same terms.
  Done receive_tensors(std::span<std::byte> room, Milliseconds silence, Milliseconds deadline);
  // From any thread.
  void cut() { channel_->cut(); }
  bool connected() const { return channel_->connected(); }

 private:
  using Instant = std::chrono::steady_clock::time_point;
  std::expected<std::optional<worker::Frame>, std::string> wait_until(Milliseconds silence,
                                                                      std::optional<Instant> until);

  std::unique_ptr<TlsChannel> channel_;
  worker::FrameReader reader_;
};

// The next frame as a node's message.
std::expected<message::Message, std::string> wait_for_message(Link& link,
                                                              std::chrono::milliseconds silence,
                                                              std::chrono::milliseconds deadline);

// A word that the other side lives, and nothing else.
bool is_beat(const worker::Frame& frame);

// Of the tensors that a request brings, and that its answer Done brings. Nothing where it is more
// than a window holds.
std::optional<std::size_t> tensor_bytes_with(const worker::message::Request& request);
std::optional<std::size_t> tensor_bytes_after(const worker::message::Request& request);

}  // namespace fa_tune::node
