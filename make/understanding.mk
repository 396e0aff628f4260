.PHONY: fuzz

fuzz: setup-dev  ## 50,000 mutated questions through the parser (minutes)
	@$(BIN)/python -m pytest -m slow tests/agent/understanding
