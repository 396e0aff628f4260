"""How much of a machine's memory a run can have: the rest is the system's."""

PROCESS = 0.85
"""Share of host memory that a process can use."""
BESIDE_A_BROWSER = 0.75
"""Share of a desktop's memory that is left beside the system and a browser."""
UNIFIED_MOST = 0.92
"""Share of unified memory that can be wired when the limit is raised and nothing else runs."""
CARD_FILLED = 0.97
"""Share of a card that is filled with layers; the rest is for the display and fragments."""
