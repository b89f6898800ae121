"""What a user of PyTorch would take instead of the example kernels, by space."""

import torch
import torch.nn.functional as F


class Rivals:
    """`calls`: functions by name that give the result; `truth()`: the same in float64."""

    def __init__(self, calls, truth):
        self.calls, self.truth = calls, truth


def eager_and_compiled(function, *arguments):
    compiled = torch.compile(function, dynamic=False)
    tuned = torch.compile(function, dynamic=False, mode="max-autotune-no-cudagraphs")
    return {
        "torch eager": lambda: function(*arguments),
        "torch.compile": lambda: compiled(*arguments),
        "torch.compile max-autotune": lambda: tuned(*arguments),
    }


def softmax(problem):
    x = problem.tensors["x"]
    return Rivals(eager_and_compiled(lambda x: torch.softmax(x, -1), x), lambda: torch.softmax(x.double(), -1))


def rmsnorm(problem):
    x, weight = problem.tensors["x"], problem.tensors["weight"]
    epsilon = problem.scalars["epsilon"].value

    def truth():
        wide = x.double()
        return wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon) * weight.double()

    return Rivals(eager_and_compiled(lambda x, w: F.rms_norm(x, w.shape, w, epsilon), x, weight), truth)


def convolution(problem):
    image, weights = problem.tensors["image"], problem.tensors["filter"]
    batch, kernel = image[None, None], weights[None, None]

    def truth():
        # In parts of the image: as one float64 convolution it takes more memory than some GPUs have.
        parts = [image[i : i + 14 + 256].double()[None, None] for i in range(0, image.shape[0] - 14, 256)]
        return torch.cat([F.conv2d(part, kernel.double())[0, 0] for part in parts])

    return Rivals({"torch conv2d": lambda: F.conv2d(batch, kernel)[0, 0]}, truth)


def reduction(problem):
    x = problem.tensors["x"]
    return Rivals(eager_and_compiled(lambda x: x.sum(), x), lambda: x.double().sum())


def gemm(problem):
    a, b = problem.tensors["A"], problem.tensors["B"]
    calls = {"torch matmul": lambda: torch.matmul(a, b.t())}
    return Rivals(calls, lambda: torch.matmul(a.double(), b.double().t()))


def accelerations(of, by, softening):
    away = by[None, :, :3] - of[:, None, :3]
    factor = by[None, :, 3] * torch.rsqrt(away.pow(2).sum(-1) + softening).pow(3)
    return (factor[..., None] * away).sum(1)


def nbody(problem):
    bodies, softening = problem.tensors["bodies"], problem.scalars["softening"].value

    def truth():
        wide = bodies.double()
        # In parts: all pairs in float64 take more memory than some GPUs have.
        parts = [accelerations(wide[i : i + 1024], wide, softening) for i in range(0, len(wide), 1024)]
        return torch.cat(parts)

    return Rivals(eager_and_compiled(accelerations, bodies, bodies, softening), truth)


RIVALS = {
    "softmax": softmax,
    "rmsnorm": rmsnorm,
    "reduction": reduction,
    "gemm": gemm,
    "gemm_split_k": gemm,
    "nbody": nbody,
    "convolution": convolution,
}
