# The bots: killed processes and outages. The tests start a Postgres of their own from Debian's package.
.PHONY: test-chaos

$(VENV)/.postgres: $(VENV)/.dev
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { apt-get update -q && apt-get install -y -q postgresql; }
	@$(PIP) install --quiet -e '.[postgres]'
	@touch $@

test-chaos: setup-dev $(VENV)/.postgres  ## kill -9 and outages: two replicas of the bots on Postgres
	@$(BIN)/python -m pytest -m chaos tests
