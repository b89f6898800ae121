#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <tuple>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "engine/device/local/open.hpp"
#include "engine/source/identifier_substitution.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

namespace fa_tune::bench {
namespace {

constexpr std::size_t kWords = 4;  // that a CTA notes
constexpr int kLaunches = 3;       // the first ones bring code and data to where they stay

// The constructor runs before the kernel's first statement and the destructor after its last, by
// whichever way a thread leaves. Warps end at different times, so the latest of them counts.
constexpr const char* kNotes = R"(
__constant__ unsigned long long* cta_notes;
struct CtaNotes {
  __device__ static unsigned long long* mine() {
    return cta_notes +
           4 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * (unsigned long long)blockIdx.z));
  }
  __device__ CtaNotes() {
    if (threadIdx.x + threadIdx.y + threadIdx.z != 0) return;
    unsigned sm;
    unsigned long long clocks;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clocks) : : "memory");
    mine()[0] = clocks;
    mine()[2] = sm;
  }
  __device__ ~CtaNotes() {
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    if (lane != 0) return;
    unsigned long long clocks, ns;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clocks) : : "memory");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns) : : "memory");
    atomicMax(mine() + 1, clocks);
    atomicMax(mine() + 3, ns);
  }
};
)";

// A buffer's address as a kernel sees it: Device shows it to kernels alone.
constexpr const char* kAddress = R"(
extern "C" __global__ void address_of(unsigned long long* to, unsigned long long* of) {
  *to = reinterpret_cast<unsigned long long>(of);
}
)";

template <class T>
T checked(std::expected<T, device::Fault> outcome, const char* doing) {
  if (!outcome) throw MachineError(fmt::format("{}: {}", doing, outcome.error().message));
  if constexpr (!std::is_void_v<T>) return *outcome;
}

kernel::Compiled checked(kernel::CompileOutcome outcome) {
  if (!outcome)
    throw MachineError("a measured variant does not compile: " + outcome.error().message);
  return *std::move(outcome);
}

// The kernel is the last in its text; its attributes may have parentheses of their own.
kernel::Source noting(kernel::Source source) {
  const std::string plain = source::without_quotes(source.text);
  int depth = 0;
  std::size_t brace = plain.rfind("__global__");
  for (; brace < plain.size() && (plain[brace] != '{' || depth != 0); ++brace) {
    if (plain[brace] == '(') ++depth;
    if (plain[brace] == ')') --depth;
  }
  if (brace >= plain.size()) throw UserError("no kernel found in the text of " + source.kernel);
  source.text.insert(brace + 1, " CtaNotes cta_notes_of_this;");
  source.text.insert(0, kNotes);
  source.origin = nullptr;  // its lines are others now
  return source;
}

class NotingDevice {
 public:
  NotingDevice(device::Device& device, kernel::Compiler& compiler)
      : device_(device), address_(device.allocate(sizeof(std::uint64_t))) {
    const auto compiled = compiler.compile(
        {{kAddress, "address_of", ""}, device.info().arch, device.info().accepts, {}});
    address_of_ = checked(device.load(checked(compiled).image), "loading address_of");
  }
  ~NotingDevice() {
    device_.unload(address_of_);
    device_.release(address_);
  }
  NotingDevice(const NotingDevice&) = delete;
  NotingDevice& operator=(const NotingDevice&) = delete;

  std::vector<std::uint64_t> noted(device::Launch launch) {
    if (!launch.steps.empty()) throw UserError("a variant of several steps has no CTAs to compare");
    std::vector<std::uint64_t> words(kWords * launch.config.grid.count());
    const std::size_t bytes = kWords * sizeof(std::uint64_t) * launch.config.grid.count();
    const device::BufferHandle notes = device_.allocate(bytes);
    device::Launch asking;
    asking.kernel = address_of_;
    asking.arguments = {address_, notes};
    checked(device_.launch(asking), "asking for an address");
    launch.constants.push_back({"cta_notes", address_, 0, sizeof(std::uint64_t)});
    for (int i = 0; i < kLaunches; ++i) {
      checked(device_.fill({{notes, 0, bytes, 0}}), "filling");  // maxima begin at 0
      checked(device_.launch(launch), "launching");
    }
    checked(device_.read(notes, 0, std::as_writable_bytes(std::span(words))), "reading");
    device_.release(notes);
    return words;
  }

 private:
  device::Device& device_;
  device::BufferHandle address_;
  device::KernelHandle address_of_{};
};

struct SmNotes {
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  std::uint64_t last_ns = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ctas;

  std::uint64_t clocks() const { return last - first; }
};

void print(const Json& row) {
  std::string counts;
  for (const auto& [ctas, sms] : row.at("ctas_per_sm").items())
    counts += fmt::format("{}{} SMs ran {}", counts.empty() ? "" : ", ", sms.get<int>(), ctas);
  fmt::print("{}; the last {}, {:.3f} of the mean: {}\n", counts,
             row.at("last_sm").at("ctas").get<int>(), row.at("last_sm").at("of_mean").get<double>(),
             row.at("config").dump());
}

}  // namespace

Json cta_row(std::span<const std::uint64_t> words) {
  std::map<std::uint64_t, SmNotes> sms;
  for (; words.size() >= kWords; words = words.subspan(kWords)) {
    if (words[1] <= words[0])
      throw MachineError(fmt::format("a CTA began at {} and ended at {}", words[0], words[1]));
    SmNotes& sm = sms[words[2]];
    sm.first = std::min(sm.first, words[0]);
    sm.last = std::max(sm.last, words[1]);
    sm.last_ns = std::max(sm.last_ns, words[3]);
    sm.ctas.emplace_back(words[0], words[1]);
  }
  if (sms.empty()) throw MachineError("no CTA has run");
  std::map<std::size_t, int> by_ctas;
  double clocks = 0;
  for (const auto& [id, sm] : sms) {
    ++by_ctas[sm.ctas.size()];
    clocks += static_cast<double>(sm.clocks());
  }
  // SMs have clocks of their own, so the GPU's time says who ended last. It ticks more slowly: of
  // those that ended in one tick, it is the one that ran longest.
  SmNotes& last = std::ranges::max_element(sms, {}, [](const auto& each) {
                    return std::tuple(each.second.last_ns, each.second.clocks());
                  })->second;
  std::ranges::sort(last.ctas);
  Json ctas = Json::array();
  for (const auto& [begin, end] : last.ctas) ctas.push_back({begin - last.first, end - last.first});
  Json counts = Json::object();
  for (const auto& [count, how_many] : by_ctas) counts[std::to_string(count)] = how_many;
  const double of_mean =
      static_cast<double>(last.clocks()) * static_cast<double>(sms.size()) / clocks;
  return {{"ctas_per_sm", counts},
          {"last_sm",
           {{"ctas", last.ctas.size()},
            {"clocks", last.clocks()},
            {"of_mean", std::round(1e4 * of_mean) / 1e4}}},
          {"ctas_of_the_last", ctas}};
}

Json ctas_of_variants(const Json& measured, const LaunchOptions& options) {
  const ShapeName shape{measured.at("shape").get<std::string>()};
  const tuner::TuningTask task = shape.open(measured.at("space").get<std::string>());
  const auto device = device::open_device(options.device, task.target, find_root());
  const auto compiler = compiler_with("");
  kernel::CompilePool pool(*compiler, options.threads);
  const std::vector<Json> rows = chosen_rows(measured, options.every);
  std::vector<Config> configs;
  std::vector<std::future<kernel::CompileOutcome>> compiled;
  for (const Json& row : rows) {
    configs.push_back(Config::from_json(row.at("config").dump()));
    kernel::CompileRequest request = request_of(task, configs.back(), device->info());
    request.source = noting(std::move(request.source));
    compiled.push_back(pool.submit(std::move(request)));
  }
  Workplace workplace(task, *device);
  NotingDevice noting_device(*device, *compiler);
  Json result = measured;
  result["sms"] = device->info().sms;
  result["every"] = options.every;
  result["device"] = device->info().name;
  result["driver"] = device->info().driver;
  result["compiler"] = compiler->version();
  result["date"] = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  result["rows"] = Json::array();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const kernel::Compiled variant = checked(compiled[i].get());
    const device::KernelHandle kernel = checked(device->load(variant.image), "loading");
    Json row = {{"config", rows[i].at("config")}, {"median_us", rows[i].at("median_us")}};
    row.update(cta_row(noting_device.noted(workplace.launch(configs[i], kernel))));
    device->unload(kernel);
    print(row);
    result["rows"].push_back(std::move(row));
  }
  return result;
}

}  // namespace fa_tune::bench
