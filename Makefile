# Short names for developers; every line is a command that can be given by hand.
.DEFAULT_GOAL := help
.PHONY: help install lock run worker test nightly lint format types layout openapi migrate migration check

bin := .venv/bin

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /	/' | expand -t 12

install: ## make .venv and install what a user needs into it
	./run --version

# setuptools builds the project itself, once its packages are there.
lock_packages := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' pyproject.toml -

lock: ## write constraints.txt (all packages) and requirements.txt (a user's) from pyproject.toml
	echo 'setuptools>=77' | $(lock_packages) --all-extras -o constraints.txt
	echo 'setuptools>=77' | $(lock_packages) -c constraints.txt \
		--extra asr --extra cloud --extra parquet --extra postgres -o requirements.txt

run: ## start the whole service
	./run

worker: ## run the worker alone
	./run worker

test: ## run the tests
	./run test

nightly: ## every test in full length, on SQLite and PostgreSQL, as each night needs it
	CQE_TEST_NIGHTLY=1 .ci/run

lint: ## ruff: rules and format
	$(bin)/ruff check .
	$(bin)/ruff format --check .

format: ## ruff: format, and fix what can be fixed
	$(bin)/ruff check --fix .
	$(bin)/ruff format .

types: ## mypy, strict
	$(bin)/mypy

layout: ## import contracts and layout tests
	$(bin)/python -m pytest tests/test_layout.py

openapi: ## write openapi.json from the code
	./run openapi > openapi.json

migrate: ## bring the database up to date
	./run db upgrade

migration: ## write a migration for changed tables: make migration m="what changes"
	@test -n "$(m)" || { echo 'usage: make migration m="what changes"'; exit 1; }
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && export CQE_DATA_DIR="$$folder" \
		&& $(bin)/cqe db upgrade && $(bin)/alembic revision --autogenerate -m "$(m)" \
			--rev-id $$(printf %04d $$(($$(ls migrations/versions/*.py | wc -l) + 1)))

check: lint types test ## the checks of a change, on SQLite
