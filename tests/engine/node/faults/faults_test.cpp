// Searches with two nodes, one of which meets a fault of the network. What is found is what one
// device finds alone, and each side says what happened in a line or nothing.
#include "tests/engine/node/faults/faults.hpp"

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
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/device/local/open.hpp"
#include "engine/node/agent.hpp"
#include "engine/node/hub.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/offload/trial_host.hpp"
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
  SlowOnce() : ForwardingDevice(toy_device()) {}
  std::expected<void, Fault> launch(const Launch& launch) override {
    if (++launches_ == 3) std::this_thread::sleep_for(300ms);
    return ForwardingDevice::launch(launch);
  }

 private:
  int launches_ = 0;
};

struct Outcome {
  bool happened = false;
  bool same = false;  // the search found what one device finds alone
  int trials = 0;
  double seconds = 0;
  std::string threw;  // what ended the search, which nothing should
  std::string ends;   // what the node said at its end
  std::string address;
};

std::future<std::string> serve(const Address& engine, const std::string& name) {
  AgentOptions options;
  options.engine = engine;
  options.key = the_key();
  options.name = name;
  options.devices = {"emulator:l4"};
  options.open = [](const std::string&) { return std::make_unique<SlowOnce>(); };
  const auto host =
      std::make_shared<TrialHost>(options.open, [](const auto&...) { return toy_problem(); });
  options.serve = [host](Device& device, const std::string& emulator) {
    return host->serve(device, emulator);
  };
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

Outcome meet(const NetworkFault& fault, const std::string& name) {
  const Stopwatch watch;
  Outcome outcome;
  std::future<std::string> node;
  std::future<std::string> other;
  std::unique_ptr<Proxy> proxy;
  std::atomic<bool> over{false};
  std::atomic<bool> stop{false};
  std::jthread helper;
  ScratchStore kept;
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
    if (hub.wait_for_first([&] { return stop.load(); }) != nullptr) {
      try {
        EvolveOptions evolving = toy_options(kTrials);
        evolving.supply = &hub;
        const EvolveResult result = search_toy(kept.store, hub.take_arrived(), evolving, {}, stop);
        outcome.trials = result.counts.trials;
        outcome.same = run_fingerprint_lines(kept.store, 1) == toy_fingerprint(kTrials);
      } catch (const std::exception& error) {
        outcome.threw = error.what();
      }
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

// Of this process: "fd", its open files; "task", its threads.
std::size_t count_of(const std::string& kind) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/" + kind), {}));
}

// Some at a time: they wait for most of their time.
std::vector<Outcome> meet_all(const std::vector<NetworkFault>& faults) {
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

void check_all(const std::vector<NetworkFault>& faults) {
  (void)toy_fingerprint(kTrials);
  const std::size_t files = count_of("fd");
  const std::size_t threads = count_of("task");
  Overheard overheard;
  const auto outcomes = meet_all(faults);
  const std::string words = overheard.end();
  CHECK(count_of("fd") == files);
  CHECK(count_of("task") == threads);
  for (std::size_t at = 0; at < faults.size(); ++at) {
    const NetworkFault& fault = faults[at];
    const Outcome& outcome = outcomes[at];
    // Nodes speak of their devices, the engine of nodes and of its address.
    auto told = lines_with(words, {fmt::format("fault{:02} ", at), fmt::format("fault{:02}/", at),
                                   outcome.address + " and gave"});
    std::erase_if(told, [](const std::string& line) { return has(line, " has come: "); });
    fmt::print("{:<56} {:5.1f} s  {}\n", fault.name, outcome.seconds,
               told.empty() ? "nothing is said" : told.front());
    CAPTURE(fault.name);
    CHECK_MESSAGE(outcome.threw.empty(), outcome.threw);
    CHECK(outcome.happened);
    CHECK(outcome.same);
    CHECK(outcome.trials == kTrials);
    CHECK(outcome.seconds < kMostSeconds);
    const std::string all_told = fmt::format("{}", fmt::join(told, "\n"));
    CHECK_MESSAGE(told.size() == (fault.told.empty() ? 0 : 1), all_told);
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
    REQUIRE(hub.wait_for_first([] { return false; }) != nullptr);
    // With the hello, which has the digest of a program.
    said = proxy.recorded();
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
