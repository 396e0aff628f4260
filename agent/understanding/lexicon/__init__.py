"""The text and its words: folding, phrases, frames, marks, numbers, what a reading is."""
