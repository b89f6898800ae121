#include "engine/device/emulator/timing/sass_cost.hpp"

#include <initializer_list>

#include "engine/device/emulator/timing/simulated_phases.hpp"

namespace fa_tune::emulator {
namespace {

// Of what constants and special registers are read with. Assumed: not measured, not published.
constexpr double kConstantLatency = 24;

Carrier carrier(std::initializer_list<SassKind> kinds, bool wanted = true) {
  Carrier made;
  for (const SassKind kind : kinds) made.kinds[made.count++] = kind;
  made.wanted = wanted;
  return made;
}

}  // namespace

Carrier carrier_of(const Cost& cost) {
  using enum SassKind;
  switch (cost.role) {
    case Role::shared:
      return carrier({shared, local, local_write, shuffle}, false);
    case Role::global_read:
    case Role::global_write:
      return carrier({global});
    case Role::async_copy:
      return carrier({async_copy});
    case Role::async_commit:
      return carrier({async_commit}, false);
    case Role::async_wait:
      return carrier({async_wait}, false);
    case Role::traced:
      return carrier({mbarrier, bulk}, false);
    case Role::bulk_commit:
      return carrier({bulk_commit}, false);
    case Role::bulk_wait:
      return carrier({async_wait}, false);
    case Role::cluster_arrive:
    case Role::cluster_wait:
      return carrier({other}, false);
    case Role::device_fence:
      return carrier({device_fence}, false);
    case Role::tensor_async:
      return carrier({wgmma});
    case Role::tensor_commit:
      return carrier({wgmma_sync}, false);
    case Role::tensor_wait:
      return carrier({wgmma_wait}, false);
    case Role::barrier:
      return carrier({barrier}, false);
    case Role::plain:
    case Role::local:
    case Role::local_write:
      break;
  }
  if (cost.unit == Unit::tensor) return carrier({tensor});
  if (cost.unit == Unit::memory) return carrier({shuffle, shared}, false);
  if (cost.unit == Unit::special) return carrier({special}, false);
  return {};
}

bool in_order(const Cost& cost) {
  switch (cost.role) {
    case Role::plain:
    case Role::shared:
    case Role::local:
    case Role::local_write:
    case Role::global_read:
    case Role::global_write:
      return false;
    default:
      return true;
  }
}

Cost cost_of(SassKind kind, const DeviceProfile& p) {
  using enum SassKind;
  const auto make = [](Unit unit, double rate, double latency) {
    Cost cost;
    cost.unit = unit;
    cost.busy = rate > 0 ? kWarpSize * kPartitions / rate : 0;
    cost.latency = latency;
    return cost;
  };
  switch (kind) {
    case fma:
      return make(Unit::fma, p.fma_f32_per_clock_sm, p.arithmetic_latency);
    case imad:
      return make(Unit::fma, p.alu_int_per_clock_sm, p.arithmetic_latency);
    case imad_wide:
      return make(Unit::fma, p.alu_int_per_clock_sm / 2, p.arithmetic_latency);
    case float_alu: {
      Cost cost = make(Unit::alu, p.alu_int_per_clock_sm, p.arithmetic_latency);
      cost.of_floats = true;
      return cost;
    }
    case alu:
    case elect:
    case fp64:
      return make(Unit::alu, p.alu_int_per_clock_sm, p.arithmetic_latency);
    case half:
      return make(Unit::half, p.half_per_clock_sm, p.arithmetic_latency);
    case special:
      return make(Unit::special, p.special_per_clock_sm, p.special_latency);
    case convert:
      return make(Unit::alu, p.convert_per_clock_sm, p.arithmetic_latency);
    case shared:
    case shuffle:
    case global:
      return make(Unit::memory, p.shared_bytes_per_clock_sm, p.shared_latency);
    case local:
    case local_write: {
      Cost cost = make(Unit::memory, p.shared_bytes_per_clock_sm, p.shared_latency);
      cost.role = kind == local ? Role::local : Role::local_write;
      return cost;
    }
    case mbarrier:
      return make(Unit::control, kWarpSize * kPartitions, kPhaseTestClocks);
    case device_fence: {
      Cost cost = make(Unit::control, kWarpSize * kPartitions, 0);
      cost.role = Role::device_fence;
      return cost;
    }
    case constant:
      return make(Unit::control, kWarpSize * kPartitions, kConstantLatency);
    default:
      return make(Unit::control, kWarpSize * kPartitions, 0);
  }
}

}  // namespace fa_tune::emulator
