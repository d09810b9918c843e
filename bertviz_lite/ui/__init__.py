"""The only room that knows Streamlit: frame and navigation, state and address, models, the inference gate, widgets.

A page reads inputs, makes one call and draws; everything that two pages share is here.
"""

__all__ = ["calculator", "charts", "compute", "gate", "numbers", "sentence", "shelf", "shell", "state", "upload"]

from bertviz_lite.ui import calculator, charts, compute, gate, numbers, sentence, shelf, shell, state, upload
