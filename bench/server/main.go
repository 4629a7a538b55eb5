// Command server measures the bloomery server against Debian's Redis with
// redis-benchmark and writes a page of figures.
//
//	go run . -rounds 5 -o ../../docs/benchmarks-server.md
//
// Redis answering PING is the yardstick, measured in every round between the
// other runs, so that a slow moment of the machine hits both sides.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	rounds   int
	requests int
	capacity int
	out      string
	root     string
	memory   bool
	log      bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flag.IntVar(&o.requests, "requests", 1_000_000, "requests of a pipelined run; a tenth without pipeline")
	flag.IntVar(&o.capacity, "capacity", 10_000_000, "keys of the filters")
	flag.StringVar(&o.out, "o", "", "file to write; standard output if empty")
	flag.StringVar(&o.root, "root", "../..", "the repository")
	flag.BoolVar(&o.memory, "memory", true, "measure filters and idle connections too")
	flag.BoolVar(&o.log, "durability", false, "measure what the log, snapshots and the start cost, nothing else")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench/server:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	dir, err := os.MkdirTemp("", "bench-server")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bloomery := filepath.Join(dir, "bloomery")
	build := exec.Command("go", "build", "-trimpath", "-o", bloomery, "./cmd/bloomery")
	build.Dir, build.Stderr = o.root, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	page, err := measured(o, bloomery, dir)
	if err != nil {
		return err
	}
	if o.out == "" {
		_, err = fmt.Print(page)
		return err
	}
	return os.WriteFile(o.out, []byte(page), 0o644)
}

// measured returns the page.
func measured(o options, bloomery, dir string) (string, error) {
	if o.log {
		return durability(o, bloomery, dir)
	}
	ours, err := startServer(7461, bloomery, "serve", "--addr", "127.0.0.1:7461", "--dir", "", "--log-level", "warn")
	if err != nil {
		return "", err
	}
	defer ours.stop()
	redis, err := startServer(7462, "redis-server", "--port", "7462", "--save", "", "--appendonly", "no", "--dir", dir)
	if err != nil {
		return "", err
	}
	defer redis.stop()

	fmt.Fprintln(os.Stderr, "filling filters of", o.capacity, "keys")
	if err := fill(ours, o.capacity); err != nil {
		return "", err
	}
	results, err := measure(o, ours, redis)
	if err != nil {
		return "", err
	}
	page := report(o, results)
	if o.memory {
		page += memory(o)
	}
	return page, nil
}

// measure runs every case in every round, round by round.
func measure(o options, ours, redis *process) ([]result, error) {
	cases := cases()
	results := make([]result, len(cases))
	for round := range o.rounds {
		started := time.Now()
		yardstick := map[int]float64{}
		for i, c := range cases {
			target := ours
			if c.redis {
				target = redis
			}
			for _, line := range c.before {
				if _, err := target.cli(strings.Fields(strings.ReplaceAll(line, "CAPACITY", strconv.Itoa(o.capacity)))...); err != nil {
					return nil, err
				}
			}
			r, err := target.benchmark(c, o)
			if err != nil {
				return nil, fmt.Errorf("%s, pipeline %d: %w", c.name, c.pipeline, err)
			}
			if c.redis {
				yardstick[c.pipeline] = r.rate
			}
			r.share = r.rate / yardstick[c.pipeline]
			results[i].c = c
			results[i].runs = append(results[i].runs, r)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, time.Since(started).Round(time.Second))
	}
	return results, nil
}
