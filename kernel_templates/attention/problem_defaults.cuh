// fa-tune: defaults. A search defines all of these and leaves this file out.
// What the problem tells every kernel of attention, for a compiler that is given a file by itself:
// fp16, heads of 64, no feature on. In the repository's root, with another value by -D where wanted:
//
//   nvcc -arch=sm_90a -I kernel_templates/include -cubin kernel_templates/attention/wgmma.cu
#pragma once

#ifndef HEAD_DIM
#define HEAD_DIM 64
#endif
#ifndef KV_GROUP
#define KV_GROUP 1
#endif
#ifndef LAYOUT_BSHD
#define LAYOUT_BSHD 0
#endif
#ifndef DTYPE_BF16
#define DTYPE_BF16 0
#endif
#ifndef DTYPE_E4M3
#define DTYPE_E4M3 0
#endif
#ifndef SCALE_ROWS
#define SCALE_ROWS 0
#endif
#ifndef V_POWERS_OF_TWO
#define V_POWERS_OF_TWO 0
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif
#ifndef CAUSAL_BOTTOM_RIGHT
#define CAUSAL_BOTTOM_RIGHT 0
#endif
#ifndef WINDOW_LEFT
#define WINDOW_LEFT 0
#endif
#ifndef WINDOW_RIGHT
#define WINDOW_RIGHT 0
#endif
#ifndef SOFTCAP
#define SOFTCAP 0
#endif
#ifndef ALIBI
#define ALIBI 0
#endif
#ifndef WITH_LSE
#define WITH_LSE 0
#endif
