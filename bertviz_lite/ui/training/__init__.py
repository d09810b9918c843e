""" "How it was trained" and "Train": one training example, and runs of a visitor's own."""
