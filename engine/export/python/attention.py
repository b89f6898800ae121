# --- Attention, as torch.nn.functional.scaled_dot_product_attention has it.

_sdpa = torch.nn.functional.scaled_dot_product_attention


def _shape_of(call):
    shape = call["shape"]
    return tuple(shape[name] for name in ("B", "H", "Hkv", "Lq", "Lk", "D", "causal"))


_by_shape = {}
for _index, _call in enumerate(_CALLS):
    if "choice" not in _call:
        _by_shape.setdefault(_shape_of(_call), []).append(_index)
_shapes = list(_by_shape.items())
_dtypes = [_TYPES[_call["tensors"][0]["type"]][0] for _call in _CALLS]
_heads_inside = [_call["shape"]["layout"] == "BSHD" for _call in _CALLS]
_any_strides = [all(_only_by_maps(i, name) for name in "QKVO") for i in range(len(_CALLS))]


def _candidates(shape):
    if not torch.compiler.is_compiling():
        return _by_shape.get(shape, ())
    for known, calls in _shapes:  # sizes may be symbols here, which have no hash
        if known == shape:
            return calls
    return ()


def _sized_candidates(shape):
    """Of those for any sizes: with such a D, mask and heads that share keys."""
    _, H, Hkv, _, _, D, causal = shape
    found = []
    for call in _SIZED:
        tuned = _CALLS[call]["shape"]
        if (tuned["D"], tuned["causal"]) == (D, causal) and tuned["H"] // tuned["Hkv"] * Hkv == H:
            found.append(call)
    return found


def _shapes_for(call, query, key):
    """Of its tensors, as their dimensions lie."""
    if _heads_inside[call]:
        query, key = query.transpose(1, 2), key.transpose(1, 2)
    return {"Q": query.shape, "K": key.shape, "V": key.shape}


def _strides_fit(call, tensor):
    if _any_strides[call]:
        return _is_mappable(tensor)
    return _is_packed(tensor.transpose(1, 2) if _heads_inside[call] else tensor)


def _is_plain(tensor):
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.dim() == 4 and tensor.is_cuda


def _obstacle(query, key, value, attn_mask, dropout_p, scale, enable_gqa):
    """Why none of the kernels can be asked, whatever the shape."""
    if not (_is_plain(query) and _is_plain(key) and _is_plain(value)):
        return "query, key and value must be plain CUDA tensors [B, H, L, D]"
    wanted = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    if wanted or torch.autograd.forward_ad._current_level >= 0:
        return "the kernels are forward only, and a gradient is wanted"
    if attn_mask is not None or dropout_p != 0.0:
        return "the kernels know neither masks but the causal one nor dropout"
    if scale is not None and not scale > 0:
        return "the scale must be above zero"
    if not (query.device == key.device == value.device and query.dtype == key.dtype == value.dtype):
        return "query, key and value must be of one device and one dtype"
    if key.size(0) != query.size(0) or key.size(3) != query.size(3) or key.shape != value.shape:
        return "the sizes of query, key and value do not go together"
    if key.size(1) != query.size(1) and not enable_gqa:
        return "fewer heads of keys than of queries are taken with enable_gqa=True"
    return None


def _choice(query, key, value, is_causal):
    """(which of _CALLS, None), or (-1, why there is none)."""
    B, H, Lq, D = query.shape
    shape = (B, H, key.size(1), Lq, key.size(2), D, bool(is_causal))
    tuned, sized = _candidates(shape), _sized_candidates(shape)
    found = [*tuned, *sized]
    if len(found) == 0:
        return -1, "no kernel was tuned for this shape"
    found = [call for call in found if _dtypes[call] == query.dtype]
    if len(found) == 0:
        return -1, "no kernel of this shape was tuned for this dtype"
    usable = [call for call in _calls_on(query.device.index) if call in found]
    if len(usable) == 0:
        return -1, "no kernel of this shape was tuned for this device"
    usable = [call for call in usable if all(_strides_fit(call, tensor) for tensor in (query, key, value))]
    for call in usable:
        if call in tuned:
            return call, None
    reason = None
    for inside in (False, True):
        ordered = [call for call in usable if call in sized and _heads_inside[call] == inside]
        if len(ordered) > 0:
            ordered = _in_order(ordered, _shapes_for(ordered[0], query, key))
        for call in ordered:
            made = _at_sizes(call, _shapes_for(call, query, key))
            if not isinstance(made, str):
                return made, None
            reason = made
    if reason is not None:
        return -1, reason
    return -1, "the kernels of this shape want other strides: BSHD or BHSD, closely packed, as they were tuned"


def _empty_output(query, heads_inside):
    B, H, L, D = query.shape
    if heads_inside:
        return query.new_empty((B, L, H, D)).transpose(1, 2)
    return query.new_empty((B, H, L, D))


def _rooms(call):
    """Of the workspaces by name: where each begins in one piece of memory, and its type and dimensions; and
    the bytes of all."""
    rooms, end = {}, 0
    for tensor in _CALLS[call]["tensors"]:
        if tensor["role"] == "workspace":
            element = _TYPES[tensor["type"]][0]
            rooms[tensor["name"]] = end, element, tensor["dims"]
            end += -(-math.prod(tensor["dims"]) * element.itemsize // _ROOM_ALIGNMENT) * _ROOM_ALIGNMENT
    return rooms, end


def _room_for(query, size):
    """Memory for a call's workspaces. PyTorch gives it to the next who asks in the same stream, or in the same
    graph, so it is asked for with every call."""
    return query.new_empty(size, dtype=torch.uint8) if size > 0 else None


def _workspaces(call, room):
    tensors = {}
    for name, (start, element, dims) in _rooms(call)[0].items():
        size = math.prod(dims) * element.itemsize
        tensors[name] = room[start : start + size].view(element).view(dims)
    return tensors


def _prepare(where, query, key, value, output, room, call, scale, stream):
    """A launch, kept under `where` unless something had to be copied for it."""
    tensors = {"Q": query, "K": key, "V": value, "O": output}
    tuned = _CALLS[call].get("tuned", call)
    if _heads_inside[tuned]:
        tensors = {name: tensor.transpose(1, 2) for name, tensor in tensors.items()}
    taken = {name: _taken(tensor, _any_strides[tuned]) for name, tensor in tensors.items()}
    as_given = all(taken[name] is tensor for name, tensor in tensors.items())
    taken |= _workspaces(call, room)
    prepared = _ready(where if as_given else None, call, taken, {"scale": scale}, query.device.index, stream)
    prepared.copied = None if as_given else taken  # which must live until it is launched
    return prepared


def _attention(query, key, value, call, scale, heads_inside):
    output = _empty_output(query, heads_inside)
    room = _room_for(query, _rooms(call)[1])
    stream = _stream_of(query.device.index)
    where = (call, stream, scale, output.data_ptr(), query.data_ptr(), query.stride())
    where += (key.data_ptr(), key.stride(), value.data_ptr(), value.stride(), _place(room))
    prepared = _prepared.get(where)
    if prepared is None:
        prepared = _prepare(where, query, key, value, output, room, call, scale, stream)
    prepared.launch()
    return output


def _place(room):
    return None if room is None else room.data_ptr()


def _attention_fake(query, key, value, call, scale, heads_inside):
    return _empty_output(query, heads_inside)


def _settings(query, call, scale):
    """The scale, and where the heads of the output lie."""
    call = _CALLS[call].get("tuned", call)
    inside = query.stride(1) < query.stride(2) if _any_strides[call] else _heads_inside[call]
    return query.size(3) ** -0.5 if scale is None else scale, inside


class _Known:
    """What was decided for tensors of such sizes, strides, types and devices."""

    def __init__(self, query, call, scale):
        self.call, self.device = call, query.device.index
        self.scale, self.inside = _settings(query, call, scale)
        self.room = _rooms(call)[1]
        dense = query.transpose(1, 2).is_contiguous() if self.inside else query.is_contiguous()
        self.new = torch.empty_like if dense else lambda query: _empty_output(query, self.inside)


_known = {}


def _in_eager(query, key, value, is_causal, scale, enable_gqa):
    """The same as through the operator, less what that costs: for small shapes it is more than the kernel. None
    where the long way has to be gone: somebody watches operators, or a gradient is wanted. False where no
    kernel fits."""
    if _dispatch_modes() != 0 or _transforms() is not None or _tracing() is not None:
        return None
    if not (type(query) is type(key) is type(value) is torch.Tensor):
        return None
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad):
        return None
    if torch.autograd.forward_ad._current_level >= 0:
        return None
    where = (query.shape, query.stride(), query.dtype, query.device, key.shape, key.stride(), key.dtype, key.device)
    where += (value.shape, value.stride(), value.dtype, value.device, is_causal, scale, enable_gqa)
    known = _known.get(where)
    if known is None:
        call = -1
        if _obstacle(query, key, value, None, 0.0, scale, enable_gqa) is None:
            call, _ = _choice(query, key, value, is_causal)
        if len(_known) >= _MOST_PREPARED:
            _known.clear()
        known = _known[where] = _Known(query, call, scale) if call >= 0 else False
    if known is False:
        return False
    output, room = known.new(query), _room_for(query, known.room)
    stream = _stream_of(known.device)
    where = (known, stream, query.data_ptr(), key.data_ptr(), value.data_ptr(), output.data_ptr(), _place(room))
    prepared = _prepared.get(where)
    if prepared is None:
        prepared = _prepare(where, query, key, value, output, room, known.call, known.scale, stream)
    prepared.launch()
    return output


_dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
_transforms = getattr(torch._C._functorch, "peek_interpreter_stack", None)
_tracing = getattr(torch._C, "_get_tracing_state", None)
# A PyTorch that has no such ways to ask who watches gets the operator always.
_quick = None if None in (_dispatch_modes, _transforms, _tracing) else _in_eager


if "_library" not in globals():  # a module that is loaded again keeps its operator
    _library = torch.library.Library(_OPERATORS, "FRAGMENT")
    if not hasattr(getattr(torch.ops, _OPERATORS), "attention"):
        _library.define(
            "attention(Tensor query, Tensor key, Tensor value, int call, float scale, bool heads_inside) -> Tensor",
            tags=(torch.Tag.needs_fixed_stride_order,),
        )
        _library.impl("attention", _attention, "CUDA")
        torch.library.register_fake(f"{_OPERATORS}::attention", _attention_fake, lib=_library)
    _operator = getattr(getattr(torch.ops, _OPERATORS), "attention").default


def _elsewhere(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    if not enable_gqa:  # which PyTorch 2.4 does not know
        return _sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    return _sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=True)


def attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False, strict=False
):
    """torch.nn.functional.scaled_dot_product_attention, forward, by the kernels of this module.

    Takes and gives what that does: [B, H, L, D]. Where a kernel is for the shape, the dtype, the strides
    and the device, it runs; everything else goes to PyTorch's own, gradients too, as the kernels
    have no backward pass. With strict=True what no kernel is for is a ValueError that says why.
    """
    if _quick is not None and attn_mask is None and dropout_p == 0.0 and not torch.compiler.is_compiling():
        output = _quick(query, key, value, is_causal, scale, enable_gqa)
        if output is not None and output is not False:
            return output
        if output is False and not strict:
            return _elsewhere(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    call = -1
    reason = _obstacle(query, key, value, attn_mask, dropout_p, scale, enable_gqa)
    if reason is None:
        call, reason = _choice(query, key, value, is_causal)
    if call < 0:
        if strict:
            raise ValueError(f"attention: {reason}")
        return _elsewhere(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    return _operator(query, key, value, call, *_settings(query, call, scale))
