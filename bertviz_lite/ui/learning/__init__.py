""" "Watch it learn": one model at the moments of its training."""
