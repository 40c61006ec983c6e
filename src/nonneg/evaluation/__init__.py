"""What a run's features are worth: the same measurements, by the same protocol, for every run.

features      h and z of a run's pictures, made once and kept in its folder; of any other data too
linear_probe  how much of the classes a linear map reads off; its strength chosen on held-out training samples
measure       everything in one table: `measure_run`, kept in metrics.json
"""

from nonneg.evaluation.features import Features, extract, features_of_run, write_features
from nonneg.evaluation.linear_probe import linear_probe
from nonneg.evaluation.measure import measure_run

__all__ = ["Features", "extract", "features_of_run", "linear_probe", "measure_run", "write_features"]
