# --- Which kernel is for sizes that nobody tuned: the one that is predicted to be done first.

import heapq as _heapq

_asked = {}  # what was chosen, by sizes


def _longest_queue(sets, together, of_a_set, blocks, slots, costs):
    """When the last tile of a launch is done: `sets` sets of tiles, whose i-th takes costs[i]. Sets take turns, `together` at
    a time, tile by tile. A grid with fewer blocks than tiles takes them in rounds, every second one backwards; else each
    block has one, and begins where one of `slots` is free. What lies more than 16 tiles a block before the end is taken
    for spread evenly."""
    tiles = sets * of_a_set
    rounds = blocks < tiles
    lanes = max(blocks if rounds else slots, 1)
    most = max(costs)
    if most == min(costs):
        return (tiles + lanes - 1) // lanes * most
    if not rounds and tiles <= lanes:
        return most
    together = min(max(together, 1), sets)
    early = tiles - 16 * lanes
    skipped = 0 if early <= 0 else early // (together * of_a_set)
    busy = [skipped * together * sum(costs) // lanes] * lanes
    index, last = skipped * together * of_a_set, busy[0]
    for first in range(skipped * together, sets, together):
        for cost in costs:
            for _ in range(min(together, sets - first)):
                if rounds:
                    place = index % lanes
                    lane = lanes - 1 - place if index // lanes % 2 else place
                    busy[lane] += cost
                    last = max(last, busy[lane])
                else:
                    done = busy[0] + cost
                    _heapq.heapreplace(busy, done)
                    last = max(last, done)
                index += 1
    return last


def _busiest_sm(sets, together, of_a_set, blocks, sms, costs):
    """What the busiest of `sms` has to do, if each took one block after another."""
    if blocks < sets * of_a_set:
        blocks = min(blocks, sms)
    return _longest_queue(sets, together, of_a_set, blocks, sms, costs)


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
            busiest += _busiest_sm(*sized, cost["sms"], costs)
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
