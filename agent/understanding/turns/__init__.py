"""Turns of a conversation: what they lean on, take over, and ask back."""
