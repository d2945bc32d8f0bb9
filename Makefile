# Each target is one script; `make help` lists them.
.PHONY: help demo up down test check bench chaos gen release clean setup
.DEFAULT_GOAL := help

help: ## what there is
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

demo: ## a real build, from clone to a tested and pushed image
	@scripts/demo

up: ## the same, and the server stays
	@scripts/demo --keep

down: ## stop what make up has left running
	@scripts/stop up

test: ## all tests but those of chaos, on real Docker, PostgreSQL and Kubernetes
	@scripts/test

check: ## the quick part: format, lint, types, imports, unit tests
	@scripts/setup npm git openssl python
	@npm run --silent check

bench: ## figures beside their floors
	@scripts/bench

chaos: ## what takes longer: failure drills, also on the cluster, and the files of a release
	@scripts/chaos

gen: ## the reference pages and schemas, from the code
	@scripts/setup npm
	@npm run --silent gen

release: ## files for an installation without a clone, in dist/release; KEY=FILE signs them
	@scripts/setup npm git
	@node_modules/.bin/node scripts/release/main.ts $(if $(KEY),--key $(KEY)) $(IMAGES)

setup: ## install what is missing
	@scripts/setup

clean: ## stop all that was started here: make up, the test cluster, Docker
	@scripts/stop --docker
