"""Runs that are ready to be reported, and pages taken apart."""

from html.parser import HTMLParser

import numpy as np

from nonneg.evaluation import results
from nonneg.evaluation.comparison import Column
from nonneg.evaluation.results import Result
from nonneg.report.shown import shown
from nonneg.training import RunFolder, logs
from nonneg.training.recipes import read_file
from tests.finished_runs import CLASSES, array_file, finished_run

PARTS = {
    "linear_probe": {"h": Result(0.8425, 24, 0.71, 0.93), "z": Result(0.7615, 24, 0.6, 0.88)},
    "properties": {
        "consistency": Result(0.5794, 24, 0.44, 0.71),
        "sparsity": Result(0.9184, 24, 0.9, 0.93),
        "alive": Result(11, 24),
        "correlation": Result(0.0326, 24),
    },
    "sepin": {"1": Result(0.0385, 24), "10": Result(0.0241, 24), "all": Result(0.0068, 24)},
    "dimension_selection": {
        f"{way}/{m}/probe": Result(value, 24)
        for way, m, value in (("ea_relu", 4, 0.51), ("random", 4, 0.31), ("ea_relu", 8, 0.62), ("all", 12, 0.71))
    },
    "retrieval": {"precision": Result(float("nan"), 24)},
}
LOG = [
    {"epoch": 1, "loss": 5.1, "sparsity": 0.91, "alive": 12, "consistency": 0.4},
    {"epoch": 2, "loss": 4.4, "sparsity": 0.92, "alive": 11, "consistency": 0.51},
]


def reported_run(folder, classes=CLASSES, labelled=True, parts=PARTS, log=LOG, activation="rep_relu", n_test=24):
    """A finished run with what was measured and logged; its features are made when they are needed."""
    data = array_file(folder.parent / f"{folder.name}.npz", n_test=n_test, labelled=labelled, classes=classes)
    finished_run(folder, data, activation)
    if parts:
        results.write(RunFolder(folder).metrics, parts)
    if log:
        logs.write_csv(RunFolder(folder).log, log)
    return folder


def with_features(folder, train, test, labels=None):
    """Put these features in place of those of the run's model."""
    for name, z in (("train", train), ("test", test)):
        path = RunFolder(folder).features(name)
        path.parent.mkdir(exist_ok=True)
        y = {} if labels is None else {"labels": np.resize(labels, len(z))}
        np.savez(path, h=z.astype(np.float32), z=z.astype(np.float32), numbers=np.arange(len(z)), **y)


def columns_of(*folders):
    """A column a run."""
    return tuple(Column(folder.name, (folder,), read_file(RunFolder(folder).recipe)) for folder in folders)


def shown_runs(*folders):
    return shown(columns_of(*folders))


class Page(HTMLParser):
    """Elements as (tag, attributes), text outside of style, and the style."""

    def __init__(self, source):
        super().__init__()
        self.elements, self.text, self.style, self.values = [], "", "", []
        self._open = None
        self.source = source.read_text(encoding="utf-8") if hasattr(source, "read_text") else str(source)
        self.feed(self.source)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._open = tag

    def handle_endtag(self, tag):
        self._open = None
        if tag in ("td", "th", "li", "text"):
            self.text += " "

    def handle_data(self, data):
        if self._open == "style":
            self.style += data
            return
        if self._open == "data":
            self.values.append((float(self.elements[-1][1]["value"]), data))
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def ids(self):
        return [a["id"] for a in self.all("section")]

    def with_class(self, name):
        return [(tag, a) for tag, a in self.elements if name in (a.get("class") or "").split()]
