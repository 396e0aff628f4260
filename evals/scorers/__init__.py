"""Rules by which answers are judged, one module a kind of suite."""
