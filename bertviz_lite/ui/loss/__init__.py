"""The views of the Token loss page: a sentence, a minimal pair, a file."""
