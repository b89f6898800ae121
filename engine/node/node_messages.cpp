#include "engine/node/node_messages.hpp"

#include "engine/kernel/compile/compile_cache.hpp"
#include "engine/util/file.hpp"
#include "engine/worker/variant_frame.hpp"

namespace fa_tune::node::message {
namespace {

// Tells them from a worker's requests and answers.
constexpr std::uint32_t kFirst = 0x200;

}  // namespace

constexpr Role last_of(const wire::Getter&, Role) { return Role::compilers; }

void fields(auto& archive, Hello& hello) {
  archive(hello.build, hello.node, hello.device, hello.role, hello.jobs, hello.compiler,
          hello.headers);
}
void fields(auto&, Welcome&) {}
void fields(auto& archive, Refused& refused) { archive(refused.why); }
void fields(auto&, Begin&) {}
void fields(auto&, Beat&) {}
void fields(auto& archive, Over& over) { archive(over.why); }
void fields(auto& archive, Number& number) { archive(number.number); }
void fields(auto& archive, Compile& compile) { archive(compile.number, compile.request); }
void fields(auto& archive, CompileDone& done) { archive(done.number, done.compiled); }
void fields(auto& archive, CompileFailed& failed) { archive(failed.number, failed.failure); }

std::string encode(const Message& message) { return worker::encode_variant(message, kFirst); }

std::expected<Message, std::string> decode(const worker::Frame& frame) {
  return worker::decode_variant<Message>(frame, kFirst, "node's message");
}

bool is_message(const worker::Frame& frame) {
  return frame.kind >= kFirst && frame.kind < kTensorBytes;
}

std::string build_of_this_program() {
  // A program with its symbols has some hundred megabytes.
  static const std::string build =
      sha256_of_file("/proc/self/exe", {"a program", 4096 * kMebibyte});
  return build;
}

}  // namespace fa_tune::node::message
