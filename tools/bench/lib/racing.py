"""Times contestants against each other on a GPU: graphs of launches, replayed in randomized blocks."""

import ctypes
import statistics
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {
    "sdpa flash": SDPBackend.FLASH_ATTENTION,
    "sdpa cudnn": SDPBackend.CUDNN_ATTENTION,
    "sdpa efficient": SDPBackend.EFFICIENT_ATTENTION,
    "sdpa math": SDPBackend.MATH,
}


def backend_call(backend, q, k, v, causal):
    grouped = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}

    def call():
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, **grouped)

    return call


def flex_call(q, k, v, causal):
    """FlexAttention as PyTorch compiles it by default, for this shape alone; a causal one passes over blocks that are masked."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention  # PyTorch 2.5 and newer

    def seen(batch, head, query, key):
        return query >= key

    torch._dynamo.reset()  # past a number of shapes it would go on uncompiled
    compiled = torch.compile(flex_attention, fullgraph=True, dynamic=False)
    mask = create_block_mask(seen, None, None, q.shape[-2], k.shape[-2], device=q.device) if causal else None
    return lambda: compiled(q, k, v, block_mask=mask)


def fa4_call(q, k, v, causal):
    """FlashAttention-4, where its wheels are installed (README.md here names them). It wants [B, L, H, D], contiguous."""
    from flash_attn.cute.interface import flash_attn_func

    q, k, v = (tensor.transpose(1, 2).contiguous() for tensor in (q, k, v))

    def call():
        result = flash_attn_func(q, k, v, causal=causal)
        return (result[0] if isinstance(result, tuple) else result).transpose(1, 2)

    return call


class SmClock:
    """The clock of the SMs, in MHz, as the driver's library tells it at this moment."""

    def __init__(self):
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self.handle = ctypes.c_void_p()
        bus = torch.cuda.get_device_properties(0).pci_bus_id
        domain, device = (getattr(torch.cuda.get_device_properties(0), f"pci_{name}_id") for name in ("domain", "device"))
        where = f"{domain:08x}:{bus:02x}:{device:02x}.0".encode()
        if self.nvml.nvmlInit_v2() != 0 or self.nvml.nvmlDeviceGetHandleByPciBusId_v2(where, ctypes.byref(self.handle)) != 0:
            raise RuntimeError("NVML does not know the GPU")

    def mhz(self):
        value = ctypes.c_uint()
        if self.nvml.nvmlDeviceGetClockInfo(self.handle, 1, ctypes.byref(value)) != 0:  # 1: NVML_CLOCK_SM
            raise RuntimeError("NVML does not tell the clock")
        return value.value


def copy_bandwidth(gigabytes=1):
    """Bytes read and written a second by a kernel that does nothing else. (A memory copy within a graph is slower.)"""
    source = torch.zeros(gigabytes * 2**28, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    graph = Graph(lambda: torch.neg(source, out=target), launches=4)
    return 8 * source.numel() / (min(graph.time_us() for _ in range(5)) * 1e-6)


# Clock cycles that the GPU is kept busy before a timed replay. Without it the first event passes at once, and what the host takes to
# launch the graph is counted as the kernels' time.
HEAD_START = 300_000
# A replay lasts about so long, whoever's it is. With as many launches for each, a slow contestant (SDPA's math takes 14 times as long as the
# others at the mission shape) warms the chip for many times as long as the others, and what runs after it is 4 to 6% slower.
REPLAY_US = 4000
MOST_LAUNCHES = 1000


class Graph:
    """Calls of a function as one CUDA graph: so many, or as many as take REPLAY_US. `result`: what one call gave."""

    def __init__(self, call, launches=None):
        self.call = call  # it may own what the graph's kernels read
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                call()
        torch.cuda.synchronize()
        self.capture(launches or 5)
        if launches is None:
            once = min(self.time_us() for _ in range(3))
            self.capture(max(1, min(MOST_LAUNCHES, round(REPLAY_US / once))))

    def capture(self, launches):
        self.launches = launches
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.stream), torch.cuda.graph(self.graph, stream=self.stream):
            for _ in range(launches):
                self.result = None  # so that each call may write where the one before wrote, as it would for a user
                self.result = self.call()

    def time_us(self):
        """Microseconds a launch, of one replay."""
        with torch.cuda.stream(self.stream):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(HEAD_START)
            begin.record(self.stream)
            self.graph.replay()
            end.record(self.stream)
            end.synchronize()
        return begin.elapsed_time(end) * 1000 / self.launches

    def sustained(self, seconds, clock=None):
        """(the same of so many seconds of replays back to back: the median of their second half, what `clock` tells in it)"""
        count = max(4, int(seconds * 1e6 / (self.time_us() * self.launches)))
        events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
        with torch.cuda.stream(self.stream):
            for event in events[:-1]:
                event.record(self.stream)
                self.graph.replay()
            events[-1].record(self.stream)
        time.sleep(0.75 * seconds)
        mhz = clock.mhz() if clock else None
        events[-1].synchronize()
        half = events[count // 2 :]
        times = [a.elapsed_time(b) * 1000 / self.launches for a, b in zip(half, half[1:])]
        return statistics.median(times), mhz


def race(graphs, blocks, rng, warm_up=10):
    """Samples by name: every block replays each contestant once, in an order of its own."""
    samples = {name: [] for name in graphs}
    names = list(graphs)
    for block in range(blocks + warm_up):
        rng.shuffle(names)
        for name in names:
            time = graphs[name].time_us()
            if block >= warm_up:
                samples[name].append(time)
    return samples


def interval(samples, rng, resamples=2000):
    """95% bootstrap interval of the median."""
    medians = sorted(statistics.median(rng.choices(samples, k=len(samples))) for _ in range(resamples))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


def compared(samples, rng, own="fa-tune"):
    """A row for each, the fastest first: its time, and how many times as long as `own` it takes, block by block. `fa-tune
    report --beside` reads them."""
    rows = []
    for name, times in samples.items():
        ratios = [time / own_time for time, own_time in zip(times, samples[own])]
        rows.append(
            {
                "name": name,
                "us": statistics.median(times),
                "us_interval": interval(times, rng),
                "times_fa_tune": statistics.median(ratios),
                "times_fa_tune_interval": interval(ratios, rng),
            }
        )
    return sorted(rows, key=lambda row: row["us"])


def relative_error(result, truth):
    return ((result.double() - truth).norm() / truth.norm()).item()


def software():
    return (
        f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"
    )
