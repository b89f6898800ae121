#!/usr/bin/env python3
"""Are kernels that leave as a module for PyTorch right there, and what are they worth in a model?

Makes the modules first: the mission shape's preset (`evolved_small` of h100_mma) for BHSD and for BSHD, a kernel that sees
its tensors through maps alone, and one of softmax, each found right by `evolve` on this GPU. Then, in the process of a user's:
checks (against float64, within the gate's bound of an element; in a graph, compiled, in other streams and
threads; what must fall back), and times beside PyTorch's own SDPA: alone, and in a small transformer, eager, in
a graph, and compiled. Contestants take turns in randomized blocks.

  tools/bench/attention/torch_export.py --out results/torch_export/h100.json      (needs PyTorch and a GPU)
  tools/bench/attention/torch_export.py --make FOLDER --device emulator:h100       (the modules alone; no PyTorch; and
                                                                                     headers, for header_export/run)
  tools/bench/attention/torch_export.py --from FOLDER --out FILE                   (with modules made before)
"""

import argparse
import datetime
import importlib.util
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from fa_tune_program import ROOT, tell

LAYERS = 4
BLOCKS = 60


def space_text(space):
    with open(f"{ROOT}/search_spaces/{space}.yaml") as file:
        return file.read()


def mission_config():
    """The shipped preset that searches of the mission shape came to."""
    config = dict(yaml.safe_load(space_text("h100_mma"))["presets"]["evolved_small"])
    del config["when"]
    return {key: str(value).lower() if isinstance(value, bool) else value for key, value in config.items()}


# Tiles of 64 rows, for few queries. By hand; what counts here is that it takes any strides.
MAPS = "template wgmma CONSUMERS 1 BLOCK_N 128 STAGES 2 OVERLAP ahead PV_PARTS 1 PING_PONG false RESCALE always"
MAPS += " EXP_POLYNOMIAL 0 Q_PLACE in_shared Q_STAGES 1 CARRY false O_PLACE over_q HEAD_GROUP 1 CLUSTER 1 BLOCKS 1"
MAPS += " PERSISTENT false"


def maps_config():
    words = MAPS.split()
    return dict(zip(words[::2], words[1::2]))


def write_space(folder, name, space, config):
    """The shipped space with one preset."""
    text = space_text(space)
    presets = text[text.index("\npresets:") : text.index("\nbudget:")]
    only = ", ".join(f"{key}: {value}" for key, value in config.items())
    text = text.replace(presets, f"\npresets:\n  only: {{{only}}}")
    with open(f"{folder}/{name}.yaml", "w") as file:
        file.write(text)
    return f"{folder}/{name}.yaml"


def make_modules(folder, device):
    """mission.py holds the winner for both layouts, maps.py the other kernel."""
    os.makedirs(folder, exist_ok=True)
    mission = write_space(folder, "mission", "h100_mma", mission_config())
    maps = write_space(folder, "maps", "h100", maps_config())
    for name, space, layouts in (("mission", mission, ("BHSD", "BSHD")), ("maps", maps, ("BHSD",))):
        db = f"{folder}/{name}.db"
        for layout in layouts:
            search = ("--device", device, "--budget", "1", "--seed", "1", "--db", db, "--warm", "off")
            tell("evolve", "--space", space, "--set", f"layout={layout}", *search)
        tell("export", "--db", db, "--as", "torch", "--out", f"{folder}/{name}.py")
        tell("export", "--db", db, "--run", "1", "--as", "header", "--out", f"{folder}/{name}.hpp")


    # A problem that a space describes itself: softmax of rows.
    search = ("--device", device, "--budget", "2", "--seed", "1", "--db", f"{folder}/custom.db", "--warm", "off")
    tell("evolve", "--space", "softmax.yaml", "--set", "sizes.rows=256", "--set", "sizes.columns=1024", *search)
    tell("export", "--db", f"{folder}/custom.db", "--as", "torch", "--out", f"{folder}/custom.py")


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- What is right


def half_ulp(values):
    """Half a unit in the last place of fp16."""
    exponent = torch.floor(torch.log2(values.abs().clamp_min(2.0**-14)))
    return torch.exp2(exponent - 11)


def worst_error(q, k, v, o, causal=False):
    """The largest error of an element, over what the gate allows it: problem/attention/tolerance.hpp has the formula."""
    q, k, v = (each.double() for each in (q, k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    p = torch.softmax(scores, -1)
    exact, spread = p @ v, ((p * p) @ (v * v)).sqrt()
    noise = torch.hypot(0.425 * 2.0**-11 * spread, half_ulp(exact) / 3**0.5)
    return ((o.double() - exact).abs() / (8 * noise)).max().item()


def inputs(shape=(1, 8, 512, 64), dtype=None, inside=False):
    made = [torch.randn(shape, device="cuda", dtype=dtype or torch.float16) for _ in range(3)]
    return [each.transpose(1, 2).contiguous().transpose(1, 2) for each in made] if inside else made


class Checks:
    def __init__(self):
        self.done = []

    def add(self, what, good, detail=""):
        self.done.append({"what": what, "good": bool(good), "detail": str(detail)})
        print(f"{'good' if good else 'BAD '}  {what}  {detail}", flush=True)

    def right(self, what, module, q, k, v, call=None):
        """Launched (no fallback), and right."""
        o = call() if call else module.attention(q, k, v, strict=True)
        torch.cuda.synchronize()
        worst = worst_error(q, k, v, o)
        self.add(what, worst <= 1, f"largest error {worst:.3f} of what is allowed")

    def falls_back(self, what, module, q, k, v, **more):
        same = torch.equal(module.attention(q, k, v, **more), sdpa(q, k, v, **more))
        try:
            module.attention(q, k, v, strict=True, **more)
            said = None
        except ValueError as error:
            said = str(error)
        self.add(f"{what}: PyTorch's own", same and said is not None, said)


def check_all(folder):
    checks = Checks()
    mission, maps = load(f"{folder}/mission.py", "mission"), load(f"{folder}/maps.py", "maps")
    # The first call of all is made under capture: loading the kernel must be no part of the graph.
    q, k, v = inputs()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = mission.attention(q, k, v, strict=True)
    for each in (q, k, v):
        each.copy_(torch.randn_like(each))
    graph.replay()
    checks.right("mission, first call under capture, then other data", mission, q, k, v, lambda: o)
    checks.right("mission, eager", mission, q, k, v)
    checks.right("mission, BSHD", mission, *inputs(inside=True))
    checks.right("maps, eager", maps, q, k, v)
    checks.right("maps, BSHD", maps, *inputs(inside=True))
    together = torch.randn(1, 512, 3, 8, 64, device="cuda", dtype=torch.float16).unbind(2)
    checks.right("maps, q k v side by side in one tensor", maps, *[each.transpose(1, 2) for each in together])
    odd = torch.randn(8 * 512 * 64 + 1, device="cuda", dtype=torch.float16)[1:].view(1, 8, 512, 64)
    checks.right("mission, an address that is odd", mission, odd, k, v)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        checks.right("mission, another stream", mission, q, k, v)
    thread = threading.Thread(target=lambda: checks.right("mission, a new thread", mission, q, k, v))
    thread.start(), thread.join()
    with torch.no_grad():
        compiled = torch.compile(lambda *t: mission.attention(*t, strict=True) * 1.0, fullgraph=True)
        checks.right("mission, compiled", mission, q, k, v, lambda: compiled(q, k, v))
        compiled = torch.compile(lambda *t: mission.attention(*t, strict=True) * 1.0, mode="reduce-overhead")
        for _ in range(4):
            checks.right("mission, compiled into graphs", mission, q, k, v, lambda: compiled(q, k, v).clone())
    torch.library.opcheck(mission._operator, (q, k, v, 0, 0.125, mission._heads_inside[0]))
    checks.add("mission: opcheck", True)
    checks.falls_back("odd strides", mission, *[torch.randn(1, 8, 512, 128, device="cuda").half()[..., ::2]] * 3)
    checks.falls_back("another dtype", mission, *inputs(dtype=torch.bfloat16))
    checks.falls_back("another shape", mission, *inputs((2, 8, 512, 64)))
    checks.falls_back("causal", mission, q, k, v, is_causal=True)
    checks.falls_back("on the CPU", mission, *[each.cpu() for each in (q, k, v)])
    wanting = [each.clone().requires_grad_() for each in (q, k, v)]
    mission.attention(*wanting).sum().backward()
    checks.add("a gradient comes by PyTorch's own", all(each.grad is not None for each in wanting))
    with torch.autocast("cuda", torch.float16):
        same = torch.equal(mission.attention(q, k, v), sdpa(q, k, v))
        checks.add("within autocast", torch.allclose(mission.attention(q, k, v), sdpa(q, k, v), atol=2e-3), f"equal: {same}")
    check_function(checks, load(f"{folder}/custom.py", "custom"))
    check_models(checks, mission, maps)
    return checks.done, mission, maps


def check_function(checks, custom):
    """A kernel of a problem of its own: a function of tensors."""
    x = torch.randn(256, 1024, device="cuda", dtype=custom._TYPES[custom._CALLS[0]["tensors"][0]["type"]][0])
    wanted = torch.softmax(x.double(), -1)

    def close(y, of=wanted):
        return torch.allclose(y.double(), of, rtol=2e-3, atol=1e-6)

    checks.add("custom: softmax", close(custom.launch(x)))
    turned = x.t().contiguous().t()
    checks.add("custom: other strides are copied", close(custom.launch(turned)))
    compiled = torch.compile(lambda x: custom.launch(x * 1.0) * 1.0, fullgraph=True)
    checks.add("custom: compiled", close(compiled(x)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = custom.launch(x)
    x.copy_(torch.randn_like(x))
    graph.replay()
    checks.add("custom: in a graph, with other data", close(y, torch.softmax(x.double(), -1)))
    try:
        custom.launch(x[:3])
        said = None
    except ValueError as error:
        said = str(error)
    checks.add("custom: other sizes are refused", said is not None, said)


def check_models(checks, mission, maps):
    """Whole models, beside the same in float64: what attention adds to the error must be no more than SDPA adds."""
    x = torch.randn(1, 512, 512, device="cuda", dtype=torch.float16)
    with torch.no_grad():
        for title, make in MODELS:
            truth = make(sdpa).double()(x.double())
            off = {name: racing.relative_error(make(attend)(x), truth) for name, attend in attends(mission, maps).items()}
            for name in ("mission", "maps"):
                words = f"relative error {off[name]:.2e}, with SDPA {off['sdpa']:.2e}"
                checks.add(f"{title}, {name}: as near to float64 as with SDPA", off[name] <= 1.05 * off["sdpa"], words)


# --- What it is worth


def transformer(attend, inside):
    """Some layers: attention and an MLP, each behind a norm. `inside`: heads lie as a linear layer leaves them."""
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(512), nn.LayerNorm(512)])
            self.qkv, self.out = nn.Linear(512, 1536), nn.Linear(512, 512)
            self.mlp = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512))

        def forward(self, x):
            q, k, v = self.qkv(self.norms[0](x)).view(1, 512, 3, 8, 64).unbind(2)
            if inside:
                q, k, v = (each.contiguous().transpose(1, 2) for each in (q, k, v))
            else:
                q, k, v = (each.transpose(1, 2).contiguous() for each in (q, k, v))
            x = x + self.out(attend(q, k, v).transpose(1, 2).reshape(1, 512, 512))
            return x + self.mlp(self.norms[1](x))

    torch.manual_seed(7)
    return nn.Sequential(*[Layer() for _ in range(LAYERS)]).cuda().half().eval()


def transformer_of_views(attend):
    """The same without copies: attention sees the halves of one tensor as they lie."""
    model = transformer(attend, False)

    def forward(self, x):
        q, k, v = (each.transpose(1, 2) for each in self.qkv(self.norms[0](x)).view(1, 512, 3, 8, 64).unbind(2))
        x = x + self.out(attend(q, k, v).transpose(1, 2).reshape(1, 512, 512))
        return x + self.mlp(self.norms[1](x))

    for layer in model:
        layer.forward = forward.__get__(layer)
    return model


MODELS = (
    ("transformer", lambda attend: transformer(attend, False)),
    ("transformer, BSHD", lambda attend: transformer(attend, True)),
    ("transformer, views", transformer_of_views),
)


class Eager:
    """Calls one after the other, as Python makes them; `time_us` as racing.Graph has it."""

    def __init__(self, call, calls):
        self.call, self.calls = call, calls
        for _ in range(5):
            self.result = call()

    def time_us(self):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(self.calls):
            self.call()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) * 1e6 / self.calls


def raced(title, contestants, rng, baseline="sdpa"):
    samples = racing.race(contestants, BLOCKS, rng, warm_up=5)
    rows = []
    for name, times in samples.items():
        ratios = [theirs / own for theirs, own in zip(samples[baseline], times)]
        low, high = racing.interval(ratios, rng)
        rows.append({"name": name, "us": statistics.median(times), "faster_than_sdpa": statistics.median(ratios)})
        rows[-1] |= {"low": low, "high": high}
        print(f"{title:<36}{name:<12}{rows[-1]['us']:9.2f} us  {rows[-1]['faster_than_sdpa']:.3f} [{low:.3f}, {high:.3f}]")
    sys.stdout.flush()
    return {"what": title, "rows": rows}


def time_all(mission, maps, with_compile):
    rng, tables = random.Random(1), []
    with torch.no_grad():
        for title, inside in (("attention alone", False), ("attention alone, BSHD", True)):
            q, k, v = inputs(inside=inside)
            calls = {name: lambda attend=attend: attend(q, k, v) for name, attend in attends(mission, maps).items()}
            tables.append(raced(f"{title}, graph", {n: racing.Graph(c, 100) for n, c in calls.items()}, rng))
            tables.append(raced(f"{title}, eager", {n: Eager(c, 200) for n, c in calls.items()}, rng))
        x = torch.randn(1, 512, 512, device="cuda", dtype=torch.float16)
        for title, make in MODELS:
            models = {name: make(attend) for name, attend in attends(mission, maps).items()}
            calls = {name: lambda model=model: model(x) for name, model in models.items()}
            tables.append(raced(f"{title}, eager", {n: Eager(c, 20) for n, c in calls.items()}, rng))
            tables.append(raced(f"{title}, graph", {n: racing.Graph(c, 10) for n, c in calls.items()}, rng))
            if with_compile and title != "transformer, BSHD":
                compiled = {name: torch.compile(model) for name, model in models.items()}
                calls = {name: lambda model=model: model(x) for name, model in compiled.items()}
                tables.append(raced(f"{title}, compiled", {n: Eager(c, 20) for n, c in calls.items()}, rng))
                graphs = {n: racing.Graph(c, 10) for n, c in calls.items()}
                tables.append(raced(f"{title}, compiled, graph", graphs, rng))
    return tables


def attends(mission, maps):
    return {"sdpa": sdpa, "mission": mission.attention, "maps": maps.attention}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--make", help="only make the modules, in this folder")
    parser.add_argument("--from", dest="folder", help="modules made before")
    parser.add_argument("--device", default="cuda:0", help="where they are found right")
    parser.add_argument("--no-compile", action="store_true", help="leave out the models that torch.compile makes")
    parser.add_argument("--out", help="where the JSON goes")
    args = parser.parse_args()
    if args.make:
        return make_modules(args.make, args.device)

    global torch, racing, sdpa
    import racing
    import torch

    sdpa = torch.nn.functional.scaled_dot_product_attention
    folder = args.folder or tempfile.mkdtemp()
    if not args.folder:
        make_modules(folder, args.device)
    torch.manual_seed(1)
    checks, mission, maps = check_all(folder)
    tables = time_all(mission, maps, not args.no_compile)
    result = {
        "device": torch.cuda.get_device_name(),
        "software": racing.software(),
        "date": datetime.date.today().isoformat(),
        "method": f"{BLOCKS} randomized blocks with each contestant once; medians, and of the ratio to sdpa, block "
        "by block, a 95% bootstrap interval; graph: device time of a captured graph, eager: wall time",
        "checks": checks,
        "tables": tables,
    }
    if args.out:
        with open(args.out, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    bad = [check["what"] for check in checks if not check["good"]]
    print(f"{len(checks) - len(bad)} of {len(checks)} checks good" + (f"; BAD: {', '.join(bad)}" if bad else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
