"""Masking, corpus reading and the training loop live here.

Nothing in this room draws or knows a page; a page starts a run and reads what it logs.
"""

__all__: list[str] = []
