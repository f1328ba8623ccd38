# Every goal does its own set-up on a bare checkout and says what it is doing.
# Goals a person runs: test, demo, bench, check, unit, explore, cases, e2e, build, cluster-up, cluster-down.
SHELL := /bin/bash
BUN := node_modules/.bin/bun
SAY := tools/say

.PHONY: help setup check unit explore cases e2e build test demo bench generate cluster-up cluster-down cluster-status lab lab-database clean

help:
	@sed -n 's/^## //p' Makefile

## setup            install the pinned toolchain (npm packages, Bun among them)
setup: node_modules/.installed
node_modules/.installed: package-lock.json package.json
	@$(SAY) "toolchain: npm ci" npm ci --loglevel=error
	@touch $@

## check            formatter, linter, types (tsc and deno), generated files
check: setup
	@$(SAY) "check: format and lint" node_modules/.bin/biome check --error-on-warnings .
	@$(SAY) "check: types" node_modules/.bin/tsc -p tsconfig.json
	@$(SAY) "check: deno" tools/deno-check
	@$(SAY) "check: generated files" tools/generated-check

## generate         write the generated files (CRDs, field and reason pages)
generate: setup
	@$(SAY) "generate" $(BUN) tools/generate.ts

## unit             the tests that need neither a database nor a cluster
unit: setup
	@$(SAY) "unit tests" tools/unit

## build            the one executable, build/ptah
build: setup
	@$(SAY) "build: executable" $(BUN) tools/build.ts

## explore          the model explorer over the shipped decision (DEEP=1 for more)
explore: setup
	@$(BUN) lifecycle/model/main.ts

## cases            DDL cases and database tests through the executable, on real servers (CASES=file.json: those cases)
cases: setup build
	@$(BUN) executor/cases/main.ts $(CASES)

## cluster-up       a real Kubernetes on this machine (PROVIDER=native|kind)
cluster-up: setup
	@$(BUN) e2e/cluster/main.ts up

## cluster-down     end it
cluster-down: setup
	@$(BUN) e2e/cluster/main.ts down

## cluster-status   what of it is running
cluster-status: setup
	@$(BUN) e2e/cluster/main.ts status

## lab              the cluster with this tree's operator installed, left running
lab: setup build
	@$(BUN) e2e/lab/main.ts

## lab-database     a server in the lab (NAMESPACE=shop NAME=storefront ENGINE=postgresql|mariadb|mysql MAJOR=15|17)
lab-database: setup
	@$(BUN) e2e/lab/start-database.ts "$(or $(NAMESPACE),default)" "$(NAME)" "$(or $(ENGINE),postgresql)" "$(or $(MAJOR),15)"

## e2e              scenarios on a real cluster with real databases
e2e: setup build
	@$(BUN) e2e/main.ts

## test             everything CI runs
test:
	@tools/test

## demo             the recorded story, live (KEEP=1 leaves the cluster)
demo: setup build
	@$(BUN) demo/main.ts

## bench            figures, each beside a control of the same run
bench: setup build
	@$(BUN) bench/main.ts

clean:
	rm -rf build node_modules/.installed
