# The long suites: what `make test` leaves out. tests/full.py runs them, times them and sums up.
.PHONY: test-full test-slow

test-full: setup-dev  ## every long suite, each with its time; ONLY="fuzz load", SKIP="browser"
	@$(BIN)/python -m tests.full $(if $(ONLY),--only $(ONLY)) $(if $(SKIP),--skip $(SKIP))

test-slow: setup-dev  ## the slow-marked tests but those of make fuzz
	@$(BIN)/python -m pytest -m "slow and not torch and not gpu" --ignore=tests/agent/understanding tests
