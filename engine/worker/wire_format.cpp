#include "engine/worker/wire_format.hpp"

#include <array>
#include <cstring>

#include <fmt/core.h>

#include "engine/util/printable.hpp"

namespace fa_tune::worker {
namespace {

struct Header {
  std::array<char, 4> mark;
  std::uint32_t kind;
  std::uint32_t length;
};
static_assert(sizeof(Header) == 12);

constexpr std::array<char, 4> kMark = {'f', 'a', 't', 'w'};

}  // namespace

std::string encode_frame(std::uint32_t kind, std::string_view payload) {
  const Header header{kMark, kind, static_cast<std::uint32_t>(payload.size())};
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes += payload;
  return bytes;
}

std::expected<std::optional<Frame>, std::string> FrameReader::next() {
  const std::string_view begin = std::string_view(bytes_).substr(0, kMark.size());
  if (!std::string_view(kMark.data(), kMark.size()).starts_with(begin))
    return std::unexpected("what is no frame: '" + printable(bytes_, 40) + "'");
  if (bytes_.size() < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (header.length > kMostPayload)
    return std::unexpected(
        fmt::format("a frame of {} bytes; at most {} are taken", header.length, kMostPayload));
  const std::size_t whole = sizeof header + header.length;
  if (bytes_.size() < whole) return std::nullopt;
  Frame frame{header.kind, bytes_.substr(sizeof header, header.length)};
  bytes_.erase(0, whole);
  return frame;
}

}  // namespace fa_tune::worker
