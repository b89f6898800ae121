// class: sort
// about: a radix sort of a block's keys, one bit at a time, by ballots
// grid: [2]
// block: [128]
// args:
//   - u16[256]=bits:15
//   - out:u16[256]
extern "C" __global__ void sort_radix(const unsigned short* in, unsigned short* out) {
  __shared__ unsigned short keys[128];
  __shared__ int zeros[4];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned short key = in[blockIdx.x * 128 + t];
  for (int bit = 0; bit < 16; ++bit) {
    const bool one = key >> bit & 1;
    const unsigned clear = __ballot_sync(0xffffffffu, !one);
    if (lane == 0) zeros[warp] = __popc(clear);
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < 4; ++w) {
      before += w < warp ? zeros[w] : 0;
      all += zeros[w];
    }
    before += __popc(clear & ((1u << lane) - 1));
    keys[one ? all + t - before : before] = key;
    __syncthreads();
    key = keys[t];
  }
  out[blockIdx.x * 128 + t] = key;
}
