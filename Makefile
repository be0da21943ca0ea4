# Each target sets up what it needs, starting from a Python 3.11 or later, a C compiler and make.
#
#   PYTHON=…        the Python to make the environment with
#   VENV=…          where the environment is
#   PYTEST_FLAGS=…  more options for pytest
#   SHORT=1         make sanitize with a fiftieth of the kernel's random tables, small ones only, and without searches;
#                   make docs without running the notebooks;
#                   make wheel with INSTALLED_TESTS alone, make test-all with COMPILED_TESTS on the Pythons between
#                   the oldest and the newest, and PYTHON_TESTS too on the newest; make conformance with a part of the cases

SHELL := /bin/sh
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV ?= .venv
BIN := $(VENV)/bin
VERSIONS := 3.11 3.12 3.13
KERNEL := $(foreach kind,pyx pxd h,$(wildcard shallowrules/_kernel/*/*.$(kind)))

export PIP_DISABLE_PIP_VERSION_CHECK = 1
# uv installs in a third of the time that pip takes, and does not compile all modules: Python compiles those that it loads.
INSTALL_INTO = $(BIN)/uv pip install -q --python
INSTALL = $(INSTALL_INTO) $(BIN)/python
# Where the caller forbids it to keep what it compiled, each of the hundreds of processes that the tests start compiles
# some 1,500 modules again, which takes 4 s.
unexport PYTHONDONTWRITEBYTECODE
export SHALLOWRULES_CACHE = $(CURDIR)/build/compiled

# Prints the first of the given commands that is a Python of at least 3.11 (or of exactly $$1) and can compile
# extensions. A name on PATH proves nothing: version managers put stubs there that only fail.
define find_python
find_python() { \
	wanted=$$1; shift; \
	for candidate in "$$@"; do \
		"$$candidate" -c 'import os, sys, sysconfig; \
		version = "%d.%d" % sys.version_info[:2]; \
		header = os.path.join(sysconfig.get_path("include"), "Python.h"); \
		sys.exit(sys.version_info < (3, 11) or sys.argv[1] not in ("", version) or not os.path.exists(header))' \
		"$$wanted" 2>/dev/null && { echo "$$candidate"; return; }; \
	done; true; }
endef

.PHONY: help build demo demo-database examples test test-all test-others setup-others test-lowest setup-lowest test-pre test-ports coverage sanitize wheel \
	test-installed 	release lint format lock docs bench conformance clean

help:
	@echo "make demo      a table of wines, clustered, explained and written as rules"
	@echo "make demo-database  the commands of docs/database.md, on a PostgreSQL of their own"
	@echo "make examples  rewrite docs/examples from the tables in SHALLOWRULES_DATA"
	@echo "make test      the quick tests: a tenth of what is drawn, no servers, builds, benchmarks or pages"
	@echo "make test-all  all tests but those of benchmarks and ports, and the quick ones on every other Python found ($(VERSIONS))"
	@echo "make test-lowest  the quick tests of what depends on other packages, on the lowest versions that pyproject.toml allows"
	@echo "make test-ports  the kernel by other compilers, and for Windows, musl and ARM; what is missing is named"
	@echo "make test-pre  the quick tests, on the newest packages, versions before their release included"
	@echo "make coverage  the lines that no quick test runs, in Python and in the kernel, and docs/coverage.md"
	@echo "make sanitize  the kernel's tests with AddressSanitizer and UndefinedBehaviorSanitizer; SHORT=1 for a few minutes"
	@echo "make wheel     dist/*.whl for other machines, tested in an environment of its own; SHORT=1 for what a wheel can fail"
	@echo "make test-installed PYTHON=…  the tests of make wheel, on the wheel that this Python has installed"
	@echo "make release   checks, wheel and sdist of a version, and the command that tags it; CI_PASSED=COMMIT instead of the tests"
	@echo "make lint      ruff, mypy, cython-lint"
	@echo "make format    what ruff can repair by itself"
	@echo "make lock      the newest linters and build tools into dev-tools.txt"
	@echo "make docs      the site of docs/, in build/site"
	@echo "make build     compile the kernel; the other targets do so too when a source has changed"
	@echo "make bench     the benchmarks, and before them their tests"
	@echo "make conformance  the SQL of all kinds of rules on six engines, and docs/conformance.md; SHORT=1 for a part of them"
	@echo "make clean     remove what was built"

$(BIN)/python:
	@$(find_python); python="$(PYTHON)"; \
	[ -n "$$python" ] || python=$$(find_python "" python3 python3.13 python3.12 python3.11); \
	[ -n "$$python" ] || { \
		echo "No Python 3.11 or later with its C headers was found. Install both (Debian: python3 python3-dev)" >&2; \
		echo "or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }; \
	echo "$(VENV): $$("$$python" --version)"; \
	"$$python" -m venv $(VENV) >/dev/null 2>&1 \
	|| { rm -rf $(VENV); "$$python" -m venv --without-pip $(VENV) \
		&& "$$python" -m pip --python $(VENV)/bin/python install -q pip; } \
	|| { rm -rf $(VENV); \
		echo "$$python can make no virtual environment. Install its venv module (Debian: python3-venv)" >&2; exit 1; }

$(BIN)/uv: | $(BIN)/python
	@$(BIN)/python -m pip install -q uv

# The environment with the package and one of its extras (see pyproject.toml), kernel compiled. An extra holds others.
WITHIN_dev := test cli
WITHIN_test := cli
$(VENV)/with-%: setup.py pyproject.toml dev-tools.txt $(KERNEL) | $(BIN)/uv
	@$(INSTALL) -c dev-tools.txt $$($(BIN)/python -c \
		'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@$(INSTALL) -c dev-tools.txt --no-build-isolation -e '.[$*]'
	@touch $@ $(patsubst %,$(VENV)/with-%,$(WITHIN_$*))

# dbt runs what the exporter of that name writes. It wants an environment of its own: its requirements contradict those of
# mypy. Later versions fetch a program from the network while they are installed.
build/dbt/bin/dbt: | $(BIN)/uv
	@$(BIN)/python -m venv --without-pip build/dbt
	@$(INSTALL_INTO) build/dbt/bin/python 'dbt-core>=1.8,<1.11' 'dbt-duckdb>=1.9'
	@touch $@

# Always runs: a change of the switches of setup.py does not change any source.
build:
	@rm -f $(VENV)/with-*
	@$(MAKE) $(VENV)/with-dev

demo: $(VENV)/with-cli
	@rm -rf build/demo && mkdir -p build/demo
	$(BIN)/shallowrules sample wine -o build/demo/wine.csv
	$(BIN)/shallowrules run build/demo/wine.csv -k 3 -o build/demo/wine_rules --force
	@for file in rules.json rules.sql rules.py report.md; do \
		echo; echo "--- build/demo/wine_rules/$$file"; \
		head -n 14 build/demo/wine_rules/$$file | cut -c 1-120 || exit 1; \
	done

# --write puts what comes into the page.
demo-database: $(VENV)/with-test
	@$(BIN)/python docs/run_pages.py database

# The commands are those that the page shows.
examples: $(VENV)/with-cli
	@cd docs/examples && rm -rf */ && PATH="$(abspath $(BIN)):$$PATH" \
		DATA="$$(cd $(CURDIR) && cd "$${SHALLOWRULES_DATA:-../shared/data}" && pwd)" \
		sh -ec "$$(grep '^shallowrules ' README.md)"
	@rm docs/examples/*/rules.json docs/examples/*/settings.json

# The tests run in as many processes as there are cores, and many grow with several threads: a thread that waits for
# others sleeps then, in place of taking a core from them. The benchmarks wait as OpenMP does by default.
test test-lowest test-pre test-ports coverage sanitize wheel test-installed: export OMP_WAIT_POLICY = passive

QUICK := 'not (docs or services or builds or measures or ports or renders or slow)'

# While some tests of EVERYTHING wait for servers, a third process uses the cores.
test: $(VENV)/with-test
	$(BIN)/python -m pytest -n $(if $(EVERYTHING),3 --no-loadscope-reorder,auto) --dist loadfile -m $(if $(EVERYTHING),'not (measures or ports)',$(QUICK)) \
		$(PYTEST_FLAGS)

# What can fail in an installed wheel and not in the sources: files that were left out, modules that do not load, entry
# points and commands, the compiled modules once auditwheel has changed them, and libgomp twice in a process. How
# tables, labels and texts come out is decided by the same files, which the other tests run.
INSTALLED_TESTS := packaging public_names threads estimator* cards cli cli_goals cli_process cli_run_files \
	exporters_registry

# What holds on the oldest Python and on the newest holds between them, if the compiled modules load there: with SHORT=1,
# those between run these.
COMPILED_TESTS := public_names tree kernel_growth kernel_refinement exporters_registry

# What changes from one Python to the next, and with the packages that it takes: how values, files and processes are read and
# written, and what emitted Python does. With SHORT=1, the newest Python runs these as well; the oldest runs all.
PYTHON_TESTS := cli cli_goals cli_label cli_output cli_pipes cli_process cli_run_files dataframes dtypes encoded_units \
	encoding estimator* exporters_exported exporters_frames exporters_python* interrupts leaks packaging partitions \
	rules_document sources sources_csv sources_json sources_parquet sklearn_trees table threads transformers

# Does something on every other Python found: $$version, $$python, and the tests that it runs, empty for all.
define on_others
	@$(find_python); \
	here=$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	for version in $(VERSIONS); do \
		[ "$$version" != "$$here" ] || continue; \
		python=$$(find_python "$$version" "python$$version" \
			"$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/"$$version"*/bin/python); \
		if [ -z "$$python" ]; then echo "Python $$version: not found"; continue; fi; \
		tests=; \
		if [ "$(SHORT)" != "" ]; then \
			tests="$(COMPILED_TESTS:%=tests/*/test_%.py)"; \
			[ "$$version" != $(lastword $(VERSIONS)) ] || tests="$$tests $(PYTHON_TESTS:%=tests/*/test_%.py)"; \
		fi; \
		$(MAKE) $(1) VENV=.venv-$$version PYTHON="$$python" || exit 1; \
	done
endef

test-others: | $(BIN)/python
	$(call on_others,test PYTEST_FLAGS="$(PYTEST_FLAGS) $$tests")

# The environments that test-others wants: set up while something else runs, they need not be waited for.
setup-others: | $(BIN)/python
	$(call on_others,.venv-$$version/with-test)

# This Python runs every test, but of the benchmarks two that see one start; the others run the quick tests.
test-all: test-others
	@$(MAKE) test EVERYTHING=1

# What the packages that the project takes decide: how tables, files and databases are read, what exporters write, what commands
# take and print, and what scikit-learn asks of an estimator.
LOWEST_TESTS := public_names estimator* cards pictures dataframes dtypes table cli cli_goals cli_run_files \
	exporters_exported exporters_frames exporters_python exporters_registry exporters_xlsx frames metrics packaging \
	partitions rules_schema settings sources_json sources_parquet transformers

# `make test` starts no PostgreSQL and no MariaDB; this does, for the drivers' sake.
LOWEST_SERVERS := sources_adbc sources_database

# The oldest Python and the lowest versions of core and of the extra `test`, which holds most of the others; what these need in
# turn comes in its newest version. --upgrade also takes a version back that is above its floor. The kernel is built by the
# newest Cython, as for the other environments, so that nothing is compiled twice.
.venv-lowest/with-test: setup.py pyproject.toml $(KERNEL)
	@$(find_python); python=$$(find_python 3.11 python3.11 $(BIN)/python "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.11*/bin/python); \
	[ -n "$$python" ] || { echo "No Python 3.11 with its C headers was found: make test-lowest needs it" >&2; exit 1; }; \
	$(MAKE) .venv-lowest/bin/uv VENV=.venv-lowest PYTHON="$$python"
	@.venv-lowest/bin/uv pip install -q --python .venv-lowest/bin/python $$(.venv-lowest/bin/python -c \
		'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@.venv-lowest/bin/uv pip install -q --python .venv-lowest/bin/python --resolution lowest-direct --upgrade --no-build-isolation -e '.[test]'
	@touch $@

setup-lowest: .venv-lowest/with-test

test-lowest: setup-lowest
	SHALLOWRULES_LOWEST=1 .venv-lowest/bin/python -m pytest -n auto --dist loadfile -m $(QUICK) $(PYTEST_FLAGS) \
		$(LOWEST_TESTS:%=tests/*/test_%.py)
	.venv-lowest/bin/python -m pytest -n auto --dist loadfile $(PYTEST_FLAGS) $(LOWEST_SERVERS:%=tests/*/test_%.py)

# The newest versions of all packages, as `pip install --pre` takes them: a warning of what will change is an error in tests.
test-pre:
	@$(MAKE) .venv-pre/bin/uv VENV=.venv-pre
	@.venv-pre/bin/uv pip install -q --python .venv-pre/bin/python --prerelease allow --upgrade $$(.venv-pre/bin/python -c \
		'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@.venv-pre/bin/uv pip install -q --python .venv-pre/bin/python --prerelease allow --upgrade --no-build-isolation -e '.[test]'
	@touch .venv-pre/with-test
	@$(MAKE) test VENV=.venv-pre

# Not part of test-all: Debian's musl has the Java of Spark load the wrong libraries, and emulators take minutes.
test-ports: $(VENV)/with-dev
	$(BIN)/python -m pytest -n auto --dist loadfile -m ports $(PYTEST_FLAGS) tests/kernel tests/project

# gcov counts the lines of the kernel, which is built below build/coverage, so that the usual one stays. Few tables are drawn:
# they are for what a line computes.
coverage: $(VENV)/with-dev
	SHALLOWRULES_COVERAGE=1 SHALLOWRULES_CACHE= $(BIN)/python setup.py -q build \
		--build-base build/coverage --build-lib build/coverage/lib
	@find build/coverage -name '*.gcda' -delete && rm -f build/coverage/data*
	PYTHONSAFEPATH=1 PYTHONPATH=$(CURDIR)/build/coverage/lib COVERAGE_FILE=$(CURDIR)/build/coverage/data SHALLOWRULES_DRAWS=short \
		$(BIN)/python -m pytest -n auto --dist loadfile -m $(QUICK) --cov --cov-report= $(PYTEST_FLAGS)
	$(BIN)/python docs/coverage_page.py --write

# The sanitizers' kernel is built below build/sanitize, so that the usual one stays. Python itself is built
# without sanitizers: their libraries have to be there before it starts, and its memory has to come from malloc to be
# guarded. Leaks are not searched (detect_leaks=0): Python keeps much of its memory until it ends. --capture=sys
# lets a sanitizer's report through. The tests are those that call the kernel: test_kernel_*.py hold it against the
# oracle; test_oracle.py, about the oracle alone, would run no line of it.
sanitize: $(VENV)/with-test
	@for name in asan ubsan; do \
		case "$$($(CC) -print-file-name=lib$$name.so)" in /*) ;; *) \
			echo "$(CC) has no lib$$name.so: make sanitize needs gcc and its sanitizers" >&2; exit 1;; \
		esac; \
	done
	SHALLOWRULES_DEBUG=1 SHALLOWRULES_SANITIZE=1 $(BIN)/python setup.py -q build \
		--build-base build/sanitize --build-lib build/sanitize/lib
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc \
	PYTHONSAFEPATH=1 PYTHONPATH=build/sanitize/lib CC="$(CC)" SHALLOWRULES_SANITIZE=1 SHALLOWRULES_DRAWS=$(if $(SHORT),short,quick) \
	$(BIN)/python -m pytest -n auto --capture=sys $(PYTEST_FLAGS) \
		$(if $(SHORT),-k 'not 70000',tests/trees/test_refining.py tests/trees/test_thorough.py) \
		tests/kernel/test_sanitizers.py tests/kernel/test_kernel*.py

# Built from the sdist, so that no leftovers get in. auditwheel puts libgomp inside and names the wheel
# after the oldest glibc that it runs with. The tests see the installed wheel: they run from another folder, and
# PYTHONSAFEPATH keeps the folder of their sources off the path.
wheel: $(VENV)/with-dev
	@[ "$$(uname -s)" = Linux ] || { echo "make wheel: auditwheel repairs wheels on Linux only. For this machine" \
		"alone, \"$(BIN)/python -m build\" makes one" >&2; exit 1; }
	rm -rf build/wheel dist/shallowrules-*
	$(BIN)/python -m build --no-isolation --outdir build/wheel . >/dev/null
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist build/wheel/*.whl
	cp build/wheel/*.tar.gz dist
	@$(MAKE) build/wheel/env/bin/python VENV=build/wheel/env PYTHON=$(BIN)/python
	$(INSTALL_INTO) build/wheel/env/bin/python "$$(echo dist/*.whl)[test]"
	@$(MAKE) test-installed PYTHON=$(CURDIR)/build/wheel/env/bin/python SHORT=$(SHORT)

# Tests the wheel that PYTHON has installed with its extra `test`; cibuildwheel runs it too.
test-installed:
	@mkdir -p build/installed
	cd build/installed && SHALLOWRULES_WHEEL=1 PYTHONSAFEPATH=1 $(PYTHON) -m pytest -n auto --dist loadfile \
		--rootdir $(CURDIR) -c $(CURDIR)/pyproject.toml -m $(QUICK) $(PYTEST_FLAGS) \
		$(if $(SHORT),$(INSTALLED_TESTS:%=$(CURDIR)/tests/*/test_%.py),$(CURDIR)/tests)

# Up to the tag, which it names and does not make. All files are dated by the commit. The sdist is made again of the commit
# alone: it has the same bytes, or a file came from the folder, or from the machine.
release: $(VENV)/with-dev
	@$(BIN)/python .ci/release.py --ci-passed '$(CI_PASSED)'
	$(if $(CI_PASSED),,@$(MAKE) lint test-all)
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(MAKE) wheel
	@rm -rf build/release && mkdir -p build/release/tree && git archive HEAD | tar -x -C build/release/tree
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) \
		$(BIN)/python -m build --sdist --no-isolation --outdir build/release build/release/tree >/dev/null
	cmp build/release/*.tar.gz dist/*.tar.gz
	@ls -l dist
	@$(BIN)/python .ci/release.py --tag

lint: $(VENV)/with-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(BIN):$$PATH" cython-lint shallowrules/_kernel  # it looks for pycodestyle on PATH

# dev-tools.in names the tools.
lock: | $(BIN)/uv
	$(BIN)/uv pip compile -q --upgrade --no-deps --no-header --no-annotate --python $(BIN)/python -o dev-tools.txt dev-tools.in

format: $(VENV)/with-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Warnings are errors. NO_MKDOCS_2_WARNING is about another version of mkdocs, which the site does not use.
docs: $(VENV)/with-dev
	$(if $(SHORT),SHALLOWRULES_NOTEBOOKS=unrun) NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs -q build
	@echo "build/site/index.html is the first page; to search the site: python3 -m http.server -d build/site"

bench: $(VENV)/with-test
	$(BIN)/python -m pytest -m measures tests/project
	@for name in paper quality reading command database fit functions speed; do echo "--- benchmarks/$$name.py"; $(BIN)/python benchmarks/$$name.py || exit 1; done

# MariaDB, Java and chromium come from the system; without one of the engines it fails. The tables telco and avila come from
# SHALLOWRULES_DATA.
conformance: $(VENV)/with-test $(VENV)/with-engines build/dbt/bin/dbt
	$(BIN)/python tests/conformance/run.py $(if $(SHORT),--short)
	$(BIN)/python tests/conformance/hostile_exporters.py $(if $(SHORT),--short,--write)
	$(BIN)/python tests/conformance/real_tables.py $(if $(SHORT),--only wine,--write)

clean:
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .venv-3.* .venv-lowest .venv-pre
	rm -f $(VENV)/with-*
	find shallowrules/_kernel -name '*.so' -delete -o -name '*.pyd' -delete
	find shallowrules templates tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
