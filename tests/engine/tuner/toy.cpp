#include "tests/engine/tuner/toy.hpp"

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include <fmt/core.h>

#include "engine/device/local/open.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/tuner/listeners.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::problem;
using namespace fa_tune::space;
using namespace fa_tune::tuner;
namespace {

constexpr const char* kSpace = R"yaml(space: toy
target: l4
problem: {kind: doubling}
templates: {toy: toy.yaml}
parameters:
  BLOCK: [32, 64, 128, 256]
  WORK: [0, 1, 2, 3, 5, 8, 13, 21]
  FACTOR: [1, 2, 3, 4]
  COMPILES: [false, true]
  NAME: [a, b]
constraints:
  - {expr: "COMPILES or WORK < 3", because: "a few that do not compile are enough"}
  - {expr: "FACTOR == 2 or WORK > 8", because: "a few that are wrong are enough"}
presets:
  plain: {template: toy, BLOCK: 32, WORK: 21, FACTOR: 2, COMPILES: true, NAME: a}
)yaml";

constexpr const char* kManifest = R"yaml(source: toy.cu
kernel: toy
problem: doubling
parameters: [BLOCK, WORK, FACTOR, COMPILES, NAME]
launch:
  grid: ["ceil_div(problem.N, BLOCK)"]
  block: [BLOCK]
arguments: [X, Y, N]
)yaml";

// Says nothing to a compiler of C++: toy_compiler reads the defines before it.
constexpr const char* kCuda = "extern \"C\" __global__ void toy() {}\n";

template <typename Number>
std::vector<std::byte> bytes_of(const std::vector<Number>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(Number));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class Doubling final : public Problem {
 public:
  std::string kind() const override { return "doubling"; }
  const Constants& shape() const override { return timed_; }
  std::string describe(const Constants& shape) const override {
    return fmt::format("N={}", elements(shape));
  }
  std::vector<Suite> suites() const override {
    return {{SuiteName::quick, {{{"N", std::int64_t{33}}}, timed_}},
            {SuiteName::ragged, {{{"N", std::int64_t{77}}}}}};
  }
  std::vector<std::pair<std::string, std::string>> defines(const Constants&) const override {
    return {};
  }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override {
    const std::int64_t count = elements(shape);
    Random random(seed);
    std::vector<float> x;
    for (std::int64_t i = 0; i < count; ++i)
      x.push_back(static_cast<float>(random.below(1'000'000)) / 1'000'000 - 0.5F);
    return {.shape = shape,
            .inputs = inputs,
            .seed = seed,
            .tensors = {{"X", DType::f32, Role::input, {count}, bytes_of(x)},
                        {"Y", DType::f32, Role::output, {count}, {}}},
            .scalars = {{"N", bytes_of(std::vector{static_cast<std::int32_t>(count)})}}};
  }
  std::vector<Expectation> expect(const Instance& instance, Truth) const override {
    const Tensor& x = instance.tensors[0];
    Expectation expectation{.tensor = "Y", .exact = {}, .bound = {}, .rms_bound = 1e-6};
    for (std::size_t i = 0; i < x.bytes.size(); i += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, &x.bytes[i], sizeof value);
      expectation.exact.push_back(2.0 * value);
      expectation.bound.push_back(1e-5);
    }
    return {expectation};
  }
  double flop(const Constants& shape) const override {
    return static_cast<double>(elements(shape));
  }
  double bytes(const Constants& shape) const override {
    return 8.0 * static_cast<double>(elements(shape));
  }

 private:
  static std::int64_t elements(const Constants& shape) {
    return std::get<std::int64_t>(shape.at("N"));
  }

  Constants timed_{{"N", std::int64_t{256}}};
};

std::string defined(const std::string& source, const std::string& name) {
  const std::string line = "#define " + name + " ";
  const std::size_t begin = source.find(line) + line.size();
  return source.substr(begin, source.find('\n', begin) - begin);
}

class ToyCompiler final : public Compiler {
 public:
  std::string version() const override { return "toy 1"; }

  CompileOutcome compile(const CompileRequest& request) override {
    const std::string& source = request.source.text;
    if (defined(source, "COMPILES") != "1")
      return std::unexpected(CompileFailure{"line 1: it is said not to compile", ""});
    std::string work;
    for (int i = kStepsAWork * std::stoi(defined(source, "WORK")); i > 0; --i)
      work += "  add.f32 %f2, %f2, 0f3F800000;\n  sub.f32 %f2, %f2, 0f3F800000;\n";
    const auto factor = static_cast<float>(std::stod(defined(source, "FACTOR")));
    std::uint32_t bits = 0;
    std::memcpy(&bits, &factor, sizeof bits);
    Compiled compiled;
    compiled.image = {.kind = BinaryKind::ptx,
                      .arch = request.arch,
                      .kernel = "toy",
                      .bytes = fmt::format(kPtx, work, bits),
                      .resources = {.registers = 16,
                                    .spill_store_bytes = 0,
                                    .spill_load_bytes = 0,
                                    .stack_bytes = 0,
                                    .static_shared_bytes = 0}};
    compiled.code_hash = sha256(compiled.image.bytes);
    return compiled;
  }

 private:
  // Enough for the predicted times to differ.
  static constexpr int kStepsAWork = 32;
  static constexpr const char* kPtx = R"(.version 8.0
.target sm_89
.address_size 64
.visible .entry toy(.param .u64 X, .param .u64 Y, .param .u32 N)
{{
  .reg .pred %p1;
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  .reg .f32 %f<3>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [N];
  setp.ge.u32 %p1, %r4, %r5;
  @%p1 bra DONE;
  ld.param.u64 %d1, [X];
  ld.param.u64 %d2, [Y];
  mul.wide.u32 %d3, %r4, 4;
  add.u64 %d1, %d1, %d3;
  add.u64 %d2, %d2, %d3;
  ld.global.f32 %f1, [%d1];
  mov.f32 %f2, 0f00000000;
{}  fma.rn.f32 %f2, %f1, 0f{:08X}, %f2;
  st.global.f32 [%d2], %f2;
DONE:
  ret;
}}
)";
};

}  // namespace

std::unique_ptr<Problem> toy_problem() { return std::make_unique<Doubling>(); }

TuningTask toy_project(const Replacements& replacements, const Replacements& in_manifest) {
  SpaceFile file = parse_space_file(replace(kSpace, replacements), "toy.yaml");
  DeviceProfile target = load_profile(file.target, root());
  auto problem = toy_problem();
  std::vector<Template> templates;
  templates.push_back(
      Template::parse("toy", replace(kManifest, in_manifest), kCuda, "toy manifest"));
  SpaceParts parts;
  parts.name = file.name;
  parts.parameters = file.parameters;
  parts.constraints = file.constraints;
  parts.presets = file.presets;
  parts.constants = scope_of(target, problem->shape());
  Space space = Space::build(std::move(parts));
  return {test::root(),       std::move(file),      std::move(target),
          std::move(problem), std::move(templates), std::move(space)};
}

const TuningTask& toy() {
  static const TuningTask task = toy_project();
  return task;
}

std::unique_ptr<Compiler> toy_compiler() { return std::make_unique<ToyCompiler>(); }

std::unique_ptr<Device> toy_device() { return open_device("emulator:l4", toy().target, root()); }

db::RunRow toy_run() {
  return {.space = "toy",
          .space_hash = "70",
          .space_text = "space: toy",
          .problem = "doubling",
          .shape_json = "{}",
          .device = "emulator:l4",
          .device_name = "emulated NVIDIA L4",
          .arch = "sm_89",
          .target = "l4",
          .time_kind = "predicted",
          .driver = "",
          .compiler = "toy 1",
          .strategy = "random",
          .options_json = "{}",
          .state = "running",
          .started_at = "2026-01-01T00:00:00Z",
          .finished_at = ""};
}

EvolveOptions toy_options(int trials) {
  EvolveOptions options;
  options.trials = trials;
  options.seed = 3;
  return options;
}

EvolveResult search_toy(db::Store& store, const std::vector<Device*>& devices,
                        const EvolveOptions& options,
                        const std::function<void(const db::TrialRow&)>& each,
                        const std::atomic<bool>& stop) {
  const auto compiler = toy_compiler();
  WatchingListener listener;
  listener.each = each;
  return evolve(toy(), devices, *compiler, store, options, listener, stop);
}

const std::vector<std::string>& toy_fingerprint(int trials) {
  static std::mutex mutex;
  static std::map<int, std::vector<std::string>> known;
  const std::lock_guard lock(mutex);
  std::vector<std::string>& lines = known[trials];
  if (lines.empty()) {
    ScratchStore kept;
    const auto device = toy_device();
    search_toy(kept.store, {device.get()}, toy_options(trials));
    lines = report::run_fingerprint_lines(kept.store, 1);
  }
  return lines;
}

}  // namespace fa_tune::test
