// class: gemm mma
// about: m8n8k4 of doubles
// grid: [1]
// block: [32]
// args:
//   - f64[8x16]=normal:63
//   - f64[8x16]=normal:64
//   - out:f64[8x8]
extern "C" __global__ void gemm_mma_f64(const double* a, const double* b, double* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  double d[2] = {};
  for (int k = 0; k < 16; k += 4)
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(d[0]), "+d"(d[1]) : "d"(a[g * 16 + k + t]), "d"(b[g * 16 + k + t]));
  c[g * 8 + 2 * t] = d[0];
  c[g * 8 + 2 * t + 1] = d[1];
}
