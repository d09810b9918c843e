"""The views of "Fill the mask"."""
