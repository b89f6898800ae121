#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/model/kernel_fields.hpp"
#include "engine/util/serializer.hpp"

namespace fa_tune::wire {

// A request and what becomes of it as bytes.
void fields(auto& archive, kernel::Source& source) {
  archive(source.text, source.kernel, source.hash, source.more);
}
void fields(auto& archive, kernel::CompileRequest& request) {
  archive(request.source, request.arch, request.kind, request.options);
}
void fields(auto& archive, kernel::Compiled& compiled) {
  archive(compiled.image, compiled.warnings, compiled.milliseconds, compiled.from_cache,
          compiled.code_hash);
}
void fields(auto& archive, kernel::CompileFailure& failure) {
  archive(failure.message, failure.log, failure.lasting);
}

}  // namespace fa_tune::wire

namespace fa_tune::kernel {

// The name under which an outcome is remembered: SHA-256 of all that goes into it.
std::string cache_key(const CompileRequest& request, const std::string& compiler_version);

// One remembered outcome as bytes, and back. The form: a version line, SHA-256 of the rest as
// hexadecimal digits, then the key and the outcome, each field behind its length (64-bit, little
// endian). decode gives nothing for bytes that are cut, changed anywhere, of another version, or of
// another key (a file that was renamed).
std::string encode_entry(const std::string& key, const CompileOutcome& outcome);
std::optional<CompileOutcome> decode_entry(const std::string& key, std::string_view bytes);

}  // namespace fa_tune::kernel
