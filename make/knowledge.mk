.PHONY: index-clean evaluate-retrieval

evaluate-retrieval: setup  ## retrieval figures on the labelled queries
	@$(BIN)/python -m knowledge evaluate
