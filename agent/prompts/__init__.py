"""Prompts, as versioned files."""
