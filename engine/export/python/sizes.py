# --- What a launch is computed with where its sizes are known at the call.

_SIZED = {}  # by call: where each size stands, as (tensor, dimension), and what is launched at sizes
_at = {}  # the calls that were made for sizes, by (call, sizes)


def _divide(a, b):
    """Towards 0, as kernels divide."""
    return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))


def _remainder(a, b):
    return a - b * _divide(a, b)


def _ceil_div(a, b):
    return -(-a // b)


def _sizes_of(call, shapes):
    """By name, of tensors of these shapes; or why there are none."""
    places, _ = _SIZED[call]
    for name, at in places.values():
        if len(shapes[name]) <= at:
            return f"{name} has too few dimensions"
    return {size: int(shapes[name][at]) for size, (name, at) in places.items()}


def _in_order(calls, shapes):
    """Calls for any sizes, that one first which the dispatch names for tensors of these shapes."""

    def is_another(call):
        facts, sizes = _CALLS[call], _sizes_of(call, shapes)
        return "choice" in facts and (isinstance(sizes, str) or facts["choice"] != _dispatch({**facts["shape"], **sizes}))

    return sorted(calls, key=is_another)


def _steps_at(call, made):
    kernels, steps = iter(made["kernels"]), []
    for step in call["steps"]:
        if "entry" in step:
            step = {**step, **next(kernels)}
            step["arguments"] = [
                {**each, "value": made["scalars"].get(each["scalar"], each["value"])} if "scalar" in each else each
                for each in step["arguments"]
            ]
        steps.append(step)
    return steps


def _at_sizes(call, shapes):
    """The number of the call that this one is for tensors of these shapes, by name; or why there is none."""
    sizes = _sizes_of(call, shapes)
    if isinstance(sizes, str):
        return sizes
    key = (call, *sizes.values())
    if key not in _at:
        try:
            made = _SIZED[call][1](sizes)
        except ZeroDivisionError:
            return f"there is no launch for {sizes}"
        for holds, otherwise in made["required"]:
            if not holds:
                return otherwise
        new = {**_CALLS[call], "tuned": call, "steps": _steps_at(_CALLS[call], made)}
        new["tensors"] = [{**each, "dims": made["dims"][each["name"]]} for each in new["tensors"]]
        _CALLS.append(new)  # as another thread may at this moment
        _at[key] = next(at for at, each in enumerate(_CALLS) if each is new)
    return _at[key]
