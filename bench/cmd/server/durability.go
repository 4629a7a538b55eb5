package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
	"github.com/bloomery/bloomery/bench/internal/report"
)

// syncs is how many blocks dd writes, each with its own sync.
const syncs = 2000

// durability measures what the log costs: servers without a log, with a sync
// every second and with a sync before every reply take turns, and dd measures how
// often the disk can sync at all. The rest comes from the benchmarks of the
// door.
func durability(o options, bloomery, dir string) (*report.Document, error) {
	modes := []string{"none", "everysec", "always"}
	servers := make([]*process.Process, len(modes))
	for i, mode := range modes {
		args := []string{"serve", "--addr", "127.0.0.1:" + strconv.Itoa(7463+i), "--log-level", "warn", "--dir", ""}
		if mode != "none" {
			args = append(args[:len(args)-1], filepath.Join(dir, mode), "--fsync", mode)
		}
		p, err := process.Start(7463+i, bloomery, args...)
		if err != nil {
			return nil, err
		}
		defer p.Stop()
		servers[i] = p
	}
	add := benchCase{name: "BF.ADD", pipeline: 16, items: 1, args: []string{"BF.ADD", "bf", "__rand_int__"}}
	rates := make([][]float64, len(modes))
	var disk []float64
	for round := range o.rounds {
		for i, p := range servers {
			for _, line := range []string{"DEL bf", "BF.RESERVE bf 0.01 " + strconv.Itoa(o.capacity)} {
				if _, err := p.CLI(strings.Fields(line)...); err != nil {
					return nil, err
				}
			}
			r, err := benchmark(p, add, o)
			if err != nil {
				return nil, err
			}
			rates[i] = append(rates[i], r.rate)
		}
		rate, err := syncRate(dir)
		if err != nil {
			return nil, err
		}
		disk = append(disk, rate)
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, o.rounds)
	}
	door, err := doorFigures(o)
	if err != nil {
		return nil, err
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

// durabilityPage returns the figures with their targets.
func durabilityPage(o options, rates [][]float64, disk []float64, door map[string]float64) *report.Document {
	var everysec, always []float64
	for i := range disk {
		everysec = append(everysec, rates[1][i]/rates[0][i])
		always = append(always, rates[2][i]/disk[i])
	}
	const idle, loaded = "Snapshot/bytes=1GiB/load=false ", "Snapshot/bytes=1GiB/load=true "
	doc := report.New("What durability costs", "make bench-door")
	doc.Text(fmt.Sprintf(`Servers without a log, with a sync each second and with a sync before each reply took turns under
		redis-benchmark (50 clients, pipeline 16, BF.ADD of random keys), with `+"`dd bs=4k oflag=dsync`"+` between them; medians of %d
		rounds, ratios within a round. Snapshots, start and replay are the benchmarks of server/internal/door/local.`, o.rounds))
	doc.Add(setting(o))
	t := &report.Table{Head: []string{"figure", "target", "value", "lowest – highest"}}
	row := func(figure, target, format string, values ...any) {
		t.Row(figure, target, fmt.Sprintf(format, values...), "")
	}
	t.Row("BF.ADD, a sync each second over no log", "≥ 0.85", fmt.Sprintf("%.2f", report.Median(everysec)), report.Span(everysec, "%.2f"))
	t.Row("BF.ADD with a sync before each reply, over syncs of the disk", "≥ 20",
		fmt.Sprintf("%.0f (%.0f adds/s, %.0f syncs/s)", report.Median(always), report.Median(rates[2]), report.Median(disk)), report.Span(always, "%.0f"))
	row("longest lock hold during a snapshot of 1 GiB under load, p99.9", "≤ 5 ms", "%.2f ms (longest %.1f ms)",
		door[loaded+"lock-p99.9-ms"], door[loaded+"lock-max-ms"])
	row("snapshot of 1 GiB over cp and sync, idle", "≤ 1.5", "%.2f", door[idle+"s"]/door[idle+"cp-s"])
	row("snapshot of 1 GiB over cp and sync, under load", "", "%.2f", door[loaded+"s"]/door[loaded+"cp-s"])
	row("start with 1 GiB of filters (files in the page cache)", "≤ 3 s", "%.2f s", door["Open/bytes=1GiB s/start"])
	row("replay", "≥ 3 M adds/s", "%.1f M adds/s", door["Replay/bytes=64MiB adds/s"]/1e6)
	row("memory beyond the filters during a snapshot under load", "≤ 64 MiB", "%.0f MiB", door[loaded+"MiB-more"])
	row("300,000 names: longest wait of a write during a snapshot", "", "%.0f ms", door["Names max-ms"])
	doc.Table(t)
	return doc
}
