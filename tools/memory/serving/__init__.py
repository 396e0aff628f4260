"""Serving engines: weights by format, caches, activations, pools."""
