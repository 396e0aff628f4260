# The VRAM calculator: accuracy over the reference cases, and other calculators beside ours.
CASES ?= ../shared/cases

accuracy: setup  ## error table over the reference cases (CASES=dir); writes docs/accuracy.md
	@$(BIN)/python -m benchmarks.accuracy --cases $(CASES) --write docs/accuracy.md

bench-peers: setup  ## other calculators and ours on the same rows, in a throwaway environment
	@$(BIN)/python -m benchmarks.peers --cases $(CASES)
