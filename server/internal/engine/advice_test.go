package engine_test

import (
	"encoding"
	"fmt"
	"regexp"
	"slices"
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
			a.errors(kind.Name, func() { a.make(kind, "") })
			if kind.New != nil && kind.Name != "quorum" {
				a.each(kind.Name+" with a secret key", func() { a.make(kind, " KEYED old") })
			}
			if contents.PlainBits(kind.Name) {
				sourced := func() {
					a.must("FILTER.LOAD", "f", "1", a.file(kind.Name, 1000, 0.01, hashing.Hasher{}), "FROM", "s", "VERSION", "1")
				}
				a.each(kind.Name+" of sources", sourced)
				a.errors(kind.Name+" of sources", sourced)
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
	return a.file(a.kindOf(), 1000, 0.01, hashing.Hasher{}) // a later version of its source
}

// kindOf returns the kind of f.
func (a *advised) kindOf() (kind string) {
	for _, k := range codec.Kinds() {
		if strings.Contains(a.line("FILTER.INFO f"), `"kind" "`+k.Name+`"`) {
			kind = k.Name
		}
	}
	return kind
}

// refusable are commands that some kinds refuse, with what comes before.
var refusable = []string{
	"FILTER.GROW f", "FILTER.FOLD f", "FILTER.CLEAR f", "FILTER.ADD f more", "FILTER.DEL f absent", "FILTER.UNION f f", "FILTER.REBUILD f COMMIT",
	"FILTER.REBUILD f BEGIN", "FILTER.REBUILD f BEGIN|FILTER.REBUILD f COMMIT", "FILTER.REBUILD f BEGIN|FEED|FILTER.REBUILD f COMMIT", "FILTER.REBUILD f BEGIN|FILTER.REBUILD f BEGIN",
}

// remedies are the commands that an error names, each way by itself. FEED and ADD are for all items, FILE is a larger filter.
var remedies = []struct{ text, ways string }{
	{"COMMIT FORCE drops them", "FEED|FILTER.REBUILD f COMMIT FORCE"},
	{"load sources of another size under a new key and RENAME it", "FILTER.REBUILD f ABORT|FILTER.LOAD new 1 FILE FROM s VERSION 1|RENAME new f"},
	{"load those instead, of another size under a new key", "FILTER.LOAD new 1 FILE FROM s VERSION 1|RENAME new f"},
	{"FEED the others, or COMMIT FORCE", "FEED|FILTER.REBUILD f COMMIT"},
	{"FEED the others, or COMMIT FORCE", "FEED|FILTER.REBUILD f COMMIT FORCE"},
	{"COMMIT FORCE if all were fed", "FEED|FILTER.REBUILD f COMMIT FORCE"},
	{"FEED some first", "FEED|FILTER.REBUILD f COMMIT"},
	{"FILTER.REBUILD key BEGIN opens one", "FILTER.REBUILD f BEGIN|FEED|FILTER.REBUILD f COMMIT FORCE"},
	{"FILTER.REBUILD makes a larger one", "FILTER.REBUILD f BEGIN CAPACITY 2000|FEED|FILTER.REBUILD f COMMIT"},
	{"bloomery build makes a larger one, FILTER.LOAD takes it", "FILTER.LOAD new 1 FILE|RENAME new f"},
	{"bloomery build makes one, FILTER.LOAD takes it", "FILTER.LOAD new 1 FILE|RENAME new f"},
	{"fill a new key and RENAME it to this one", "FILTER.CREATE new bloom CAPACITY 2000|ADD|RENAME new f"},
}

// namesCommand finds words in an error that look like those of a command to send.
var namesCommand = regexp.MustCompile(`[:;] .*(?:\b[A-Z]{2,}\.[A-Z]+|\b(?:COMMIT|ABORT|FEED|BEGIN|RENAME)\b)`)

// errors sends what a filter may refuse, and carries out what the error names: that is not refused, and no item is
// lost. An error that names a command must have a remedy here.
func (a *advised) errors(name string, fresh func()) {
	a.t.Helper()
	for _, lines := range refusable {
		start := func() string {
			a.line("DEL f new")
			fresh()
			return a.steps(lines)
		}
		failed := start()
		known := !strings.HasPrefix(failed, "-") || !namesCommand.MatchString(failed)
		for _, r := range remedies {
			if !strings.Contains(failed, r.text) {
				continue
			}
			if known {
				start()
			}
			known = true
			if got := a.steps(r.ways); strings.HasPrefix(got, "-") {
				a.t.Errorf("cluster %t, %s: %q is refused: %s: and then %q: %s", a.cluster, name, lines, failed, r.ways, got)
			} else if got := a.line("FILTER.HAS f " + strings.Join(a.items, " ")); !strings.HasPrefix(got, "[true") || strings.Contains(got, "false") {
				a.t.Errorf("cluster %t, %s: %q, then %q: items are lost: %.100s", a.cluster, name, lines, r.ways, got)
			}
		}
		if !known {
			a.t.Errorf("cluster %t, %s: what %q answers has no remedy here: %s", a.cluster, name, lines, failed)
		}
		a.line("FILTER.REBUILD f ABORT")
	}
}

// steps runs commands up to the first that fails, and returns the last answer.
func (a *advised) steps(lines string) (got string) {
	for line := range strings.SplitSeq(lines, "|") {
		words := strings.Fields(line)
		switch words[0] {
		case "FEED":
			words = append([]string{"FILTER.REBUILD", "f", "FEED"}, a.items...)
		case "ADD":
			words = append([]string{"FILTER.ADD", "new"}, a.items...)
		}
		if i := slices.Index(words, "FILE"); i > 0 {
			words[i] = a.file(a.kindOf(), 2000, 0.01, hashing.Hasher{})
		}
		if got = a.do(words...); strings.HasPrefix(got, "-") {
			return got
		}
	}
	return got
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
