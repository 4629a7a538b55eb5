package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// syncs is how many blocks dd writes, each with its own sync.
const syncs = 2000

// durability measures what the log costs: servers without a log, with a sync
// every second and with a sync before every reply take turns, and dd tells how
// often the disk can sync at all. The rest comes from the benchmarks of the
// door.
func durability(o options, bloomery, dir string) (string, error) {
	modes := []string{"none", "everysec", "always"}
	servers := make([]*process, len(modes))
	for i, mode := range modes {
		args := []string{"serve", "--addr", "127.0.0.1:" + strconv.Itoa(7463+i), "--log-level", "warn", "--dir", ""}
		if mode != "none" {
			args = append(args[:len(args)-1], filepath.Join(dir, mode), "--fsync", mode)
		}
		p, err := startServer(7463+i, bloomery, args...)
		if err != nil {
			return "", err
		}
		defer p.stop()
		servers[i] = p
	}
	add := benchCase{name: "BF.ADD", pipeline: 16, items: 1, args: []string{"BF.ADD", "bf", "__rand_int__"}}
	rates := make([][]float64, len(modes))
	var disk []float64
	for round := range o.rounds {
		for i, p := range servers {
			for _, line := range []string{"DEL bf", "BF.RESERVE bf 0.01 " + strconv.Itoa(o.capacity)} {
				if _, err := p.cli(strings.Fields(line)...); err != nil {
					return "", err
				}
			}
			r, err := p.benchmark(add, o)
			if err != nil {
				return "", err
			}
			rates[i] = append(rates[i], r.rate)
		}
		rate, err := syncRate(dir)
		if err != nil {
			return "", err
		}
		disk = append(disk, rate)
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, o.rounds)
	}
	door, err := doorFigures(o)
	if err != nil {
		return "", err
	}
	return durabilityPage(o, rates, disk, door), nil
}

// syncRate returns how many blocks of 4 KiB a second the disk takes when each
// is synced.
func syncRate(dir string) (float64, error) {
	name := filepath.Join(dir, "dd")
	defer os.Remove(name)
	started := time.Now()
	out, err := exec.Command("dd", "if=/dev/zero", "of="+name, "bs=4k", "count="+strconv.Itoa(syncs), "oflag=dsync").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("dd: %w: %s", err, out)
	}
	return syncs / time.Since(started).Seconds(), nil
}

var doorFigure = regexp.MustCompile(`([0-9.e+]+) ([A-Za-z][^\s]*)`)

// doorFigures runs the benchmarks of the door and returns their figures as
// "Snapshot/bytes=1GiB/load=true cp-s".
func doorFigures(o options) (map[string]float64, error) {
	cmd := exec.Command("go", "test", "./server/internal/door/local", "-run=^$", "-bench=Snapshot|Open|Replay|Names", "-benchtime=1x")
	cmd.Dir = o.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("benchmarks of the door: %w: %s", err, out)
	}
	figures := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "Benchmark"), "\t")
		if !ok || name == line {
			continue
		}
		name = strings.TrimSpace(name)
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i]
		}
		for _, m := range doorFigure.FindAllStringSubmatch(rest, -1) {
			x, err := strconv.ParseFloat(m[1], 64)
			if err == nil {
				figures[name+" "+m[2]] = x
			}
		}
	}
	if len(figures) == 0 {
		return nil, errors.New("the benchmarks of the door printed no figures")
	}
	return figures, nil
}

// durabilityPage writes the figures with their targets.
func durabilityPage(o options, rates [][]float64, disk []float64, door map[string]float64) string {
	var everysec, always []float64
	for i := range disk {
		everysec = append(everysec, rates[1][i]/rates[0][i])
		always = append(always, rates[2][i]/disk[i])
	}
	const idle, loaded = "Snapshot/bytes=1GiB/load=false ", "Snapshot/bytes=1GiB/load=true "
	var b strings.Builder
	fmt.Fprintf(&b, `# What durability costs

Remade by %s; do not edit. Servers without a log, with a sync each second and with a sync
before each reply took turns under redis-benchmark (50 clients, pipeline 16, BF.ADD of random keys), with %s
between them; medians of %d rounds, ratios within a round. Snapshots, start and replay are the benchmarks of server/internal/door/local.

%s
| figure | target | value | lowest – highest |
|---|---|---|---|
| BF.ADD, a sync each second over no log | ≥ 0.85 | %.2f | %s |
| BF.ADD with a sync before each reply, over syncs of the disk | ≥ 20 | %.0f (%.0f adds/s, %.0f syncs/s) | %s |
| longest lock hold during a snapshot of 1 GiB under load, p99.9 | ≤ 5 ms | %.2f ms (longest %.1f ms) | |
| snapshot of 1 GiB over cp and sync, idle | ≤ 1.5 | %.2f | |
| snapshot of 1 GiB over cp and sync, under load | | %.2f | |
| start with 1 GiB of filters (files in the page cache) | ≤ 3 s | %.2f s | |
| replay | ≥ 3 M adds/s | %.1f M adds/s | |
| memory beyond the filters during a snapshot under load | ≤ 64 MiB | %.0f MiB | |
| 300,000 names: longest wait of a write during a snapshot | | %.0f ms | |
`,
		"`make bench-door`", "`dd bs=4k oflag=dsync`", o.rounds, setting(o),
		median(everysec), span(everysec, "%.2f"), median(always), median(rates[2]), median(disk), span(always, "%.0f"),
		door[loaded+"lock-p99.9-ms"], door[loaded+"lock-max-ms"], door[idle+"s"]/door[idle+"cp-s"], door[loaded+"s"]/door[loaded+"cp-s"],
		door["Open/bytes=1GiB s/start"], door["Replay/bytes=64MiB adds/s"]/1e6, door[loaded+"MiB-more"], door["Names max-ms"])
	return b.String()
}

func span(xs []float64, format string) string {
	return fmt.Sprintf(format+" – "+format, slices.Min(xs), slices.Max(xs))
}
