"""How answers are told: drafts, sentences, numbers, and the words for runs, cards and machines."""
