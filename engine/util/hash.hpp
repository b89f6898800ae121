#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's

namespace fa_tune {

// SHA-256 of the bytes as 64 lower-case hexadecimal digits: the identity of sources, binaries,
// spaces and cache entries.
std::string sha256(std::string_view bytes);
std::string sha256(std::span<const std::byte> bytes);

// The same of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view piece);
  // To be asked once.
  std::string hex();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace fa_tune
