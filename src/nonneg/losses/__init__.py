"""Losses on features, a loss a file. Each gets features, non-negative or not, and returns a scalar.

InfoNCE             two views, the other view is the positive (SimCLR)
Spectral            two views, the matrix-factorisation form of it
SupervisedInfoNCE   positives by label (SupCon)
ClipLoss            image and text, or any two sides
NonNegCrossEntropy  class weights in place of samples (NCE)
chunked             the exact gradient of any of them for a batch beyond memory

Private and shared: `_logsumexp` (the tiles), `_distributed` (all processes' rows),
`_reduction`.
"""

from nonneg.losses.chunked import chunked
from nonneg.losses.clip import ClipLoss
from nonneg.losses.cross_entropy import NonNegCrossEntropy
from nonneg.losses.infonce import InfoNCE
from nonneg.losses.spectral import Spectral
from nonneg.losses.supervised_infonce import SupervisedInfoNCE

__all__ = ["ClipLoss", "InfoNCE", "NonNegCrossEntropy", "Spectral", "SupervisedInfoNCE", "chunked"]
