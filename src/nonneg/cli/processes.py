"""Which process speaks, where several train together."""

import os

__all__ = ["is_first"]


def is_first() -> bool:
    """Whether it is this one: people are told once, however many processes there are."""
    return os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0")) == "0"
