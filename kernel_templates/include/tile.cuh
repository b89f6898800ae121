// A tile of rows of HEAD_DIM 16-bit elements in shared memory, moved in chunks of 16 bytes.
//
// ldmatrix reads the same chunk of eight rows that follow each other. In a plain layout a row is
// 128 or 256 bytes, so all eight chunks lie in the same four banks and are served one after the
// other. Padding a row by a chunk, or exchanging a row's chunks by the row's number (xor), puts
// them in different banks.
#pragma once

#include "copy.cuh"
#include "element.cuh"
#include "math.cuh"

enum class Layout { plain, padded, swizzled };

template <Layout kLayout>
struct SharedTile {
  static constexpr int kChunks = HEAD_DIM / 8;
  // Bytes from a row to the next.
  static constexpr int kPitch = (kChunks + (kLayout == Layout::padded ? 1 : 0)) * 16;

  static constexpr int bytes(int rows) { return rows * kPitch; }

  // Bytes from the tile's start to chunk `chunk` of row `row`.
  __device__ __forceinline__ static int offset(int row, int chunk) {
    const int place = kLayout == Layout::swizzled ? chunk ^ (row & 7) : chunk;
    return row * kPitch + place * 16;
  }
  // The same of chunk `chunk` + `more` from that, which have no bits in common.
  __device__ __forceinline__ static int further_chunk(int offset, int more) {
    return kLayout == Layout::swizzled ? offset ^ more * 16 : offset + more * 16;
  }

 private:
  // A thread's share where kThreads move a tile: a chunk of each kRowStep-th row. So what differs
  // between the chunks is known when the kernel is compiled, and goes into the instructions.
  template <int kThreads>
  struct Share {
    static constexpr int kRowStep = kThreads / kChunks;

    __device__ __forceinline__ explicit Share(unsigned thread)
        : row(thread / kChunks), chunk(thread % kChunks) {}

    // Its chunk of the first row.
    template <typename E>
    __device__ __forceinline__ E* start(E* global, int stride, int first) const {
      E* chunk_of_row = global + static_cast<long long>(first + row) * stride + chunk * 8;
      // Taken for a new value, or the compiler computes the sum again for each row.
      asm("" : "+l"(chunk_of_row));
      return chunk_of_row;
    }

    template <int kRows, typename Move>
    __device__ __forceinline__ void for_each_row(const Move& move) const {
      if (kThreads % kChunks != 0 && row >= kRowStep) return;
#pragma unroll
      for (int step = 0; step < kRows; step += kRowStep)
        if (step + kRowStep <= kRows || step + row < kRows) move(step);
    }

    // Whether all threads have as many of kRows rows, and every second of a thread's lies as far
    // behind the one before in shared memory.
    template <int kRows>
    static constexpr bool kStepsAreAlike = kThreads % kChunks == 0 && kRows % kRowStep == 0 &&
                                           (kLayout != Layout::swizzled || kRowStep % 4 == 0);

    // Of its chunk of row `row` + `step`.
    __device__ __forceinline__ int offset(int step) const {
      constexpr bool kIsPowerOf2 = (kRowStep & (kRowStep - 1)) == 0;
      if (kLayout != Layout::swizzled || !kIsPowerOf2)
        return SharedTile::offset(row + step, chunk);
      // `row` and `step` have no bits in common.
      return row * kPitch + ((chunk ^ (row & 7)) ^ (step & 7)) * 16 + step * kPitch;
    }
    // The same from offset(0).
    __device__ __forceinline__ int further(int offset, int step) const {
      constexpr bool kIsPowerOf2 = (kRowStep & (kRowStep - 1)) == 0;
      if (kLayout != Layout::swizzled) return offset + step * kPitch;
      if (!kIsPowerOf2) return SharedTile::offset(row + step, chunk);
      return (offset ^ (step & 7) * 16) + step * kPitch;
    }

    int row;
    int chunk;
  };

  // A thread's rows from kRow on, kStep apart, of `there` that exist: to `even`, `odd`, `even` ...
  template <int kRows, int kStep, int kStride, L2Hint kHint, int kRow = 0>
  __device__ __forceinline__ static void load_rows(unsigned even, unsigned odd,
                                                   const Element* global, int there) {
    if constexpr (kRow + 3 * kStep < kRows) {
      copy_4_rows_16_async<kHint, kRow, kStep, kPitch, kStride * 2>(even, odd, global, there);
      load_rows<kRows, kStep, kStride, kHint, kRow + 4 * kStep>(even, odd, global, there);
    } else if constexpr (kRow < kRows) {
      copy_16_async<kHint>(even + kRow * kPitch, global + kRow * kStride, kRow < there);
      load_rows<kRows, kStep, kStride, kHint, kRow + kStep>(odd, even, global, there);
    }
  }

 public:
  // Begins to copy kRows rows of `global`, which lie `stride` elements apart and of which those
  // from `end` on do not exist and become zero. kThreads threads take part, all of the block or those
  // of a warp; they commit afterwards. `wait(from, to)`, with the thread's first addresses, returns
  // once `global` may be read.
  template <int kRows, int kThreads, L2Hint kHint = L2Hint::none, typename Wait>
  __device__ __forceinline__ static void load_after(const Wait& wait, unsigned shared,
                                                    const Element* global, int stride, int first,
                                                    int end, unsigned thread = threadIdx.x) {
    const Share<kThreads> share(thread);
    const Element* const source = share.start(global, stride, first);
    const int there = end - first - share.row;
    wait(source, shared + share.offset(0));
    share.template for_each_row<kRows>([&](int step) {
      // Where the row does not exist nothing is read from its address.
      copy_16_async<kHint>(shared + share.offset(step),
                           source + static_cast<long long>(step) * stride, step < there);
    });
  }

  // The same of what may be read. kStride: `stride`, if it is known when the kernel is compiled and
  // four rows are to go by one statement.
  template <int kRows, int kThreads, L2Hint kHint = L2Hint::none, int kStride = 0>
  __device__ __forceinline__ static void load(unsigned shared, const Element* global, int stride,
                                              int first, int end, unsigned thread = threadIdx.x) {
    using Threads = Share<kThreads>;
    if constexpr (kStride > 0 && Threads::template kStepsAreAlike<kRows>) {
      constexpr int kStep = Threads::kRowStep;
      const Threads share(thread);
      load_rows<kRows, kStep, kStride, kHint>(
          shared + share.offset(0), shared + share.offset(kStep) - kStep * kPitch,
          share.start(global, stride, first), end - first - share.row);
    } else {
      load_after<kRows, kThreads, kHint>([](const Element*, unsigned) {}, shared, global, stride,
                                         first, end, thread);
    }
  }

  // A thread's part in storing kRows rows, but those from `end` on: known before they are.
  template <int kRows, int kThreads>
  class Store {
   public:
    __device__ __forceinline__ Store(Element* global, const char* shared, int stride, int first,
                                     int end, unsigned thread)
        : share_(thread),
          to_(share_.start(global, stride, first)),
          shared_(shared),
          offset_(share_.offset(0)),
          row_(first + share_.row),
          stride_(stride),
          end_(end) {}

    // Of its first chunk.
    __device__ __forceinline__ const Element* to() const { return to_; }
    __device__ __forceinline__ void keep_places() {
      offset_ = keep_computed(offset_);
      row_ = keep_computed(row_);
    }

    __device__ __forceinline__ void operator()() const {
      share_.template for_each_row<kRows>([&](int step) {
        if (row_ + step < end_)
          *reinterpret_cast<uint4*>(to_ + static_cast<long long>(step) * stride_) =
              *reinterpret_cast<const uint4*>(shared_ + share_.further(offset_, step));
      });
    }

   private:
    Share<kThreads> share_;
    Element* to_;
    const char* shared_;
    int offset_;
    int row_;
    int stride_;
    int end_;
  };
};
