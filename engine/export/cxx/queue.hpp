
// The tiles of one launch: `of_a_set` of each set, whose steps rest on the tile's number alone. Sets
// take turns, `together` at a time, tile by tile. A grid with fewer blocks than tiles takes them in
// rounds, every second one backwards; else each block has one, and begins where one of `slots`, the
// blocks that the device holds at once, is free.
struct Queue {
  std::int64_t sets, together, of_a_set, blocks, slots;
};

// Whether there can be such a launch. A stranger's formulas are to take neither time nor memory;
// tiles alike take none, so that there may be as many as a grid has blocks.
inline bool can_be_launched(const Queue& queue) {
  constexpr std::int64_t kMostAlike = INT32_MAX, kMostTiles = 1 << 24;
  if (queue.sets < 1 || queue.together < 1 || queue.of_a_set < 1 || queue.blocks < 1) return false;
  return queue.sets <= (queue.of_a_set == 1 ? kMostAlike : kMostTiles / queue.of_a_set);
}

// The most steps of a tile, so that the sum of all is below 2^63.
inline std::int64_t longest_tile(const Queue& queue) {
  return (std::int64_t{1} << 57) / (queue.sets * queue.of_a_set);
}

// When the last tile is done, where the one of number i takes costs[i], of at least one. What lies
// more than kTilesOfALane tiles a block before the end is taken for spread evenly.
inline std::int64_t longest_queue(const Queue& queue, const std::vector<std::int64_t>& costs) {
  constexpr std::int64_t kTilesOfALane = 16;
  const std::int64_t tiles = queue.sets * queue.of_a_set;
  const bool rounds = queue.blocks < tiles;
  const std::int64_t lanes = std::max<std::int64_t>(rounds ? queue.blocks : queue.slots, 1);
  const std::int64_t most = *std::max_element(costs.begin(), costs.end());
  if (most == *std::min_element(costs.begin(), costs.end()))
    return (tiles + lanes - 1) / lanes * most;
  if (!rounds && tiles <= lanes) return most;
  std::int64_t of_a_set = 0;
  for (const std::int64_t cost : costs) of_a_set += cost;
  const std::int64_t together = std::min(std::max<std::int64_t>(queue.together, 1), queue.sets);
  const std::int64_t early = tiles - kTilesOfALane * lanes;
  const std::int64_t skipped = early <= 0 ? 0 : early / (together * queue.of_a_set);  // groups
  std::vector<std::int64_t> busy(static_cast<std::size_t>(lanes),
                                 skipped * together * of_a_set / lanes);
  std::int64_t index = skipped * together * queue.of_a_set, last = busy.front();
  for (std::int64_t set = skipped * together; set < queue.sets; set += together)
    for (const std::int64_t cost : costs)
      for (std::int64_t i = 0; i < std::min(together, queue.sets - set); ++i, ++index) {
        if (rounds) {
          const std::int64_t place = index % lanes;
          const bool backwards = index / lanes % 2 != 0;
          std::int64_t& lane =
              busy[static_cast<std::size_t>(backwards ? lanes - 1 - place : place)];
          last = std::max(last, lane += cost);
        } else {  // a heap, the first to be free in front
          std::pop_heap(busy.begin(), busy.end(), std::greater<>());
          last = std::max(last, busy.back() += cost);
          std::push_heap(busy.begin(), busy.end(), std::greater<>());
        }
      }
  return last;
}

// What the busiest of `sms` has to do, if each took one block after another: the more that is, the
// longer do blocks take that an SM holds at once.
inline std::int64_t busiest_sm(Queue queue, std::int64_t sms,
                               const std::vector<std::int64_t>& costs) {
  queue.slots = sms;
  if (queue.blocks < queue.sets * queue.of_a_set) queue.blocks = std::min(queue.blocks, sms);
  return longest_queue(queue, costs);
}
