"""What a question takes for granted and is not so."""
