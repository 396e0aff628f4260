"""Layers of decoder families as operations on a tape."""
