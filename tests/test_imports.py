"""What may import what, and that importing the package stays cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nonneg

SOURCE = Path(nonneg.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

# A part may import the parts of the layers below it, and what its own line names of its own layer.
LAYERS = [
    {"activations", "losses", "metrics", "nmf", "theory", "selection", "recipes"},
    {"models", "data"},
    {"training", "evaluation", "search", "report", "estimators"},
    {"cli"},
]
BUILT_ON = {
    "losses": {"activations"},
    "theory": {"nmf", "losses"},
    "models": {"data"},
    "evaluation": {"training"},
    "report": {"training", "evaluation"},
}
MATHS = {"torch", "numpy", "jaxtyping"}
MATHS_MAY_ALSO = {"metrics/accumulating.py": {"torchmetrics"}}
HEAVY = {
    *("lightning", "torchvision", "torchmetrics", "sklearn", "scipy", "pandas", "matplotlib"),
    *("kornia", "timm", "typer", "rich", "pydantic"),
}


def _part(module):
    """`losses` of nonneg.losses.infonce; None for the package and its private modules, which anyone may import."""
    names = module.split(".")
    return names[1] if len(names) > 1 and not names[1].startswith("_") else None


def _imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _layer(part):
    return next(i for i, layer in enumerate(LAYERS) if part in layer)


def _violations(path, part):
    for name in _imported(path):
        top = name.split(".")[0]
        if top == "nonneg":
            other = _part(name)
            allowed = other in (None, part) or other in BUILT_ON.get(part, ())
            if not allowed and not _layer(other) < _layer(part):
                yield f"{path.relative_to(SOURCE)} imports {name}"
        elif _layer(part) == 0:
            may = MATHS | sys.stdlib_module_names | MATHS_MAY_ALSO.get(str(path.relative_to(SOURCE)), set())
            if top not in may:
                yield f"{path.relative_to(SOURCE)} imports {name}"


def _part_of(path):
    return _part("nonneg." + ".".join(path.relative_to(SOURCE).with_suffix("").parts))


@pytest.mark.parametrize("path", [p for p in MODULES if _part_of(p)], ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_downwards(path):
    if path != SOURCE / "__init__.py":
        assert list(_violations(path, _part_of(path))) == []


def test_a_violation_would_be_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    (tmp_path / "metrics").mkdir()
    bad = tmp_path / "metrics" / "bad.py"
    bad.write_text("import scipy.linalg\nfrom nonneg.losses import InfoNCE\nfrom nonneg.training import fit\n")
    assert len(list(_violations(bad, "metrics"))) == 3


def _loaded_after(statement):
    code = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_brings_nothing_heavy():
    beyond_torch = _loaded_after("import torch, nonneg") - _loaded_after("import torch")
    assert not beyond_torch & HEAVY
    assert not {name for name in beyond_torch if name.startswith("nonneg.")} - {"nonneg._lazy"}
    assert "torch" not in _loaded_after("import nonneg")


@pytest.mark.parametrize("part", ["losses", "metrics", "selection"])
def test_the_maths_brings_nothing_heavy(part):
    loaded = _loaded_after(f"import torch, nonneg; nonneg.{part}") - _loaded_after("import torch")
    assert f"nonneg.{part}" in loaded
    assert not loaded & HEAVY


def test_every_public_name_is_there():
    for package in (nonneg, nonneg.losses, nonneg.metrics, nonneg.selection, nonneg.activations):
        for name in package.__all__:
            assert hasattr(package, name), f"{package.__name__}.{name}"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'nonneg' has no attribute 'loses'"):
        nonneg.loses  # noqa: B018 (the look-up is what is tested)
    with pytest.raises(AttributeError, match=r"module 'nonneg.metrics' has no attribute 'Sparse'"):
        nonneg.metrics.Sparse  # noqa: B018
