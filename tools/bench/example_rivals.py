"""What a user of PyTorch would take instead of the example kernels, by space."""

import torch
import torch.nn.functional as F


class Rivals:
    """`calls`: functions by name that give the result; `truth()`: that in float64; `bytes` and `flop`: the least work."""

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


RIVALS = {"softmax": softmax, "rmsnorm": rmsnorm, "convolution": convolution}
