"""The commands, their words and options. What is heavy is imported when a command runs."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    name="nonneg",
    help="Non-negative contrastive learning: train, measure and look at sparse, readable features.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the two runs, the table and the pictures.")] = Path("runs/demo"),
) -> None:
    """Train CL and NCL on the pictures that ship, measure both, and draw what their dimensions stand for."""
    from nonneg.cli.demo import demo as run

    run(out)


@app.command()
def train(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECIPE [KEY=VALUE]...",
            help="A recipe's name ('nonneg recipes' lists them) or a .yaml file, then changes to it, as epochs=20. "
            "seed=0,1,2 trains a run each.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder; runs/RECIPE if not said.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")] = None,
) -> None:
    """Train a model by a recipe, or go on with a run that was stopped."""
    from nonneg.cli.train import resume as run_on
    from nonneg.cli.train import train as run

    if resume is None:
        run(words or [], out)
    else:
        run_on(resume, words or [], out)


@app.command()
def recipes(name: Annotated[str | None, typer.Argument(help="Show this one whole.")] = None) -> None:
    """List the recipes, or show one with what it reached."""
    from nonneg.cli.recipes import recipes as run

    run(name)


@app.command()
def embed(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a model's .safetensors file.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="A data set's name, folder:PATH or npz:PATH.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The array file to write.")] = Path("features.npz"),
    which: Annotated[
        str, typer.Option("--which", help="z, the features, or h, what the backbone makes.", metavar="z|h")
    ] = "z",
    root: Annotated[Path | None, typer.Option(help="Where named data sets are kept.")] = None,
    download: Annotated[bool, typer.Option("--download", help="Download the data set if it is not there.")] = False,
    skip_bad_files: Annotated[
        bool, typer.Option("--skip-bad-files", help="Leave out pictures that can't be decoded.")
    ] = False,
) -> None:
    """Write the features of a data set to an .npz: features, labels, test_features, test_labels, classes."""
    from nonneg.cli.embed import embed as run

    run(run_folder, data, out, which, root, download, skip_bad_files)


@app.command(name="eval")
def evaluate(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's folder, or npz:PATH of an array file with features.")
    ],
    suite: Annotated[
        list[str] | None,
        typer.Option(metavar="quick|full|NAME", help="What to measure: a suite, or protocols by name. [quick]"),
    ] = None,
    transfer: Annotated[
        list[str] | None, typer.Option(metavar="DATA", help="Another data set whose classes are probed for.")
    ] = None,
    shifted: Annotated[
        list[str] | None, typer.Option(metavar="DATA", help="Other pictures of the run's classes, as sketches.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help="Where named data sets are kept.")] = None,
    download: Annotated[bool, typer.Option("--download", help="Download other data that are not there.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure what is known already once more.")] = False,
    beside: Annotated[
        Path | None, typer.Option(metavar="RUN", help="The plain run that the page shows beside this one.")
    ] = None,
) -> None:
    """Measure a run: probes, k-NN, consistency, sparsity, retrieval, SEPIN …, and write its page.

    What is known already is not measured again; interrupted, it goes on.
    """
    from nonneg.cli.evaluate import evaluate as measured

    measured(
        run, suite or ["quick"], {"transfer": transfer or [], "shifted": shifted or []}, root, download, again, beside
    )


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs that were measured.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a page too.", metavar="PAGE.html")] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="md|csv|json|latex", help="Print text for elsewhere.")
    ] = None,
) -> None:
    """Runs side by side; those that differ only by seed are one column, mean ± deviation."""
    from nonneg.cli.compare import compare as run

    run(runs, out, form)


@app.command()
def select(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run's folder.")],
    dims: Annotated[int, typer.Option("--dims", help="How many dimensions to keep.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The new run's folder.")],
) -> None:
    """Shorten a run's features to the dimensions that are most expected to be on, as a run of its own."""
    from nonneg.cli.select import select as run

    run(run_folder, dims, out)


@app.command()
def export(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a model's .safetensors file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    format: Annotated[
        str, typer.Option("--format", help="onnx, or torch, a program of torch.export.", metavar="onnx|torch")
    ] = "onnx",
) -> None:
    """Write a model for other programs: pictures in [0, 1] to h and z, checked against the model."""
    from nonneg.cli.export import export as run

    run(run_folder, format, out)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Say the version.")] = False
) -> None:
    if version:
        from nonneg import __version__

        typer.echo(f"nonneg {__version__}")
        raise typer.Exit()
