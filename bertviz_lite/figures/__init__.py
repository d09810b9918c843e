"""Arrays and labels to pictures: Plotly figures, or data for one of our JavaScript views (views/).

No model and no page is known here; what is drawn on a page can be drawn in a notebook too.
"""

from bertviz_lite.figures import attention, checkpoint, chips, compare, decoder, palette, predictions, scoring, training

__all__ = ["attention", "checkpoint", "chips", "compare", "decoder", "palette", "predictions", "scoring", "training"]
