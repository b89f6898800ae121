// Programmatic dependent launch (sm_90): a kernel's blocks may begin before the kernel in front of
// it in the stream has ended. CUDA C++ Programming Guide, "Programmatic Dependent Launch and
// Synchronization"; PTX ISA: griddepcontrol.
#pragma once

// From when all blocks have called it, or have ended, the next kernel's blocks may begin, as far as
// there is room for them beside these.
__device__ __forceinline__ void let_next_kernel_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Returns once the kernels in front have ended and what they wrote is visible. Nothing in global
// memory may be touched before.
__device__ __forceinline__ void wait_for_kernel_in_front() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
