# Regression suites, seeded faults, benchmarks of this machine.
.PHONY: evals mutants mutants-check bench readme-tables

evals: setup  ## every offline suite against the baselines; exit 1 on a regression
	@$(BIN)/python -m evals run all --workers 2 --json build/evals.json --junit build/evals.xml --quiet

mutants: setup  ## seeded faults, each to be caught by a suite; writes docs/mutants.md
	@$(BIN)/python -m evals mutants --write docs/mutants.md

mutants-check: setup  ## the same without writing
	@$(BIN)/python -m evals mutants

bench: setup  ## times on this machine; writes build/bench.json
	@$(BIN)/python -m evals bench --out build/bench.json

readme-tables: setup  ## the table and the example answer of README.md, from the baselines
	@$(BIN)/python -m evals readme
