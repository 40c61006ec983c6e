"""Pictures to look at.

dimension_rows  the most expected dimensions as rows of the pictures that switch them on, runs side by side
"""

from nonneg.report.dimension_rows import Rows, dimension_rows, draw_rows

__all__ = ["Rows", "dimension_rows", "draw_rows"]
