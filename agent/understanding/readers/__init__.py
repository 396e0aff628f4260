"""Readers: each looks for one kind of thing in a text and notes what it found."""
