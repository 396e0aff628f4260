"""Regression suites: `python -m evals run questions memory retrieval`."""

from evals.sample import CaseResult, Score

__all__ = ["CaseResult", "Score"]
