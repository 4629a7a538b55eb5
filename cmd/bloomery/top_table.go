// How top draws its table, and prints it as JSON.

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// topOrders are the orders of the table, by the word of --sort and the key that
// chooses it: its first letter.
var topOrders = []string{"rate", "fill", "ops", "bytes", "name"}

// topView is what top shows: a sample, and what happened since the one before.
type topView struct {
	*topSample
	addr string
	// pace is how many calls a second each filter had, by name; a filter that was
	// not in the sample before has none.
	pace map[string]float64
}

// newTopView compares two samples. before may be nil.
func newTopView(addr string, before, now *topSample) *topView {
	own := *now // it is sorted while the next sample is compared with this one
	own.filters = slices.Clone(now.filters)
	v := &topView{topSample: &own, addr: addr, pace: map[string]float64{}}
	if before == nil {
		return v
	}
	calls := map[string]uint64{}
	for _, f := range before.filters {
		calls[f.name] = f.calls
	}
	seconds := max(now.at.Sub(before.at).Seconds(), 0.001)
	for _, f := range now.filters {
		if old, ok := calls[f.name]; ok && f.calls >= old { // else another filter of that name
			v.pace[f.name] = float64(f.calls-old) / seconds
		}
	}
	return v
}

// sort puts the filters in an order, the largest first; equal ones by name.
func (v *topView) sort(order string) {
	by := func(f *topFilter) float64 {
		switch order {
		case "rate":
			return f.excess()
		case "fill":
			return f.fill()
		case "ops":
			return v.pace[f.name]
		case "bytes":
			return float64(f.bytes)
		}
		return 0
	}
	slices.SortStableFunc(v.filters, func(a, b topFilter) int {
		return cmp.Or(cmp.Compare(by(&b), by(&a)), cmp.Compare(a.name, b.name))
	})
}

// topColumns are the heads of the table, the name first.
var topColumns = []string{"name", "kind", "items", "fill", "asked", "rate", "x asked", "ops/s", "bytes", "verdict"}

// row returns the cells of a filter. A rate that was not measured but predicted has
// a ~ before it.
func (v *topView) row(f *topFilter) []string {
	rate, pace := shareOrDash(f.rate), "-"
	switch {
	case f.measured && f.rate == 0: // probes found no false positive
		rate = "0%"
	case !f.measured && f.rate > 0:
		rate = "~" + rate
	}
	if p, ok := v.pace[f.name]; ok {
		pace = grouped(uint64(p + 0.5))
	}
	fill, excess := "-", "-"
	if f.capacity > 0 {
		fill = fmt.Sprintf("%.0f%%", 100*f.fill())
	}
	if f.asked > 0 {
		excess = fmt.Sprintf("%.2f", f.excess())
	}
	return []string{
		printable(f.name), f.kind, grouped(f.items), fill, shareOrDash(f.asked), rate, excess, pace,
		strings.ReplaceAll(bytesText(f.bytes), "bytes", "B"), f.verdict,
	}
}

func shareOrDash(p float64) string {
	if p <= 0 {
		return "-"
	}
	return shareText(p)
}

// printable returns a name without what a terminal would obey: names are chosen by
// clients.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

// lines returns the screen: the head, and as many filters as fit into a height; 0
// is no limit.
func (v *topView) lines(s *shell, width, height int) []string {
	all := v.head()
	for i := range all {
		all[i] = cut(all[i], width)
	}
	rows := [][]string{topColumns}
	for i := range v.filters {
		rows = append(rows, v.row(&v.filters[i]))
	}
	hidden := 0
	if room := max(height-len(all)-1, 2); height > 0 && len(rows) > room {
		hidden = len(rows) - room
		rows = rows[:room]
	}
	all = append(all, v.table(s, rows, width)...)
	if hidden > 0 {
		all = append(all, cut(fmt.Sprintf("and %s more", grouped(uint64(hidden))), width))
	}
	return all
}

// head returns what is about the whole server.
func (v *topView) head() []string {
	up := time.Duration(v.number("uptime_in_seconds")) * time.Second
	keys, _, _ := strings.Cut(strings.TrimPrefix(v.info["db0"], "keys="), ",")
	log := "in memory only"
	if v.info["aof_enabled"] == "1" {
		log = "log " + v.info["aof_last_write_status"]
	}
	verdicts := ""
	for _, word := range []string{"Rebuild", "Resize", "Optimize", "Compress"} {
		if n := v.number("health_" + strings.ToLower(word)); n > 0 {
			verdicts += fmt.Sprintf(", %.0f %s", n, word)
		}
	}
	if v.number("cluster_copies") > 0 {
		verdicts += fmt.Sprintf(", those of which node %s holds parts: contents are spread, --addr asks another node", v.info["cluster_node"])
	}
	return []string{
		fmt.Sprintf("bloomery %s at %s, up %s, %s, %s ops/s", v.info["bloomery_version"], v.addr, up,
			plural(uint64(v.number("connected_clients")), "client"), grouped(uint64(v.number("instantaneous_ops_per_sec")))),
		fmt.Sprintf("%s of %s, %s keys, %s", bytesText(uint64(v.number("used_memory"))), bytesText(uint64(v.number("maxmemory"))), cmp.Or(keys, "0"), log),
		fmt.Sprintf("%s shown%s", plural(uint64(len(v.filters)), "filter"), verdicts),
		"",
	}
}

// leastName is how many characters a name keeps, however narrow the terminal is.
const leastName = 8

// table sets rows in columns: names and words on the left, numbers on the right.
// Names are cut so that all fits.
func (v *topView) table(s *shell, rows [][]string, width int) []string {
	wide := make([]int, len(topColumns))
	for _, row := range rows {
		for i, cell := range row {
			wide[i] = max(wide[i], utf8.RuneCountInString(cell))
		}
	}
	rest := len(wide) - 1 // the blanks between them
	for _, w := range wide[1:] {
		rest += w
	}
	wide[0] = min(wide[0], max(width-rest, leastName))
	lines := make([]string, len(rows))
	for r, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i > 0 {
				b.WriteByte(' ')
			}
			switch {
			case i < 2:
				b.WriteString(pad(cut(cell, wide[i]), -wide[i]))
			case i < len(row)-1:
				b.WriteString(pad(cell, wide[i]))
			default:
				b.WriteString(cell)
			}
		}
		lines[r] = cut(b.String(), width)
		if verdict := row[len(row)-1]; r > 0 && verdict != "OK" && strings.HasSuffix(lines[r], verdict) {
			lines[r] = strings.TrimSuffix(lines[r], verdict) + s.paint(s.out, yellow, verdict)
		}
	}
	return lines
}

// pad fills a cell with blanks up to a width: on the left, or if that is negative
// on the right.
func pad(cell string, width int) string {
	blanks := strings.Repeat(" ", max(max(width, -width)-utf8.RuneCountInString(cell), 0))
	if width < 0 {
		return cell + blanks
	}
	return blanks + cell
}

// cut shortens a line to a number of characters; > at the end marks it.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	runes := []rune(line)
	return string(runes[:max(width-1, 0)]) + ">"
}

// topJSON is what top prints with --json.
type topJSON struct {
	Time         string          `json:"time"`
	Address      string          `json:"address"`
	Version      string          `json:"version"`
	Uptime       uint64          `json:"uptime_seconds"`
	Clients      uint64          `json:"clients"`
	OpsPerSecond uint64          `json:"ops_per_second"`
	UsedMemory   uint64          `json:"used_memory"`
	MaxMemory    uint64          `json:"max_memory"`
	Filters      []topFilterJSON `json:"filters"`
}

type topFilterJSON struct {
	Name           string   `json:"name"`
	Kind           string   `json:"kind"`
	Items          uint64   `json:"items"`
	Capacity       uint64   `json:"capacity"`
	Bytes          uint64   `json:"bytes"`
	Asked          float64  `json:"asked"`
	Rate           float64  `json:"rate"`
	Measured       bool     `json:"measured"`
	CallsPerSecond *float64 `json:"calls_per_second,omitempty"`
	Verdict        string   `json:"verdict"`
}

func (v *topView) json() topJSON {
	whole := func(name string) uint64 {
		n, _ := strconv.ParseUint(v.info[name], 10, 64)
		return n
	}
	j := topJSON{
		Time: v.at.UTC().Format(time.RFC3339Nano), Address: v.addr, Version: v.info["bloomery_version"],
		Uptime: whole("uptime_in_seconds"), Clients: whole("connected_clients"), OpsPerSecond: whole("instantaneous_ops_per_sec"),
		UsedMemory: whole("used_memory"), MaxMemory: whole("maxmemory"), Filters: []topFilterJSON{},
	}
	for _, f := range v.filters {
		row := topFilterJSON{f.name, f.kind, f.items, f.capacity, f.bytes, f.asked, f.rate, f.measured, nil, f.verdict}
		if p, ok := v.pace[f.name]; ok {
			row.CallsPerSecond = &p
		}
		j.Filters = append(j.Filters, row)
	}
	return j
}

// print writes the view once, all of it.
func (v *topView) print(s *shell, width int) error {
	if s.asJSON {
		return s.print(v.json())
	}
	_, err := io.WriteString(s.out, strings.Join(v.lines(s, width, 0), "\n")+"\n")
	return err
}
