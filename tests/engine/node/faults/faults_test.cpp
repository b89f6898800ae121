// Searches with two nodes, one of which meets a fault of the network. What is found is what one
// device finds alone, and each side says what happened in a line or nothing.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <future>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/device/local/open.hpp"
#include "engine/node/agent.hpp"
#include "engine/node/hub.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/stopwatch.hpp"
#include "tests/engine/node/faults/proxy.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::node;
using namespace fa_tune::report;
using namespace fa_tune::tuner;
using namespace std::chrono_literals;

namespace {

constexpr int kTrials = 24;
// A fault may cost this and no more: what the sides wait for each other, and a busy machine.
constexpr double kMostSeconds = 60;

const Key& the_key() {
  static const Key key{1};
  return key;
}

Patience patience() {
  Patience patience;
  patience.handshake = 2000ms;
  patience.beat = 50ms;
  patience.silence = 2000ms;
  patience.engine = 4000ms;
  patience.slack = 3000ms;
  patience.mebibyte = 100ms;
  return patience;
}

// The emulator of a node. One of its launches takes long enough for it to say that it lives.
class SlowOnce final : public ForwardingDevice {
 public:
  SlowOnce() : ForwardingDevice(open_device("emulator:l4", toy().target, test::root())) {}
  std::expected<void, Fault> launch(const Launch& launch) override {
    if (++launches_ == 3) std::this_thread::sleep_for(300ms);
    return ForwardingDevice::launch(launch);
  }

 private:
  int launches_ = 0;
};

// What a fault is, and what is said of it. `told`: a part of each line that the engine may say of
// the node, in turns with "|"; empty if it is to say nothing. `ends`: the node's last words.
struct Fault {
  std::string name;
  std::string told;
  std::variant<RecordFault, FrameFault> what;
  std::string ends = "the search is over|cannot be reached";
};

struct Outcome {
  bool happened = false;
  bool same = false;  // the search found what one device finds alone
  int trials = 0;
  double seconds = 0;
  std::string ends;  // what the node said at its end
  std::string address;
};

EvolveResult search(Store& store, const std::vector<Device*>& devices, DeviceSupply* supply,
                    const std::atomic<bool>& stop) {
  EvolveOptions options;
  options.trials = kTrials;
  options.seed = 3;
  options.supply = supply;
  const auto compiler = test::toy_compiler();
  QuietListener listener;
  return evolve(toy(), devices, *compiler, store, options, listener, stop);
}

struct Kept {
  test::ScratchFolder folder{test::memory_folder()};
  Store store{folder / "a.db", Store::Mode::write};
};

const std::vector<std::string>& alone() {
  static const std::vector<std::string> fingerprint = [] {
    Kept kept;
    const auto device = open_device("emulator:l4", toy().target, test::root());
    search(kept.store, {device.get()}, nullptr, false);
    return run_fingerprint_lines(kept.store, 1);
  }();
  return fingerprint;
}

std::future<std::string> serve(const Address& engine, const std::string& name) {
  AgentOptions options;
  options.engine = engine;
  options.key = the_key();
  options.name = name;
  options.devices = {"emulator:l4"};
  options.open = [](const std::string&) { return std::make_unique<SlowOnce>(); };
  options.wait = 3000ms;
  options.patience = patience();
  return std::async(std::launch::async, [options] {
    try {
      return serve_engine(options);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
  });
}

Outcome meet(const Fault& fault, const std::string& name) {
  const Stopwatch watch;
  Outcome outcome;
  std::future<std::string> node;
  std::future<std::string> other;
  std::unique_ptr<Proxy> proxy;
  std::atomic<bool> over{false};
  std::atomic<bool> stop{false};
  std::jthread helper;
  Kept kept;
  {
    HubOptions options;
    options.address = {"127.0.0.1", 0};
    options.key = the_key();
    options.grace = 30s;
    options.patience = patience();
    NodeHub hub(options);
    outcome.address = to_text(hub.address());
    proxy =
        std::holds_alternative<RecordFault>(fault.what)
            ? std::make_unique<Proxy>(hub.address(), std::get<RecordFault>(fault.what))
            : std::make_unique<Proxy>(hub.address(), std::get<FrameFault>(fault.what), the_key());
    node = serve(proxy->address(), name);
    // Until the fault has happened, and the engine has said what it has to say of it, the node has
    // the search to itself.
    const bool by_frames = std::holds_alternative<FrameFault>(fault.what);
    const auto until = [&](const std::function<bool()>& done) {
      while (!over && !stop && !done()) {
        std::this_thread::sleep_for(5ms);
        if (watch.milliseconds() > kMostSeconds * 1000) stop = true;
      }
    };
    helper = std::jthread([&] {
      until([&] {
        return proxy->happened() && (!by_frames || fault.told.empty() || proxy->noticed());
      });
      if (!over) other = serve(hub.address(), name + "-other");
      until([] { return false; });
    });
    if (hub.wait_for_first(stop) != nullptr) {
      const EvolveResult result = search(kept.store, hub.take_arrived(), &hub, stop);
      outcome.trials = result.counts.trials;
      outcome.same = run_fingerprint_lines(kept.store, 1) == alone();
    }
    over = true;
    helper.join();
  }
  outcome.ends = node.get();
  if (other.valid()) other.get();
  outcome.happened = proxy->happened();
  proxy.reset();
  outcome.seconds = watch.milliseconds() / 1000;
  return outcome;
}

// What goes to standard error while it is there.
class Overheard {
 public:
  Overheard() : file_((folder_ / "words").string()), before_(dup(STDERR_FILENO)) {
    std::fflush(stderr);
    REQUIRE(std::freopen(file_.c_str(), "w", stderr) != nullptr);
  }
  ~Overheard() { end(); }
  Overheard(const Overheard&) = delete;
  Overheard& operator=(const Overheard&) = delete;

  std::string end() {
    if (before_ >= 0) {
      std::fflush(stderr);
      dup2(before_, STDERR_FILENO);
      close(before_);
      before_ = -1;
    }
    return read_file(file_, {"what was said", std::size_t{64} << 20});
  }

 private:
  ScratchFolder folder_;
  std::string file_;
  int before_;
};

std::vector<std::string> lines_with(const std::string& text,
                                    const std::vector<std::string>& words) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (std::ranges::any_of(words, [&](const std::string& word) { return has(line, word); }))
      found.push_back(line);
  return found;
}

bool has_one_of(const std::string& text, const std::string& choices) {
  std::istringstream all(choices);
  for (std::string each; std::getline(all, each, '|');)
    if (has(text, each)) return true;
  return false;
}

std::size_t open_files() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

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
// A kernel was loaded, and no tensors follow.
bool has_loaded(const worker::Frame& frame) {
  const auto answer = worker::message::decode_answer(frame);
  return answer && std::holds_alternative<worker::message::Loaded>(*answer);
}
bool has_tensors(const worker::Frame& frame) { return frame.kind == node::message::kTensorBytes; }

using worker::Frame;
namespace said = node::message;
namespace asked = worker::message;

constexpr std::size_t kHeaderPart = 5;
constexpr std::size_t kBodyPart = 13;
constexpr std::size_t kWhole = std::string::npos;
// Frames of a search that is under way.
constexpr int kLater = 30;

std::string bytes_of(const Frame& frame) { return worker::encode_frame(frame.kind, frame.payload); }

// Below TLS.
std::vector<Fault> record_faults() {
  using enum Deed;
  using enum Side;
  constexpr int kClear = RecordFault::kClear;
  constexpr int kProtected = RecordFault::kProtected;
  const std::string kGone = "is gone: ";
  const std::string kDenied = "takes no device of this node: no common key";
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
      {"reset in the midst of a search", kGone, RecordFault{node, kProtected, 20, 0, reset}},
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

// Cut, and silent in both ways of a connection that is half open, at every class of frame.
std::vector<Fault> frame_faults() {
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
      {"tensors of the engine", engine, has_tensors, 3, kGone, kSilent},
      {"the number of an answer", node, says<said::Number>, kLater, kGone, kSilent},
      {"an answer", node, answers, kLater, kGone, kSilent},
      {"tensors of the node", node, has_tensors, 3, kGone, kSilent},
      {"a beat of the node", node, says<said::Beat>, 1, kGone, kSilent},
      {"a beat of the engine", engine, says<said::Beat>, 3, kGone, kSilent},
      {"the goodbye", engine, says<said::Over>, 1, "", ""},
  };
  std::vector<Fault> faults;
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

// What nobody says who is this fa-tune, by somebody who has the key.
std::vector<Fault> hostile_faults() {
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
  const std::string kGone = "is gone: ";
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
       "takes no device of this node: it runs another build"},
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
       FrameFault{.is = has_loaded, .nth = 3, .instead = behind(number(999) + done)}},
      {"an answer twice, with its number",
       "that nobody had asked for|is gone: it answered question",
       FrameFault{.is = has_loaded,
                  .nth = 3,
                  .instead =
                      [](const Frame& frame, const Frame& before) {
                        return bytes_of(frame) + bytes_of(before) + bytes_of(frame);
                      }}},
      {"an answer twice, without a number", "that nobody had asked for|is gone: it said",
       FrameFault{.is = has_loaded,
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

// Some at a time: they wait for most of their time.
std::vector<Outcome> meet_all(const std::vector<Fault>& faults) {
  constexpr std::size_t kAtOnce = 8;
  std::vector<Outcome> outcomes(faults.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kAtOnce; ++i)
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < faults.size(); at = next++)
        outcomes[at] = meet(faults[at], fmt::format("fault{:02}", at));
    });
  threads.clear();
  return outcomes;
}

void check_all(const std::vector<Fault>& faults) {
  (void)alone();
  const std::size_t files = open_files();
  Overheard overheard;
  const auto outcomes = meet_all(faults);
  const std::string words = overheard.end();
  CHECK(open_files() == files);
  for (std::size_t at = 0; at < faults.size(); ++at) {
    const Fault& fault = faults[at];
    const Outcome& outcome = outcomes[at];
    // Nodes speak of their devices, the engine of nodes and of its address.
    auto told = lines_with(words, {fmt::format("fault{:02} ", at), fmt::format("fault{:02}/", at),
                                   outcome.address + " and gave"});
    std::erase_if(told, [](const std::string& line) { return has(line, " has come: "); });
    fmt::print("{:<56} {:5.1f} s  {}\n", fault.name, outcome.seconds,
               told.empty() ? "nothing is said" : told.front());
    CAPTURE(fault.name);
    CHECK(outcome.happened);
    CHECK(outcome.same);
    CHECK(outcome.trials == kTrials);
    CHECK(outcome.seconds < kMostSeconds);
    CHECK(told.size() == (fault.told.empty() ? 0 : 1));
    for (const std::string& line : told) CHECK_MESSAGE(has_one_of(line, fault.told), line);
    CHECK_MESSAGE(has_one_of(outcome.ends, fault.ends), outcome.ends);
  }
}

}  // namespace

TEST_CASE("faults below TLS change nothing in what is found") { check_all(record_faults()); }

TEST_CASE("connections that are cut or fall silent at any frame change nothing in what is found") {
  check_all(frame_faults());
}

TEST_CASE("what a node said in an earlier session lets nobody in") {
  HubOptions options;
  options.address = {"127.0.0.1", 0};
  options.key = the_key();
  options.patience = patience();
  std::string said;
  std::future<std::string> node;  // it ends with its hub
  {
    NodeHub hub(options);
    Proxy proxy(hub.address(), RecordFault{});
    node = serve(proxy.address(), "recorded");
    REQUIRE(hub.wait_for_first(false) != nullptr);
    said = proxy.recorded();
    // With the hello, which has the digest of a program.
    REQUIRE(said.size() > 400);
  }
  Overheard overheard;
  {
    NodeHub hub(options);
    const auto replayer = connect_to(hub.address(), 5s);
    REQUIRE(replayer.has_value());
    REQUIRE(write(*replayer, said.data(), said.size()) == static_cast<ssize_t>(said.size()));
    // Until the engine has had enough of it.
    std::array<char, 4096> piece{};
    pollfd end{*replayer, POLLIN, 0};
    ssize_t got = 1;
    while (got > 0 && poll(&end, 1, 20'000) > 0)
      got = recv(*replayer, piece.data(), piece.size(), 0);
    CHECK(got <= 0);
    CHECK(hub.take_arrived().empty());
    close(*replayer);
  }
  CHECK(overheard.end().empty());
}

TEST_CASE("nodes that say what no node says change nothing in what is found") {
  check_all(hostile_faults());
}

}  // namespace fa_tune::test
