"""What the documents say is so: the README's examples run, and the map names what there is."""

import re
import warnings
from pathlib import Path

import pytest

import nonneg

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
EXAMPLES = re.findall(r"^#+ ([^\n]*)\n(?:(?!^#).)*?^```python\n(.*?)^```", README, re.M | re.S)


@pytest.mark.parametrize("code", [code for _, code in EXAMPLES], ids=[title for title, _ in EXAMPLES])
def test_an_example_of_the_readme_runs(code):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other libraries warn while they are imported
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})


def test_the_readme_has_the_promised_examples():
    code = "\n".join(code for _, code in EXAMPLES)
    for needed in ("nonneg.rep_relu", "from lightly", "from pytorch_metric_learning", "nonneg.metrics."):
        assert needed in code


def test_the_readme_begins_with_the_two_commands():
    assert re.search(r"```(?:sh|bash)?\n[^`]*make demo[^`]*make test[^`]*```", README[:1500])


@pytest.mark.parametrize("package", ["losses", "metrics"])
def test_the_map_of_a_package_names_what_it_exports(package):
    module = getattr(nonneg, package)
    functions = {name for name in module.__all__ if package == "losses" or name[0].islower()}
    assert {name for name in functions if not re.search(rf"\b{name}\b", module.__doc__)} == set()


def test_architecture_names_every_part():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    parts = {p.name.removesuffix(".py") for p in Path(nonneg.__file__).parent.iterdir() if p.name[0] not in "._"}
    assert {part for part in parts - {"py.typed"} if f"`{part}" not in text} == set()


def test_links_between_documents_lead_somewhere():
    for document in ROOT.glob("*.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)", document.read_text()):
            assert (ROOT / target).exists(), f"{document.name} links to {target}"


def test_version_is_told_once():
    assert f'version = "{nonneg.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert nonneg.__version__ in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {nonneg.__version__}" in (ROOT / "CITATION.cff").read_text()
