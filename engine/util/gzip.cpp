#include "engine/util/gzip.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

#include <zlib.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"

namespace fa_tune {
namespace {

// zlib counts in 32 bits: data are handed over in pieces.
constexpr std::size_t kMostPiece = std::numeric_limits<std::uint32_t>::max() / 2;
// Added to the window size: a gzip header instead of zlib's.
constexpr int kGzipHeader = 16;

// zlib never writes to its input; its field merely lacks the const.
Bytef* input_of(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

// What the last four bytes of a gzip file say it unpacks to, if that can be: deflate makes 1,032
// bytes of one at most. Where they lie, a text grows as any other.
std::size_t said_size(std::string_view bytes) {
  std::size_t size = 0;
  if (bytes.size() < 4) return size;
  for (std::size_t i = 1; i <= 4; ++i)
    size = size << 8 | static_cast<unsigned char>(bytes[bytes.size() - i]);
  constexpr std::size_t kMostOfAByte = 1032;
  return std::min(size, kMostOfAByte * bytes.size());
}

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, MAX_WBITS + kGzipHeader) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  PackedText run(std::string_view bytes, const std::string& what) {
    PackedText result;
    // A text that doubles as it grows is there twice over at its largest.
    result.text.reserve(std::min<std::size_t>(said_size(bytes), kTableFile.most));
    std::string piece(std::size_t{1} << 18, '\0');
    int code = Z_OK;
    while (code != Z_STREAM_END || !bytes.empty() || stream_.avail_in > 0) {
      // A gzip file may be several, one after another.
      if (code == Z_STREAM_END) inflateReset(&stream_);
      if (stream_.avail_in == 0 && !bytes.empty()) {
        const std::size_t size = std::min(bytes.size(), kMostPiece);
        stream_.next_in = input_of(bytes);
        stream_.avail_in = static_cast<uInt>(size);
        bytes.remove_prefix(size);
      }
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = static_cast<uInt>(piece.size());
      code = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t got = piece.size() - stream_.avail_out;
      if (got > kTableFile.most - result.text.size())
        throw UserError(what + ": unpacks to more than " + bytes_in_words(kTableFile.most) +
                        ", the most that is read of " + std::string(kTableFile.name));
      result.text.append(piece, 0, got);
      if (code != Z_OK && code != Z_STREAM_END) {
        result.cut = true;
        return result;
      }
    }
    return result;
  }

 private:
  z_stream stream_ = {};
};

}  // namespace

PackedText gunzip(std::string_view bytes, const std::string& what) {
  return Inflater().run(bytes, what);
}

PackedText read_packed(const std::filesystem::path& path) {
  std::string bytes = read_file(path, kTableFile);
  if (!bytes.starts_with("\x1f\x8b")) return {std::move(bytes), false};
  return gunzip(bytes, path.string());
}

std::string gzip(std::string_view bytes) {
  z_stream stream = {};
  constexpr int memory_level = 8;  // zlib's default
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipHeader,
                   memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string result;
  std::string piece(std::size_t{1} << 18, '\0');
  int code = Z_OK;
  while (code == Z_OK) {
    if (stream.avail_in == 0 && !bytes.empty()) {
      const std::size_t size = std::min(bytes.size(), kMostPiece);
      stream.next_in = input_of(bytes);
      stream.avail_in = static_cast<uInt>(size);
      bytes.remove_prefix(size);
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    code = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    result.append(piece, 0, piece.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return result;
}

}  // namespace fa_tune
