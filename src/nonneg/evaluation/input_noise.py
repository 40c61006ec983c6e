"""Input noise: how much of the classes is still found in pictures with noise, by probes that never saw any?"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nonneg import _checks, _seeds
from nonneg._errors import UserError
from nonneg.data import evaluation_batches
from nonneg.evaluation.features import Progress
from nonneg.evaluation.linear_probe import fit_probe
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Subject

__all__ = ["measure", "noisy"]

KINDS = ("gaussian", "uniform")
STRENGTHS = (0.05, 0.1, 0.2, 0.3)
_PICTURES = 2000


def noisy(
    x: Float[Tensor, "n c h w"], kind: str, strength: float, numbers: Int[Tensor, " n"], seed: int = 0
) -> Float[Tensor, "n c h w"]:
    """clip(x + σε, 0, 1): ε ~ N(0, 1) if gaussian, U(−1, 1) if uniform. A picture's ε depends on its number alone.

    >>> x = torch.full((2, 1, 8, 8), 0.5)
    >>> difference = noisy(x, "uniform", 0.1, numbers=torch.arange(2)) - x
    >>> bool((difference.abs() <= 0.1).all())
    True
    """
    _checks.choice(kind, KINDS, "kind")
    if not strength >= 0:
        raise UserError(f"Expected a strength of noise of at least 0, got {strength}; pictures are in [0, 1].")
    return (x + strength * _noise(kind, x.shape[1:], numbers, seed).to(x)).clamp(0, 1)


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """Accuracy of h and z of at most 2,000 test pictures with noise, as the model sees them; the same for every run."""
    source = subject.source
    if source is None:
        raise UserError(
            f"Expected a run, whose model can be shown noisy pictures, got {subject.name}, which holds features alone; "
            "give a run's folder."
        )
    y, _ = subject.labels()
    probes = {name: fit_probe(getattr(subject.train, name), y, seed=subject.seed) for name in ("h", "z")}
    pictures = source.data.evaluated().thinned(_PICTURES)
    assert pictures.labels is not None
    like, settings = next(source.model.parameters()), source.recipe.data
    correct: dict[str, list[Tensor]] = {f"{x}/{kind} {s:g}": [] for x in probes for kind in KINDS for s in STRENGTHS}
    with torch.no_grad():
        for numbers, x in evaluation_batches(
            pictures,
            source.model.settings.image_size,
            like.device,
            workers=settings.workers,
            on_bad_file=settings.on_bad_file,
        ):
            for kind in KINDS:
                for strength in STRENGTHS:
                    seen = noisy(x, kind, strength, numbers, subject.seed).to(like.dtype)
                    for (name, probe), features in zip(probes.items(), source.model.both(seen), strict=True):
                        right = probe.correct(features.float().cpu(), pictures.labels[numbers])
                        correct[f"{name}/{kind} {strength:g}"].append(right)
            progress(int(numbers[-1]) + 1, len(pictures))
    return {name: mean_of(torch.cat(right), subject.seed) for name, right in correct.items()}


def _noise(kind: str, shape: torch.Size, numbers: Int[Tensor, " n"], seed: int) -> Float[Tensor, "n c h w"]:
    """ε of each picture, drawn on the CPU: the same on every device, in every batch and at every strength."""
    drawn = []
    for number in numbers.tolist():
        generator = _seeds.generator(seed, "input noise", kind, number)
        if kind == "gaussian":
            drawn.append(torch.randn(shape, generator=generator))
        else:
            drawn.append(2 * torch.rand(shape, generator=generator) - 1)
    return torch.stack(drawn)
