#include "engine/gate/memory_refresh.hpp"

#include <algorithm>

namespace fa_tune {
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

std::vector<Piece> pieces_of(const std::vector<Tensor>& tensors) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role == Role::input) continue;
    const std::size_t bytes = bytes_of(tensors[i]);
    for (std::size_t at = 0; at < bytes; at += kLargestPiece)
      pieces.push_back({i, at, std::min(kLargestPiece, bytes - at)});
  }
  return pieces;
}

}  // namespace

MemoryRefresh::MemoryRefresh(const TensorSource& source,
                             const std::function<Place(std::size_t)>& place) {
  const std::vector<Tensor>& tensors = source.tensors();
  const std::vector<Piece> pieces = pieces_of(tensors);
  std::size_t room = 0;
  for (const Piece& piece : pieces) room += aligned(piece.bytes);
  room = std::min(room, kLargestPiece);
  held.push_back(std::make_shared<const DeviceBuffer>(source.device(), room));
  const BufferHandle decoys = held.back()->handle();
  std::vector<SharedBuffer> given(tensors.size());
  std::size_t next = 0;
  for (const Piece& piece : pieces) {
    if (next + piece.bytes > room) next = 0;
    const Place to = place(piece.tensor);
    if (is_given(tensors[piece.tensor].role)) {
      SharedBuffer& from = given[piece.tensor];
      if (!from) held.push_back(from = source.given(piece.tensor));
      own.copies.push_back(
          {from->handle(), to.buffer, piece.bytes, piece.offset, to.offset + piece.offset});
      decoy.copies.push_back({from->handle(), decoys, piece.bytes, piece.offset, next});
    } else {
      own.fills.push_back({to.buffer, to.offset + piece.offset, piece.bytes});
      decoy.fills.push_back({decoys, next, piece.bytes});
    }
    next += aligned(piece.bytes);
  }
}

}  // namespace fa_tune
