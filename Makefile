# Everything a target needs is installed by `setup`; nothing but Python (3.11 or newer) and make is assumed.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first Python here that is new enough; PYTHON=/path/to/python makes the choice yours.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp-setup
PROTO_VENV := .venv-proto
PROTO_STAMP := $(PROTO_VENV)/.stamp-setup
OLD_VENV := .venv-oldest
OLD_STAMP := $(OLD_VENV)/.stamp-setup
PEERS_VENV := .venv-peers
PEERS_STAMP := $(PEERS_VENV)/.stamp-setup
PACKAGE_VENV := .venv-package
PACKAGE_STAMP := $(PACKAGE_VENV)/.stamp-setup
SITE_VENV := .venv-site
SITE_STAMP := $(SITE_VENV)/.stamp-setup
LOCK_FLAGS := -q --python-version 3.11 --python-platform linux --generate-hashes --no-annotate --no-header --upgrade
ADAPTERS_VENV := .venv-adapters
ADAPTERS_STAMP := $(ADAPTERS_VENV)/.stamp-setup
ADAPTERS_NODE := tests/adapters/node
ADAPTERS_NODE_STAMP := $(ADAPTERS_NODE)/node_modules/.stamp-setup
PROTO_OUT := clients/python
AIMOCK := tests/proof/aimock
OPENAI_NODE := tests/proof/openai_node
NODE_STAMPS := $(AIMOCK)/node_modules/.stamp-setup $(OPENAI_NODE)/node_modules/.stamp-setup

PYTEST ?= $(BIN)/python -m pytest
PYTEST_FLAGS ?= -q
# One more than there are cores: a worker waits for sockets and processes a third of its time. Each takes half a GB.
WORKERS ?= -n $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 8 ? n + 1 : 8))) --dist worksteal
BENCH_FLAGS ?=
POLYGLOT_FLAGS ?=
QUICKSTART_FLAGS ?=
PACKAGE_FLAGS ?=

# hnswlib builds for any CPU, not for the one it happens to be built on; thread pools stay out of the way on small
# machines; a stray PYTHONPATH never reaches our tools.
export HNSWLIB_NO_NATIVE := 1
export OPENBLAS_NUM_THREADS := 1
export NUMBA_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

.PHONY: help
help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.PHONY: setup
setup: $(STAMP)  ## Prepare .venv with the server and every development tool

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@bench=,bench; \
	printf '#include <Python.h>\n#include <vector>\nint main() { return std::vector<int>().size(); }\n' \
	  | $${CXX:-c++} -x c++ -fsyntax-only \
	      -I"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')" - >/dev/null 2>&1 \
	  || bench=; \
	if [ -z "$$bench" ]; then \
	  echo "No C++ compiler with Python's headers: hnswlib, which the bench compares with, stays out."; \
	fi; \
	echo "Installing backscroll[server] and the development tools into $(VENV) ..."; \
	$(BIN)/python -m pip install -q -e ".[server,tools$$bench]" && touch $@

.PHONY: demo
demo: $(STAMP)  ## Start a server with a sample chat and ask it something
	$(BIN)/backscroll demo

.PHONY: test
test: $(STAMP)  ## Run the tests (without the long proofs)
	$(PYTEST) $(PYTEST_FLAGS) $(WORKERS) -m "not proof" tests

.PHONY: rows
rows: $(STAMP)  ## Run the tests that prove a row of the features, and print each row with its surface
	$(PYTEST) $(PYTEST_FLAGS) $(WORKERS) --rows -m "row and not proof" tests

.PHONY: mutants
mutants: $(STAMP)  ## Break the code as tests/mutants says, and see the tests fail
	$(BIN)/python tools/mutants

.PHONY: test-oldest
test-oldest: $(OLD_STAMP)  ## Run the tests on the oldest dependencies we claim
	$(OLD_VENV)/bin/python -m pytest $(PYTEST_FLAGS) -m "not proof" tests

$(OLD_STAMP): pyproject.toml tools/lower-bounds
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@test -x $(OLD_VENV)/bin/python || $(PYTHON) -m venv $(OLD_VENV)
	$(OLD_VENV)/bin/python tools/lower-bounds > $(OLD_VENV)/constraints.txt
	$(OLD_VENV)/bin/python -m pip install -q -c $(OLD_VENV)/constraints.txt -e ".[server,tools]"
	@touch $@

.PHONY: check
check: $(STAMP) proto-check  ## Lint, formatting, types, import rules, generated code
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: $(STAMP)  ## Format the code and apply safe lint fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: proto
proto: $(PROTO_STAMP)  ## Generate the Python code from proto/
	tools/generate-proto $(PROTO_VENV)/bin $(PROTO_OUT)

$(PROTO_STAMP): tools/proto-requirements.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@test -x $(PROTO_VENV)/bin/python || $(PYTHON) -m venv $(PROTO_VENV)
	$(PROTO_VENV)/bin/python -m pip install -q -r $<
	@touch $@

.PHONY: proto-check
proto-check: $(STAMP) $(PROTO_STAMP)  ## Lint proto/ and compare the committed code with freshly generated code
	$(BIN)/buf lint proto
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && \
	tools/generate-proto $(PROTO_VENV)/bin "$$fresh" || exit 1; \
	diff -r -q -x __pycache__ "$$fresh/backscroll/v1" $(PROTO_OUT)/backscroll/v1 \
	  || { echo "The generated code is out of date: run 'make proto' and commit the result." >&2; exit 1; }

.PHONY: bench
bench: $(STAMP)  ## Measure how fast it is here and hold it against objectives; bench/README.md says how to read it
	$(BIN)/backscroll bench --slo --peers $(PEERS_VENV) $(BENCH_FLAGS)

.PHONY: bench-parts
bench-parts: $(STAMP)  ## Measure single parts: kernels, vectors, analysis, fitting, encoding
	$(PYTEST) $(PYTEST_FLAGS) --benchmark-only --benchmark-columns=min,median,max,rounds $(BENCH_FLAGS) bench

.PHONY: plots
plots: $(STAMP)  ## Measure how latency grows, and draw it under bench/plots
	$(BIN)/backscroll bench --plots bench/plots $(BENCH_FLAGS)

.PHONY: published
published: plots  ## Measure what is published: recall on public group chats, and latency
	$(BIN)/backscroll quality --publish docs/reference/quality.md

.PHONY: peers
peers: $(PEERS_STAMP)  ## Prepare the venv of what a user would pick instead, for make bench

$(PEERS_STAMP): bench/peers/requirements.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@test -x $(PEERS_VENV)/bin/python || $(PYTHON) -m venv $(PEERS_VENV)
	$(PEERS_VENV)/bin/python -m pip install -q -r $<
	@touch $@

.PHONY: proof
proof: $(STAMP) $(NODE_STAMPS) proof-postgres  ## Run the long proofs: kills, floods, leaks, properties with all their examples
	$(PYTEST) $(PYTEST_FLAGS) -m proof tests
	TEST_EXAMPLES=all $(PYTEST) $(PYTEST_FLAGS) $(WORKERS) -m "hypothesis and not proof" tests

.PHONY: proof-postgres
proof-postgres: $(STAMP)  ## Run the tests of whole servers with histories in PostgreSQL
	TEST_STORE=postgres $(PYTEST) $(PYTEST_FLAGS) $(WORKERS) -m "not proof" tests/integration

.PHONY: proof-node
proof-node: $(STAMP) $(NODE_STAMPS)  ## Run the proofs that need Node: chats against a fake model server, OpenAI's client
	$(PYTEST) $(PYTEST_FLAGS) -m proof $(AIMOCK) $(OPENAI_NODE)

# Without Node, or where the package cannot be had, its proofs are skipped and say so.
$(NODE_STAMPS): %/node_modules/.stamp-setup: %/package.json %/package-lock.json
	@if ! command -v npm >/dev/null; then echo "npm is not installed: the proofs that need Node are skipped." >&2; \
	elif (cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then touch $@; \
	else echo "npm could not install $*: its proofs are skipped." >&2; fi

.PHONY: polyglot
polyglot: $(STAMP)  ## Run one scenario with clients of seven languages against both edges; POLYGLOT_SKIP=go,ruby: without these
	$(BIN)/python tools/polyglot $(POLYGLOT_FLAGS)

.PHONY: adapters
adapters: $(STAMP) $(ADAPTERS_STAMP) $(ADAPTERS_NODE_STAMP)  ## Try the adapters with the frameworks themselves, against fake platforms
	$(PYTEST) $(PYTEST_FLAGS) -m proof tests/adapters

$(ADAPTERS_STAMP): tools/adapters-requirements.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@test -x $(ADAPTERS_VENV)/bin/python || $(PYTHON) -m venv $(ADAPTERS_VENV)
	$(ADAPTERS_VENV)/bin/python -m pip install -q -r $<
	@touch $@

# The frameworks for Node, and beside them the client for Node, which is built of its own folder.
$(ADAPTERS_NODE_STAMP): $(ADAPTERS_NODE)/package-lock.json $(wildcard clients/node/package-lock.json)
	@if ! command -v npm >/dev/null; then echo "npm is not installed: without the adapters for Node." >&2; \
	elif (cd clients/node && npm ci --no-audit --no-fund --loglevel=error) \
	  && (cd $(ADAPTERS_NODE) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) \
	  && ln -sfn "$(CURDIR)/clients/node" $(ADAPTERS_NODE)/node_modules/backscroll; then touch $@; \
	else echo "npm could not install the frameworks for Node: their adapters are skipped." >&2; fi

.PHONY: quickstart
quickstart: $(STAMP)  ## Run what README and all quickstarts show, from nothing; QUICKSTART_SKIP=go,ruby: without these languages
	$(BIN)/python tools/quickstart $(QUICKSTART_FLAGS)

.PHONY: package
package: $(PACKAGE_STAMP)  ## Build sdist and wheel into dist/, install both into empty environments and use them
	$(PACKAGE_VENV)/bin/python tools/check-package $(PACKAGE_FLAGS)

.PHONY: image-check
image-check: $(PACKAGE_STAMP)  ## Lint the Dockerfile and take its steps in a folder, without a container engine (root, Debian)
	$(PACKAGE_VENV)/bin/hadolint Dockerfile
	$(PACKAGE_VENV)/bin/python tools/run-dockerfile

.PHONY: deploy-check
deploy-check: $(STAMP) $(PACKAGE_STAMP)  ## Hold what is in deploy/ against Envoy itself, before three servers
	PATH="$(CURDIR)/$(PACKAGE_VENV)/bin:$$PATH" $(PYTEST) $(PYTEST_FLAGS) -m proof tests/proof/test_envoy.py

.PHONY: lock
lock: $(PACKAGE_STAMP)  ## Write anew which releases go into the image
	$(PACKAGE_VENV)/bin/uv pip compile $(LOCK_FLAGS) pyproject.toml --no-emit-package backscroll \
	  --extra server --extra http --extra mcp --extra otel --extra postgres -o deploy/image/requirements.txt
	echo 'hatchling>=1.26' | $(PACKAGE_VENV)/bin/uv pip compile $(LOCK_FLAGS) - -o deploy/image/build-requirements.txt

$(PACKAGE_STAMP): tools/package-requirements.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@test -x $(PACKAGE_VENV)/bin/python || $(PYTHON) -m venv $(PACKAGE_VENV)
	$(PACKAGE_VENV)/bin/python -m pip install -q -r $<
	@touch $@

.PHONY: site
site: $(SITE_STAMP)  ## Build the pages as a site into build/site, which needs no network; any broken link fails it
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --quiet
	@! grep -rhoE '(src|<link[^>]*href)="(https?:)?//[^"]*' build/site --include='*.html' \
	  || { echo "The site would load something from elsewhere." >&2; exit 1; }

$(SITE_STAMP): tools/site-requirements.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@test -x $(SITE_VENV)/bin/python || $(PYTHON) -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/python -m pip install -q -r $<
	@touch $@

.PHONY: quick
quick: $(STAMP)  ## Run the tests worth running in an inner loop: pure code, contracts of the stores
	$(PYTEST) $(PYTEST_FLAGS) $(WORKERS) -m "not proof and not slow" tests/unit tests/contract/store tests/docs

.PHONY: docs
docs: $(STAMP)  ## Check the documentation: links, commands, settings, examples
	$(PYTEST) $(PYTEST_FLAGS) tests/docs

.PHONY: clean
clean:  ## Remove environments, caches and builds
	rm -rf $(VENV) $(PROTO_VENV) $(OLD_VENV) $(PEERS_VENV) $(PACKAGE_VENV) $(SITE_VENV) $(ADAPTERS_VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis \
	  .benchmarks $(AIMOCK)/node_modules $(OPENAI_NODE)/node_modules $(ADAPTERS_NODE)/node_modules
	cd clients && rm -rf cpp/build go/bin java/target java/*/target node/dist node/node_modules node/src/generated \
	  ruby/build ruby/lib/backscroll rust/target
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
