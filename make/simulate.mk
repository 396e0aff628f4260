# Simulated steps: every reference row against its truth, and the coefficients of tools/memory/other.
verify-simulation: setup-torch  ## error table of every simulated row (CASES=dir); about an hour on 2 cores
	@$(BIN)/python -W ignore -m tools.memory.simulate.verify --cases $(CASES)
	@$(BIN)/python -W ignore -m tools.memory.simulate.verify --cases $(CASES) --published
