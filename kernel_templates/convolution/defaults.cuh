// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of this folder's templates for a compiler that is given one by itself.
#pragma once

#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 4
#endif
#ifndef TILE_X
#define TILE_X 4
#endif
#ifndef TILE_Y
#define TILE_Y 2
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef ADJACENT
#define ADJACENT 0
#endif
#ifndef PADDING
#define PADDING 0
#endif
