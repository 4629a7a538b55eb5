// Command cli measures the command line against the programs that people use
// now: sort -u, awk and DCSO's bloom, on ten million lines of real text. It
// runs all of them in turns, round by round, and writes docs/evidence/benchmarks-cli.md.
//
//	go run ./cmd/cli -rounds 3 -out ../docs/evidence/benchmarks-cli.md
//
// It needs Debian, and root for packages that are not installed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/bloomery/bloomery/bench/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rounds := flag.Int("rounds", 3, "how often each program is run")
	out := flag.String("out", "", "file to write; standard output if empty")
	sample := flag.String("sample", "", "only write the sample of the corpora to this file")
	only := flag.String("only", "", "only this task: dedupe, build or check; build must run for check")
	shared := flag.Bool("shared", false, "others use the machine: compare CPU time")
	flag.Parse()
	do := func() error { return measure(ctx, *rounds, *out, *only, *shared) }
	if *sample != "" {
		do = func() error { return writeSample(*sample) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "cli:", err)
		os.Exit(1)
	}
}

// packages are the programs that are measured, and the packages they are in.
var packages = map[string]string{"mawk": "mawk", "bloom": "golang-github-dcso-bloom-cli", "sort": "coreutils"}

// measure prepares everything, runs all programs and writes the page.
func measure(ctx context.Context, rounds int, out, only string, shared bool) error {
	started := time.Now()
	for program, name := range packages {
		if only == dedupeTask && program == "bloom" {
			continue // it has no such thing
		}
		if _, err := exec.LookPath(program); err != nil {
			if err := run(ctx, "apt-get", "install", "-y", "-qq", name); err != nil {
				return err
			}
		}
	}
	text := filepath.Join("..", "corpora", "lines.txt")
	if _, err := os.Stat(text); err != nil {
		if err := run(ctx, "../scripts/corpora.sh"); err != nil {
			return err
		}
		// In a process of its own: the system counts the memory of the parent as
		// that of the programs it starts.
		if err := run(ctx, os.Args[0], "-sample", text); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "bench-cli-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	if err := run(ctx, "go", "build", "-C", "..", "-trimpath", "-o", filepath.Join(dir, "bloomery"), "./cmd/bloomery"); err != nil {
		return err
	}
	b := bench{dir: dir, text: text, shared: shared}
	if err := b.all(ctx, rounds, only); err != nil {
		return err
	}
	page := b.page(ctx, report.Origin(ctx, command(only, shared), started), rounds)
	return page.Write(out, os.Stdout, "")
}

// command is what was typed.
func command(only string, shared bool) string {
	if only == "" && !shared {
		return "make bench-cli"
	}
	return fmt.Sprintf("cd bench && go run ./cmd/cli -only=%s -shared=%t", only, shared)
}

// run runs a program that prepares something.
func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
