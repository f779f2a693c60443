"""A session as one HTML file that needs nothing else."""

from turnlog.export.html.page import render_html

__all__ = ["render_html"]
