# The faces: browser tests, the load test, fuzzed requests.
BROWSER := build/browser
WORKERS ?= 2
ANSWERS ?= 0
.PHONY: test-browser page-speed load fuzz-http accuracy-page

$(BROWSER)/.ready: $(VENV)/.dev
	@mkdir -p $(BROWSER)
	@command -v chromium >/dev/null || { apt-get update -q && apt-get install -y -q chromium fonts-noto-cjk; }
	@$(PIP) install --quiet 'playwright>=1.50'
	@npm install --silent --no-audit --no-fund --prefix $(BROWSER) axe-core@4
	@touch $@

test-browser: setup-dev $(BROWSER)/.ready  ## the page in chromium: zh and en, light and dark, wide and phone; screenshots in build/screenshots
	@$(BIN)/python -m pytest -m browser tests/ui

page-speed: setup-dev $(BROWSER)/.ready  ## how long a reader waits: first answer after Enter, calculator after a drag; prints the medians
	@$(BIN)/python -m pytest -m browser -s tests/ui/browser -k "first_answer or redraws" >build/page-speed.txt 2>&1; \
	status=$$?; grep -E " ms: |passed|failed" build/page-speed.txt; exit $$status

fuzz-http: setup-dev  ## 100,000 almost right bodies over all POST routes, and schemathesis over the OpenAPI: no 5xx (about 10 minutes; BODIES=100000)
	@nice $(BIN)/python -m tests.ui.fuzz --bodies $(or $(BODIES),100000)

accuracy-page: setup  ## the accuracy tab's data from docs/accuracy.md (after make accuracy)
	@$(BIN)/python -m ui.accuracy docs/accuracy.md

load: setup  ## 64 conversations on loopback for a minute (WORKERS=2), or ANSWERS=20000 of them; writes build/load.json
	@$(BIN)/python -m ui.loadtest --workers $(WORKERS) --answers $(ANSWERS)
