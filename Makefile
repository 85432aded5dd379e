# make up      starts a demonstration on this machine: two real agent CLIs as arms
# make down    ends the demonstration
# make test    runs every test, including those with real agent CLIs
# make test-short    runs the tests that need no agent CLI, no Node and no network, in about two minutes
# make check   checks formatting and architecture, and runs vet and the linters
# make build   builds bin/coleo
# make safety, conformance, soak, many-turns, users, faults    the long runs
SHELL := /bin/bash
GO ?= go
export CGO_ENABLED = 1
# SQLite is compiled with its full-text search, which 'coleo thread search' needs. An option -tags on a
# command line replaces this option, so it must name sqlite_fts5 too.
export GOFLAGS := $(GOFLAGS) -tags=sqlite_fts5

# The versions of the programs that the tests and the demonstration install.
CLAUDE_CODE  := 2.1.329
OPENCODE     := 1.18.33
CODEX        := 0.169.0
GEMINI       := 0.61.0
AIDER        := 0.86.2
# Only the long runs use these versions.
QWEN         := 0.24.4
COPILOT      := 1.0.102
KILO         := 7.7.7
CLINE        := 3.0.65
CONTINUE     := 1.5.47
GOLANGCI     := v2.5.0
AGENTS       := $(CURDIR)/.agents
VERSION      := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: many-turns users calibrate calibrate-suite played compatibility policy settings asks build agents agents-more up down test test-short page check lint arch darwin bench safety safety-full conformance soak clean bench-screen screens fuzz

# With the tag `lean`, coleo embeds the small program of the holder, coleo-hold.bin. Only this target sets
# the tag, so the embedded program is always from the same build as coleo.
build: web/dist/xterm.mjs
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o cmd/coleo/executable/coleo-hold.bin ./cmd/coleo-hold
	$(GO) build -tags lean,sqlite_fts5 -ldflags '-X coleo.dev/cmd/coleo/executable.Version=$(VERSION)' -o bin/coleo ./cmd/coleo

# A demonstration: two real agent CLIs as arms, with a scripted model. With KEYS=1 on the
# command line, the agent CLIs use their own logins and models. This may cost money.
up: build agents
	COLEO_DIR=$(CURDIR)/.coleo COLEO_AGENTS=$(AGENTS) bin/coleo up --demo $(if $(KEYS),$(if $(filter command,$(origin KEYS)),--own-login))
	@echo '(these commands need: export COLEO_DIR=$(CURDIR)/.coleo PATH=$(CURDIR)/bin:$$PATH)'

down:
	@if [ -x bin/coleo ]; then COLEO_DIR=$(CURDIR)/.coleo COLEO_AGENTS=$(AGENTS) bin/coleo down --arms; fi

# Copies the code of the dashboard's terminal from its npm packages, so that coleo can embed it.
web/dist/xterm.mjs: web/package-lock.json
	@echo 'installing what the page needs (once)'
	@cd web && npm ci --no-audit --no-fund --loglevel=error && node build.mjs

NPM_AGENTS   := @anthropic-ai/claude-code@$(CLAUDE_CODE) opencode-ai@$(OPENCODE) @openai/codex@$(CODEX) @google/gemini-cli@$(GEMINI)
NPM_DONE     := $(AGENTS)/npm-$(CLAUDE_CODE)-$(OPENCODE)-$(CODEX)-$(GEMINI)

agents: $(NPM_DONE) $(AGENTS)/aider-$(AIDER)

$(NPM_DONE):
	@echo 'installing Claude Code $(CLAUDE_CODE), OpenCode $(OPENCODE), Codex $(CODEX) and Gemini CLI $(GEMINI) into .agents (once)'
	@mkdir -p $(AGENTS)
	@cd $(AGENTS) && { [ -f package.json ] || echo '{"private":true}' > package.json; } && \
	  npm install --no-audit --no-fund --loglevel=error $(NPM_AGENTS)
	@touch $@

$(AGENTS)/aider-$(AIDER):
	@echo 'installing Aider $(AIDER) into .agents (once)'
	@mkdir -p $(AGENTS)
	@python3 -m venv $(AGENTS)/aider && $(AGENTS)/aider/bin/pip install --quiet --disable-pip-version-check aider-chat==$(AIDER)
	@touch $@

NPM_MORE     := @qwen-code/qwen-code@$(QWEN) @github/copilot@$(COPILOT) @kilocode/cli@$(KILO) cline@$(CLINE) @continuedev/cli@$(CONTINUE)
NPM_MORE_DONE := $(AGENTS)/more-$(QWEN)-$(COPILOT)-$(KILO)-$(CLINE)-$(CONTINUE)

agents-more: agents $(NPM_MORE_DONE)

$(NPM_MORE_DONE): $(NPM_DONE)
	@echo 'installing Qwen Code $(QWEN), Copilot CLI $(COPILOT), Kilo CLI $(KILO), Cline $(CLINE) and Continue $(CONTINUE) into .agents (once)'
	@cd $(AGENTS) && npm install --no-audit --no-fund --loglevel=error $(NPM_MORE)
	@touch $@

# Runs the tests that need no agent CLI, no Node and no network. It leaves out the tests of the whole
# program. Most of these tests wait, so many packages run at the same time.
#
# A large part of the processor time goes into building and linking the test binaries. These settings save
# time there:
#
#   - The binaries have no symbols for a debugger (-s -w).
#   - Only 'make check' runs vet (-vet=off).
#   - The linkers collect no garbage below 1 GiB (GOGC, GOMEMLIMIT), which saves a sixth of their time.
#   - gold, if it is installed, takes half the time of the system's usual linker for C.
#
# These settings save time while the tests run:
#
#   - GOGC=400 saves a sixth of the processor time of packages such as pty.
#   - TMPDIR is in memory if /dev/shm has 2 GiB of room, because databases and many short files are slow on
#     a disk. GOTMPDIR keeps the binaries on the disk. The tests run without GOTMPDIR, because otherwise
#     they would make their folders there, too.
SHORT_ENV = GOGC=off GOMEMLIMIT=1GiB $$([ "$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print $$4}')" -gt 2097152 ] 2>/dev/null \
  && echo "TMPDIR=/dev/shm GOTMPDIR=$${TMPDIR:-/tmp}")
SHORT_LINK = -s -w$$(command -v ld.gold >/dev/null && echo ' -extldflags=-fuse-ld=gold')
test-short:
	env $(SHORT_ENV) $(GO) test -short -p 6 -parallel 16 -timeout 5m -vet=off -ldflags="$(SHORT_LINK)" \
	  -exec 'env -u GOTMPDIR -u GOMEMLIMIT GOGC=400' ./...

# Runs many turns of real agent CLIs, and compares the events with the scripted model's record.
# 100 turns of one agent CLI take a quarter of an hour.
MANY_TURNS_OF ?= claude-code,codex,gemini,opencode
MANY_TURNS    ?= 100
many-turns: build agents
	COLEO_AGENTS=$(AGENTS) COLEO_REQUIRE=$(MANY_TURNS_OF) $(GO) test -timeout 4h -count=1 -v -run 'ManyTurns' ./conformance \
	  -many-turns-of $(MANY_TURNS_OF) -many-turns $(MANY_TURNS)

# Lets two random users work on one arm of each agent CLI at the same time, and compares what each command line said
# with the scripted model's record. 100 command lines of each user take ten minutes.
USER_STEPS ?= 100
USER_SEED  ?= 0
users: build agents
	$(GO) test -race -c -o bin/coleo.test ./cmd/coleo
	cd cmd/coleo && COLEO_AGENTS=$(AGENTS) COLEO_REQUIRE=claude-code,codex,gemini,opencode,aider $(CURDIR)/bin/coleo.test \
	  -test.v -test.timeout 4h -test.parallel 2 -test.run RandomUsers -user-steps $(USER_STEPS) -user-seed $(USER_SEED)

# Runs command lines under strace. The policy preset `read` allows these lines, so they must change
# nothing. Then compares random lines in real shells with what the parser lists. 100,000 lines of both
# take about 40 minutes.
LINES ?= 100000
policy: strace
	COLEO_REQUIRE=strace $(GO) test -timeout 12h -count=1 -v -run 'WhatIsAllowedOnlyReads|TraceSees' ./policy/reading -lines $(LINES)
	$(GO) test -timeout 12h -count=1 -v -run ShellsRunWhatParseLists ./policy/commandline -shell-lines $(LINES) -shell-seed 0

.PHONY: strace
strace:
	@command -v strace >/dev/null || { [ "$$(id -u)" = 0 ] && echo 'installing strace (once)' && \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends strace >/dev/null; } || \
	  { echo 'strace is missing: install it, the tests of policies need it' >&2; exit 1; }

# Installs tmux for `coleo arm open`, if the user is root. Other users must install it.
.PHONY: tmux
tmux:
	@command -v tmux >/dev/null || { [ "$$(id -u)" = 0 ] && echo 'installing tmux (once)' && \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends tmux >/dev/null; } || \
	  { echo 'tmux is missing: install it, the tests of coleo arm open need it' >&2; exit 1; }

# Installs bubblewrap for sandboxes, if the user is root. Other users must install it.
.PHONY: bwrap
bwrap:
	@command -v bwrap >/dev/null || { [ "$$(id -u)" = 0 ] && echo 'installing bubblewrap (once)' && \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends bubblewrap >/dev/null; } || \
	  { echo 'bwrap is missing: install bubblewrap, the tests of sandboxes need it' >&2; exit 1; }

# The tests of the whole program run last and alone. Most of them wait, so four run at the same time.
TEST_ENV = COLEO_AGENTS=$(AGENTS) COLEO_REQUIRE=$(REQUIRE),tmux,strace,bwrap COLEO_FULL=$(FULL) COLEO_SKIP=$(MORE)
test: build agents tmux strace bwrap
	@failed=; \
	$(TEST_ENV) $(GO) test -race -shuffle=on -p 2 -timeout 60m $$($(GO) list ./... | grep -v '/cmd/coleo$$') || failed=1; \
	$(TEST_ENV) $(GO) test -race -shuffle=on -parallel 4 -timeout 60m ./cmd/coleo || failed=1; \
	[ -z "$$failed" ]
	COLEO_AGENTS=$(AGENTS) web/test/run.sh

# Makes long runs with real agent CLIs:
#
#   - They send prompts while a dialog is open, and prompts of all kinds.
#   - They compare the ends of turns with what the model has sent.
#   - They disturb the delivery of prompts.
#
# The numbers below apply to each agent CLI. Afterwards, all checks run on all agent CLIs.
#
# The reports in conformance/testdata/safety say which parts have passed on this code. A later run leaves
# out these parts, so it continues where an interrupted run has stopped.
SAFETY  ?= claude-code@$(CLAUDE_CODE),opencode@$(OPENCODE),codex@$(CODEX),gemini@$(GEMINI),aider@$(AIDER)
SENDS   ?= 300
PROMPTS ?= 500
TURNS   ?= 60
MIDWAY  ?= 30
DRAWN   ?= 1000
# TRIED lists the files that these runs test. TESTED is the last commit that changed one of them. The list
# excludes harnesses/terminal/mend, because that package never runs beside an arm.
TRIED  := ':(glob)*.go' go.mod config conformance harnesses holder hook localsocket pty record registry \
  ':!*.md' ':!arch_test.go' ':!arch_agents_test.go' ':!conformance/testdata' ':!harnesses/terminal/mend'
TESTED  = $(shell git log -1 --format=%h -- $(TRIED))$(shell git diff --quiet HEAD -- $(TRIED) || echo -dirty)
safety: build agents
	@mkdir -p conformance/testdata/safety
	COLEO_AGENTS=$(AGENTS) COLEO_REQUIRE=$(REQUIRE) $(GO) test -timeout 12h -count=1 -v -run 'Nothing|Prompts|EveryTurn|Leftovers|Midway|Random' ./conformance \
	  -safety $(SAFETY) -sends $(SENDS) -prompts $(PROMPTS) -turns $(TURNS) -midway $(MIDWAY) -random $(DRAWN) \
	  -report testdata/safety -commit $(TESTED)
	$(GO) test ./conformance -run 'Versions' -update

# Sends 1,000 prompts and outdated answers to each agent CLI while it shows dialogs. All five agent CLIs
# together also get 10,000 prompts of all kinds, and 1,000 turns. This takes some hours.
safety-full:
	$(MAKE) safety SENDS=1000 PROMPTS=2000 TURNS=200 MIDWAY=200

conformance: build agents-more
	COLEO_AGENTS=$(AGENTS) COLEO_REQUIRE=$(REQUIRE_MORE) COLEO_FULL=$(REQUIRE_MORE),opencode-api $(GO) test -timeout 2h -count=1 -v -run Compatible ./conformance -sandboxed claude-code,codex,opencode

# Runs all checks on current and older versions of the agent CLIs, and makes the page about the results.
# It leaves out versions that have a report, so it continues where an interrupted run has stopped.
VERSIONS ?= claude-code@2.1.197 claude-code@2.1.240 claude-code@2.1.290 claude-code@$(CLAUDE_CODE) claude-code@2.1.330 claude-code@2.1.332 \
  codex@0.145.0 codex@0.150.0 codex@0.157.0 codex@0.163.0 codex@$(CODEX) codex@0.171.0 gemini@0.55.1 gemini@0.58.0 gemini@0.60.0 gemini@$(GEMINI) \
  opencode@1.17.11 opencode@1.17.19 opencode@1.18.8 opencode@1.18.20 opencode@$(OPENCODE) aider@0.85.2 aider@$(AIDER)
REPORTS := conformance/testdata/reports
compatibility: build
	@mkdir -p $(REPORTS)
	@for v in $(VERSIONS); do [ -s $(REPORTS)/$$v.json ] && continue; \
	  COLEO_DIR=$(CURDIR)/.coleo bin/coleo harness install $$v || exit 1; \
	  echo "judging $$v"; COLEO_DIR=$(CURDIR)/.coleo bin/coleo --json harness test $$v > $(REPORTS)/$$v.new; \
	  [ $$? -le 1 ] && mv $(REPORTS)/$$v.new $(REPORTS)/$$v.json; done
	$(GO) test ./conformance -run 'Versions' -update

# Tests each agent CLI with the settings that its users may have, and makes the page about the results.
# This takes an hour. It leaves out harnesses that have a report. To test a harness again, remove its
# report.
SETTINGS ?= claude-code@$(CLAUDE_CODE) codex@$(CODEX) gemini@$(GEMINI) opencode@$(OPENCODE) aider@$(AIDER) qwen@$(QWEN) copilot@$(COPILOT)
SETTING_REPORTS := conformance/testdata/settings
settings: build agents-more
	@mkdir -p $(SETTING_REPORTS)
	@for v in $(SETTINGS); do [ -s $(SETTING_REPORTS)/$$v.json ] && continue; \
	  echo "testing $$v with its settings"; \
	  COLEO_DIR=$(CURDIR)/.coleo COLEO_AGENTS=$(AGENTS) bin/coleo --json harness test $${v%@*} --settings all > $(SETTING_REPORTS)/$$v.new; \
	  [ $$? -le 1 ] && mv $(SETTING_REPORTS)/$$v.new $(SETTING_REPORTS)/$$v.json; done
	$(GO) test ./conformance -run 'Versions' -update

# For pairs of versions of an agent CLI, this target breaks the harness.toml on purpose. Coleo must then
# propose a repair, from recordings of the newer version. This takes hours. It keeps existing recordings.
PAIRS    ?= claude-code@2.1.197:2.1.240,claude-code@2.1.240:2.1.290,claude-code@2.1.290:$(CLAUDE_CODE),codex@0.145.0:0.150.0,codex@0.150.0:0.157.0,codex@0.157.0:$(CODEX),gemini@0.55.1:0.58.0,gemini@0.58.0:0.60.0,gemini@0.60.0:$(GEMINI)
BREAKS   ?= 2
SEED     ?= 1
PLAYED   := $(CURDIR)/.coleo/played
comma    := ,
calibrate: played
	$(GO) test ./harnesses/terminal/mend -count=1 -v -timeout 12h -run Pairs -pairs $(PLAYED) -pair-list $(PAIRS) -breaks $(BREAKS) -seed $(SEED)

# Does the same as calibrate, and also runs the conformance suite on each broken file and on each proposed
# repair. It leaves out breaks that have a row in the report, so it continues where an interrupted run has
# stopped. CHECKS selects checks of the suite. Without CHECKS, the whole suite runs.
CALIBRATED := conformance/testdata/calibrate/suite.jsonl
CHECKS     ?=
calibrate-suite: played
	@mkdir -p $(dir $(CALIBRATED))
	$(GO) test ./harnesses/terminal/mend -count=1 -v -timeout 24h -run Pairs -pairs $(PLAYED) -pair-list $(PAIRS) -breaks $(BREAKS) -seed $(SEED) \
	  -suite $(CURDIR)/bin/coleo -suite-agents $(CURDIR)/.coleo/data/agents/.versions -suite-report $(CURDIR)/$(CALIBRATED) $(if $(CHECKS),-suite-checks $(CHECKS))
	$(GO) test ./conformance -run 'Versions' -update

# Makes the recordings of all versions in PAIRS.
played: build
	@mkdir -p $(PLAYED)
	@for pair in $(subst $(comma), ,$(PAIRS)); do name=$${pair%@*}; both=$${pair#*@}; \
	  for v in $$name@$${both%:*} $$name@$${both#*:}; do [ -s $(PLAYED)/$$v/labels.txt ] && continue; \
	    rm -rf $(PLAYED)/$$v; echo "playing $$v"; \
	    COLEO_DIR=$(CURDIR)/.coleo bin/coleo harness calibrate $$v --record $(PLAYED)/$$v --sizes 120x40,80x24 --time 1s || true; \
	  done; done

# Gives each possible answer to each question of each agent CLI, and makes the page about the results. This
# takes an hour. It leaves out harnesses that have a report. To test a harness again, remove its report.
ASK_REPORTS := conformance/testdata/asks
asks: build agents-more
	@mkdir -p $(ASK_REPORTS)
	@for v in $(SETTINGS); do [ -s $(ASK_REPORTS)/$$v.json ] && continue; \
	  echo "testing what $$v asks"; \
	  COLEO_DIR=$(CURDIR)/.coleo COLEO_AGENTS=$(AGENTS) bin/coleo --json harness test $${v%@*} --asks all > $(ASK_REPORTS)/$$v.new; \
	  [ $$? -le 1 ] && mv $(ASK_REPORTS)/$$v.new $(ASK_REPORTS)/$$v.json; done
	$(GO) test ./conformance -run 'Versions' -update

# Tests only the dashboard, in a browser. SHOT=FILE.png takes a picture of it.
page: build agents
	COLEO_AGENTS=$(AGENTS) web/test/run.sh $(if $(SHOT),--shot $(SHOT))

# REQUIRE lists the harnesses whose agent CLI must be installed. If one is missing, the tests
# fail and do not skip. FULL lists the harnesses on which all checks run.
FULL    ?= codex,opencode-tui
REQUIRE ?= claude-code,opencode,opencode-tui,codex,gemini,aider
MORE         := qwen,copilot,kilo,cline,continue
REQUIRE_MORE ?= $(REQUIRE),qwen,copilot,kilo,continue

check: arch lint darwin
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'not gofmt-ed:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff

arch:
	$(GO) test -run 'Import|Home|Named|Small' -count=1 .

lint: bin/golangci-lint-$(GOLANGCI)
	bin/golangci-lint-$(GOLANGCI) run ./...

bin/golangci-lint-$(GOLANGCI):
	@echo 'building the linter (once; some minutes)'
	@GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	@mv bin/golangci-lint $@

# Code that is only for Linux must have a fallback for macOS. This target checks that the fallback
# compiles.
darwin:
	GOOS=darwin CGO_ENABLED=0 $(GO) vet . ./boottime ./config ./localsocket ./record ./pty/... ./holder/... ./harnesses/... ./registry ./window/... ./bus ./recovery ./modelresolver ./policy/... ./conformance/... ./cmd/coleo-hold

# Measures the speed that Coleo promises, as ratios and differences within one run. Turns, Fleet
# and Streams fail if the median of several runs misses its limit. The other benchmarks still run.
bench: build agents
	@missed=0; \
	COLEO_AGENTS=$(AGENTS) $(GO) test -run '^$$' -bench '^Benchmark(Spawn|Prompt)' -benchtime 30x -timeout 20m ./bench || missed=1; \
	COLEO_BENCH_BINARY=$(CURDIR)/bin/coleo $(GO) test -run '^$$' -bench 'Turns|Fleet' -benchtime 1x -timeout 20m ./bench || missed=1; \
	COLEO_BENCH_BINARY=$(CURDIR)/bin/coleo $(GO) test -run '^$$' -bench Arms -benchtime 1x -timeout 20m ./bench || missed=1; \
	$(GO) test -run '^$$' -bench 'Logs|Followers' -benchtime 1x -timeout 20m ./bench || missed=1; \
	$(GO) test -run '^$$' -bench Streams -benchtime 1x ./harnesses/terminal/reading || missed=1; \
	$(GO) test -run '^$$' -bench Replay ./harnesses/terminal/reading || missed=1; \
	$(GO) test -run '^$$' -bench Rebuild -benchtime 20x ./bench || missed=1; \
	$(GO) test -run '^$$' -bench Decide ./policy || missed=1; \
	$(GO) test -run '^$$' -bench Resolve -benchtime 1x ./bench || missed=1; \
	$(GO) test -run '^$$' -bench Large -benchtime 1x -timeout 60m ./bench || missed=1; \
	COLEO_BENCH_BINARY=$(CURDIR)/bin/coleo $(GO) test -run '^$$' -bench HolderSpawn -benchtime 50x ./bench || missed=1; \
	COLEO_BENCH_BINARY=$(CURDIR)/bin/coleo $(GO) test -run '^$$' -bench 'Holder[MET]' -benchtime 5x -timeout 20m ./bench || missed=1; \
	$(GO) test -run '^$$' -bench . ./store || missed=1; \
	$(BENCH_SCREEN); \
	exit $$missed

# Compares the speed of the screen with other emulators. Needs no agent CLI.
BENCH_SCREEN = $(GO) test -run '^$$' -bench . ./pty ./pty/vt10x || missed=1; \
  (cd bench/peers && $(GO) test -run '^$$' -bench . .) || missed=1
bench-screen:
	@missed=0; $(BENCH_SCREEN); exit $$missed

# FUZZTIME is how long each fuzz test of the screen and of the sandbox's proxy runs. A fuzz test
# writes what it finds into testdata/fuzz of its package. Commit that file together with the fix.
FUZZTIME ?= 5m
fuzz:
	for target in pty/FuzzCore pty/vt10x/FuzzVT10x pty/FuzzRestore pty/FuzzStrip sandbox/proxy/FuzzRequest; do \
	  $(GO) test ./$${target%/*} -run '^$$' -fuzz "^$${target##*/}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x -parallel 1 || exit 1; done

# Makes these files again: the screens that xterm.js shows for the recordings, for random bytes
# and for the edge cases in pty/testdata, and the table of widths. Needs Node.
screens:
	cd pty/oracle && npm ci --no-audit --no-fund --loglevel=error
	cd pty/oracle && node widths.mjs > ../width/width_table.go && gofmt -w ../width/width_table.go
	cd pty/oracle && node index.mjs remake ../testdata
	edges=$$(mktemp) && $(GO) test ./pty -count=1 -run 'TestEdges$$' -edge-jobs $$edges && \
	  (cd pty/oracle && node index.mjs edges < $$edges > ../testdata/edges.json.gz); ok=$$?; rm -f $$edges; exit $$ok
	$(GO) test ./pty

# These are the full counts of the long runs that `make soak` makes. The runs test the holder as it is
# shipped, and print their progress. RUN=Kill makes only the runs with "Kill" in their names. OLD=FILE tests
# an upgrade from the coleo in that file.
KILLS ?= 500
ESCAPES ?= 200
ORPHANS ?= 50
REUSES ?= 300
COLEO_KILLS ?= 1000
FOLLOW_KILLS ?= 200
TREE_KILLS ?= 200
LIVE_KILLS ?= 200
LIVE_PROMPTS ?= 50
ASK_WAIT ?= 20m
ECHOES ?= 1000
FAULT_TIME ?= 30m
FAULT_ARMS ?= 20
FAULT_SEED ?= 0
HOLDER_FUZZTIME ?= 60s
# Tests each limit of each real agent CLI: see docs/limits.md. Some agent CLIs try again for ten
# minutes or longer. RUN selects tests, such as RUN=IsParkedAtALimit/qwen.
.PHONY: limits
limits: build agents-more
	$(GO) test -c -o bin/coleo.test ./cmd/coleo
	cd cmd/coleo && COLEO_AGENTS=$(AGENTS) COLEO_REQUIRE=claude-code,codex,opencode,gemini,aider,copilot,qwen \
	  $(CURDIR)/bin/coleo.test -test.v -test.timeout 4h -test.parallel 6 -all-limits -limit-bound 10m \
	  -test.run '$(or $(RUN),IsParkedAtALimit)'

# Random faults for arms that meet limits, with the fake agent CLI: restarts, kills at each write, dialogs,
# a full disk, clocks that are set. It takes about ten minutes. FAULT_SEED repeats the faults of a failed run.
FAULTS ?= 10000
.PHONY: faults
faults:
	$(GO) test -timeout 2h -count=1 -v -parallel 6 -run NoFaultMakesAParkedArm ./host -faults $(FAULTS) -seed $(FAULT_SEED)

# The cost of each agent CLI that reports its tokens, compared with the model's record. It takes two
# minutes. RUN chooses, such as RUN=TheCostOfARealAgentCLI/qwen.
.PHONY: costs
costs: build agents-more
	$(GO) test -c -o bin/coleo.test ./cmd/coleo
	cd cmd/coleo && COLEO_AGENTS=$(AGENTS) COLEO_REQUIRE=claude-code,codex,gemini,opencode,aider,qwen,copilot,kilo \
	  $(CURDIR)/bin/coleo.test -test.v -test.timeout 1h -all-costs -test.run '$(or $(RUN),TheCostOfARealAgentCLI)'

soak: build agents
	$(GO) test -c -o bin/coleo.test ./cmd/coleo
	cd cmd/coleo && COLEO_AGENTS=$(AGENTS) $(CURDIR)/bin/coleo.test -test.v -test.timeout 8h -test.run '$(or $(RUN),KilledUnderLoad|AFollowUpArrivesOnce|Flood|ThroughAnUpgrade|NoFaultLoses|AsksItsUser|IsParkedAtALimit)' \
	  -fault-time $(FAULT_TIME) -fault-arms $(FAULT_ARMS) -fault-seed $(FAULT_SEED) -kills $(COLEO_KILLS) -follow-kills $(FOLLOW_KILLS) -live-kills $(LIVE_KILLS) -live-prompts $(LIVE_PROMPTS) -ask-wait $(ASK_WAIT) -all-limits -floods 10 -keys $(ECHOES) -echo 50ms $(if $(OLD),-old $(OLD))
	$(GO) test -c -o bin/holder.test ./holder
	$(CURDIR)/bin/holder.test -test.v -test.timeout 4h -holder $(CURDIR)/cmd/coleo/executable/coleo-hold.bin \
	  -test.run '$(or $(RUN),Killed|Escapes|Outlives)' -kills $(KILLS) -escapes $(ESCAPES) -orphans $(ORPHANS)
	$(GO) test -v -timeout 4h -count=1 -run '$(or $(RUN),SamePid)' ./holder/process -reuses $(REUSES)
	$(GO) test -v -timeout 4h -count=1 -run '$(or $(RUN),KillsAtRandomMoments)' ./workspace/merge -random-kills $(TREE_KILLS)
	for f in holder/FuzzProtocol holder/FuzzFastWrite holder/journal/FuzzJournal; do \
	  $(GO) test -run '^$$' -fuzz $${f##*/} -fuzztime $(HOLDER_FUZZTIME) -fuzzminimizetime 1x ./$${f%/*} || exit 1; done

clean:
	rm -rf bin cmd/coleo/executable/coleo-hold.bin
