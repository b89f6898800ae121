// class: arithmetic
// about: products, quotients and remainders of every width, dp4a, sad, 24 bits, wrap-around
// grid: [2]
// block: [128]
// args:
//   - u64[256]=bits:44
//   - u64[256]=bits:45
//   - out:u64[256x16]
extern "C" __global__ void integer_math(const unsigned long long* p, const unsigned long long* q,
                                        unsigned long long* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const unsigned long long a = p[i], b = q[i] >> (i % 60) | 1;
  const unsigned x = (unsigned)a, y = (unsigned)b;
  unsigned long long* o = out + 16 * i;
  o[0] = a * b;
  o[1] = __umul64hi(a, b);
  o[2] = (unsigned long long)__mul64hi((long long)a, (long long)b);
  o[3] = a / b;
  o[4] = a % b;
  o[5] = (unsigned long long)((long long)a / (long long)b);
  o[6] = (unsigned long long)((long long)a % (long long)b);
  o[7] = __umulhi(x, y) | (unsigned long long)(unsigned)__mulhi((int)x, (int)y) << 32;
  o[8] = (unsigned long long)x * y + a;
  o[9] = (unsigned long long)((long long)(int)x * (int)y - (long long)a);
  o[10] = x / y | (unsigned long long)(x % y) << 32;
  o[11] = (unsigned)((int)x / (int)y) | (unsigned long long)(unsigned)((int)x % (int)y) << 32;
  o[12] = (unsigned)__dp4a((int)x, (int)y, (int)(a >> 32)) | (unsigned long long)__dp4a(x, y, (unsigned)(b >> 32)) << 32;
  o[13] = __usad(x, y, 7u) | (unsigned long long)__sad((int)x, (int)y, 9u) << 32;
  o[14] = (unsigned)__mul24((int)x, (int)y) | (unsigned long long)__umul24(x, y) << 32;
  o[15] = (unsigned)__dp2a_lo((int)x, (int)y, 3) | (unsigned long long)(unsigned)__dp2a_hi((int)x, (int)y, 5) << 32;
}
