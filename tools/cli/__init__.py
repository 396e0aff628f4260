"""The commands of `python -m tools`, one module each."""
