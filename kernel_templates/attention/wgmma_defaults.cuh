// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of wgmma.cu for a compiler that is given it by itself: preset `fa3` of the space
// `h100`.
#pragma once

#include "problem_defaults.cuh"

#ifndef CONSUMERS
#define CONSUMERS 3
#endif
#ifndef BLOCK_N
#define BLOCK_N 128
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef OVERLAP
#define OVERLAP ahead
#endif
#ifndef PV_PARTS
#define PV_PARTS 1
#endif
#ifndef PING_PONG
#define PING_PONG 1
#endif
#ifndef RESCALE
#define RESCALE always
#endif
#ifndef EXP_POLYNOMIAL
#define EXP_POLYNOMIAL 0
#endif
#ifndef Q_PLACE
#define Q_PLACE in_shared
#endif
#ifndef Q_STAGES
#define Q_STAGES 2
#endif
#ifndef CARRY
#define CARRY 0
#endif
#ifndef O_PLACE
#define O_PLACE own
#endif
#ifndef HEAD_GROUP
#define HEAD_GROUP 1
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef PERSISTENT
#define PERSISTENT 1
#endif
#ifndef DEPENDENT_LAUNCH
#define DEPENDENT_LAUNCH 0
#endif
#ifndef PACK_HEADS
#define PACK_HEADS 0
#endif
#ifndef SPLIT_KV
#define SPLIT_KV 1
#endif
#ifndef KEY_GROUPS
#define KEY_GROUPS 1
#endif
