"""The views of the Attention page."""
