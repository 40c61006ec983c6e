"""Training by recipes: a run is a folder, exact to go on with, the same again from the same recipe and seed.

trainer       `train`, a new run; `resume`, one that goes on
recipe        what a run depends on, typed;            `recipes`: by name or file, with key=value changes
methods       from views (and labels) to a loss, a method a file
objective     model and method as the module that is trained
optimisers    LARS (in `lars`), AdamW, SGD; warm-up and cosine
hardware      devices, precision and processes, by Lightning Fabric
run           one process's training loop
run_folder    what is where in a run's folder;         `checkpoint`: all that it needs to go on
watcher       who is told how a run goes;              `progress_bar`: a terminal
logs          log.csv, TensorBoard, Weights & Biases;  `statistics`: what the features are like after every epoch
trouble       a loss that is no number, features that die; `interruption`: Ctrl-C and SIGTERM
"""

from typing import TYPE_CHECKING

from nonneg import _lazy

if TYPE_CHECKING:
    from nonneg.training.interruption import Interrupted
    from nonneg.training.recipe import Recipe
    from nonneg.training.run_folder import RunFolder
    from nonneg.training.trainer import resume, train
    from nonneg.training.watcher import Watcher

__all__ = ["Interrupted", "Recipe", "RunFolder", "Watcher", "resume", "train"]

__getattr__ = _lazy.loader(
    __name__,
    names={
        "Interrupted": "interruption",
        "Recipe": "recipe",
        "RunFolder": "run_folder",
        "Watcher": "watcher",
        "resume": "trainer",
        "train": "trainer",
    },
)
