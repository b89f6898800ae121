#include "engine/device/cuda/sm_partition.hpp"

#include <fmt/format.h>

#include "engine/util/error.hpp"

namespace fa_tune::cuda {

SmPartition::SmPartition(std::shared_ptr<const DriverApi> api, int index, DeviceOrdinal device,
                         int sms)
    : api_(std::move(api)) {
  const auto refuse = [&](const std::string& why) {
    throw MachineError(fmt::format("cuda:{} gives no part of {} SMs: {}", index, sms, why));
  };
  const auto need = [&](Result code, const char* doing) {
    if (code != kSuccess) refuse(fmt::format("{}: {}", doing, api_->describe(code)));
  };
  if (sms < 1) refuse("a part has one SM at least");
  if (api_->cuGreenCtxCreate == nullptr) refuse("its driver is older than CUDA 12.4");
  DevResource all;
  need(api_->cuDeviceGetDevResource(device, &all, kDevResourceSm), "cuDeviceGetDevResource");
  const auto most = static_cast<int>(all.sm.count);
  if (sms > most) refuse(fmt::format("it has {}", most));
  DevResource part;
  DevResource rest;
  unsigned parts = 1;
  need(api_->cuDevSmResourceSplitByCount(&part, &parts, &all, &rest, kSplitIgnoreCoscheduling,
                                         static_cast<unsigned>(sms)),
       "cuDevSmResourceSplitByCount");
  if (parts != 1 || part.sm.count != static_cast<unsigned>(sms))
    refuse(fmt::format("the nearest that it gives has {}", part.sm.count));
  DevResourceDescriptor descriptor = nullptr;
  need(api_->cuDevResourceGenerateDesc(&descriptor, &part, 1), "cuDevResourceGenerateDesc");
  need(api_->cuGreenCtxCreate(&green_, descriptor, device, kGreenContextDefaultStream),
       "cuGreenCtxCreate");
  if (const Result code = api_->cuCtxFromGreenCtx(&context_, green_); code != kSuccess) {
    api_->cuGreenCtxDestroy(green_);
    need(code, "cuCtxFromGreenCtx");
  }
}

SmPartition::~SmPartition() { api_->cuGreenCtxDestroy(green_); }

}  // namespace fa_tune::cuda
