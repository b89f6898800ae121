#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fa_tune {

// A file's text, unpacked where it is gzip (by its first bytes, whatever its name).
struct PackedText {
  std::string text;
  // The compressed data ended early or are damaged: `text` is what came before.
  bool cut = false;
};

// Throws UserError where the file cannot be read, and where it or what it unpacks to is larger than
// a table may be (file.hpp).
PackedText read_packed(const std::filesystem::path& path);

// The bytes as a gzip file, the same for the same bytes: no name and no time in its header.
std::string gzip(std::string_view bytes);
// The inverse; `what` names the data in messages.
PackedText gunzip(std::string_view bytes, const std::string& what);

}  // namespace fa_tune
