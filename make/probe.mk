.PHONY: probe doctor

probe: $(VENV)/.runtime  ## what this machine has, and what fits on it now
	@$(BIN)/python -m tools probe

doctor: $(VENV)/.runtime  ## what is wrong with this machine's GPU set-up, and the command that mends it
	@$(BIN)/python -m tools probe --doctor
