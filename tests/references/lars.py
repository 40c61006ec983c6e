"""LARS a parameter at a time, in Python's own floats, from its formulas."""

import math


def step(w, gradient, v, is_vector, lr, momentum, weight_decay, eta, clip):
    """The new weights and velocities of one parameter, whose values come as lists."""
    if not is_vector:
        norm, gradient_norm = (math.sqrt(math.fsum(x * x for x in values)) for values in (w, gradient))
        rate = 1.0
        if norm > 0 and gradient_norm > 0:
            rate = eta * norm / (gradient_norm + weight_decay * norm)
            if clip and rate / lr > 1:
                rate = 1.0
            elif clip:
                rate = rate / lr
        gradient = [rate * (g + weight_decay * x) for g, x in zip(gradient, w, strict=True)]
    v = [momentum * old + g for old, g in zip(v, gradient, strict=True)]
    return [x - lr * s for x, s in zip(w, v, strict=True)], v
