#include "tests/fuzz/try_frames.hpp"

#include <stdexcept>

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::worker;
namespace {

Launch sample_launch() {
  Launch launch;
  launch.kernel = KernelHandle{9};
  launch.config = {{1, 2, 3}, {64, 1, 1}, {1, 2, 1}, 4096};
  launch.arguments.emplace_back(std::vector<std::byte>(3, std::byte{7}));
  launch.arguments.emplace_back(BufferHandle{5});
  launch.checks = {false, true, false};
  launch.schedule = 3;
  launch.constants = {{"table", BufferHandle{5}, 4096, 60}};
  launch.read_only = {BufferHandle{5}};
  launch.steps = {BufferFill{BufferHandle{6}, 4096, 63, 0},
                  KernelStep{1, {{4, 1, 1}, {32, 1, 1}, {}, 16}, {BufferHandle{5}}},
                  BufferCopy{BufferHandle{6}, BufferHandle{5}, 63, 0, 4096}};
  return launch;
}

BufferChanges sample_changes() {
  return {{{BufferHandle{6}, 4096, 63, 0x4d}}, {{BufferHandle{1}, BufferHandle{2}, 64, 16, 32}}};
}

DeviceInfo sample_info() {
  return {"cuda:0",           "NVIDIA H100", "sm_90", "580", BinaryKind::cubin,
          TimeKind::measured, 132,           232448,  true,  "GPU-1"};
}

KernelImage sample_image() {
  return {BinaryKind::ptx,
          "sm_89",
          "kernel",
          "bytes",
          {32, 0, -1, 8, 1024},
          {{"last", {16}}},
          {{{0x7919, 0x000e620000002100, 85}}, {}}};
}

CompileRequest sample_request() {
  return {{"source", "kernel", "hash", {}, {"last"}}, "sm_90a", BinaryKind::cubin, {"-a", "-b"}};
}

Compiled sample_compiled() { return {sample_image(), {"warning"}, 12.5, false, "code"}; }

// The message as a frame, if it is one.
template <typename Message>
std::string outcome_of(const Frame& frame, const std::expected<Message, std::string>& message) {
  if (!message) return message.error();
  const std::string again = encode(*message);
  if (again != encode_frame(frame.kind, frame.payload))
    throw std::logic_error("a message comes back as another");
  return "kind " + std::to_string(frame.kind);
}

}  // namespace

std::vector<worker::message::Request> sample_requests() {
  TensorMap map;
  map.element = TensorMap::Element::bf16;
  map.buffer = BufferHandle{4};
  map.offset = 4096;
  map.dims = {64, 512};
  map.strides = {128};
  map.box = {64, 16};
  map.element_steps = {1, 1};
  map.swizzle = TensorMap::Swizzle::bytes128;
  map.nan_fill = true;
  return {worker::message::Load{sample_image()},
          worker::message::Unload{KernelHandle{1}},
          worker::message::Allocate{1 << 20},
          worker::message::Release{BufferHandle{2}},
          worker::message::Write{BufferHandle{2}, 16, 32},
          worker::message::Read{BufferHandle{3}, 64, 128},
          worker::message::Map{map},
          worker::message::Run{sample_launch()},
          worker::message::Exchange{sample_launch(), 3, sample_changes(), sample_changes().copies},
          worker::message::Time{sample_launch(),
                                {5, 6, 7, L2::cold, true, sample_changes(), sample_changes()}},
          worker::message::Compile{sample_request()},
          worker::message::Step{{{BufferHandle{1}, 0, 64}, {BufferHandle{2}, 16, 32}},
                                sample_launch(),
                                {{BufferHandle{3}, 64, 128}}},
          worker::message::Energy{},
          worker::message::Fill{sample_changes().fills},
          worker::message::Incumbent{12.5},
          worker::message::Offload{"work"}};
}

std::vector<worker::message::Answer> sample_answers() {
  GpuState gpu{{1980, 1200}, {1}, {"power cap"}, 650.5, 71, "why", 1};
  Timing timing{
      TimeKind::measured, {1.5, 2.5}, "l4", "{}", L2::cold, 20, gpu, true, true, 1.25, 2.75};
  return {worker::message::DeviceOpened{worker::message::kVersion, sample_info()},
          worker::message::CompilerOpened{worker::message::kVersion, "NVRTC 13.0.88", "digest"},
          worker::message::GpusFound{worker::message::kVersion, {sample_info(), sample_info()}},
          worker::message::Done{},
          worker::message::Loaded{KernelHandle{3}},
          worker::message::Allocated{BufferHandle{4}, 0x7f0000000000},
          worker::message::Mapped{std::vector<std::byte>(128, std::byte{1})},
          timing,
          worker::message::Faulted{{FaultKind::misaligned, "where"}, true},
          worker::message::Failed{worker::message::Failed::Whose::machine, "why"},
          sample_compiled(),
          CompileFailure{"error", "log", false},
          worker::message::Joules{true, 12.5},
          worker::message::Offloaded{"found", {{FaultKind::died, "why"}}, true}};
}

std::vector<node::message::Message> sample_node_messages() {
  using namespace node::message;
  return {Hello{"build", "n1", "cuda:0", Role::reference},
          Hello{"build", "n1", "", Role::compilers, 16, "NVRTC 13.0.88", "digest"},
          Welcome{},
          Refused{"why"},
          Begin{},
          Beat{},
          Over{"why"},
          Number{7},
          Compile{7, sample_request()},
          CompileDone{7, sample_compiled()},
          CompileFailed{8, {"error", "log", false}}};
}

std::string try_frames(std::string_view bytes) {
  FrameReader reader;
  std::string outcome;
  // In two pieces, so that a frame that is not whole yet is looked at too.
  for (const std::string_view piece :
       {bytes.substr(0, bytes.size() / 2), bytes.substr(bytes.size() / 2)}) {
    reader.feed(piece);
    for (;;) {
      const auto frame = reader.next();
      if (!frame) return outcome + frame.error();
      if (!*frame) break;
      outcome += outcome_of(**frame, worker::message::decode_request(**frame)) + "; " +
                 outcome_of(**frame, worker::message::decode_answer(**frame)) + "; " +
                 outcome_of(**frame, node::message::decode(**frame)) + "; ";
    }
  }
  return outcome + (reader.within() ? "not whole" : "end");
}

}  // namespace fa_tune::test
