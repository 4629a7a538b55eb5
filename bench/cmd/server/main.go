// Command server measures the bloomery server against Debian's Redis with
// redis-benchmark and writes a page of figures.
//
//	go run ./cmd/server -rounds 5 -out ../docs/evidence/benchmarks-server.md
//
// Redis answering PING is the yardstick, measured in every round between the
// other runs, so that a slow moment of the machine hits both sides. With -base
// an older revision of bloomery takes part in every round too.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
	"github.com/bloomery/bloomery/bench/internal/report"
)

// options are the flags.
type options struct {
	rounds   int
	requests int
	capacity int
	out      string
	root     string
	base     string
	memory   bool
	gate     bool
	log      bool
	only     string
	profile  string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flag.IntVar(&o.requests, "requests", 1_000_000, "requests of a pipelined run; a tenth without pipeline")
	flag.IntVar(&o.capacity, "capacity", 10_000_000, "keys of the filters")
	flag.StringVar(&o.out, "out", "", "write the document to this `file` instead of standard output")
	flag.StringVar(&o.root, "root", "..", "the repository")
	flag.StringVar(&o.base, "base", "", "revision of bloomery to compare with, in the same rounds")
	flag.BoolVar(&o.memory, "memory", true, "measure filters and idle connections too")
	flag.BoolVar(&o.gate, "gate", true, "measure how long the gate is held, and who waits for it, too")
	flag.BoolVar(&o.log, "durability", false, "measure what the log, snapshots and the start cost, nothing else")
	flag.StringVar(&o.only, "only", "", "regular expression of the commands to measure; Redis PING always is")
	flag.StringVar(&o.profile, "profile", "", "write to this `file` where processor time goes, for the compiler, nothing else")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	dir, err := os.MkdirTemp("", "bench-server")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.profile != "" {
		return writeProfile(o, dir)
	}
	bloomery := filepath.Join(dir, "bloomery")
	if err := process.Build(o.root, bloomery); err != nil {
		return err
	}
	page, err := measured(o, bloomery, dir)
	if err != nil {
		return err
	}
	return page.Write(o.out, os.Stdout, "")
}

// buildRevision makes the program of another revision of the repository.
func buildRevision(o options, dir string) (string, error) {
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-c", `git -C "$1" archive "$2" | tar -x -C "$3"`, "sh", o.root, o.base, tree)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("revision %s: %w: %s", o.base, err, out)
	}
	program := filepath.Join(dir, "bloomery-base")
	return program, process.Build(tree, program)
}

// Who is measured.
const (
	redis = iota
	ours
	base
	parties
)

// measured returns the page.
func measured(o options, bloomery, dir string) (*report.Document, error) {
	if o.log {
		return durability(o, bloomery, dir)
	}
	programs := [parties]string{redis: "redis-server", ours: bloomery}
	if o.base != "" {
		var err error
		if programs[base], err = buildRevision(o, dir); err != nil {
			return nil, err
		}
	}
	results, err := measure(o, programs, dir)
	if err != nil {
		return nil, err
	}
	doc := speeds(o, results)
	tlsReport(doc, results)
	if o.gate {
		gate(doc, o)
	}
	if o.memory {
		memory(doc, o)
	}
	return doc, nil
}

// party is the servers of some rounds.
type party [parties]*process.Process

func (p *party) stop() {
	for _, server := range p {
		if server != nil {
			server.Stop()
		}
	}
}

// start starts all servers on empty folders and fills their filters.
func (p *party) start(o options, programs [parties]string, dir string) error {
	data, err := os.MkdirTemp(dir, "data")
	if err != nil {
		return err
	}
	cert, key, err := certify(data)
	if err != nil {
		return err
	}
	for i, program := range programs {
		if program == "" {
			continue
		}
		port := 7462 + i
		args := []string{"--port", strconv.Itoa(port), "--save", "", "--appendonly", "no", "--dir", data}
		if i != redis {
			// Both listen for TLS too, though only ours is asked by it: what is compared has
			// the same arguments.
			args = []string{
				"serve", "--log-level", "warn", "--dir", filepath.Join(data, strconv.Itoa(i)), "--fsync", "everysec",
				"--tls-cert", cert, "--tls-key", key, "--addr", "plain:127.0.0.1:" + strconv.Itoa(port) + ",tls:127.0.0.1:" + strconv.Itoa(port+tlsPort),
			}
		}
		if p[i], err = process.Start(port, program, args...); err != nil {
			return err
		}
		if i != redis {
			if err := fill(p[i], o.capacity); err != nil {
				return err
			}
		}
	}
	return nil
}

// sitting is how many rounds are measured on the same processes. Where memory lies
// makes one process slower than the next of the same program, by up to a tenth and for
// as long as it runs, so a figure needs several of them.
const sitting = 3

// measure runs every case in every round, round by round. Ours and the base take
// turns in going first.
func measure(o options, programs [parties]string, dir string) ([]result, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, err
	}
	cases := slices.DeleteFunc(cases(), func(c benchCase) bool { return !c.redis && !only.MatchString(c.name) })
	results := make([]result, len(cases))
	for i, c := range cases {
		results[i].c = c
	}
	var servers party
	defer func() { servers.stop() }()
	for round := range o.rounds {
		started := time.Now()
		if round%sitting == 0 {
			servers.stop()
			servers = party{}
			if err := servers.start(o, programs, dir); err != nil {
				return nil, err
			}
		}
		if err := measureRound(o, servers, round, results); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, time.Since(started).Round(time.Second))
	}
	return results, nil
}

// measureRound runs every case once against whom it is for.
func measureRound(o options, servers party, round int, results []result) error {
	order := []int{redis, ours, base}
	if round%2 == 1 {
		order = []int{redis, base, ours}
	}
	for i := range results {
		c := results[i].c
		for _, who := range order {
			if servers[who] == nil || c.redis != (who == redis) || c.tls && who != ours || who == base && !knows(servers[who], c.args[0]) {
				continue
			}
			r, err := runCase(o, servers[who], c)
			if err != nil {
				return fmt.Errorf("%s, pipeline %d: %w", c.name, c.pipeline, err)
			}
			results[i].runs[who] = append(results[i].runs[who], r)
		}
	}
	return nil
}

// runCase prepares a server for a case and runs it.
func runCase(o options, p *process.Process, c benchCase) (oneRun, error) {
	for _, line := range c.before {
		if _, err := p.CLI(strings.Fields(strings.ReplaceAll(line, "CAPACITY", strconv.Itoa(o.capacity)))...); err != nil {
			return oneRun{}, err
		}
	}
	return benchmark(p, c, o)
}
