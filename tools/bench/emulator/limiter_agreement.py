"""When does the emulator's model name the limit that Nsight Compute names? `limiters` has the definition."""

import os
import re
import statistics

BUSY = 60.0  # percent of its peak from which on a part is a limit (engine/report/profile.hpp)
IDLE = 50.0  # percent of the time with work below which SMs count as idle
NEAR = 5.0  # points
L2_SEEN = 20.0  # percent of L2's peak from which on its rate is worth telling
SECTOR = 32  # bytes
PROFILE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "search_spaces", "devices", "h200.yaml")

# What warps wait for, by the names of either source. Nsight Compute tells more reasons than the model.
STALL_GROUPS = {
    "memory": {"long_scoreboard", "lg_throttle", "tex_throttle", "drain",
               "global memory", "async copies"},
    "barriers": {"barrier", "membar", "barriers"},
    "shared": {"short_scoreboard", "mio_throttle", "shared memory", "special"},
    "math": {"gmma", "math_pipe_throttle", "tensor cores", "busy unit"},
    "issue": {"wait", "dispatch_stall", "not_selected", "arithmetic", "scheduler"},
    # Instructions, branches, constants: the model has no such wait.
    "fetch": {"no_instruction", "branch_resolving", "imc_miss"},
    "other": {"sleeping", "misc"},
}
GROUP_OF = {reason: group for group, reasons in STALL_GROUPS.items() for reason in reasons}


def stall_groups(profile):
    """Percent of all waiting for each group, the longest first."""
    groups = {}
    for stall in profile["stalls"]:
        group = GROUP_OF.get(stall["reason"], "other")
        groups[group] = groups.get(group, 0.0) + stall["percent"]
    return dict(sorted(groups.items(), key=lambda each: -each[1]))


def named(profile):
    """The limit; of latency with the group of what warps wait for most: "latency: memory"."""
    if profile["limit"] != "latency":
        return profile["limit"]
    return f"latency: {next(iter(stall_groups(profile)), 'unknown')}"


def figure(profile, limit):
    """How much a profile has of a limit, in percent: of its peak, of the waiting, of the SMs' time."""
    if limit.startswith("latency: "):
        return stall_groups(profile).get(limit.removeprefix("latency: "))
    if limit == "parallelism":
        return profile["sms_active"]
    if limit == "launch":
        return profile["launch"]
    return profile["shares"].get(limit)


def could_name(profile):
    """All that a profile would name if its shares were up to NEAR points other than they are."""
    found = {named(profile)}
    if profile["limit"] == "launch":
        return found
    idle = profile["sms_active"] is not None and profile["sms_active"] < IDLE
    shares = {part: share for part, share in profile["shares"].items()
              if not idle or part in ("l2", "dram")}
    most = max(shares.values(), default=0.0)
    found |= {part for part, share in shares.items() if share >= max(BUSY, most) - NEAR}
    if most < BUSY + NEAR:
        groups = stall_groups(profile)
        top = max(groups.values(), default=0.0)
        found |= {"parallelism"} if idle else {
            f"latency: {group}" for group, percent in groups.items() if percent >= top - NEAR}
    return found


def verdict(measured, predicted):
    """"agree", "near" (which is no agreement) or "differ"; "failed" where one of them is missing."""
    if measured is None or predicted is None:
        return "failed"
    ours, theirs = named(predicted), named(measured)
    if ours == theirs:
        return "agree"
    return "near" if ours in could_name(measured) or theirs in could_name(predicted) else "differ"


def percent(value):
    return "" if value is None else f"{value:.0f}%"


def over_measured(measured, predicted):
    """The predicted time over the one that the kernel took without the profiler, where that was measured."""
    alone = measured and measured.get("clock_us")
    return predicted["time_us"] / alone if predicted and alone else None


def row(kernel, measured, predicted):
    theirs, ours = (each and named(each) for each in (measured, predicted))
    over = over_measured(measured, predicted)

    def said(limit, profile):
        return f"{limit} {percent(figure(profile, limit))}".strip() if profile else "failed"

    def other(limit, profile):
        return percent(figure(profile, limit)) if limit and profile else ""

    return [kernel.removesuffix(".cu"), said(theirs, measured), other(theirs, predicted),
            said(ours, predicted), other(ours, measured), "" if over is None else f"{over:.2f}",
            verdict(measured, predicted)]


def lines(header, rows):
    """A Markdown table, its columns as wide as their cells."""
    widths = [max(len(str(each[at])) for each in [header, *rows]) for at in range(len(header))]
    texts = [" | ".join(str(cell).ljust(width) for cell, width in zip(each, widths))
             for each in [header, ["-" * width for width in widths], *rows]]
    return [f"| {text} |" for text in texts]


def differences(pairs, of):
    """For each name of `of(profile)` that both sources tell: kernels, and how many points apart."""
    apart = {}
    for measured, predicted in pairs:
        both, others = of(measured), of(predicted)
        for name in both.keys() & others.keys():
            apart.setdefault(name, []).append(others[name] - both[name])
    rows = [[name, len(each), f"{statistics.median(map(abs, each)):.0f}",
             f"{statistics.median(each):+.0f}", f"{max(each, key=abs):+.0f}"]
            for name, each in apart.items()]
    return sorted(rows)


def l2_rates(kernels, measured, predicted):
    """What the model lets through L2, in the time and at the share of L2's peak that Nsight Compute tells."""
    rows = []
    for kernel in kernels:
        theirs, ours = measured.get(kernel), predicted.get(kernel)
        if not (theirs and ours and "global_sectors_read" in ours.get("counters", {})):
            continue
        counted, share = ours["counters"], theirs["shares"].get("l2", 0)
        if share < L2_SEEN:
            continue
        moved = SECTOR * (counted["global_sectors_read"] + counted["global_sectors_written"]) + counted["bulk_bytes"]
        rate = moved / theirs["time_us"] / 1e3
        rows.append([kernel.removesuffix(".cu"), percent(theirs["shares"].get("dram", 0)), percent(share),
                     f"{rate:.0f}", f"{100 * rate / share:.0f}", dram_fed_rate(theirs, counted, moved)])
    return rows


def l2_hit_rate():
    """GB/s that L2 serves of what it holds."""
    with open(PROFILE) as file:
        return float(re.search(r"^l2_hit_gb_per_s: (\d+)", file.read(), re.MULTILINE)[1])


def dram_fed_rate(theirs, counted, moved):
    """GB/s of what DRAM brings and takes at 100%, once the time is off in which L2 serves what it has; of kernels
    that DRAM feeds, and of which L1 has nothing."""
    missed = sum(theirs.get("counters", {}).get(f"dram__bytes_{way}.sum", 0) for way in ("read", "write"))
    if missed < 0.6 * moved or counted.get("global_sectors_again"):
        return ""
    busy_us = theirs["time_us"] * theirs["shares"]["l2"] / 100
    return f"{missed / (busy_us - max(moved - missed, 0) / l2_hit_rate() / 1e3) / 1e3:.0f}"


def table(kernels, measured, predicted):
    """The whole page, from what kernels.json lists and profiles by file."""
    rows = [row(each, measured.get(each), predicted.get(each)) for each in kernels]
    verdicts = [each[-1] for each in rows]
    pairs = [(measured[each], predicted[each]) for each in kernels
             if measured.get(each) and predicted.get(each)]
    text = [f"The model names the limit that Nsight Compute names for {verdicts.count('agree')} of "
            f"{len(kernels)} kernels;",
            f"{verdicts.count('near')} near ties, {verdicts.count('differ')} differ, "
            f"{verdicts.count('failed')} failed.", ""]
    text += lines(["kernel", "ncu names", "model's", "model names", "ncu's", "time", "verdict"], rows)
    if times := [over for over in (over_measured(*each) for each in pairs) if over]:
        off = statistics.median(max(over, 1 / over) for over in times)
        text += ["", f"time: predicted over measured; off by a factor of {off:.2f} in the median, "
                 f"{min(times):.2f} to {max(times):.2f}."]
    text += ["", "How far apart the figures are, the model's less ncu's, in points:", ""]
    header = ["of its peak", "kernels", "median distance", "median", "farthest"]
    text += lines(header, differences(pairs, lambda profile: profile["shares"]))
    text += [""] + lines(["of the waiting", *header[1:]], differences(pairs, stall_groups))
    if rates := l2_rates(kernels, measured, predicted):
        text += ["", f"What L2 serves where ncu has it at {L2_SEEN:.0f}% of its peak or more, GB/s:", ""]
        text += lines(["kernel", "ncu's dram", "ncu's l2", "moved", "at 100%", "DRAM's"], rates)
    return "\n".join(text)
