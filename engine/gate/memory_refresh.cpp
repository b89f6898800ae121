#include "engine/gate/memory_refresh.hpp"

#include <algorithm>

#include "engine/gate/guarded_buffer.hpp"
#include "engine/gate/tensor_source.hpp"

namespace fa_tune::gate {
namespace {

// More than a second-level cache holds: decoys of large tensors need not be as large.
constexpr std::size_t kLargestPiece = std::size_t{64} << 20;
constexpr std::size_t kAligned = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

// Of a tensor, or all of it.
struct Piece {
  std::size_t tensor = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

std::vector<Piece> pieces_of(const std::vector<problem::Tensor>& tensors) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (problem::is_given(tensors[i].role)) continue;
    const std::size_t bytes = bytes_of(tensors[i]);
    for (std::size_t at = 0; at < bytes; at += kLargestPiece)
      pieces.push_back({i, at, std::min(kLargestPiece, bytes - at)});
  }
  return pieces;
}

}  // namespace

MemoryRefresh::MemoryRefresh(device::Device& device, const std::vector<problem::Tensor>& tensors,
                             const std::function<Place(std::size_t)>& place) {
  const std::vector<Piece> pieces = pieces_of(tensors);
  std::size_t room = 0;
  for (const Piece& piece : pieces) room += aligned(piece.bytes);
  room = std::min(room, kLargestPiece);
  decoys = std::make_shared<const DeviceBuffer>(device, room);
  std::size_t next = 0;
  for (const Piece& piece : pieces) {
    if (next + piece.bytes > room) next = 0;
    const Place to = place(piece.tensor);
    const std::uint8_t value = fill_byte(tensors[piece.tensor], true);
    own.fills.push_back({to.buffer, to.offset + piece.offset, piece.bytes, value});
    decoy.fills.push_back({decoys->handle(), next, piece.bytes, value});
    next += aligned(piece.bytes);
  }
}

}  // namespace fa_tune::gate
