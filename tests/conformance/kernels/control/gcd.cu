// class: divergence
// about: Euclid's algorithm in 64 bits, with real divisions
// grid: [2]
// block: [128]
// args:
//   - u64[256]=bits:35
//   - u64[256]=bits:36
//   - out:u64[256]
__device__ __noinline__ unsigned long long step(unsigned long long a, unsigned long long b) { return a % b; }

extern "C" __global__ void gcd(const unsigned long long* p, const unsigned long long* q, unsigned long long* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  unsigned long long a = p[i] >> (i % 40), b = (q[i] >> (i % 23)) | 1;
  while (b != 0) {
    const unsigned long long r = step(a, b);
    a = b;
    b = r;
  }
  out[i] = a;
}
