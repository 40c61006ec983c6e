"""The losses and the measurements on generated features: what the one line changes, in a minute and without data.

A small network is trained twice on samples of a latent-class world, with the same seed; only the activation differs.
"""

import torch
from torch import nn

import nonneg
from nonneg import metrics

CLASSES, DIMENSIONS, STEPS, BATCH = 8, 32, 400, 256


def views(y: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One noisy sample of each label's class: a class is a direction in 64 dimensions."""
    directions = torch.randn(CLASSES, 64, generator=torch.Generator().manual_seed(0))
    return directions[y] + 0.7 * torch.randn(len(y), 64, generator=generator)


def train(activation: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features of two views of test samples, and their classes."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, DIMENSIONS), nonneg.NonNegative(activation))
    loss = nonneg.losses.InfoNCE(temperature=0.2)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        y = torch.randint(CLASSES, (BATCH,), generator=generator)
        optimiser.zero_grad()
        loss(model(views(y, generator)), model(views(y, generator))).backward()
        optimiser.step()
    y = torch.randint(CLASSES, (1000,), generator=generator)
    with torch.no_grad():
        return model(views(y, generator)), model(views(y, generator)), y


def main() -> None:
    rows = {}
    for name, activation in [("CL (identity)", "identity"), ("NCL (rep_relu)", "rep_relu")]:
        z1, z2, y = train(activation)
        rows[name] = [
            f"{metrics.class_consistency(z1, y):.1%}",
            f"{metrics.sparsity(z1):.1%}",
            f"{metrics.alive(z1):.0f} of {DIMENSIONS}",
            f"{metrics.correlation(z1):.3f}",
            f"{metrics.effective_rank(z1):.1f}",
            f"{100 * metrics.sepin(z1, z2, k=(10,))[10]:.2f}",
            f"{metrics.retrieval(z1, y)['precision']:.1%}",
        ]
    header = ["", "consistency", "sparsity", "alive", "correlation", "eff. rank", "SEPIN@10 ×100", "precision@10"]
    for row in [header, *([name, *values] for name, values in rows.items())]:
        print("".join(f"{cell:<16}" for cell in row).rstrip())
    print("\nThe same network, data and seed twice; the second has one line more: z = nonneg.rep_relu(z)")


if __name__ == "__main__":
    main()
