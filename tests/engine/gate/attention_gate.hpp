#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/gate/gate.hpp"
#include "engine/problem/attention/attention.hpp"
#include "tests/engine/gate/fake_device.hpp"
#include "tests/engine/problem/attention/host_attention.hpp"

namespace fa_tune::test {

inline const problem::AttentionShape kTinyShape{.B = 1, .H = 2, .Lq = 16, .Lk = 16, .D = 8};

// What a planted kernel gets: its shape and its memory, as raw as a GPU kernel's.
struct AttentionCall {
  problem::AttentionShape shape;
  float scale = 0;
  std::uint16_t* Q = nullptr;
  std::uint16_t* K = nullptr;
  std::uint16_t* V = nullptr;
  std::uint16_t* O = nullptr;
  float* LSE = nullptr;     // where it is asked for
  float* slopes = nullptr;  // with ALiBi
  int number = 0;           // of the launch
  device::Checks checks = {};
  std::uint64_t schedule = 0;

  std::size_t query_elements() const {
    return static_cast<std::size_t>(shape.B * shape.H * shape.Lq * shape.D);
  }
  std::size_t key_elements() const {
    return static_cast<std::size_t>(shape.B * shape.kv_heads() * shape.Lk * shape.D);
  }
  // What `kernel` makes of the inputs.
  void attend(const HostAttention& kernel) const {
    kernel.run(shape, scale,
               {.Q = {Q, query_elements()},
                .K = {K, key_elements()},
                .V = {V, key_elements()},
                .O = {O, query_elements()},
                .slopes = slopes,
                .lse = LSE});
  }
};

using PlantedKernel = std::function<std::optional<device::Fault>(const AttentionCall&)>;

// The planted kernel on the device, for one shape.
inline gate::BoundKernel attention_kernel(FakeDevice& device, const problem::AttentionShape& sizes,
                                          const PlantedKernel& kernel) {
  const device::KernelHandle handle = device.add([kernel, sizes](const FakeDevice::Call& call) {
    const auto tensor = [&](std::size_t i) {
      return reinterpret_cast<std::uint16_t*>(call.pointers.at(i));
    };
    AttentionCall made{.shape = sizes,
                       .Q = tensor(0),
                       .K = tensor(1),
                       .V = tensor(2),
                       .O = tensor(3),
                       .number = call.number,
                       .checks = call.checks,
                       .schedule = call.schedule};
    std::size_t next = 4;
    if (sizes.lse) made.LSE = reinterpret_cast<float*>(call.pointers.at(next++));
    if (sizes.alibi) made.slopes = reinterpret_cast<float*>(call.pointers.at(next));
    std::memcpy(&made.scale, call.scalars.at(2).data(), sizeof made.scale);
    return kernel(made);
  });
  gate::BoundKernel bound{
      .kernel = handle, .launch = {}, .argument_names = {"Q", "K", "V", "O", "Lq", "Lk", "scale"}};
  if (sizes.lse) bound.argument_names.emplace_back("LSE");
  if (sizes.alibi) bound.argument_names.emplace_back("alibi_slopes");
  return bound;
}

// An attention problem, a fake device and a gate between them.
class AttentionGate {
 public:
  explicit AttentionGate(const problem::AttentionShape& timed,
                         double work_cap = problem::RowSample::kUsualCap)
      : problem_(timed, work_cap), truth_(problem_) {}

  const problem::AttentionProblem& problem() const { return problem_; }
  gate::TruthCache& truth() { return truth_; }

  std::vector<gate::GateCase> cases(const std::string& suite, std::uint64_t seed = 1) const {
    return gate::gate_cases(problem::chosen_suites(problem_, {suite}).at(0), seed);
  }

  gate::Verdict check(const PlantedKernel& kernel, const std::vector<gate::GateCase>& cases) {
    FakeDevice device;
    if (can_check_) device.can_check();
    const gate::Binder bind =
        [&](const Constants& shape) -> std::expected<gate::BoundKernel, std::string> {
      return attention_kernel(device, problem::AttentionShape::from(shape), kernel);
    };
    gate::Verdict verdict = gate::Gate(device, truth_).check(bind, cases);
    leaked_ = device.buffers_held();
    return verdict;
  }

  gate::Verdict check(const HostAttention& kernel, const std::vector<gate::GateCase>& cases) {
    return check(
        [&](const AttentionCall& call) -> std::optional<device::Fault> {
          call.attend(kernel);
          return std::nullopt;
        },
        cases);
  }

  // From now on on a device that takes checks and schedules.
  void can_check() { can_check_ = true; }
  std::size_t leaked() const { return leaked_; }

 private:
  problem::AttentionProblem problem_;
  gate::TruthCache truth_;
  std::size_t leaked_ = 0;
  bool can_check_ = false;
};

}  // namespace fa_tune::test
