"""Stored tensors into a model, all of them and no others."""

from collections.abc import Mapping

from torch import Tensor, nn

from nonneg._errors import UserError


def fill(model: nn.Module, tensors: Mapping[str, Tensor], source: object) -> None:
    """Copies them in; they take the model's types. What doesn't fit is named, and nothing is copied."""
    check(model, tensors, source)
    model.load_state_dict(tensors)


def check(model: nn.Module, tensors: Mapping[str, Tensor], source: object) -> None:
    """Names what doesn't fit."""
    own = model.state_dict()
    problems = [
        _listed("missing", [name for name in own if name not in tensors]),
        _listed("unknown", [name for name in tensors if name not in own]),
        _listed(
            "of another shape",
            [
                f"{name} {tuple(tensor.shape)} for {tuple(own[name].shape)}"
                for name, tensor in tensors.items()
                if name in own and tensor.shape != own[name].shape
            ],
        ),
    ]
    if any(problems):
        raise UserError(
            f"Expected {source} to hold this model's weights, got {'; '.join(filter(None, problems))}; "
            "check its settings or its backbone."
        )


def _listed(what: str, names: list[str], most: int = 3) -> str:
    beyond = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{what}: {', '.join(names[:most])}{beyond}" if names else ""
