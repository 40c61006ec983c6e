"""Non-negative contrastive learning: sparse, readable features by one line."""

from nonneg import losses
