"""Requirements on charts of matplotlib."""

from __future__ import annotations

from itertools import combinations
from typing import Any


def check_that_nothing_is_overprinted(figure: Any) -> None:
    """Assert that no text of a figure overlaps another one, covers a plot, or lies beyond the edge."""
    figure.canvas.draw()
    legends = [each for each in (*figure.legends, *(ax.get_legend() for ax in figure.axes)) if each is not None]
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    outside = [axis.label for axis in axes]
    for axis in axes:
        low, high = sorted(axis.get_view_interval())
        outside += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    shown = [each for each in outside if each.get_text()]
    boxes = [(each, each.get_window_extent()) for each in (*legends, *shown)]
    edge = figure.bbox
    for each, box in boxes:
        assert edge.x0 <= box.x0 < box.x1 <= edge.x1, each
        assert edge.y0 <= box.y0 < box.y1 <= edge.y1, each
        for ax in figure.axes:
            assert not box.overlaps(ax.get_window_extent()), each
    assert not any(ax.texts for ax in figure.axes)
    for (one, box), (other, second) in combinations(boxes, 2):
        assert not box.overlaps(second), (one, other)


def check_that_texts_keep_apart(ax: Any) -> None:
    """Assert that no text on axes lies on another one, or beyond the axes."""
    ax.figure.canvas.draw()
    inside = ax.get_window_extent()
    boxes = [(each, each.get_window_extent()) for each in ax.texts if each.get_text().strip()]
    assert boxes
    for each, box in boxes:
        assert inside.x0 <= box.x0 < box.x1 <= inside.x1, each
        assert inside.y0 <= box.y0 < box.y1 <= inside.y1, each
    for (one, box), (other, second) in combinations(boxes, 2):
        assert not box.overlaps(second), (one, other)
