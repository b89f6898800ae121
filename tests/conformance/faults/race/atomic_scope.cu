// class: race
// about: blocks count at one place with atomics of their own block's scope
// grid: [4]
// block: [32]
// args:
//   - inout:u32[1]=zeros
// fault: race
// checkers: none
extern "C" __global__ void atomic_scope(unsigned* count) {
#ifdef FAULT
  asm volatile("red.relaxed.cta.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
#else
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
#endif
}
