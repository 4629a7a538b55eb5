package web

// What the tabs show, without a server.

import (
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestProject asks when filters are full: at their pace, and never where they grow,
// have no pace, or would take longer than a hundred years.
func TestProject(t *testing.T) {
	now := time.Unix(10_000, 0)
	for _, c := range []struct {
		name string
		o    object
		full any
	}{
		{"in 3,900 s", object{"items_per_second": 1.0, "items": 1100.0, "capacity": 5000.0}, "1970-01-01T03:51:40Z"},
		{"full", object{"items_per_second": 1.0, "items": 1100.0, "capacity": 1000.0}, "1970-01-01T02:46:40Z"},
		{"grows", object{"items_per_second": 1.0, "items": 1100.0, "capacity": 5000.0, "grows": true}, nil},
		{"no capacity", object{"items_per_second": 1.0, "items": 1100.0}, nil},
		{"no pace", object{"items_per_second": nil, "items": 1.0, "capacity": 5000.0}, nil},
		{"at rest", object{"items_per_second": 0.0, "items": 7.0, "capacity": 5000.0}, nil},
		{"in 317 years", object{"items_per_second": 0.0001, "items": 0.0, "capacity": 1e6}, nil},
		{"in 95 years", object{"items_per_second": 0.0001, "items": 0.0, "capacity": 3e5}, "2065-01-24T08:06:40Z"},
	} {
		pace := c.o["items_per_second"]
		if got := project(c.o, now); got["items_per_second"] != pace || got["full_at"] != c.full {
			t.Errorf("%s: %v, want %v and %v", c.name, got, pace, c.full)
		}
		if _, twice := c.o["items_per_second"]; twice {
			t.Errorf("%s: the pace is told twice", c.name)
		}
	}
}

// TestOverviewFigures computes what the first tab shows from what the API answers.
func TestOverviewFigures(t *testing.T) {
	memory, kept := object{"used": int64(1)}, object{"last_save": "1970-01-01T00:15:00Z"}
	o := &overviewView{now: time.Unix(1000, 0), Server: object{
		"memory": memory, "uptime_seconds": int64(100), "persistence": kept, "health": object{"resize": int64(2), "ok": int64(5)},
	}}
	if got := o.Used(); got != 0 {
		t.Errorf("without a limit %v of it is used", got)
	}
	if memory["limit"] = int64(1); o.Used() != 1 {
		t.Errorf("1 byte of 1 is %v", o.Used())
	}
	if memory["limit"], memory["used"] = int64(200), int64(50); o.Used() != 0.25 {
		t.Errorf("50 bytes of 200 are %v", o.Used())
	}
	if got := o.Saved(); got != -1 {
		t.Errorf("a snapshot that never was is %d s old", got)
	}
	if kept["last_save"] = "1970-01-01T00:13:20Z"; o.Saved() != 200 {
		t.Errorf("a snapshot of 100 s before the start is %d s old", o.Saved())
	}
	kept["saves"] = int64(1)
	for at, want := range map[int64]int64{1: 999, 990: 10, 1000: 0, 1001: 0} {
		if kept["last_save"] = time.Unix(at, 0).UTC().Format(time.RFC3339); o.Saved() != want {
			t.Errorf("at 1000 a snapshot of %d is %d s old, want %d", at, o.Saved(), want)
		}
	}
	for seconds, want := range map[float64]string{0: "since its start", 0.5: "the last 1 s.", 1: "the last 1 s.", 60: "the last 1 min."} {
		if o.Server["latency_seconds"] = seconds; !strings.Contains(o.Period(), want) {
			t.Errorf("latencies of %v s: %q, want %q in it", seconds, o.Period(), want)
		}
	}
	want := []verdictCount{{"Rebuild", 0}, {"Resize", 2}, {"Optimize", 0}, {"Compress", 0}, {"OK", 5}}
	if got := o.Verdicts(); !reflect.DeepEqual(got, want) {
		t.Errorf("verdicts = %v, want %v", got, want)
	}
}

// TestSpreadCluster shows what the nodes of a cluster hold, from INFO to the page; one where
// every node holds everything has no bars.
func TestSpreadCluster(t *testing.T) {
	info := infoLines{
		"cluster_name": "c1", "cluster_node": "2", "cluster_nodes": "3", "cluster_nodes_live": "2", "cluster_copies": "2",
		"cluster_shards_below": "600", "cluster_shards_learning": "100", "cluster_shards_retiring": "3", "cluster_moves_paused": "1",
		"cluster_node_10": "addr=c:1,live=0,log=0,server=,level=4,awaited=0,shards=200,learns=0,bytes=0",
		"cluster_node_1":  "addr=a:1,live=1,log=1,server=s,level=4,awaited=0,shards=400,learns=0,bytes=3145728",
		"cluster_node_2":  "addr=b:1,live=1,log=1,server=s,level=4,awaited=0,trip_us=7,shards=300,learns=100,bytes=1024",
	}
	info["errorstat_OOM"], info["errorcmd_OOM"] = "count=2", "set=2"
	info["errorstat_ERR"], info["errorcmd_ERR"] = "count=87", "cluster|forget=81,unknown=6"
	server := object{"throughput": object{}, "memory": object{}, "clients": object{}, "cluster": clusterOf(info), "errors": errorsOf(info)}
	v := &overviewView{Server: server, Commands: []commandRow{{"name": "bf.add", "calls": int64(9), "p50_us": 3000.0, "p99_us": 4000.0, "p999_us": 5000.0, "node_p99_us": 16.0}, {"name": "get", "calls": int64(9)}}}
	var got []any
	for _, n := range v.Nodes() {
		got = append(got, n.Node["number"], n.Node["address"], n.Node["live"], n.Held, n.Learned)
	}
	if want := []any{int64(1), "a:1", true, 1.0, 0.0, int64(2), "b:1", true, 0.75, 0.25, int64(10), "c:1", false, 0.5, 0.0}; !reflect.DeepEqual(got, want) {
		t.Errorf("nodes %v, want %v", got, want)
	}
	page := func() string {
		var b strings.Builder
		if err := templates().ExecuteTemplate(&b, "overview", v); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := page()
	for _, want := range []string{
		"2 of each shard, <span class=\"over\">600 below that", "100 shards learned, 3 let go of, <span class=\"over\">paused",
		"400 shards, 3 MiB <span", "300 shards, 1 KiB, learns 100 <span", `<rect class="learns" x="75" width="25"`, `c:1</span> <span class="over">down`,
		`>p99 in this node</th>`, `>5 ms</td><td class="r nowrap roomy">16 µs</td></tr>`, `<td class="r nowrap roomy">–</td></tr>`,
		`<span class="mono">CLUSTER FORGET</span> 81, <span class="mono">UNKNOWN</span> 6</td></tr>
<tr data-key="OOM">`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the overview lacks %s:\n%s", want, text)
		}
	}
	delete(info, "cluster_copies")
	if server["cluster"] = clusterOf(info); strings.Contains(page(), "shards") {
		t.Error("a cluster where every node holds everything shows shards")
	}
	for want, r := range map[string]filterRow{
		"1, 3": {"nodes": "1:1 3:1", "parts": int64(1)}, "1 (16 parts), 2 (1 part)": {"nodes": "1:16 2:1", "parts": int64(16)}, "": {"parts": int64(16)},
	} {
		if got := r.Places(); got != want {
			t.Errorf("%v lies on %q, want %q", r, got, want)
		}
	}
}

// TestRowFigures computes what a row of the table shows.
func TestRowFigures(t *testing.T) {
	for _, c := range []struct {
		items, capacity int64
		fill            float64
		urgency         string
	}{
		{5, 0, 0, ""}, {1, 1, 1, "warn"}, {90, 100, 0.9, ""}, {91, 100, 0.91, "warn"}, {100, 100, 1, "warn"}, {101, 100, 1.01, "bad"},
	} {
		r := filterRow{"items": c.items, "capacity": c.capacity}
		if r.Fill() != c.fill || r.Urgency() != c.urgency {
			t.Errorf("%d of %d: %v %q, want %v %q", c.items, c.capacity, r.Fill(), r.Urgency(), c.fill, c.urgency)
		}
	}
	r := filterRow{"asked": 0.01}
	if r.Over(0.01) || !r.Over(0.011) || r.Over(nil) || (filterRow{}).Over(1.0) {
		t.Error("a rate is over the one asked for if it is larger, and one was asked for")
	}
	for _, c := range []struct {
		rate  any
		state string
		want  bool
	}{{nil, "measured", false}, {0.1, "too few", false}, {0.1, "measured", true}} {
		r := filterRow{"probed": c.rate, "probed_state": c.state, "traffic": c.rate, "traffic_state": c.state}
		if r.Measured() != c.want || r.Counted() != c.want {
			t.Errorf("%v %s: measured %v, counted %v", c.rate, c.state, r.Measured(), r.Counted())
		}
	}
	for want, r := range map[string]filterRow{
		"a count is at most 40 too high, with probability 99%":                                                     {"error_bound": 0.02, "error_probability": 0.01, "count": int64(2000)},
		"a count is at most 0 too high, with probability 99%":                                                      {"error_bound": 0.02, "error_probability": 0.01, "count": int64(49)},
		"nothing counted yet; a count will be too high by at most 2% of all counts together, with probability 99%": {"error_bound": 0.02, "error_probability": 0.01, "count": int64(0)},
		"the top 1,000, decay 0.9":            {"k": int64(1000), "decay": 0.9},
		"compression 1,000, 7 of 2,000 nodes": {"compression": int64(1000), "merged_nodes": int64(3), "unmerged_nodes": int64(4), "capacity_nodes": int64(2000)},
		"compression 1,000, 3 of 0 nodes":     {"compression": int64(1000), "merged_nodes": int64(3)},
		"":                                    {"error_bound": 0.02, "k": int64(1000)},
	} {
		if got := r.Figures(); got != want {
			t.Errorf("figures %q, want %q", got, want)
		}
	}
	named := filterRow{"name": "\ufffd", "name_base64": "/w==", "kind": "topk", "ref": "~_w"}
	if named.Shown() != `"\xff"` || named.KindName() != "top-k" || named.Link() != "filters?name=~_w" {
		t.Errorf("%s, %s, %s", named.Shown(), named.KindName(), named.Link())
	}
	list := filterList{now: time.Unix(100, 0), tableQuery: tableQuery{Per: 50}}
	if list.Age(40) != 60 || list.Age(101) != 0 {
		t.Errorf("ages %d and %d", list.Age(40), list.Age(101))
	}
	list.Filters = []filterRow{{"name": "a", "ref": "a", "kind": "topk", "bytes": int64(1), "created": int64(40)}, {"name": "b", "ref": "b", "kind": "topk", "bytes": int64(1)}}
	var b strings.Builder
	err := templates().ExecuteTemplate(&b, "filters", map[string]any{"Admin": false, "List": &list})
	if text := b.String(); err != nil || !strings.Contains(text, `data-label="Age">1 min</td>`) || !strings.Contains(text, `<span class="sr">not stored</span>`) {
		t.Errorf("a list says of ages: %v: %s", err, text)
	}
}

// TestTemplatesReadTheAPI asks that every name by which a template reads what the API
// answers is in openapi.yaml, or one of FILTER.INFO, or added for the page.
func TestTemplatesReadTheAPI(t *testing.T) {
	names := map[string]bool{"adds": true, "deletes": true, "old": true}
	for _, name := range []string{"repaired", "age", "generation_ms", "add_calls", "add_p50_us", "add_p999_us", "has_calls", "has_p50_us", "has_p999_us"} {
		names[name] = true
	}
	for _, m := range regexp.MustCompile(`[ {](\w+):`).FindAllSubmatch(openapi, -1) {
		names[string(m[1])] = true
	}
	found, field := 0, regexp.MustCompile(`[.]([a-z]\w*)`)
	for _, tmpl := range templates().Templates() {
		if tmpl.Tree == nil {
			continue
		}
		for _, m := range field.FindAllStringSubmatch(actionsOf(tmpl.Tree.Root.String()), -1) {
			if found++; !names[m[1]] {
				t.Errorf("%s reads %q, and the API does not answer it", tmpl.Name(), m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("%d names were found in the templates", found)
	}
}

// actionsOf returns what stands between braces in a template, without its strings.
func actionsOf(text string) string {
	text = strings.Join(regexp.MustCompile(`\{\{[^}]*\}\}`).FindAllString(text, -1), "")
	return regexp.MustCompile(`"[^"]*"`).ReplaceAllString(text, "")
}

// TestTableLinks turns pages and columns of the table.
func TestTableLinks(t *testing.T) {
	name, created, size := columns[0], columns[9], columns[8]
	usual, wrong := parseTable(nil)
	l := filterList{tableQuery: usual, Total: 101, Filters: make([]filterRow, 50)}
	if len(wrong) != 0 || l.link() != "filters" || l.Pages() != 3 || l.First() != 1 || l.Last() != 50 {
		t.Errorf("%v %s: %d pages, rows %d to %d", wrong, l.link(), l.Pages(), l.First(), l.Last())
	}
	if got := l.PageLink(1); got != "filters?page=2" {
		t.Errorf("the next page is %s", got)
	}
	if got := l.SortLink(name); got != "filters?dir=desc" {
		t.Errorf("sorted by name the other way: %s", got)
	}
	l.tableQuery = tableQuery{Search: "a b", Sort: "bytes", Desc: true, Page: 3, Per: 25}
	if got := l.link(); got != "filters?dir=desc&page=3&per=25&q=a+b&sort=bytes" {
		t.Errorf("all of a query: %s", got)
	}
	if got := l.PageLink(-2); got != "filters?dir=desc&per=25&q=a+b&sort=bytes" {
		t.Errorf("two pages back: %s", got)
	}
	if got := l.SortLink(created); got != "filters?dir=desc&per=25&q=a+b&sort=created" {
		t.Errorf("sorted by age: %s", got)
	}
	if got := l.SortLink(size); got != "filters?per=25&q=a+b&sort=bytes" {
		t.Errorf("sorted by size the other way: %s", got)
	}
	if l.First() != 51 || l.Last() != 100 || l.Pages() != 5 {
		t.Errorf("rows %d to %d of %d pages", l.First(), l.Last(), l.Pages())
	}
	if l.Total = 100; l.Pages() != 4 {
		t.Errorf("100 rows, 25 each, are %d pages", l.Pages())
	}
	if l.Total = 0; l.Pages() != 1 {
		t.Errorf("no rows are %d pages", l.Pages())
	}
	for i, per := range l.PerChoices() {
		if query, wrong := parseTable(url.Values{"per": {strconv.Itoa(per)}}); len(wrong) > 0 || query.Per != per || i > 0 && per != 2*l.PerChoices()[i-1] {
			t.Errorf("%d rows are offered: %v", per, wrong)
		}
	}
	if got := l.PerChoices(); !slices.Contains(got, usualPage) || got[len(got)-1] != mostPage {
		t.Errorf("%v rows are offered", got)
	}
	for page, want := range map[string]int{"1073741824": 1 << 30, "1073741825": 1, "1": 1, "0": 1} {
		query, wrong := parseTable(url.Values{"page": {page}})
		if refused := wrong["page"] != ""; query.Page != want || refused != (strconv.Itoa(want) != page) {
			t.Errorf("page %s is %d, %v", page, query.Page, wrong)
		}
	}
	if l.SortState(size) != "descending" || l.SortState(name) != "" {
		t.Errorf("aria-sort %q and %q", l.SortState(size), l.SortState(name))
	}
	if l.Sort = "created"; l.SortState(created) != "ascending" { // the youngest is on top
		t.Errorf("aria-sort of the age %q", l.SortState(created))
	}
	if l.Desc = false; l.SortState(created) != "descending" {
		t.Errorf("aria-sort of the age %q", l.SortState(created))
	}
}

// TestNewHasDefaults asks for what a handler needs and a Config may leave out.
func TestNewHasDefaults(t *testing.T) {
	h := New(Config{})
	if h.Log == nil || h.Now == nil || h.Ready == nil {
		t.Fatalf("log %v, clock %v, ready %v", h.Log != nil, h.Now != nil, h.Ready != nil)
	}
	if err := h.Ready(); err != nil {
		t.Errorf("without a server: %v", err)
	}
	fixed := New(Config{Now: func() time.Time { return time.Unix(5, 0) }})
	if got := fixed.Now().Unix(); got != 5 {
		t.Errorf("the clock shows %d, want 5", got)
	}
}

// TestInfoLines reads numbers back from INFO.
func TestInfoLines(t *testing.T) {
	l := infoLines{"size": "-1089", "on": "1", "off": "0", "db0": "keys=1089,expires=27", "bad": "x"}
	for _, c := range []struct{ got, want int64 }{
		{l.whole("size"), -1089}, {l.whole("none"), 0}, {l.whole("bad"), 0},
		{l.part("db0", "keys"), 1089}, {l.part("db0", "expires"), 27}, {l.part("db0", "none"), 0}, {l.part("none", "keys"), 0},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
	if !l.yes("on") || l.yes("off") || l.yes("none") {
		t.Errorf("on %v, off %v, none %v", l.yes("on"), l.yes("off"), l.yes("none"))
	}
}

// TestPercentileOfEnds asks for the span that a percentile lies in to the microsecond.
func TestPercentileOfEnds(t *testing.T) {
	var one timings
	one.took[0] = 2
	if got := one.percentile(0.5); got != 0.512 {
		t.Errorf("half of the calls of up to 1.024 µs took %v", got)
	}
	one = timings{}
	one.took[spans-1] = 1
	if got, _ := one.percentile(1).(float64); got < 8589934 || got > 8589935 {
		t.Errorf("the longest calls took %v µs", got)
	}
}
