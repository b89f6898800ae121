// class: divergence
// about: a switch in a loop, each lane runs its own little program
// grid: [2]
// block: [64]
// args:
//   - u8[16x128]=bits:37
//   - out:i32[128]
extern "C" __global__ void interpreter(const unsigned char* code, int* out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  int a = i, b = 1;
  for (int at = 0; at < 16; ++at) {
    const int op = code[at * 128 + i];
    switch (op % 9) {
      case 0: a += b; break;
      case 1: b -= a; break;
      case 2: a ^= b << 3; break;
      case 3: a = a * 5 + op; break;
      case 4: b = a >> 2; break;
      case 5: if (a & 1) at += 1; break;
      case 6: a = -b; break;
      case 7: b = b * b + 1; break;
      default: a = min(a, b); break;
    }
  }
  out[i] = a ^ b;
}
