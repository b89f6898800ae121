#include "tests/engine/node/faults/faults.hpp"

#include <tuple>
#include <utility>

#include "engine/node/node_messages.hpp"
#include "engine/tuner/offload/trial_messages.hpp"
#include "engine/worker/messages.hpp"

namespace fa_tune::test {

using namespace std::chrono_literals;

namespace {

template <typename One>
bool says(const worker::Frame& frame) {
  const auto message = node::message::decode(frame);
  return message && std::holds_alternative<One>(*message);
}
template <typename One>
bool asks(const worker::Frame& frame) {
  const auto request = worker::message::decode_request(frame);
  return request && std::holds_alternative<One>(*request);
}
bool answers(const worker::Frame& frame) {
  return worker::message::decode_answer(frame).has_value();
}
// What a trial has found, and no tensors follow.
bool says_findings(const worker::Frame& frame) {
  const auto answer = worker::message::decode_answer(frame);
  return answer && std::holds_alternative<worker::message::Offloaded>(*answer);
}
bool has_tensors(const worker::Frame& frame) { return frame.kind == node::message::kTensorBytes; }

using worker::Frame;
namespace said = node::message;
namespace asked = worker::message;

// Bytes of a frame up to a place within its header, and within its body.
constexpr std::size_t kHeaderPart = 5;
constexpr std::size_t kBodyPart = 13;
constexpr std::size_t kWhole = std::string::npos;
// Frames of a search that is under way.
constexpr int kLater = 30;

std::string bytes_of(const Frame& frame) { return worker::encode_frame(frame.kind, frame.payload); }

}  // namespace

std::vector<NetworkFault> record_faults() {
  using enum Deed;
  using enum Side;
  constexpr int kClear = RecordFault::kClear;
  constexpr int kProtected = RecordFault::kProtected;
  const std::string kGone = "is gone: ";
  const std::string kDenied = "takes nothing of this node: no common key";
  return {
      {"reset before the first byte", "", RecordFault{node, kClear, 0, 0, reset}},
      {"cut in the first bytes", "", RecordFault{node, kClear, 0, 3, cut}},
      {"cut within the node's first record", "", RecordFault{node, kClear, 0, 60, cut}},
      {"silent from the first byte on", "", RecordFault{node, kClear, 0, 0, hush_both}},
      {"the node's first record ends half-way", "", RecordFault{node, kClear, 0, 60, hush}},
      {"a bit of the node's first record is flipped", "", RecordFault{node, kClear, 0, 60, flip},
       kDenied},
      {"cut within the engine's first record", "", RecordFault{engine, kClear, 0, 40, cut}},
      {"the engine is silent from its first record on", "",
       RecordFault{engine, kClear, 0, 0, hush}},
      {"a bit of the engine's first record is flipped", "",
       RecordFault{engine, kClear, 0, 20, flip}, kDenied},
      {"cut within the engine's proof", "", RecordFault{engine, kProtected, 0, 10, cut}},
      {"the engine's proof does not come", "", RecordFault{engine, kProtected, 0, 0, hush}},
      {"cut within the node's proof", "", RecordFault{node, kProtected, 0, 10, cut}},
      {"the node's proof does not come", "", RecordFault{node, kProtected, 0, 0, hush}},
      {"a bit of the node's proof is flipped", "", RecordFault{node, kProtected, 0, 20, flip},
       "no common key|the search is over|cannot be reached"},
      {"cut within a record of an answer", kGone, RecordFault{node, kProtected, 20, 9, cut}},
      {"cut within a record of a question", kGone, RecordFault{engine, kProtected, 20, 9, cut}},
      {"reset in the middle of a search", kGone, RecordFault{node, kProtected, 20, 0, reset}},
      {"a bit of an answer is flipped", kGone, RecordFault{node, kProtected, 20, 9, flip}},
      {"a bit of a question is flipped", kGone, RecordFault{engine, kProtected, 20, 9, flip}},
      {"an answer comes twice", kGone, RecordFault{node, kProtected, 20, 0, twice}},
      {"a question comes twice", kGone, RecordFault{engine, kProtected, 20, 0, twice}},
      {"an answer is left out", kGone, RecordFault{node, kProtected, 20, 0, leave_out}},
      {"a question is left out", kGone, RecordFault{engine, kProtected, 20, 0, leave_out}},
      {"two records change places", kGone, RecordFault{engine, kProtected, 20, 0, swap}},
      {"each piece is late, by 50 ms", "", RecordFault{.delay = 50ms, .delayed = 20}},
      {"each piece is late, by 500 ms", "", RecordFault{.delay = 500ms, .delayed = 3}},
      {"one byte at a time", "", RecordFault{.single_bytes = 20'000}},
  };
}

std::vector<NetworkFault> frame_faults() {
  using enum Side;
  struct Place {
    std::string name;
    Side from;
    bool (*is)(const Frame&);
    int nth;
    std::string cut;   // what the engine says of a cut
    std::string hush;  // and of silence
  };
  const std::string kGone = "is gone: it was cut|is gone: Connection reset|is gone: Broken pipe";
  const std::string kSilent = "is gone: it says nothing for 2000 ms";
  const std::string kNameless = "gave no name: it was cut";
  const std::string kOpening = "was lost while emulator:l4 was opened: ";
  const std::vector<Place> places = {
      {"hello", node, says<said::Hello>, 1, kNameless, "gave no name: it says nothing"},
      {"the welcome", engine, says<said::Welcome>, 1, kOpening, kOpening},
      {"the beginning", engine, says<said::Begin>, 1, kOpening, kOpening},
      {"the first answer", node, answers, 1, kOpening, kOpening},
      {"the number of a question", engine, says<said::Number>, kLater, kGone, kSilent},
      {"a question", engine, asks<asked::Step>, 3, kGone, kSilent},
      {"an offloaded trial", engine, asks<asked::Offload>, 3, kGone, kSilent},
      {"tensors of the engine", engine, has_tensors, 3, kGone, kSilent},
      {"the number of an answer", node, says<said::Number>, kLater, kGone, kSilent},
      {"an answer", node, answers, kLater, kGone, kSilent},
      {"what a trial has found", node, says_findings, 3, kGone, kSilent},
      {"tensors of the node", node, has_tensors, 3, kGone, kSilent},
      {"a beat of the node", node, says<said::Beat>, 1, kGone, kSilent},
      {"a beat of the engine", engine, says<said::Beat>, 3, kGone, kSilent},
      {"the goodbye", engine, says<said::Over>, 1, "", ""},
  };
  std::vector<NetworkFault> faults;
  for (const Place& place : places) {
    const std::string ends =
        place.name == "the goodbye" ? "cannot be reached" : "the search is over|cannot be reached";
    const auto add = [&](const std::string& name, std::size_t sent, Deed deed) {
      faults.push_back(
          {name + place.name, deed == Deed::cut ? place.cut : place.hush,
           FrameFault{
               .from = place.from, .is = place.is, .nth = place.nth, .sent = sent, .deed = deed},
           ends});
    };
    add("cut before ", 0, Deed::cut);
    add("cut within the header of ", kHeaderPart, Deed::cut);
    add("silent from one side before ", 0, Deed::hush);
    add("silent within the header of ", kHeaderPart, Deed::hush_both);
  }
  for (const auto& [name, from, is] :
       {std::tuple("a question", engine, &asks<asked::Step>),
        std::tuple("an offloaded trial", engine, &asks<asked::Offload>),
        std::tuple("what a trial has found", node, &says_findings),
        std::tuple("an answer", node, static_cast<bool (*)(const Frame&)>(answers)),
        std::tuple("tensors of the engine", engine, &has_tensors),
        std::tuple("tensors of the node", node, &has_tensors)}) {
    faults.push_back(
        {std::string("cut within the body of ") + name, kGone,
         FrameFault{.from = from, .is = is, .nth = 3, .sent = kBodyPart, .deed = Deed::cut}});
    faults.push_back(
        {std::string("silent within the body of ") + name, kSilent,
         FrameFault{.from = from, .is = is, .nth = 3, .sent = kBodyPart, .deed = Deed::hush}});
    faults.push_back(
        {std::string("cut after ") + name, kGone,
         FrameFault{.from = from, .is = is, .nth = 3, .sent = kWhole, .deed = Deed::cut}});
  }
  return faults;
}

std::vector<NetworkFault> hostile_faults() {
  using enum Side;
  const auto hello = [](std::string build) {
    return [build = std::move(build)](const Frame& frame, const Frame&) {
      auto message = std::get<said::Hello>(*said::decode(frame));
      message.build = build;
      return said::encode(message);
    };
  };
  // In the place of what is found, or behind it.
  const auto instead = [](std::string bytes) {
    return [bytes = std::move(bytes)](const Frame&, const Frame&) { return bytes; };
  };
  const auto behind = [](std::string bytes) {
    return [bytes = std::move(bytes)](const Frame& frame, const Frame&) {
      return bytes_of(frame) + bytes;
    };
  };
  const auto number = [](std::uint64_t value) { return said::encode(said::Number{value}); };
  const std::string done = asked::encode(asked::Answer(asked::Done{}));
  // Lengths of 2 GiB, of which nothing comes.
  const std::string announced("fatw\x03\x01\x00\x00\x00\x00\x00\x80", 12);
  const std::string garbage = "GET / HTTP/1.1\r\n\r\n";
  const std::string kCut = "is gone: it was cut|is gone: Connection reset|is gone: Broken pipe";
  return {
      {"2 GiB in place of the hello", "gave no name: it said a frame of 2147483648 bytes",
       FrameFault{.is = says<said::Hello>, .instead = instead(announced)}},
      {"2 GiB in place of an answer", "is gone: it said a frame of 2147483648 bytes",
       FrameFault{.is = answers, .nth = kLater, .instead = instead(announced)}},
      {"2 GiB in place of a question", kCut,
       FrameFault{
           .from = engine, .is = asks<asked::Step>, .nth = 3, .instead = instead(announced)}},
      {"another protocol in place of the hello", "gave no name: it said what is no frame",
       FrameFault{.is = says<said::Hello>, .instead = instead(garbage)}},
      {"another protocol in place of an answer", "is gone: it said what is no frame",
       FrameFault{.is = answers, .nth = kLater, .instead = instead(garbage)}},
      {"another protocol in place of a question", kCut,
       FrameFault{.from = engine, .is = asks<asked::Step>, .nth = 3, .instead = instead(garbage)}},
      {"a hello that does not end", "gave no name: no answer in 2000 ms",
       FrameFault{.is = says<said::Hello>,
                  .instead = instead(worker::encode_frame(0x200, std::string(20'000, 'x'))),
                  .drip = 2ms}},
      {"a hello of another build", "is refused: it runs another build of fa-tune",
       FrameFault{.is = says<said::Hello>, .instead = hello("another")},
       "takes nothing of this node: it runs another build"},
      {"a hello of a build without roles", "gave no name: it said",
       FrameFault{.is = says<said::Hello>,
                  .instead =
                      [](const Frame& frame, const Frame&) {
                        return worker::encode_frame(
                            frame.kind, frame.payload.substr(0, frame.payload.size() - 8));
                      }}},
      {"a hello, twice", "it said what is no answer",
       FrameFault{.is = says<said::Hello>,
                  .instead = [](const Frame& frame,
                                const Frame&) { return bytes_of(frame) + bytes_of(frame); }}},
      {"a beginning in place of the hello", "gave no name: it said another thing",
       FrameFault{.is = says<said::Hello>, .instead = instead(said::encode(said::Begin{}))}},
      {"a welcome in place of an answer's number", "is gone: it said what is no answer",
       FrameFault{.is = says<said::Number>,
                  .nth = kLater,
                  .instead = instead(said::encode(said::Welcome{}))}},
      {"a goodbye by the node", "is gone: it said what is no answer",
       FrameFault{.is = says<said::Number>,
                  .nth = kLater,
                  .instead = instead(said::encode(said::Over{"bye"}))}},
      {"a welcome in place of a question", kCut,
       FrameFault{.from = engine,
                  .is = asks<asked::Step>,
                  .nth = 3,
                  .instead = instead(said::encode(said::Welcome{}))}},
      {"a question without its number", kCut,
       FrameFault{.from = engine, .is = says<said::Number>, .nth = kLater, .instead = instead("")}},
      {"an answer that nobody asked for",
       "that nobody had asked for|is gone: it answered question 999",
       FrameFault{.is = says_findings, .nth = 3, .instead = behind(number(999) + done)}},
      {"an answer twice, with its number",
       "that nobody had asked for|is gone: it answered question",
       FrameFault{.is = says_findings,
                  .nth = 3,
                  .instead =
                      [](const Frame& frame, const Frame& before) {
                        return bytes_of(frame) + bytes_of(before) + bytes_of(frame);
                      }}},
      {"an answer twice, without a number", "that nobody had asked for|is gone: it said",
       FrameFault{.is = says_findings,
                  .nth = 3,
                  .instead = [](const Frame& frame,
                                const Frame&) { return bytes_of(frame) + bytes_of(frame); }}},
      {"an answer with another's number", "is gone: it answered question 1 where it was asked",
       FrameFault{.is = says<said::Number>, .nth = kLater, .instead = instead(number(1))}},
      {"an answer without a number", "is gone: it said",
       FrameFault{.is = says<said::Number>, .nth = kLater, .instead = instead("")}},
      {"an answer of another kind", "is gone: it answered another question",
       FrameFault{.is = answers,
                  .nth = kLater,
                  .instead = instead(asked::encode(asked::Answer(asked::Joules{})))}},
      {"nonsense in place of what a trial has found",
       "is gone: it answered a trial with bytes that are no findings",
       FrameFault{
           .is = says_findings,
           .nth = 3,
           .instead = instead(asked::encode(asked::Answer(asked::Offloaded{"nonsense", {}})))}},
      {"a reference kernel is asked for, and the problem has none",
       "is gone: it asks for more reference kernels than its trials have",
       FrameFault{.is = says_findings,
                  .nth = 3,
                  .instead = instead(asked::encode(asked::Answer(asked::Offloaded{
                      encode(tuner::TrialAnswer(tuner::ReferenceWanted{})), {}})))}},
      {"a trial that is broken off over nothing", "is gone: it broke work off over nothing",
       FrameFault{.is = says_findings,
                  .nth = 3,
                  .instead = instead(asked::encode(
                      asked::Answer(asked::Offloaded{"", {}, /*broken_off=*/true})))}},
      {"more tensors than were asked for", "with 1048576 bytes where tensors",
       FrameFault{.is = has_tensors,
                  .nth = 3,
                  .instead = instead(
                      worker::encode_frame(said::kTensorBytes, std::string(1 << 20, 'x')))}},
      {"tensors that come byte by byte", "have not come in 3000 ms",
       FrameFault{.is = has_tensors,
                  .nth = 3,
                  .instead = [](const Frame& frame, const Frame&) { return bytes_of(frame); },
                  .drip = 100ms}},
      {"tensors in place of an answer", "of kind 768",
       FrameFault{.is = answers,
                  .nth = kLater,
                  .instead = instead(worker::encode_frame(said::kTensorBytes, "x"))}},
      {"more tensors than there is room for, in a question", kCut,
       FrameFault{.from = engine,
                  .is = has_tensors,
                  .nth = 3,
                  .instead = instead(
                      worker::encode_frame(said::kTensorBytes, std::string(1 << 20, 'x')))}},
  };
}

}  // namespace fa_tune::test
