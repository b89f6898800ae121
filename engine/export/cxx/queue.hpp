
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

// What each of `lanes` has to do in the end, where the tile of number i takes costs[i]. The first
// blocks, as many as are `dealt`, are spread over the lanes in turns; each further one goes where
// least is left to do. What lies more than kTilesOfALane tiles a lane before the end is taken for
// spread evenly.
inline std::vector<std::int64_t> work_of_lanes(const Queue& queue, std::int64_t lanes,
                                               std::int64_t dealt,
                                               const std::vector<std::int64_t>& costs) {
  constexpr std::int64_t kTilesOfALane = 16;
  const bool rounds = queue.blocks < queue.sets * queue.of_a_set;
  std::int64_t of_a_set = 0;
  for (const std::int64_t cost : costs) of_a_set += cost;
  const std::int64_t together = std::min(std::max<std::int64_t>(queue.together, 1), queue.sets);
  const std::int64_t early = queue.sets * queue.of_a_set - kTilesOfALane * lanes;
  const std::int64_t skipped = early <= 0 ? 0 : early / (together * queue.of_a_set);  // groups
  std::vector<std::int64_t> work(static_cast<std::size_t>(lanes),
                                 skipped * together * of_a_set / lanes);
  std::int64_t index = skipped * together * queue.of_a_set;
  for (std::int64_t set = skipped * together; set < queue.sets; set += together)
    for (const std::int64_t cost : costs)
      for (std::int64_t i = 0; i < std::min(together, queue.sets - set); ++i, ++index) {
        const std::int64_t place = index % lanes;
        const bool backwards = rounds && index / lanes % 2 != 0;
        if (rounds || index < dealt) {
          work[static_cast<std::size_t>(backwards ? lanes - 1 - place : place)] += cost;
          if (!rounds && index + 1 == dealt)
            std::make_heap(work.begin(), work.end(), std::greater<>());
        } else {  // a heap, the one with least in front
          std::pop_heap(work.begin(), work.end(), std::greater<>());
          work.back() += cost;
          std::push_heap(work.begin(), work.end(), std::greater<>());
        }
      }
  return work;
}

inline bool all_alike(const std::vector<std::int64_t>& costs) {
  return *std::max_element(costs.begin(), costs.end()) ==
         *std::min_element(costs.begin(), costs.end());
}

// When the last tile is done, of at least one.
inline std::int64_t longest_queue(const Queue& queue, const std::vector<std::int64_t>& costs) {
  const std::int64_t tiles = queue.sets * queue.of_a_set;
  const bool rounds = queue.blocks < tiles;
  const std::int64_t lanes = std::max<std::int64_t>(rounds ? queue.blocks : queue.slots, 1);
  if (all_alike(costs)) return (tiles + lanes - 1) / lanes * costs.front();
  if (!rounds && tiles <= lanes) return *std::max_element(costs.begin(), costs.end());
  const std::vector<std::int64_t> work = work_of_lanes(queue, lanes, lanes, costs);
  return *std::max_element(work.begin(), work.end());
}

// What the busiest of `sms` has to do: the more that is, the longer do blocks take that an SM holds
// at once. Blocks are dealt to the SMs in turns as long as the device holds them.
inline std::int64_t busiest_sm(const Queue& queue, std::int64_t sms,
                               const std::vector<std::int64_t>& costs) {
  const std::int64_t tiles = queue.sets * queue.of_a_set;
  const bool rounds = queue.blocks < tiles;
  sms = std::max<std::int64_t>(sms, 1);
  const std::int64_t busy = rounds ? std::min(queue.blocks, sms) : sms;
  if (all_alike(costs)) return (tiles + busy - 1) / busy * costs.front();
  const std::vector<std::int64_t> lanes =
      work_of_lanes(queue, rounds ? queue.blocks : sms, queue.slots, costs);
  std::vector<std::int64_t> work(static_cast<std::size_t>(busy));
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) work[lane % work.size()] += lanes[lane];
  return *std::max_element(work.begin(), work.end());
}
