"""Which kind of question a text is, and whether it is one of ours."""
