# Every target is a command or two that one could type. `make` alone lists them.

STAGE := scripts/stage
TOOL  := go tool -modfile=tools.mod
# N is how many inputs each fuzz target gets in `make fuzz`: 5000x is less than half an hour for all of them on two cores, 200000x hours.
N     ?= 5000x
# MUTANTS is how many changes `make mutants` tries, SEED which ones, TESTS the
# packages whose tests count besides those of PKG.
MUTANTS ?= 100
SEED    ?= 1
TESTS   ?=
# PKG is what `make bench` measures, REF what `make bench-compare` compares with.
PKG   ?= ./...
REF   ?= HEAD~1

# VERSION is that of packages, TARGETS=linux/amd64 makes those alone; PREFIX and DESTDIR are where `make install` puts things.
VERSION ?= $(shell scripts/version)
TARGETS ?=
PREFIX  ?= /usr/local
DESTDIR ?=
DIR     ?= site
DRY     ?=
KEY     ?=
IMAGE   ?=
SHARE    = $(DESTDIR)$(PREFIX)/share

.DEFAULT_GOAL := help
.PHONY: help run cluster torture build test stages check unit long race purego tiers cross cross-vet vet-modules contrib contrib-figures narrow golden fuzz fuzz-short lint fmt generate clean-tree bench bench-compare bench-peers bench-lookups bench-hashes bench-cli bench-readers bench-server profile bench-cluster bench-spread bench-base bench-questions bench-follow clients rules redis-cli dcso bench-test mutants scale waits soak gate chaos-debug ui screenshots bench-door promises install uninstall packages package-test reproduce examples examples-full scale-literature
.PHONY: page-export page-test release release-test push-image portable cover vuln workflows chart

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start the server: RESP on 127.0.0.1:6379, the page on http://127.0.0.1:8379, Ctrl-C ends it
	@echo "compiling bloomery; the first time this takes some minutes"
	@go build -trimpath -o bin/bloomery ./cmd/bloomery
	@scripts/run bin/bloomery serve

cluster: ## start three nodes of a cluster on this machine: clients on 127.0.0.1:7001 to 7003, Ctrl-C ends all
	@echo "compiling bloomery; the first time this takes some minutes"
	@go build -trimpath -o bin/bloomery ./cmd/bloomery
	@scripts/run scripts/cluster bin/bloomery cluster-data

build: ## build the program to bin/bloomery
	go build -trimpath -o bin/bloomery ./cmd/bloomery

install: build ## install program, manuals and completions: PREFIX=/usr/local DESTDIR=
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install -m 0755 bin/bloomery $(DESTDIR)$(PREFIX)/bin/bloomery
	bin/bloomery man --dir $(SHARE)/man/man1
	bin/bloomery completion bash > $(SHARE)/bash-completion/completions/bloomery
	bin/bloomery completion zsh > $(SHARE)/zsh/site-functions/_bloomery
	bin/bloomery completion fish > $(SHARE)/fish/vendor_completions.d/bloomery.fish

uninstall: ## remove what install has installed
	rm -f $(DESTDIR)$(PREFIX)/bin/bloomery $(SHARE)/man/man1/bloomery.1 $(SHARE)/man/man1/bloomery-*.1
	rm -f $(SHARE)/bash-completion/completions/bloomery $(SHARE)/zsh/site-functions/_bloomery $(SHARE)/fish/vendor_completions.d/bloomery.fish

packages: ## archives, .deb, .rpm, bills of materials and checksums of VERSION in dist/
	go run ./contrib/packaging -out dist -version $(VERSION) $(TARGETS:%=-targets %)

package-test: packages ## install the .deb, use it, purge it; needs root and a Debian without bloomery
	scripts/package-test dist/bloomery_*_$$(dpkg --print-architecture).deb
	scripts/image-test dist/bloomery_*_image.tar

release: ## a whole release of VERSION=v0.1.0 in dist/, signed with KEY and checked; DRY=1 needs neither tag nor key
	DRY=$(DRY) KEY=$(KEY) scripts/release $(VERSION) $(TARGETS)

release-test: ## a release without an account, for this processor alone: made, verified, its image run
	DRY=1 scripts/release v$$(sed -n 's/^const release = "\(.*\)"$$/\1/p' cmd/bloomery/version.go) linux/$$(go env GOARCH)

push-image: ## push the image of dist/ to IMAGE=registry/name:tag, with skopeo; needs an account there
	skopeo copy --all oci-archive:$$(ls dist/bloomery_*_image.tar) docker://$(IMAGE)

reproduce: packages ## make the packages again from a copy of this commit: the checksums must be the same
	scripts/reproduce $(VERSION) $(TARGETS)

test: ## all tests, some in a short form, with the time of each stage and of all
	@$(STAGE) test $(MAKE) -s stages

# Tests run the program as it is compiled without the profile: with it, all that the program imports would be
# compiled a second time (docs/adr/0068-compiled-with-a-profile.md). The stage release of make check tests it with the profile.
stages: export GOFLAGS += -pgo=off
stages:
	@$(STAGE) unit   $(MAKE) -s unit
	@$(STAGE) gate   $(MAKE) -s gate
	@$(MAKE) -s -j3 -Otarget $(BESIDE:%=timed-%)

# Much of these is linking, starting and waiting: three run side by side, the long ones
# first.
BESIDE := race ui fuzz-short clients cross purego tiers redis-cli
timed-%:
	@$(STAGE) $* $(MAKE) -s $*

check: test ## test, and long forms, lint, 32 bits, other systems, benchmarks, a release, a clean tree after generate, longer fuzzing
	@$(STAGE) long     $(MAKE) -s long
	@$(STAGE) lint     $(MAKE) -s lint
	@$(STAGE) narrow   $(MAKE) -s narrow
	@$(STAGE) cross    $(MAKE) -s cross-vet
	@$(STAGE) modules  $(MAKE) -s vet-modules
	@$(STAGE) contrib  $(MAKE) -s contrib
	@$(STAGE) rules    $(MAKE) -s rules
	@$(STAGE) dcso     $(MAKE) -s dcso
	@$(STAGE) bench    $(MAKE) -s bench-test
	@$(STAGE) workflows $(MAKE) -s workflows
	@$(STAGE) chart    $(MAKE) -s chart
	@$(STAGE) page     $(MAKE) -s page-test
	@$(STAGE) release  $(MAKE) -s release-test
	@$(STAGE) generate $(MAKE) -s clean-tree
	@$(STAGE) fuzz     $(MAKE) -s fuzz

# The go command keeps what go vet finds, not what the vet of go test finds. The two
# packages that wait most come first, and a third computes meanwhile; of tests that only
# wait several do so at a time.
UNIT := go test -vet=off -timeout 30m -p 3 -parallel 8

unit: ## vet; unit, property and statistical tests
	go vet ./...
	$(UNIT) -short ./server ./cmd/bloomery ./codec ./...

# Tests that ask whether they are to be short, at full length: more kinds, keys and rounds.
long: ## the unit tests that make test runs in a short form, at full length
	$(UNIT) $(sort $(dir $(shell grep -rl --include='*_test.go' 'testing.Short()' . --exclude-dir=bench --exclude-dir=clienttest --exclude-dir=uitest)))

# The tests of the examples are among the unit tests, run the same samples and hold their figures.
APPLICATIONS = $(notdir $(patsubst %/,%,$(dir $(shell grep -l examples/internal/demo examples/*/main.go))))

examples: ## run the examples of docs/applications.md on their samples, and print what they save
	@go build -trimpath -o bin/examples/ ./examples/...
	@for name in $(APPLICATIONS); do echo "== $$name" && bin/examples/$$name || exit 1; done
	@echo "== sstable" && cd contrib/pebble && go run -trimpath ./sstable

examples-full: ## run them on real data, which is fetched with apt-get and npm, or at full size (some minutes)
	@go build -trimpath -o bin/examples/ ./examples/...
	@for name in $(APPLICATIONS); do echo "== $$name" && bin/examples/$$name -data full || exit 1; done
	@echo "== sstable" && cd contrib/pebble && go run -trimpath ./sstable -data full

# What was vetted once is not vetted again in other builds.
race: ## the tests in which goroutines share memory, under the race detector
	scripts/race

# Assembly is in internal/kernel alone, whose tests hold every variant to the Go code.
# What stands on it is asked for the same bytes, and for the laws that read them.
LAWS := TestConformance/.*/(NeverForgets|AddAnswers|Multiset|RoundTrip)$$
GOLD := ./bloom ./compose ./counting ./cuckoo ./fuse

purego: ## kernels, golden files and laws without assembly
	go test -tags purego -short -vet=off ./hashing ./internal/kernel
	go test -tags purego -short -vet=off -run Golden $(GOLD)
	go test -tags purego -short -vet=off -run '$(LAWS)' ./codec

tiers: ## kernels and laws on each lower instruction set
	scripts/tiers '$(LAWS)'

clients: ## the server under four Go clients and a cluster under redis-py; the programs of docs/clients.md; alerts and dashboard against a scrape; the reader for Python
	@scripts/need-redis-py
	@scripts/need-redis redis-cli
	@scripts/need-node-redis
	go test -vet=off -run TestProductionRuns ./cmd/bloomery
	go test -vet=off -run Python ./contrib/readers
	cd server/clienttest && go test -vet=off ./...

ui: ## the page, and the reader for JavaScript, in a browser, which is installed if there is none
	@scripts/need-chromium
	go test -vet=off -run Chromium ./contrib/readers -browser
	cd server/uitest && go test -vet=off ./...

page-export: ## write the page without a server as static files into DIR=site, for any web server
	go run ./cmd/bloomery page export $(DIR)

page-test: ## use the exported page in a browser, from a plain file server; prints sizes and times
	@scripts/need-chromium
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && go run ./cmd/bloomery page export "$$dir" && \
		cd server/uitest && go test -vet=off -count=1 -v -run TestExported ./... -exported "$$dir"

screenshots: ## remake the pictures of the page in docs/img
	@scripts/need-chromium
	cd server/uitest && go test -count=1 -run TestScreenshots -screenshots "$(CURDIR)/docs/img" ./...

rules: ## the alerts under promtool, which is installed if it is missing
	scripts/promtool-check.sh

# Server and command line are only vetted: their tests use signals, sockets and limits of Linux.
portable: ## vet all; the tests of the library and of formats, which run on every system
	go vet ./...
	go test -vet=off -short ./bloom ./codec ./compose ./counting ./cuckoo ./exact ./foreign/... ./fuse ./hashing/... ./internal/... ./page/... ./quotient ./ribbon ./sizing

# What compiles is asked of the types, from source: compiling takes a minute for each.
cross: ## type-check all, tests too, for other systems and for 32 bits, and the benchmarks
	go run ./contrib/platforms linux/386 linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64
	go run ./contrib/platforms -C bench linux/amd64

cross-vet: ## compile and vet all, assembly too, for 32 bits, macOS on arm64 and Windows
	GOARCH=386 go vet -asmdecl ./...
	GOOS=darwin GOARCH=arm64 go vet -asmdecl ./...
	GOOS=windows go vet -asmdecl ./...

vet-modules: ## vet the modules of the tests with clients and with a browser, and of the plug-ins
	cd server/clienttest && go vet ./...
	cd server/uitest && go vet ./...
	cd contrib/pebble && go vet ./...
	cd contrib/goleveldb && go vet ./...

contrib: ## the plug-ins in their databases, which are downloaded: Pebble and goleveldb
	cd contrib/pebble && go test -vet=off ./...
	cd contrib/goleveldb && go test -vet=off ./...

contrib-figures: ## the figures of docs/databases.md, with a million paths of Debian's packages (10 minutes)
	scripts/corpora.sh
	cd contrib/pebble && go run ./figures -data ../../corpora/paths.txt && go run ./sstable -data full
	cd contrib/goleveldb && go run ./blocks -data ../../corpora/paths.txt
	go test ./contrib/admission -count=1 -run Popularity -v

# Addresses of 32 bits end at 4 GB: what tests leave behind is collected well before.
narrow: ## the tests with integers and pointers of 32 bits, statistics left out
	GOMEMLIMIT=2GiB GOARCH=386 go test -short ./...

bench-test: ## the tests of the bench module
	cd bench && go vet ./... && go test -vet=off ./...

dcso: ## files of DCSO's program, both ways; it is installed if it is missing
	@scripts/need-dcso
	go test -vet=off -count=1 -run TestDCSO ./cmd/bloomery

redis-cli: ## the server under redis-cli, if there is one
	scripts/redis-cli-check.sh

cover: ## how much of each package of PKG=./... its own tests run, as a table
	@scripts/cover $(PKG)

vuln: ## known vulnerabilities in what the program uses; needs the database of govulncheck, from the network
	go run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./...

workflows: ## check .github/workflows with actionlint
	go tool -modfile=.github/tools.mod actionlint

chart: ## helm lint and helm template of the chart, compared with golden files; UPDATE=1 writes them
	UPDATE=$(UPDATE) scripts/chart

golden: ## files of every format version must still be read
	go test -count=1 -run Golden ./...

fuzz: ## fuzz every target, N=5000x inputs each; N=200000x, a soak by hand, takes hours
	scripts/fuzz $(N)

# So few inputs need no coverage to guide them, and so no builds of their own. Seeds of
# all targets are among the unit tests; these read what comes from outside.
FORMATS := $(addprefix ./foreign/,bip158 bip37 bitsandblooms cassandra dcso guava leveldb parquet rocksdb)

fuzz-short:
	scripts/fuzz 1000x plain ./codec $(FORMATS) ./foreign/redisbloom ./internal/redisbloom ./internal/envelope ./internal/resp ./server/internal/roster ./server/internal/store ./server/internal/snapshot

lint: ## linters and formatters
	$(TOOL) golangci-lint run ./...
	$(TOOL) golangci-lint fmt --diff

fmt: ## format all Go code
	$(TOOL) golangci-lint fmt

generate: ## remake all generated files
	go generate ./...

clean-tree: generate
	@test -z "$$(git status --porcelain)" || { git status --short; echo "generated files are not up to date" >&2; exit 1; }

bench: ## benchmarks of PKG=./..., as benchstat reads them
	go test -run='^$$' -bench=. -benchmem $(PKG)

bench-compare: ## compare this tree with REF=HEAD~1 by benchstat
	bench/compare.sh $(REF)

bench-peers: ## measure against other libraries, writes docs/evidence/benchmarks.md and docs/evidence/benchmarks-families.md
	cd bench && go run ./cmd/peers -out ../docs/evidence/benchmarks.md -times results/peers.md
	cd bench && go run ./cmd/families -again -results results/families.jsonl -out ../docs/evidence/benchmarks-families.md

bench-lookups: ## time lookups in every kind, writes docs/static.md and its plot
	cd bench && go run ./cmd/lookups -doc ../docs/static.md -plot ../docs/img/lookups.svg

bench-hashes: ## time every hash, writes the table of docs/security.md
	cd bench && go run ./cmd/hashes -doc ../docs/security.md

bench-cli: ## measure the command line against sort, awk and DCSO's bloom, writes docs/evidence/benchmarks-cli.md
	cd bench && go run ./cmd/cli -out ../docs/evidence/benchmarks-cli.md

bench-readers: ## time the readers in Node.js, Chromium and Python, writes docs/evidence/benchmarks-readers.md
	@scripts/need-chromium
	cd bench && go run ./cmd/readers -out ../docs/evidence/benchmarks-readers.md

bench-server: ## measure the server against Redis, and commit BASE if given, writes docs/evidence/benchmarks-server.md
	@scripts/need-redis redis-server redis-cli redis-benchmark
	cd bench && go run ./cmd/server -rounds 15 -requests 300000 -base "$(BASE)" -out ../docs/evidence/benchmarks-server.md

profile: ## record where the server spends processor time under the commands of bench-server, writes cmd/bloomery/default.pgo for the compiler (3 minutes)
	@scripts/need-redis redis-cli redis-benchmark
	cd bench && go run ./cmd/server -requests 200000 -profile ../cmd/bloomery/default.pgo

bench-cluster: ## measure three nodes of a cluster beside one server, writes docs/evidence/benchmarks-cluster.md (10 minutes)
	cd bench && go run ./cmd/cluster -out ../docs/evidence/benchmarks-cluster.md

bench-spread: ## measure six nodes whose contents are spread, fill, lose, back up and restore them, prints tables (40 minutes)
	cd bench && go run ./cmd/cluster -spread -rounds 9 -time 1s -capacity 2000000
	cd bench && go run ./cmd/cluster -large

bench-base: ## measure three nodes beside three of the worktree BASE, in turns, prints a table (20 minutes)
	cd bench && go run ./cmd/cluster -base "$(abspath $(BASE))" -rounds 9

bench-questions: ## processor time of a question between two nodes: own connection and through the log (3 minutes)
	go test ./server/internal/door/cluster/nats -count=1 -run TestQuestionCosts -question-costs -v

bench-follow: ## the figures of docs/follow.md: copies of filters, and 10,000 followers that wait (4 minutes)
	go test ./follow -count=1 -run TestFigure -figures -v
	BLOOMERY_WAITING=10000 go test ./server -count=1 -run TestWaitingFollowers -v

scale: ## 10,000 idle connections and 1,000,000 filters, with their memory
	BLOOMERY_IDLE=10000 BLOOMERY_FILTERS=1000000 go test ./server -count=1 -run 'Idle|ManyFilters' -v

waits: ## how long SET, FILTER.HAS and FILTER.ADD wait at most while long commands of others run: a table (minutes)
	go test ./server -count=1 -run TestFigureOfWaits -waits -timeout 30m -v

scale-literature: ## filters of the sizes that the literature names, up to a billion keys in 1.2 GB: bytes, rate, time
	go test ./bloom -count=1 -run TestLiterature -literature -timeout 60m -v

mutants: ## change PKG=./bloom in MUTANTS=100 small ways, writes docs/evidence/mutants.md with what no test notices
	cd bench && nice -n 19 go run ./cmd/mutants -n $(MUTANTS) -seed $(SEED) -tests "$(TESTS)" $(PKG)

chaos-debug: ## the chaos test with the order of all locks, waits under them and holds of the gate recorded
	go test -tags bloomerydebug ./server -count=1 -run TestChaos -chaos 60s -timeout 10m -v
	go test -tags bloomerydebug ./server/internal/engine -count=1 -run 'TestGateIsHeldShortly|AreInOrder' -timeout 10m -v
	go test -tags bloomerydebug ./server/internal/command/filter -count=1 -run TestUnionHoldsPartsShortly -v

gate: ## the debug build: no lock in the wrong order, nobody waits under one, the gate is held shortly
	go test -tags bloomerydebug -short -vet=off ./server/internal/order ./server/internal/engine ./server/internal/command -count=1 -run 'Seen|TestGateIsHeldShortly|AreInOrder|HoldLocksShortly'

soak: ## rates measured exactly; power cuts, kills, chaos, memory and replays at full length (long)
	go test ./codec -count=1 -run 'TestConformance/.*/KeepsRate' -filtertest.long -timeout 60m
	go test ./hashing/named -count=1 -run TestFNVTable -table
	go test ./ribbon -count=1 -run TestSize -all-sizes
	go test ./contrib/readers -count=1 -run 'Node|Python' -mutations 1000 -timeout 30m
	go test -tags bloomerydebug ./server/internal/command -count=1 -run HoldLocksShortly -whole-size -timeout 30m
	go test -tags bloomerydebug ./server/internal/engine -count=1 -run HoldLocksShortly -largest 256 -timeout 30m
	go test ./internal/redisbloom -count=1 -run TestCuckooChangesBetweenPieces -compactions 200 -timeout 30m
	go test ./server/internal/door/cluster -count=1 -run 'TestSimulation$$|TestSimulationOfMoves' -simulations 1000 -timeout 60m
	go test ./cmd/bloomery -count=1 -run TestKill -kills 200 -timeout 30m
	@scripts/need-redis-py
	cd server/clienttest && go test -count=1 -run TestCluster -kills 12 -restarts 10 -timeout 60m -v
	go test ./cmd/bloomery -count=1 -run TestClusterRestore -cluster-restore -timeout 10m
	go test ./cmd/bloomery -count=1 -run TestClusterNodesComeAndGo -cluster-members -timeout 10m
	go test ./server/internal/engine -count=1 -run TestLargestTransactions -largest 256 -timeout 30m
	go test ./server -count=1 -run TestChaos -chaos 30m -timeout 60m -v
	go test ./server -count=1 -run TestChaos -chaos 5m -followers 10000 -timeout 20m -v
	go test -race ./server -count=1 -run TestChaos -chaos 10m -timeout 20m -v
	go test ./cmd/bloomery -count=1 -run TestMemory -full-memory -timeout 30m -v
	go test ./server/internal/door/local -count=1 -run TestPowerCuts -cuts 200000 -timeout 30m
	go test ./server/internal/command -count=1 -run 'TestReplay$$' -steps 100000 -seeds 20 -timeout 60m
	go test ./server/internal/command/filter -count=1 -run 'TestRebuildStorm$$' -storms 1000 -timeout 60m
	go test ./server/internal/health -count=1 -run 'TestWindowsRarelySurprise|TestSkewRarelySurprises|TestLuck|TestNoAlarmOnRandomLoad' -alarms 20 -timeout 60m -v

# Of `make torture`: FAULTS are their names, all or some with commas between them; FOR=1h goes
# on for so long, ROUNDS=50 makes so many, and neither makes each fault once; SEED makes the
# same choices again; COPIES=2 NODES=6 spreads contents over nodes, for the faults of moves.
# docs/evidence/torture.md has the rest.
NODES ?= 3
COPIES ?= 0
ROUNDS ?= 0
FAULTS ?= all
FOR ?= 0
SEED ?= 0

torture: ## faults in a cluster under load: kills, partitions, power cuts; ROUNDS=50 FOR=1h FAULTS=kill,mute SEED=1 NODES=6 COPIES=2 (long)
	go build -tags torture -o bin/bloomery-torture ./cmd/bloomery
	cd bench && go build -o ../bin/torture ./cmd/torture
	bin/torture -bin bin/bloomery-torture -rounds $(ROUNDS) -for $(FOR) -faults $(FAULTS) -seed $(SEED) -nodes $(NODES) -copies $(COPIES)

bench-door: ## measure log, snapshots, start and replay, writes docs/evidence/benchmarks-durability.md
	cd bench && go run ./cmd/server -durability -rounds 5 -out ../docs/evidence/benchmarks-durability.md

promises: ## ask every library for error rates, goes on where it was, writes docs/evidence/promises.md (long)
	cd bench && go run ./cmd/promises -results results/promises.jsonl -out ../docs/evidence/promises.md
