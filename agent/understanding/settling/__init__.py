"""From readings to slots: which one counts, what follows, what cannot be."""
