#include "engine/export/text.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "engine/report/table.hpp"

namespace fa_tune::exports {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kColumns = 100;

// ASCII alone, so that JSON's escapes are Python's: above the first 65536 characters they differ.
std::string plain_string(const std::string& text) {
  std::string plain;
  for (const char c : text) plain += static_cast<unsigned char>(c) < 0x80 ? c : '?';
  return Json(plain).dump();
}

// Long ones in pieces that Python joins.
std::string in_pieces(const std::string& text, std::size_t indent) {
  constexpr std::size_t piece = 88;
  if (text.size() <= piece) return plain_string(text);
  std::string made = "(\n";
  for (std::size_t at = 0; at < text.size(); at += piece)
    made += std::string(indent + 4, ' ') + plain_string(text.substr(at, piece)) + "\n";
  return made + std::string(indent, ' ') + ")";
}

// The items of a list or an object, `between` one and the next.
std::string joined(const Json& json, Notation notation, std::size_t indent,
                   const std::string& between) {
  std::string made;
  for (const auto& [key, value] : json.items())
    made += (made.empty() ? "" : between) + (json.is_object() ? plain_string(key) + ": " : "") +
            literal(value, notation, indent);
  return made;
}

}  // namespace

std::string comment_text(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const bool printable = c >= ' ' && c <= '~' && c != '\\' && c != '?';
    made += printable ? c : '_';
    if (made.ends_with("*/")) made.insert(made.size() - 1, 1, ' ');
  }
  return made;
}

std::string comment_lines(std::string_view text, std::string_view mark) {
  std::string made;
  for (const std::string& line : report::wrap_words(comment_text(text), kColumns - mark.size()))
    made += std::string(mark) + line + "\n";
  return made;
}

std::string literal(const Json& json, Notation notation, std::size_t indent) {
  const bool python = notation == Notation::python;
  if (python && json.is_null()) return "None";
  if (python && json.is_boolean()) return json.get<bool>() ? "True" : "False";
  if (json.is_string())
    return python ? in_pieces(json.get<std::string>(), indent)
                  : plain_string(json.get<std::string>());
  if (!json.is_structured()) return json.dump();
  const char* const brackets = json.is_object() ? "{}" : "[]";
  std::string flat = brackets[0] + joined(json, notation, indent, ", ") + brackets[1];
  if (flat.find('\n') == std::string::npos && flat.size() + indent <= kColumns) return flat;
  const std::string margin = "\n" + std::string(indent + 4, ' ');
  return brackets[0] + margin + joined(json, notation, indent + 4, "," + margin) + "\n" +
         std::string(indent, ' ') + brackets[1];
}

std::string cxx_literal(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // Three octal digits end by themselves; of hexadecimal ones there may be any number.
    if (byte < ' ' || byte > '~' || c == '"' || c == '\\' || c == '?')
      made += fmt::format("\\{:03o}", byte);
    else
      made += c;
  }
  return made + "\"";
}

std::string identifier(std::string_view name) {
  std::string made;
  for (const char c : name)
    made += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  return made.empty() || (made[0] >= '0' && made[0] <= '9') ? "kernels_" + made : made;
}

std::string base64(std::string_view bytes) {
  std::string made(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // it ends what it writes by a zero
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(made.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  made.resize(static_cast<std::size_t>(size));
  return made;
}

}  // namespace fa_tune::exports
