# --- A function of tensors, in the order in which the kernel takes them.

_ROLES = {tensor["name"]: tensor["role"] for tensor in _CALLS[0]["tensors"]}
_GIVEN = [name for name, role in _ROLES.items() if role in ("input", "inout")]
_RESULTS = [name for name, role in _ROLES.items() if role == "output"]
_REALS = {}  # scalars that are no sizes: by name, of the first call
for _argument in _arguments_of(_CALLS[0]):
    is_own = _argument.get("own", False)  # the kernel's, which follows from how it was tuned
    if "scalar" in _argument and not is_own and _argument["type"] in ("f16", "bf16", "f32", "f64"):
        _REALS[_argument["scalar"]] = _argument["value"]


def _tensor_facts(call):
    return {tensor["name"]: tensor for tensor in _CALLS[call]["tensors"]}


def _made(call, role, device):
    """New tensors for what nobody gives."""
    return {
        name: torch.empty(tensor["dims"], dtype=_TYPES[tensor["type"]][0], device=device)
        for name, tensor in _tensor_facts(call).items()
        if tensor["role"] == role
    }


def _run(*arguments):
    call, given, reals = _parted(arguments)
    device = given[0].device
    tensors = {}
    for name, tensor in zip(_GIVEN, given):
        tensors[name] = _taken(tensor, _only_by_maps(call, name)) if _ROLES[name] == "input" else tensor
    results = _made(call, "output", device)
    tensors = {**tensors, **results, **_made(call, "workspace", device)}
    where = (call, _stream_of(device.index), reals, *[(t.data_ptr(), t.stride()) for t in tensors.values()])
    prepared = _prepared.get(where)
    if prepared is None:
        prepared = _ready(where, call, tensors, dict(zip(_REALS, reals)), device.index, where[1])
    prepared.launch()
    return _as_returned(results)


def _run_fake(*arguments):
    call, given, _ = _parted(arguments)
    return _as_returned(_made(call, "output", given[0].device))


def _parted(arguments):
    count = len(_GIVEN)
    return arguments[count], arguments[:count], arguments[count + 1 :]


def _as_returned(results):
    if len(_RESULTS) == 0:
        return None
    return results[_RESULTS[0]] if len(_RESULTS) == 1 else tuple(results[name] for name in _RESULTS)


def _schema():
    tensors = [f"Tensor{f'(a{i}!)' if _ROLES[name] == 'inout' else ''} t{i}" for i, name in enumerate(_GIVEN)]
    reals = [f"float s{i}" for i in range(len(_REALS))]
    returned = "Tensor" if len(_RESULTS) == 1 else f"({', '.join(['Tensor'] * len(_RESULTS))})"
    return f"launch({', '.join(tensors + ['int call'] + reals)}) -> {returned}"


if "_library" not in globals():  # a module that is loaded again keeps its operator
    _library = torch.library.Library(_OPERATORS, "FRAGMENT")
    if not hasattr(getattr(torch.ops, _OPERATORS), "launch"):
        _library.define(_schema(), tags=(torch.Tag.needs_fixed_stride_order,))
        _library.impl("launch", _run, "CUDA")
        torch.library.register_fake(f"{_OPERATORS}::launch", _run_fake, lib=_library)
    _operator = getattr(getattr(torch.ops, _OPERATORS), "launch").default


def _misfit(call, tensors):
    """Why a call is not for these tensors."""
    facts = _tensor_facts(call)
    for name, tensor in zip(_GIVEN, tensors):
        if len(tensor.shape) != len(facts[name]["dims"]):
            return f"{name} must have {len(facts[name]['dims'])} dimensions"
        for size, wanted in zip(tensor.shape, facts[name]["dims"]):
            if size != wanted:
                return "no kernel was tuned for these sizes"
        if tensor.dtype != _TYPES[facts[name]["type"]][0]:
            return f"{name} must be of {_TYPES[facts[name]['type']][0]}"
        if _ROLES[name] == "inout" and not _is_packed(tensor):
            return f"{name} is written over, so it must be contiguous"
    return None


def _chosen(tensors):
    for name, tensor in zip(_GIVEN, tensors):
        if not isinstance(tensor, torch.Tensor) or not tensor.is_cuda or tensor.device != tensors[0].device:
            raise ValueError(f"{name} must be a CUDA tensor, on the device of the others")
        if torch.is_grad_enabled() and tensor.requires_grad:
            raise ValueError(f"{name} wants a gradient: there is no backward pass")
    reason = "no kernel was tuned for this device"
    calls = _calls_on(tensors[0].device.index)
    for call in calls:
        if "choice" not in _CALLS[call]:
            reason = _misfit(call, tensors)
            if reason is None:
                return call
    shapes = {name: tensor.shape for name, tensor in zip(_GIVEN, tensors)}
    for call in _in_order([call for call in calls if call in _SIZED], shapes):
        made = _at_sizes(call, shapes)
        reason = made if isinstance(made, str) else _misfit(made, tensors)
        if reason is None:
            return made
    raise ValueError(reason)


def launch(*tensors, **reals):
    """Runs the kernel that was tuned for tensors of these sizes, in the current stream.

    Takes what the kernel reads and what it writes over, in its own order; gives what it writes, one
    tensor or several. What no kernel is for is a ValueError that says why. Named scalars may be given:
    else they are as they were when the kernel was tuned.
    """
    if len(tensors) != len(_GIVEN):
        raise TypeError(f"launch takes {', '.join(_GIVEN)}: {len(_GIVEN)} tensors, not {len(tensors)}")
    for name in reals:
        if name not in _REALS:
            raise TypeError(f"launch knows no scalar {name}; it knows {', '.join(_REALS) or 'none'}")
    call = _chosen(tensors)
    tuned = {a["scalar"]: a["value"] for a in _arguments_of(_CALLS[call]) if "scalar" in a}
    return _operator(*tensors, call, *[float(reals.get(name, tuned[name])) for name in _REALS])
