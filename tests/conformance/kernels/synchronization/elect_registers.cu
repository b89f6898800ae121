// class: warp
// about: elect.sync, and warps that trade registers
// arch: sm_90a
// grid: [1]
// block: [256]
// args:
//   - out:u32[256]
extern "C" __global__ void elect_registers(unsigned* out) {
  const int t = threadIdx.x;
  unsigned lane, chosen;
  asm volatile("{\n.reg .pred p;\nelect.sync %0|p, 0xffffffff;\nselp.u32 %1, 1, 0, p;\n}" : "=r"(lane), "=r"(chosen));
  if (t < 128)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
  else
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  unsigned part = 0;
  if (t % 32 >= 8) {
    unsigned one, mine;
    asm volatile("{\n.reg .pred p;\nelect.sync %0|p, 0xffffff00;\nselp.u32 %1, 1, 0, p;\n}" : "=r"(one), "=r"(mine));
    part = one < 32 && one >= 8 ? __popc(__ballot_sync(0xffffff00u, mine)) : 99;
  }
  out[t] = __popc(__ballot_sync(0xffffffffu, chosen)) * 256 + (lane < 32) * 16 + part;
}
