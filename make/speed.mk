# Speed and cost: error table over measured rows, published runs, and the learning of the constants.
SPEED_ROWS ?= ../shared/cases
SPEED_EXTRA ?= ../shared/facts
.PHONY: score-speed calibrate-speed

score-speed: $(VENV)/.runtime  ## errors of training and serving speed beside the baseline (SPEED_ROWS=dir)
	@$(BIN)/python -m tools speed --score $(SPEED_ROWS)/speed_training.jsonl $(SPEED_ROWS)/speed_inference.jsonl
	@$(BIN)/python -m tools speed --runs || true

calibrate-speed: $(VENV)/.runtime  ## learns the speed constants anew (minutes); rewrites tools/speed/data
	@$(BIN)/python -m tools.speed.calibrate --write \
	  $(SPEED_EXTRA)/speed_training_extra.jsonl $(SPEED_EXTRA)/speed_inference_extra.jsonl \
	  --core $(SPEED_ROWS)/speed_training.jsonl $(SPEED_ROWS)/speed_inference.jsonl
