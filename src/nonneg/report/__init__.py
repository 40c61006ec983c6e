"""Pages and pictures to look at.

write_report      a run's page, RUN/report/index.html, beside a plain run if there is one
write_comparison  the same page for several runs
dimension_rows    the most expected dimensions as rows of the pictures that switch them on, runs side by side; a PNG

A page is one file that needs no other: sections in templates/, and a file here for what each of them shows:
facts, numbers, gallery, distributions, heat_map, curves, feature_map; plots draws lines and points as SVG.
"""

from nonneg.report.dimension_rows import Rows, dimension_rows, draw_rows
from nonneg.report.page import write_comparison, write_report

__all__ = ["Rows", "dimension_rows", "draw_rows", "write_comparison", "write_report"]
