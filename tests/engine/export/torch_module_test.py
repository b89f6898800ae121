"""An exported module for PyTorch, on a machine without a GPU: a libcuda that runs nothing says what it was asked
to launch, and PyTorch computes it instead on the CPU. So this holds the module's dispatch, its structures, its
tensor maps, its operator and its fallbacks against PyTorch; that the kernels are right is the gate's to say.

  torch_module_test.py FAKE_CUDA.so POINTERS.py MAPS.py CUSTOM.py SIZED.py STEPS.py      (--probe: is there PyTorch? Else 77)

POINTERS has a kernel for BHSD and one for BSHD, MAPS one that sees all through tensor maps, CUSTOM one of softmax,
SIZED several for any sizes, with and without a causal mask, and a dispatch, STEPS two kernels with workspaces between
them, for any sizes.
"""

import ctypes
import importlib.util
import sys

try:
    import torch
except ImportError:
    print("skipped: no PyTorch here")
    sys.exit(77)
if sys.argv[1:] == ["--probe"]:
    sys.exit(0)

sdpa = torch.nn.functional.scaled_dot_product_attention


class Seen(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint)]
    _fields_ += [("attributes", ctypes.c_uint), ("cluster", ctypes.c_uint * 3), ("stream", ctypes.c_void_p)]
    _fields_ += [("parameters", ctypes.POINTER(ctypes.c_void_p))]


class Map(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("type", ctypes.c_uint), ("rank", ctypes.c_uint)]
    _fields_ += [("box", ctypes.c_uint * 5), ("swizzle", ctypes.c_uint), ("dims", ctypes.c_uint64 * 5)]
    _fields_ += [("strides", ctypes.c_uint * 4)]


TELLER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Seen))
fake = ctypes.CDLL(sys.argv[1])
launches = []  # the last in full


def view(address, sizes, strides, dtype):
    """The memory behind an address as a tensor."""
    length = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    room = (ctypes.c_uint8 * (length * dtype.itemsize)).from_address(address)
    return torch.frombuffer(room, dtype=dtype).as_strided(sizes, strides)


def packed(sizes):
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, strides[0] * size)
    return strides


def at(pointer, kind):
    return ctypes.cast(pointer, ctypes.POINTER(kind)).contents


def last_kernel(call):
    return [step for step in call["steps"] if "entry" in step][-1]


def tensors_of(call, step, seen):
    """What the kernel would see, by name, and the scalars."""
    facts = {tensor["name"]: tensor for tensor in call["tensors"]}
    types = {"f16": torch.float16, "f32": torch.float32, "bf16": torch.bfloat16}
    tensors, scalars = {}, {}
    for pointer, argument in zip(seen.parameters, step["arguments"]):
        if "map" in argument:
            seen_map = at(pointer, Map)
            assert list(seen_map.box)[: seen_map.rank] == argument["box"]
            dims = list(seen_map.dims)[: seen_map.rank][::-1]
            strides = [stride // 2 for stride in seen_map.strides[: seen_map.rank - 1]][::-1] + [1]
            tensors[argument["tensor"]] = view(seen_map.address, dims, strides, torch.float16)
        elif "tensor" in argument:
            fact = facts[argument["tensor"]]
            address = at(pointer, ctypes.c_uint64).value
            assert address % 16 == 0, "copies of 16 bytes cannot begin there"
            tensors[fact["name"]] = view(address, fact["dims"], packed(fact["dims"]), types[fact["type"]])
        else:
            kind = ctypes.c_float if argument["type"] == "f32" else ctypes.c_int32
            scalars[argument["scalar"]] = at(pointer, kind).value
            if argument["type"] == "i32":
                assert scalars[argument["scalar"]] == argument["value"]
    return tensors, scalars


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # torch.compile looks there
    spec.loader.exec_module(module)
    module._driver_library = fake
    module._context = lambda device: ctypes.c_void_p(0x1000)
    module._raw_stream = lambda device: 0x77
    module._raw_device = lambda: None
    module._device_facts = lambda device: (module._CALLS[0]["capability"], "a GPU")
    module._calls_on(0), module._on_device.update({None: module._on_device[0]})  # the CPU has no index
    for operator, function in (("attention", "_attention"), ("launch", "_run")):
        if hasattr(module, function) and not name.startswith("again"):
            module._library.impl(operator, getattr(module, function), "CPU")
    return module


def pretend_cuda(module):
    """From now on its tests of `is_cuda` hold for the CPU's tensors, by another name."""
    module.torch = torch
    if hasattr(module, "_is_plain"):
        module._is_plain = lambda t: type(t) in (torch.Tensor, torch.nn.Parameter) and t.dim() == 4


def failure(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")


sizes = [1, 1, 1, 1]  # that the module's kernels are for: B, H, L, D


def qkv(shape=None, dtype=torch.float16):
    return [torch.randn(shape or sizes).to(dtype) for _ in range(3)]


def resized(**changed):
    return [changed.get(name, size) for name, size in zip("BHLD", sizes)]


def fits(call, step, seen):
    """Whether what was launched takes the sizes of this call, of several with such a grid."""
    if seen.contents.shared != step["shared"] or list(seen.contents.cluster) != step["cluster"]:
        return False
    for pointer, argument in zip(seen.contents.parameters, step["arguments"]):
        if argument.get("type") == "i32" and at(pointer, ctypes.c_int32).value != argument["value"]:
            return False
        if "map" in argument:
            dims = {tensor["name"]: tensor["dims"] for tensor in call["tensors"]}[argument["tensor"]]
            if list(at(pointer, Map).dims)[: len(dims)] != dims[::-1]:
                return False
    return True


def teller_of(module, compute):
    # What fails in it is printed and passed over by ctypes: then `launches` does not grow.
    def teller(seen):
        steps = [(call, step) for call in module._CALLS for step in call["steps"] if "entry" in step]
        steps = [(call, step) for call, step in steps if list(seen.contents.grid) == step["grid"]]
        steps = [(call, step) for call, step in steps if list(seen.contents.block) == step["block"]]
        assert steps, "no such launch was packed"
        call, step = steps[0]
        layout = expected_layout[0]
        if layout is not None:
            call, step = [each for each in steps if each[0]["shape"]["layout"] == layout][0]
        if expected_causal[0] is not None:
            of_mask = [each for each in steps if each[0]["shape"]["causal"] == expected_causal[0]]
            call, step = [each for each in of_mask if fits(*each, seen)][0]
        assert seen.contents.shared == step["shared"] and list(seen.contents.cluster) == step["cluster"]
        assert seen.contents.attributes == (0 if step["cluster"] == [1, 1, 1] else 1)
        assert seen.contents.stream == 0x77
        tensors, scalars = tensors_of(call, step, seen.contents)
        if step is last_kernel(call):
            compute(tensors, scalars, call)
            launches.append(call)
        else:
            before_last(tensors)

    return TELLER(teller)


def before_last(tensors):
    """A kernel with others behind it leaves what they join: here, all that they need to compute it again."""
    seen_before.update(tensors)


seen_before = {}
expected_layout = [None]
expected_causal = [None]  # where kernels of one launch differ in it


def compute_attention(tensors, scalars, call):
    for name in tensors.keys() & seen_before.keys():
        assert tensors[name].data_ptr() == seen_before[name].data_ptr(), name
    tensors = {**seen_before, **tensors}
    seen_before.clear()
    q, k, v, o = (tensors[name] for name in "QKVO")
    by_maps = any("map" in argument for argument in last_kernel(call)["arguments"])
    if call["shape"]["layout"] == "BSHD" and not by_maps:
        q, k, v, o = (each.transpose(1, 2) for each in (q, k, v, o))
    scale = scalars.get("scale", q.shape[-1] ** -0.5)
    o.copy_(sdpa(q, k, v, scale=scale, is_causal=call["shape"]["causal"], enable_gqa=q.shape[1] != k.shape[1]))


def check_launched(module, q, k, v, layout="BHSD", **more):
    expected_layout[0] = layout
    before = len(launches)
    result = module.attention(q, k, v, strict=True, **more)
    assert len(launches) == before + 1, "nothing was launched"
    assert torch.equal(result, sdpa(q, k, v, **more)), "another result"
    assert result.shape == q.shape and result.dtype == q.dtype
    return result


def check_fallback(module, q, k, v, why, **more):
    before = len(launches)
    assert torch.equal(module.attention(q, k, v, **more), sdpa(q, k, v, **more))
    said = failure(ValueError, lambda: module.attention(q, k, v, strict=True, **more))
    assert why in said, said
    assert len(launches) == before, "it was launched"


def inside(tensors):
    """The same values in BSHD."""
    return [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in tensors]


def test_fallbacks_of_the_cpu(module):
    check_fallback(module, *qkv(), "plain CUDA tensors")


def test_pointers(module):
    """Kernels that read through pointers: one for BHSD, one for BSHD."""
    q, k, v = qkv()
    check_launched(module, q, k, v)
    assert check_launched(module, q, k, v, scale=0.3).is_contiguous()
    result = check_launched(module, *inside((q, k, v)), layout="BSHD")
    assert result.transpose(1, 2).is_contiguous()
    wide = [each[..., : sizes[3]] for each in qkv(resized(D=2 * sizes[3]))]
    check_fallback(module, *wide, "strides")
    check_fallback(module, q, inside((k,))[0], v, "strides")
    check_fallback(module, *qkv(resized(D=2 * sizes[3])), "this shape")
    check_fallback(module, *qkv(resized(B=2)), "this shape")
    check_fallback(module, *qkv(dtype=torch.float32), "this dtype")
    check_fallback(module, q, k, v, "this shape", is_causal=True)
    check_fallback(module, q, k, v, "masks", attn_mask=torch.ones(sizes[2], sizes[2], dtype=torch.bool))
    check_fallback(module, q, k, v, "above zero", scale=-1.0)
    check_fallback(module, q, k[:, :, :32], v[:, :, :32], "this shape")
    check_fallback(module, q, k, v.float().half().requires_grad_(), "gradient")
    with torch.no_grad():
        check_launched(module, q, k, v.clone().requires_grad_())
    # An address that copies of 16 bytes cannot begin at: closely packed, and copied first.
    odd = torch.randn(q.numel() + 1).half()[1:].view(sizes)
    assert odd.data_ptr() % 16 != 0
    check_launched(module, odd, k, v)
    loads = fake.fake_loads()
    for _ in range(3):
        check_launched(module, q, k, v)
    assert fake.fake_loads() == loads, "a kernel was loaded again"
    module.prepare("cuda:0")


def test_maps(module):
    """A kernel that sees all through tensor maps takes any strides."""
    q, k, v = qkv()
    check_launched(module, q, k, v)
    assert check_launched(module, *inside((q, k, v))).transpose(1, 2).is_contiguous()
    together = torch.randn(1, sizes[2], 3, sizes[1], sizes[3]).half()
    check_launched(module, *[each.transpose(1, 2) for each in together.unbind(2)])
    check_launched(module, q, inside((k,))[0], v)
    check_fallback(module, q[..., ::1].transpose(2, 3).contiguous().transpose(2, 3), k, v, "strides")


def test_compiled(module):
    expected_layout[0] = "BHSD"

    _, heads, length, dim = sizes
    width = heads * dim

    def block(x, weight):
        q, k, v = (x @ weight).view(1, length, 3, heads, dim).permute(2, 0, 3, 1, 4).contiguous()
        return module.attention(q, k, v, strict=True).transpose(1, 2).reshape(1, length, width) + x

    x, weight = torch.randn(1, length, width).half(), (torch.randn(width, 3 * width) / 20).half()
    with torch.no_grad():
        wanted = block(x, weight)
        before = len(launches)
        compiled = torch.compile(block, backend="aot_eager", fullgraph=True)
        assert torch.equal(compiled(x, weight), wanted)
        assert len(launches) == before + 1
        dynamic = torch.compile(module.attention, backend="aot_eager", fullgraph=True, dynamic=True)
        q, k, v = qkv()
        assert torch.equal(dynamic(q, k, v), sdpa(q, k, v))
        assert len(launches) == before + 2
        for other in (100, 200):
            q, k, v = qkv(resized(L=other))
            assert torch.equal(dynamic(q, k, v), sdpa(q, k, v))
        assert len(launches) == before + 2
    q, k, v = qkv()
    torch.library.opcheck(module._operator, (q, k, v, 0, 0.125, module._heads_inside[0]))


def test_sized(module):
    """Any sizes, by the kernel that the dispatch names."""
    D = sizes[3]
    for causal in (False, True):
        for B, H, Lq, Lk in ((1, 2, 64, 64), (2, 3, 77, 130), (1, 1, 160, 33), (3, 2, 100, 100), (1, 5, 1, 7), (1, 2, 64, 64)):
            expected_causal[0] = causal
            q, k, v = torch.randn(B, H, Lq, D).half(), *(torch.randn(B, H, Lk, D).half() for _ in range(2))
            check_launched(module, q, k, v, is_causal=causal)
            shape = {**launches[-1]["shape"], "B": B, "H": H, "Lq": Lq, "Lk": Lk}
            assert shape["causal"] == causal
            assert launches[-1]["choice"] == module._dispatch(shape), "another kernel than the dispatch names"
    made = len(module._CALLS)
    check_launched(module, *[torch.randn(1, 2, 64, D).half() for _ in range(3)], is_causal=True)
    assert len(module._CALLS) == made, "a launch was computed twice"
    expected_causal[0] = None
    check_fallback(module, *qkv(resized(D=2 * D)), "this shape")
    check_fallback(module, *qkv(dtype=torch.float32), "this dtype")


def test_steps(module):
    """Two kernels and their workspaces, at the tuned shape and at other numbers of keys."""
    shape, expected_causal[0], expected_layout[0] = module._CALLS[0]["shape"], False, "BHSD"
    for B, Lk in ((shape["B"], shape["Lk"]), (2, 77), (1, 300)):
        q = torch.randn(B, shape["H"], shape["Lq"], shape["D"]).bfloat16()
        k, v = (torch.randn(B, shape["Hkv"], Lk, shape["D"]).bfloat16() for _ in range(2))
        check_launched(module, q, k, v, enable_gqa=True)
        call = launches[-1]
        kernels = [step["entry"] for step in call["steps"]]
        assert kernels == ["attention_decode", "attention_decode_join"], kernels
        rooms, end = module._rooms(module._CALLS.index(call))
        assert list(rooms) == ["partials", "row_states"] and end % 256 == 0
        assert rooms["partials"][2][0] == B, "the workspaces are not of these sizes"
    expected_causal[0] = None


def test_drop_in(module):
    """Put in SDPA's place, its fallback is still PyTorch's own."""
    functional = torch.nn.functional
    functional.scaled_dot_product_attention = module.attention
    try:
        q, k, v = qkv((1, 2, 10, 16))
        assert torch.equal(functional.scaled_dot_product_attention(q, k, v, None, 0.0, True), sdpa(q, k, v, is_causal=True))
    finally:
        functional.scaled_dot_product_attention = sdpa


def test_twice(path):
    again = load(path, "again")  # the same module under another name shares the operator
    assert again._OPERATORS == load(path, "again_too")._OPERATORS
    spec = again.__spec__
    spec.loader.exec_module(again)  # and it can be loaded anew


def compute_softmax(tensors, scalars, call):
    tensors["y"].copy_(torch.softmax(tensors["x"], -1))


def test_function(module):
    expected_layout[0] = None
    fact = module._CALLS[0]["tensors"][0]
    dtype = module._TYPES[fact["type"]][0]
    x = torch.randn(fact["dims"]).to(dtype)
    assert "CUDA tensor" in failure(ValueError, lambda: module.launch(x))
    assert "x: 1 tensors" in failure(TypeError, lambda: module.launch())
    assert "no scalar" in failure(TypeError, lambda: module.launch(x, a=1.0))
    module._chosen = lambda tensors: 0
    before = len(launches)
    assert torch.equal(module.launch(x), torch.softmax(x, -1))
    y = torch.randn(x.shape[1], x.shape[0]).to(dtype).t()
    assert torch.equal(module.launch(y), torch.softmax(y, -1)), "strides"
    compiled = torch.compile(lambda x: module.launch(x * 2) + 1, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), torch.softmax(x * 2, -1) + 1)
    assert len(launches) == before + 3
    assert module._misfit(0, [torch.randn(3, 3)]) == "no kernel was tuned for these sizes"
    assert str(dtype) in module._misfit(0, [x.double()])
    torch.library.opcheck(module._operator, (x, 0))


def main():
    pointers, maps, custom, sized, steps = (load(path, f"exported_{i}") for i, path in enumerate(sys.argv[2:7]))
    test_fallbacks_of_the_cpu(pointers)
    for module, tests in ((pointers, (test_pointers, test_compiled, test_drop_in)), (maps, (test_maps, test_compiled)), (sized, (test_sized,)), (steps, (test_steps,))):
        pretend_cuda(module)
        sizes[:] = [module._CALLS[0]["shape"][name] for name in ("B", "H", "Lq", "D")]
        teller = teller_of(module, compute_attention)
        fake.fake_tell(teller)
        for test in tests:
            test(module)
            print("passed:", test.__name__)
    teller = teller_of(custom, compute_softmax)
    fake.fake_tell(teller)
    test_function(custom)
    test_twice(sys.argv[2])
    print("all passed")


main()
