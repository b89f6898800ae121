#include "engine/source/source_lines.hpp"

#include <algorithm>

namespace fa_tune::source {

SourceLines SourceLines::of_file(const std::string& name) {
  SourceLines lines;
  lines.add(1, name, 1);
  return lines;
}

void SourceLines::add(int flat, const std::string& file, int line) {
  if (!pieces_.empty()) {
    const Piece& last = pieces_.back();
    if (last.place.file == file && line - last.place.line == flat - last.flat) return;
  }
  pieces_.push_back({flat, {file, line}});
}

SourceLines SourceLines::with_inserted(int before, int count, const std::string& name) const {
  if (count == 0) return *this;
  SourceLines all;
  for (const Piece& piece : pieces_)
    if (piece.flat < before) all.pieces_.push_back(piece);
  all.pieces_.push_back({before, {name, 1}});
  if (const Place next = at(before); !next.file.empty())
    all.pieces_.push_back({before + count, next});
  for (const Piece& piece : pieces_)
    if (piece.flat > before) all.pieces_.push_back({piece.flat + count, piece.place});
  return all;
}

SourceLines::Place SourceLines::at(int flat) const {
  const auto behind = std::ranges::upper_bound(pieces_, flat, {}, &Piece::flat);
  if (behind == pieces_.begin()) return {};
  const Piece& piece = *(behind - 1);
  return {piece.place.file, piece.place.line + flat - piece.flat};
}

}  // namespace fa_tune::source
