"""What a run's features are worth: the same measurements, by the same protocol, for every run.

suite         all protocols by name: `measure_run`, `evaluate`; kept in metrics.json as they end
subject       what is measured: a run, or the features of an array file
features      h and z of a run's pictures, made once and kept in its folder; of any other data too
results       a number with its n, interval, seed and seconds; metrics.json
comparison    runs side by side: `compare`

linear_probe  how much of the classes a linear map reads off; its strength chosen on held-out training samples
knn           is the class that of the nearest?
properties    sparsity, consistency, correlation, effective rank
retrieval     are the nearest others of the class?
sepin         what does a dimension tell that the others don't?
few_shot      … by few labels                       label_noise  … by labels many of which are wrong
input_noise   … in pictures with noise              out_of_distribution  … corrupted, sketched, stylised, shifted
dimension_selection  which columns to keep, and what a few are still worth
transfer      another data set's classes            fine_tuning  a classifier that begins with the backbone
baselines     other features of the same samples: PCA, NMF, a sparse autoencoder (in sparse_autoencoder), chance

shortened_run  a run's most expected dimensions as a run of their own: `shorten`
wording, tables  what a number is called and how it is written; a comparison as Markdown, CSV, JSON, LaTeX
"""

from nonneg.evaluation.comparison import Comparison, compare
from nonneg.evaluation.features import Features, extract, features_of_run, write_features
from nonneg.evaluation.linear_probe import linear_probe
from nonneg.evaluation.results import Result
from nonneg.evaluation.shortened_run import shorten
from nonneg.evaluation.subject import Subject
from nonneg.evaluation.suite import evaluate, measure_run

__all__ = [
    "Comparison",
    "Features",
    "Result",
    "Subject",
    "compare",
    "evaluate",
    "extract",
    "features_of_run",
    "linear_probe",
    "measure_run",
    "shorten",
    "write_features",
]
