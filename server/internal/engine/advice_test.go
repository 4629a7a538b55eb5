package engine_test

import (
	"encoding"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/checkup"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/status"
)

// advised is a server whose filters are given advice.
type advised struct {
	*bench
	t       *testing.T
	cluster bool
	items   []string
}

// TestAdviceWorks carries out all that a filter can be advised, for every kind, with sources, layers and secret
// keys, on one server and in a cluster: no command is refused, and no item is lost.
func TestAdviceWorks(t *testing.T) {
	keys := map[string]hashing.Hasher{"old": hashing.Keyed([16]byte{1}), "new": hashing.Keyed([16]byte{2})}
	check := func(a *advised) {
		a.state.SetKeys(keys)
		for i := range 200 {
			a.items = append(a.items, fmt.Sprint("item-", i))
		}
		for _, kind := range append(codec.Kinds(), codec.Kind{Name: "bf"}, codec.Kind{Name: "cf"}) {
			a.each(kind.Name, func() { a.make(kind, "") })
			if kind.New != nil && kind.Name != "quorum" {
				a.each(kind.Name+" with a secret key", func() { a.make(kind, " KEYED old") })
			}
			if contents.PlainBits(kind.Name) {
				a.each(kind.Name+" of sources", func() {
					a.must("FILTER.LOAD", "f", "1", a.file(kind.Name, 1000, 0.01, hashing.Hasher{}), "FROM", "s", "VERSION", "1")
				})
			}
		}
		a.each("layers", func() {
			a.must("FILTER.CREATE", "f", "bloom", "CAPACITY", "150")
			a.must("FILTER.GROW", "f")
			a.add("FILTER.ADD", "f")
		})
	}
	check(&advised{t: t, bench: newBench(t, 1<<30)})
	synctest.Test(t, func(t *testing.T) {
		b, d, _ := newNode(t, memlog.New(1, memlog.Faults{}))
		upgrade(t, d)
		check(&advised{t: t, bench: b, cluster: true})
	})
}

// each makes a filter f as often as there is advice for it, and follows each.
func (a *advised) each(name string, fresh func()) {
	for i := 0; ; i++ {
		a.line("DEL f new")
		fresh()
		can := status.Abilities{Cluster: a.cluster, Keys: a.state, Shadows: a.state}
		l, ok := (&checkup.Filters{State: a.state, Can: can}).Of(a.state.Names.Lookup([]byte("f"), 0)).Look()
		if !ok {
			a.t.Fatalf("%s: no look", name)
		}
		l.Budget = 150 // bytes: half of what it takes, or less
		list := l.Advice()
		if i == len(list) {
			return
		}
		a.follow(name, list[i])
		has := "FILTER.HAS"
		if l.Kind == "bf" || l.Kind == "cf" {
			has = strings.ToUpper(l.Kind) + ".MEXISTS"
		}
		if got := a.line(has + " f " + strings.Join(a.items, " ")); strings.Contains(got, "false") || strings.Contains(got, "0") || strings.HasPrefix(got, "-") {
			a.t.Errorf("%s: after %q items are lost: %.100s", name, list[i].Command("f", newest), got)
		}
	}
}

func newest() string { return "new" }

var (
	fileOf = regexp.MustCompile(`<file[^>]*>`)
	madeOf = regexp.MustCompile(`of kind (\w+) for (\d+) items at ([\d.]+)(?: with the secret key (\w+))?`)
	builtf = regexp.MustCompile(`--kind (\w+)`)
)

// follow does what a diagnosis says.
func (a *advised) follow(name string, d health.Diagnosis) {
	a.t.Helper()
	text := d.Command("f", newest)
	file := fileOf.FindString(text)
	short := strings.NewReplacer("<new key>", "new", "<source>", "s", "<version>", "1", "<a later one>", "2").Replace(fileOf.ReplaceAllString(text, "FILE"))
	for _, clause := range strings.FieldsFunc(strings.ReplaceAll(strings.ReplaceAll(short, ", then ", "|"), " and ", "|"), func(r rune) bool { return r == '|' }) {
		clause, _, _ = strings.Cut(clause, ", for every source")
		words := strings.Fields(clause)
		switch {
		case strings.HasSuffix(clause, " every item"):
			a.add(words[0], "new")
			continue
		case strings.HasSuffix(clause, " what was added"):
			continue
		}
		for i, word := range words {
			if word == "FILE" {
				words[i] = a.asked(file)
			}
		}
		if got := a.do(words...); strings.HasPrefix(got, "-") {
			a.t.Errorf("cluster %t, %s, %s: %q: %s", a.cluster, name, d.Verdict, text, got)
			return
		}
		if words[0] == "FILTER.REBUILD" {
			a.must(append([]string{"FILTER.REBUILD", "f", "FEED"}, a.items...)...)
			if got := a.line("FILTER.REBUILD f COMMIT"); strings.HasPrefix(got, "-") {
				a.t.Errorf("cluster %t, %s, %s: COMMIT after %q: %s", a.cluster, name, d.Verdict, text, got)
				a.must("FILTER.REBUILD", "f", "ABORT")
			}
		}
	}
}

// asked returns the file that an advice describes.
func (a *advised) asked(text string) string {
	if m := madeOf.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[2])
		p, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			a.t.Fatal(err)
		}
		h := hashing.Hasher{}
		if m[4] != "" {
			h = hashing.Keyed([16]byte{2})
		}
		return a.file(m[1], n, p, h)
	}
	if m := builtf.FindStringSubmatch(text); m != nil {
		return a.file(m[1], 1000, 0.01, hashing.Hasher{})
	}
	kind := "" // of the filter, which a later version of its source has
	for _, k := range codec.Kinds() {
		if strings.Contains(a.line("FILTER.INFO f"), `"kind" "`+k.Name+`"`) {
			kind = k.Name
		}
	}
	return a.file(kind, 1000, 0.01, hashing.Hasher{})
}

// file returns a filter with all items.
func (a *advised) file(kind string, n int, p float64, h hashing.Hasher) string {
	a.t.Helper()
	for _, k := range codec.Kinds() {
		if k.Name != kind {
			continue
		}
		var hashes []uint64
		for _, item := range a.items {
			hashes = append(hashes, h.HashString(item))
		}
		var f bloomery.Filter
		var err error
		if k.Features.Static {
			f, err = k.Build(hashes, p, h)
		} else if f, err = k.New(n, p, h); err == nil {
			f.(bloomery.Adder).AddHashes(make([]bool, len(hashes)), hashes)
		}
		if err != nil {
			a.t.Fatal(err)
		}
		data, err := f.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			a.t.Fatal(err)
		}
		return string(data)
	}
	a.t.Fatalf("there is no kind %q", kind)
	return ""
}

// make makes f of a kind, with all items.
func (a *advised) make(kind codec.Kind, more string) {
	a.t.Helper()
	switch {
	case kind.Name == "bf":
		a.must("BF.RESERVE", "f", "0.01", "1000")
		a.add("BF.MADD", "f")
	case kind.Name == "cf":
		a.must("CF.RESERVE", "f", "1000")
		a.add("CF.ADD", "f")
	case kind.Features.Static:
		a.must("FILTER.LOAD", "f", "1", a.file(kind.Name, 0, 0.01, hashing.Hasher{}))
	default:
		a.must(strings.Fields("FILTER.CREATE f " + kind.Name + " CAPACITY 1000" + more)...)
		a.add("FILTER.ADD", "f")
	}
}

// add adds all items to a key.
func (a *advised) add(command, key string) {
	a.t.Helper()
	if command != "CF.ADD" {
		a.must(append([]string{command, key}, a.items...)...)
		return
	}
	for _, item := range a.items {
		a.must(command, key, item)
	}
}

func (a *advised) must(words ...string) {
	a.t.Helper()
	if got := a.do(words...); strings.HasPrefix(got, "-") {
		a.t.Fatalf("%.60q: %s", words, got)
	}
}
