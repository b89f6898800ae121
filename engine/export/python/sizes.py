# --- What a launch is computed with where its sizes are given at the call.


def _divide(a, b):
    """Towards 0, as kernels divide."""
    return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))


def _remainder(a, b):
    return a - b * _divide(a, b)


def _ceil_div(a, b):
    return -(-a // b)
