#include <algorithm>

#include "fake_libcuda_state.hpp"

// Green contexts: a driver from before CUDA 12.4 is built without this file.

using namespace fa_tune::cuda;
using namespace fa_tune::cuda::fake;

extern "C" {

Result cuDeviceGetDevResource(DeviceOrdinal, DevResource* resource, int type) {
  if (const Result failed = enter("cuDeviceGetDevResource", false)) return failed;
  if (type != kDevResourceSm) return kErrorInvalidValue;
  *resource = {};
  resource->type = type;
  resource->sm.count = static_cast<unsigned>(state().sms);
  return kSuccess;
}
// As compute capability 9.0 does: eights, or with the flag twos from 8 on.
Result cuDevSmResourceSplitByCount(DevResource* parts, unsigned* count, const DevResource* whole,
                                   DevResource* rest, unsigned flags, unsigned least) {
  if (const Result failed = enter("cuDevSmResourceSplitByCount", false)) return failed;
  if (whole->type != kDevResourceSm || least > whole->sm.count) return kErrorInvalidValue;
  const unsigned alignment = flags == kSplitIgnoreCoscheduling ? 2 : 8;
  const unsigned each = std::max((least + alignment - 1) / alignment * alignment, 8U);
  *count = std::min(*count, whole->sm.count / each);
  for (unsigned i = 0; i < *count; ++i) {
    parts[i] = *whole;
    parts[i].sm.count = each;
  }
  *rest = *whole;
  rest->sm.count -= *count * each;
  return kSuccess;
}
Result cuDevResourceGenerateDesc(DevResourceDescriptor* descriptor, DevResource* resources,
                                 unsigned count) {
  if (const Result failed = enter("cuDevResourceGenerateDesc", false)) return failed;
  if (count != 1) return kErrorInvalidValue;
  // No function gives it back.
  auto made = std::make_shared<DevResourceDescriptorTag>(static_cast<int>(resources->sm.count));
  *descriptor = made.get();
  objects().emplace(*descriptor, std::move(made));
  return kSuccess;
}
Result cuGreenCtxCreate(GreenContext* context, DevResourceDescriptor descriptor, DeviceOrdinal,
                        unsigned flags) {
  if (const Result failed = enter("cuGreenCtxCreate", false)) return failed;
  if (flags != kGreenContextDefaultStream) return kErrorInvalidValue;
  *context = make<GreenContextTag>("green context");
  (*context)->context.sms = descriptor->sms;
  return kSuccess;
}
Result cuGreenCtxDestroy(GreenContext context) {
  drop("green context", context);
  return enter("cuGreenCtxDestroy", false);
}
Result cuCtxFromGreenCtx(Context* context, GreenContext from) {
  if (const Result failed = enter("cuCtxFromGreenCtx", false)) return failed;
  *context = &from->context;
  return kSuccess;
}

}  // extern "C"
