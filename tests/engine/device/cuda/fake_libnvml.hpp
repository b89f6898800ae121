#pragma once

// NVML without a GPU, for tests: libnvml_fake.so knows the fake driver's GPU 0 and says of it what
// the test has set. It has the older name of the clock's reasons alone, as drivers before 535.
namespace fa_tune::cuda::fake {

struct NvmlState {
  int init = 0;  // what nvmlInit_v2 answers
  unsigned milliwatts = 350'500;
  unsigned celsius = 61;
  unsigned long long millijoules = 5'000;
  unsigned long long reasons = 0;
  int reads = 0;
};

}  // namespace fa_tune::cuda::fake

extern "C" fa_tune::cuda::fake::NvmlState* fake_nvml_state();
