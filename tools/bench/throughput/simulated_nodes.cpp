// Nodes that replay what trials have cost and given elsewhere: bench_simulated_nodes FILE. They speak
// as nodes of fa-tune do, over TLS, and everything of the search that asks them is the real one. A
// compile and a trial last as long as the recorded ones, in real time.
//
// FILE is JSON: {"connect", "key", "program", "table", "nodes", "devices_a_node",
// "compilers_a_device", "image_bytes", "of_table"}. The table is a Kernel Tuner cachefile, whose
// configs are known by the `#define`s of a source. Where the space is not that of the table
// ("of_table" is false), a config has what a recorded one cost and gave that its source's hash draws.

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <queue>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/measure/timing.hpp"
#include "engine/node/address.hpp"
#include "engine/node/key.hpp"
#include "engine/node/lane.hpp"
#include "engine/node/tls_channel.hpp"
#include "engine/tuner/offload/trial_messages.hpp"
#include "engine/util/file.hpp"
#include "engine/util/gzip.hpp"
#include "engine/util/hash.hpp"

namespace {

using namespace fa_tune;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

struct Recorded {
  double compile_ms = 0;
  double gate_ms = 0;
  double time_ms = 0;  // of timing it, all samples together
  std::vector<double> samples_us;
};

Clock::duration lasting(double ms) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

// What the sources of a table's configs are known by, and what became of them.
class Table {
 public:
  Table(const std::string& path, bool is_of_space) : is_of_space_(is_of_space) {
    const Json file = Json::parse(read_packed(path).text);
    device_ = file.at("device_name");
    arch_ = file.at("arch");
    names_ = file.at("tune_params_keys").get<std::vector<std::string>>();
    for (const auto& [key, row] : file.at("cache").items()) {
      if (!row.at("time").is_number()) continue;
      Recorded recorded{
          row.at("compile_time"), row.at("verification_time"), row.at("benchmark_time"), {}};
      for (const double ms : row.at("times")) recorded.samples_us.push_back(ms * 1000);
      rows_.emplace(key, std::move(recorded));
    }
  }

  const std::string& device() const { return device_; }
  const std::string& arch() const { return arch_; }
  const Recorded* find(const std::string& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second;
  }
  // The template, which is no `#define`, is the only one.
  std::string key_of(const std::string& source) const {
    if (!is_of_space_) {
      constexpr int kHexadecimal = 16;
      const auto drawn = std::stoull(sha256(source).substr(0, 8), nullptr, kHexadecimal);
      return std::next(rows_.begin(), static_cast<std::ptrdiff_t>(drawn % rows_.size()))->first;
    }
    std::string key;
    for (const std::string& name : names_) {
      if (!key.empty()) key += ",";
      const std::string line = "#define " + name + " ";
      const std::size_t at = source.find(line);
      key += at == std::string::npos
                 ? "mma"
                 : source.substr(at + line.size(), source.find('\n', at) - at - line.size());
    }
    return key;
  }

 private:
  bool is_of_space_;
  std::string device_;
  std::string arch_;
  std::vector<std::string> names_;
  std::map<std::string, Recorded> rows_;
};

tuner::TrialFindings findings_of(const Recorded& recorded) {
  tuner::TrialFindings findings;
  findings.stage = "screen";
  findings.outcome = Outcome::passed;
  findings.finding = "passed";
  findings.gate_ms = recorded.gate_ms;
  findings.measure_ms = recorded.time_ms;
  findings.gate_cases = 12;
  findings.worst_ratio = 0.5;
  findings.worst_rms = 0.5;
  device::Timing timing;
  timing.samples_us = recorded.samples_us;
  timing.launches_per_sample = 20;
  findings.detail_json = measure::detail_json_of(timing);
  std::vector<double> sorted = recorded.samples_us;
  std::ranges::sort(sorted);
  findings.screen_us =
      Interval{sorted[sorted.size() / 2], sorted[sorted.size() / 4], sorted[sorted.size() * 3 / 4]};
  findings.samples_us = recorded.samples_us;
  return findings;
}

class DeviceLane final : public node::Lane {
 public:
  DeviceLane(const Table& table, std::string id, node::Patience patience)
      : Lane(patience), table_(table) {
    info_.id = std::move(id);
    info_.name = table.device();
    info_.arch = table.arch();
    info_.driver = "simulated";
    info_.sms = 132;
    info_.shared_per_block = 227 * 1024;
  }

 private:
  using Answer = worker::message::Answer;

  std::optional<End> on(const node::message::Message& message,
                        const std::shared_ptr<node::Link>& link) override {
    if (const auto* number = std::get_if<node::message::Number>(&message)) {
      asked_ = number->number;
      return std::nullopt;
    }
    const auto sent = reply(worker::message::DeviceOpened{worker::message::kVersion, info_}, *link);
    return sent ? std::nullopt : std::optional(lost(sent.error()));
  }
  node::Link::Done on(const worker::message::Request& request, node::Link& link) override {
    const auto began = Clock::now();
    if (!worker::message::is_answered(request)) return {};
    const auto* offload = std::get_if<worker::message::Offload>(&request);
    if (offload == nullptr) return reply(worker::message::Joules{}, link);
    const auto trial = tuner::decode_trial(offload->work);
    if (!trial) return std::unexpected(trial.error());
    const std::string& image = trial->images.front().bytes;
    const Recorded& recorded = *table_.find(image.substr(0, image.find('\0')));
    const std::string answer = encode(tuner::TrialAnswer(findings_of(recorded)));
    std::this_thread::sleep_until(began + lasting(recorded.gate_ms + recorded.time_ms));
    return reply(worker::message::Offloaded{answer, {}, false}, link);
  }
  node::Link::Done reply(const Answer& answer, node::Link& link) const {
    return link.send(
        node::message::encode(node::message::Number{asked_}) + worker::message::encode(answer),
        patience().engine);
  }

  const Table& table_;
  device::DeviceInfo info_;
  std::uint64_t asked_ = 0;
};

// As many compiles at a time as there are compilers; those that are under way cost no thread.
class CompileLane final : public node::Lane {
 public:
  CompileLane(const Table& table, std::size_t compilers, std::size_t image_bytes,
              node::Patience patience)
      : Lane(patience),
        table_(table),
        free_at_(Later(), std::vector<Clock::time_point>(compilers, Clock::now())),
        image_bytes_(image_bytes),
        thread_([this](const std::stop_token& stop) { send_due(stop); }) {}

 private:
  struct Due {
    Clock::time_point at;
    std::string frame;
    std::shared_ptr<node::Link> link;
  };
  struct Later {
    bool operator()(const Due& a, const Due& b) const { return a.at > b.at; }
    bool operator()(Clock::time_point a, Clock::time_point b) const { return a > b; }
  };

  std::optional<End> on(const node::message::Message& message,
                        const std::shared_ptr<node::Link>& link) override {
    const auto* asked = std::get_if<node::message::Compile>(&message);
    if (asked == nullptr) return lost("it said what is not for compilers");
    const std::string key = table_.key_of(asked->request.source.text);
    const Recorded* recorded = table_.find(key);
    // Each goes to the compiler that is free first.
    const double ms = recorded == nullptr ? 100 : recorded->compile_ms;
    const auto until = std::max(free_at_.top(), Clock::now()) + lasting(ms);
    free_at_.pop();
    free_at_.push(until);
    std::string frame =
        recorded == nullptr
            ? encode(node::message::CompileFailed{asked->number, {"not recorded: " + key, ""}})
            : encode(node::message::CompileDone{asked->number, compiled(asked->request, key, ms)});
    ++at_work();
    {
      const std::lock_guard lock(mutex_);
      due_.push({until, std::move(frame), link});
    }
    changed_.notify_all();
    return std::nullopt;
  }
  node::Link::Done on(const worker::message::Request&, node::Link&) override {
    return std::unexpected("it asked compilers what devices are asked");
  }

  kernel::Compiled compiled(const kernel::CompileRequest& request, const std::string& key,
                            double ms) const {
    kernel::Compiled made;
    made.image.kind = request.kind;
    made.image.arch = request.arch;
    made.image.kernel = request.source.kernel;
    made.image.bytes = key;
    made.image.bytes.resize(std::max(image_bytes_, key.size() + 1), '\0');
    made.image.resources = {.registers = 128,
                            .spill_store_bytes = 0,
                            .spill_load_bytes = 0,
                            .stack_bytes = 0,
                            .static_shared_bytes = 0};
    made.milliseconds = ms;
    made.code_hash = sha256(request.source.text);
    return made;
  }

  void send_due(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (due_.empty())
        changed_.wait(lock, stop, [this] { return !due_.empty(); });
      else if (const auto at = due_.top().at; at > Clock::now())
        changed_.wait_until(lock, stop, at, [this, at] { return due_.top().at < at; });
      else {
        const Due due = due_.top();
        due_.pop();
        lock.unlock();
        (void)due.link->send(due.frame, patience().engine);
        --at_work();
        lock.lock();
      }
    }
  }

  const Table& table_;
  std::priority_queue<Clock::time_point, std::vector<Clock::time_point>, Later> free_at_;
  std::size_t image_bytes_;
  std::mutex mutex_;  // guards due_
  std::condition_variable_any changed_;
  std::priority_queue<Due, std::vector<Due>, Later> due_;
  std::jthread thread_;  // last: it ends before all else does
};

struct Engine {
  node::Address address;
  node::Key key;
  std::string build;
  node::Patience patience;

  void be_served(node::Lane& lane, node::message::Hello hello) const {
    hello.build = build;
    for (;;) {
      const auto socket = node::connect_to(address, patience.handshake);
      if (!socket) return;
      auto channel =
          node::TlsChannel::open(*socket, node::TlsChannel::Side::node, key, patience.handshake);
      if (!channel) continue;  // of many that come at once some are cut
      const auto link = std::make_shared<node::Link>(std::move(*channel));
      if (!link->send(node::message::encode(hello), patience.engine)) continue;
      const auto end = lane.serve(link);
      if (end.welcomed || end.how == node::Lane::End::How::refused) return;
    }
  }
};

// For tables alone, which are made by ourselves.
std::string text(const Json& given, const char* name) { return given.at(name).get<std::string>(); }
std::size_t count(const Json& given, const char* name) { return given.at(name).get<std::size_t>(); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "bench_simulated_nodes FILE\n";
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    const Json given = Json::parse(file);
    const Table table(text(given, "table"), given.at("of_table"));
    const Engine engine{node::parse_address(text(given, "connect"), "connect"),
                        node::read_key(text(given, "key")),
                        sha256_of_file(text(given, "program"), {"a program", 4096 * kMebibyte}),
                        {}};
    const std::size_t devices = count(given, "devices_a_node");
    std::vector<std::jthread> threads;
    for (std::size_t at = 0; at < count(given, "nodes"); ++at) {
      const std::string name = fmt::format("n{}", at);
      threads.emplace_back([&, name] {
        const std::size_t compilers = devices * count(given, "compilers_a_device");
        CompileLane lane(table, compilers, count(given, "image_bytes"), engine.patience);
        node::message::Hello hello;
        hello.node = name;
        hello.role = node::message::Role::compilers;
        hello.jobs = static_cast<std::uint32_t>(compilers);
        hello.compiler = "simulated";
        hello.headers = "simulated";
        engine.be_served(lane, hello);
      });
      for (std::size_t device = 0; device < devices; ++device)
        threads.emplace_back([&, name, device] {
          node::message::Hello hello;
          hello.node = name;
          hello.device = fmt::format("cuda:{}", device);
          hello.role = node::message::Role::trials;
          DeviceLane lane(table, hello.device, engine.patience);
          engine.be_served(lane, hello);
        });
    }
  } catch (const std::exception& error) {
    std::cerr << "bench_simulated_nodes: " << error.what() << '\n';
    return 3;
  }
  return 0;
}
