// VEC elements in one access, PER accesses a thread. Both are template parameters: the kernel's
// name in the space says where they go.
struct alignas(4) One { float v[1]; };
struct alignas(8) Two { float v[2]; };
struct alignas(16) Four { float v[4]; };
template <int N> struct Packed { using type = One; };
template <> struct Packed<2> { using type = Two; };
template <> struct Packed<4> { using type = Four; };

template <int VEC, int PER>
__global__ void bias_gelu(const float* x, const float* bias, float* y, int rows, int columns) {
  using Pack = typename Packed<VEC>::type;
  const int count = rows * columns / VEC;
  for (int k = 0; k < PER; ++k) {
    const int i = (blockIdx.x * PER + k) * THREADS + threadIdx.x;
    if (i >= count) return;
    Pack pack = reinterpret_cast<const Pack*>(x)[i];
    const Pack add = reinterpret_cast<const Pack*>(bias)[i % (columns / VEC)];
    for (int j = 0; j < VEC; ++j) {
      const float v = pack.v[j] + add.v[j];
      pack.v[j] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
    reinterpret_cast<Pack*>(y)[i] = pack;
  }
}
