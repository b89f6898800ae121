// What attention takes beside Q, K, V, O, lengths and scale. A feature that is on has its
// parameters at the kernel's end, where FEATURE_PARAMETERS stands; one that is off has constants of
// the same names, so that code which mentions them is folded away.
#pragma once

#if WITH_LSE
#define LSE_PARAMETER , float* __restrict__ lse  // [B, H, Lq]
#else
#define LSE_PARAMETER
constexpr float* lse = nullptr;
#endif

#if WINDOW_LEFT
#define WINDOW_LEFT_PARAMETER , int window_left
#else
#define WINDOW_LEFT_PARAMETER
constexpr int window_left = 0;
#endif

#if WINDOW_RIGHT
#define WINDOW_RIGHT_PARAMETER , int window_right
#else
#define WINDOW_RIGHT_PARAMETER
constexpr int window_right = 0;
#endif

#if SOFTCAP
#define SOFTCAP_PARAMETER , float softcap
#else
#define SOFTCAP_PARAMETER
constexpr float softcap = 0.0f;
#endif

#if ALIBI
#define ALIBI_PARAMETER , const float* __restrict__ alibi_slopes  // [H]
#else
#define ALIBI_PARAMETER
constexpr const float* alibi_slopes = nullptr;
#endif

#if DTYPE_E4M3
#define SCALE_PARAMETERS                                  \
  , const float* __restrict__ q_scale /* [B, H, blocks of SCALE_ROWS rows] */ \
  , const float* __restrict__ k_scale /* [B, H / KV_GROUP, blocks] */         \
  , const float* __restrict__ v_scale
#else
#define SCALE_PARAMETERS
[[maybe_unused]] constexpr const float* q_scale = nullptr;
[[maybe_unused]] constexpr const float* k_scale = nullptr;
[[maybe_unused]] constexpr const float* v_scale = nullptr;
#endif

#define FEATURE_PARAMETERS                                                                        \
  LSE_PARAMETER WINDOW_LEFT_PARAMETER WINDOW_RIGHT_PARAMETER SOFTCAP_PARAMETER ALIBI_PARAMETER \
  SCALE_PARAMETERS
