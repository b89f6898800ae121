// What one load takes: VECTOR floats.
#pragma once

#include "defaults.cuh"

template <int kElements>
struct WordsOf;
template <>
struct WordsOf<1> {
  using Type = float;
};
template <>
struct WordsOf<2> {
  using Type = float2;
};
template <>
struct WordsOf<4> {
  using Type = float4;
};
using Words = WordsOf<VECTOR>::Type;

union Loaded {
  Words words;
  float at[VECTOR];
};
