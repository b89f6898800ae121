#include "engine/export/header_types.hpp"

namespace fa_tune::exports {

CxxType cxx_type(DType type) {
  switch (type) {
    case DType::f16:
      return {"__half", "struct __half;\n", "CU_TENSOR_MAP_DATA_TYPE_FLOAT16"};
    case DType::bf16:
      return {"__nv_bfloat16", "struct __nv_bfloat16;\n", "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16"};
    case DType::e4m3:
      return {"__nv_fp8_e4m3", "struct __nv_fp8_e4m3;\n", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case DType::e5m2:
      return {"__nv_fp8_e5m2", "struct __nv_fp8_e5m2;\n", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case DType::f64:
      return {"double", "", "CU_TENSOR_MAP_DATA_TYPE_FLOAT64"};
    case DType::i8:
      return {"std::int8_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case DType::u8:
      return {"std::uint8_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case DType::boolean:
      return {"bool", "", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case DType::i16:
      return {"std::int16_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT16"};
    case DType::u16:
      return {"std::uint16_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT16"};
    case DType::i32:
      return {"std::int32_t", "", "CU_TENSOR_MAP_DATA_TYPE_INT32"};
    case DType::u32:
      return {"std::uint32_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT32"};
    case DType::i64:
      return {"std::int64_t", "", "CU_TENSOR_MAP_DATA_TYPE_INT64"};
    case DType::u64:
      return {"std::uint64_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT64"};
    case DType::f32:
      break;
  }
  return {"float", "", "CU_TENSOR_MAP_DATA_TYPE_FLOAT32"};
}

CxxType cxx_type(const problem::Tensor& tensor) {
  const CxxType number = cxx_type(tensor.type);
  if (!tensor.complex) return number;
  if (tensor.type == DType::f32) return {"float2", "struct float2;\n", number.map_type};
  return {"double2", "struct double2;\n", number.map_type};
}

}  // namespace fa_tune::exports
