// class: barrier
// about: the mask of a vote names lanes that have gone another way
// grid: [1]
// block: [32]
// args:
//   - u32[32]=iota
//   - out:u32[32]
// fault: barrier
// checkers: synccheck
extern "C" __global__ void vote_absent(const unsigned* in, unsigned* out) {
  const unsigned t = threadIdx.x;
  unsigned votes = 0;
  if (t < 8) {
#ifdef FAULT
    votes = __ballot_sync(0xffffffffu, in[t] & 1);
#else
    votes = __ballot_sync(0x000000ffu, in[t] & 1);
#endif
  } else {
    votes = __ballot_sync(0xffffff00u, in[t] & 2);
  }
  __syncwarp();
  out[t] = votes;
}
