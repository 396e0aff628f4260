.PHONY: evaluate-retrieval

evaluate-retrieval: setup  ## retrieval figures on labelled queries, part by part (CASES=FILE)
	@$(BIN)/python -m knowledge evaluate --cases $(if $(findstring command,$(origin CASES)),$(CASES),$(wildcard tests/knowledge/data/queries_*.jsonl))
