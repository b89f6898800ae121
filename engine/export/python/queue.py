# --- Which kernel is for sizes that nobody tuned: the one that is predicted to be done first.

import heapq as _heapq

_asked = {}  # what was chosen, by sizes


def _work_of_lanes(sets, together, of_a_set, blocks, lanes, dealt, costs):
    """What each of `lanes` has to do in the end: `sets` sets of tiles, whose i-th takes costs[i], take turns, `together` at
    a time, tile by tile. A grid with fewer blocks than tiles takes them in rounds, every second one backwards. Else each
    block has one: the first, as many as are `dealt`, are spread in turns, each further one goes where least is left to
    do. What lies more than 16 tiles a lane before the end is taken for spread evenly."""
    rounds = blocks < sets * of_a_set
    together = min(max(together, 1), sets)
    early = sets * of_a_set - 16 * lanes
    skipped = 0 if early <= 0 else early // (together * of_a_set)
    work = [skipped * together * sum(costs) // lanes] * lanes
    index = skipped * together * of_a_set
    for first in range(skipped * together, sets, together):
        for cost in costs:
            for _ in range(min(together, sets - first)):
                if rounds or index < dealt:
                    place = index % lanes
                    work[lanes - 1 - place if rounds and index // lanes % 2 else place] += cost
                    if not rounds and index + 1 == dealt:
                        _heapq.heapify(work)
                else:
                    _heapq.heapreplace(work, work[0] + cost)
                index += 1
    return work


def _longest_queue(sets, together, of_a_set, blocks, slots, costs):
    """When the last tile is done, where the device holds `slots` blocks at once."""
    tiles = sets * of_a_set
    rounds = blocks < tiles
    lanes = max(blocks if rounds else slots, 1)
    if max(costs) == min(costs):
        return (tiles + lanes - 1) // lanes * costs[0]
    if not rounds and tiles <= lanes:
        return max(costs)
    return max(_work_of_lanes(sets, together, of_a_set, blocks, lanes, lanes, costs))


def _busiest_sm(sets, together, of_a_set, blocks, slots, sms, costs):
    """What the busiest of `sms` has to do. Blocks are dealt to them in turns as long as the device holds them."""
    tiles = sets * of_a_set
    rounds = blocks < tiles
    sms = max(sms, 1)
    busy = min(blocks, sms) if rounds else sms
    if max(costs) == min(costs):
        return (tiles + busy - 1) // busy * costs[0]
    work = _work_of_lanes(sets, together, of_a_set, blocks, blocks if rounds else sms, slots, costs)
    return max(sum(work[sm::busy]) for sm in range(busy))


def _predicted_us(cost, s):
    """Of a kernel at sizes that it may not serve: then nothing."""
    longest = busiest = 0
    for sets, together, of_a_set, blocks, tile_steps in cost["queues"]:
        try:
            sized = sets(s), together(s), of_a_set(s), blocks(s)
            if min(sized) < 1 or sized[0] > ((1 << 31) - 1 if sized[2] == 1 else (1 << 24) // sized[2]):
                return None
            tiles = [tile_steps(s, tile) for tile in range(sized[2])]
            if min(tiles) < 0 or max(tiles) > (1 << 57) // (sized[0] * sized[2]):
                return None
            costs = [16 * each + cost["overhead"] for each in tiles]
        except ZeroDivisionError:
            return None
        longest += _longest_queue(*sized, cost["slots"], costs)
        if cost["shared_step_us"] > 0:
            busiest += _busiest_sm(*sized, cost["slots"], cost["sms"], costs)
    return cost["fixed_us"] + cost["step_us"] * longest / 16 + cost["shared_step_us"] * busiest / 16


def _dispatch(s):
    key = tuple(s[name] for name in _ASKED)
    if key not in _asked:
        if len(_asked) >= 4096:
            _asked.clear()
        best, chosen = None, _OUTSIDE
        if all(least <= s[name] <= most for name, (least, most) in _RANGES.items()):
            for cost in _COSTS:
                if any(s[name] != value for name, value in cost["category"].items()):
                    continue
                us = _predicted_us(cost, s)
                if us is not None and (best is None or us < best):
                    best, chosen = us, cost["choice"]
        _asked[key] = chosen
    return _asked[key]
