#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace fa_tune::worker {

// What the engine and a worker say to each other comes in frames: 4 bytes 'fatw', the kind of the
// message and the length of what follows, 4 bytes each, then that. What follows is read by
// messages.hpp.
struct Frame {
  std::uint32_t kind = 0;
  std::string payload;
};

// The largest message, a compiled kernel with its PTX, is some megabytes. Tensors do not go through
// frames.
constexpr std::size_t kMostPayload = std::size_t{64} << 20;

std::string encode_frame(std::uint32_t kind, std::string_view payload);

// Frames out of a stream of bytes that come in pieces of any size. Holds what was fed and nothing
// more, whatever a header promises.
class FrameReader {
 public:
  void feed(std::string_view bytes) { bytes_.append(bytes); }
  // The next frame, if it is there as a whole. After an error, one line, the stream is of no use.
  std::expected<std::optional<Frame>, std::string> next();
  // Something of a frame that is not yet whole has come.
  bool within() const { return !bytes_.empty(); }

 private:
  std::string bytes_;
};

}  // namespace fa_tune::worker
