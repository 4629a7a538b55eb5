package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// inside has calls of the commands that look into filters and change nothing; samples has
// those that write.
var inside = map[string][]string{
	"bf.exists": {"BF.EXISTS b i"}, "bf.mexists": {"BF.MEXISTS b i j"}, "bf.info": {"BF.INFO b"}, "bf.card": {"BF.CARD b"}, "bf.scandump": {"BF.SCANDUMP b 0"}, "bf.debug": {"BF.DEBUG b"},
	"cf.exists": {"CF.EXISTS c i"}, "cf.mexists": {"CF.MEXISTS c i j"}, "cf.count": {"CF.COUNT c i"}, "cf.info": {"CF.INFO c"}, "cf.scandump": {"CF.SCANDUMP c 0"}, "cf.debug": {"CF.DEBUG c"},
	"cms.query": {"CMS.QUERY m i"}, "cms.info": {"CMS.INFO m"},
	"topk.query": {"TOPK.QUERY k i"}, "topk.count": {"TOPK.COUNT k i"}, "topk.list": {"TOPK.LIST k"}, "topk.info": {"TOPK.INFO k"},
	"tdigest.info": {"TDIGEST.INFO d"}, "tdigest.min": {"TDIGEST.MIN d"}, "tdigest.max": {"TDIGEST.MAX d"}, "tdigest.quantile": {"TDIGEST.QUANTILE d 0.5"}, "tdigest.cdf": {"TDIGEST.CDF d 1"},
	"tdigest.rank": {"TDIGEST.RANK d 1"}, "tdigest.revrank": {"TDIGEST.REVRANK d 1"}, "tdigest.byrank": {"TDIGEST.BYRANK d 0"}, "tdigest.byrevrank": {"TDIGEST.BYREVRANK d 0"}, "tdigest.trimmed_mean": {"TDIGEST.TRIMMED_MEAN d 0 1"},
	"filter.has": {"FILTER.HAS f i"}, "filter.get": {"FILTER.GET values i"}, "filter.hash": {"FILTER.HASH f 1"}, "filter.hashash": {"FILTER.HASHASH f 1"}, "filter.count": {"FILTER.COUNT f i"}, "filter.info": {"FILTER.INFO f"}, "filter.card": {"FILTER.CARD f"},
	"filter.health": {"FILTER.HEALTH f"}, "filter.layers": {"FILTER.LAYERS p"}, "filter.density": {"FILTER.DENSITY p 4"}, "filter.dump": {"FILTER.DUMP f 0"}, "filter.news": {"FILTER.NEWS f"}, "filter.followers": {"FILTER.FOLLOWERS f"}, "filter.similar": {"FILTER.SIMILAR p q"},
	"filter.false": {"FILTER.FALSE f j"}, "filter.list": {"FILTER.LIST"}, "filter.where": {"FILTER.WHERE * i"},
	"dump": {"DUMP b", "DUMP f"}, "memory|usage": {"MEMORY USAGE b", "MEMORY USAGE f"},
}

// TestNothingIsAbsentElsewhere runs every command that looks into filters on a node that
// holds no contents. None of them is told of an item, of a count or of a size, and none of an
// error that does not say why.
func TestNothingIsAbsentElsewhere(t *testing.T) {
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		lines := append(inside[c.FullName()], samples[c.FullName()]...)
		if c.LooksInside() && len(lines) == 0 {
			t.Errorf("no call of %s", c.FullName())
		}
		for _, line := range lines {
			synctest.Test(t, func(t *testing.T) {
				b, d, _ := newNode(t, memlog.New(1, memlog.Faults{}))
				upgrade(t, d)
				values := setup(b)
				loadMap(t, b, "values")
				before := b.do(words(line, values)...)
				spreadOut(t, b, 2)
				got := b.do(words(line, values)...)
				onFilter := false
				for _, w := range strings.Fields(line)[1:] {
					e := b.state.Names.Lookup([]byte(w), 0)
					onFilter = onFilter || e != nil && contents.PartOf(e) != nil
				}
				told := strings.HasPrefix(got, "-CLUSTERDOWN ") || got == "-ERR item exists" || strings.Contains(got, "rebuild is open") // of a name
				told = told || len(c.Keys) == 0 && strings.Contains(got, "CLUSTERDOWN shard ")                                           // for each filter, beside others
				if c.LooksInside() && (onFilter || len(c.Keys) == 0) && !strings.HasPrefix(before, "-") && !told {
					t.Errorf("%s = %.100s, and it was %.100s", line, got, before)
				}
			})
		}
	})
}

// loadMap loads a map of one key.
func loadMap(t *testing.T, b *bench, name string) {
	t.Helper()
	m, err := ribbon.BuildMap([]uint64{hashing.Hasher{}.HashString("i")}, []uint32{7}, 8, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if got := b.do("FILTER.LOAD", name, "1", string(data)); got != "+OK" {
		t.Fatal(got)
	}
}

// spreadOut spreads contents, as records would: a node holds all of them.
func spreadOut(t *testing.T, b *bench, node uint32) {
	t.Helper()
	own := *b.state.Roster()
	own.Level = store.LevelRebuilds
	for n := uint32(len(own.Members)) + 1; n <= node; n++ {
		own.Members = append(slices.Clip(own.Members), roster.Member{Number: n})
	}
	own.Shards = &roster.Shards{Copies: 2, Changes: 1, Places: make([]roster.Place, placement.Shards)}
	for i := range own.Shards.Places {
		own.Shards.Places[i] = roster.Place{Version: 1, Copies: []roster.Copy{{Node: node, Phase: roster.Holds, Since: 1}}}
	}
	b.state.SetRoster(&own)
	if err := b.state.Resume(1, roster.Everything(1, own.Shards)); err != nil {
		t.Fatal(err)
	}
}

// TestWritesWhereContentsAreSpread asks that a node that holds all contents answers writes as
// before contents were spread, and that what it makes lies where its name says.
func TestWritesWhereContentsAreSpread(t *testing.T) {
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		for _, line := range samples[c.FullName()] {
			synctest.Test(t, func(t *testing.T) {
				var got [2]string
				for i := range got {
					b, d, _ := newNode(t, memlog.New(1, memlog.Faults{}))
					upgrade(t, d)
					values := setup(b)
					if i > 0 {
						spreadOut(t, b, 1)
					}
					got[i] = b.do(words(line, values)...)
					e := b.state.Names.Lookup([]byte("new"), 0)
					if i > 0 && e != nil && contents.PartOf(e) != nil && c.Name != "rename" && contents.PartOf(e).Shard() != placement.Base("new") {
						t.Errorf("%s: it lies in shard %d", line, contents.PartOf(e).Shard())
					}
				}
				if got[0] != got[1] {
					t.Errorf("%s = %.100s, and before %.100s", line, got[1], got[0])
				}
			})
		}
	})
}

// TestNamesElsewhere asks that what is about names alone is answered by a node that holds no
// contents, as by any other.
func TestNamesElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d, _ := newNode(t, memlog.New(1, memlog.Faults{}))
		upgrade(t, d)
		setup(b)
		lines := []string{"TYPE b", "TYPE f", "EXISTS b c f s", "TTL f", "EXPIRE f 100", "PERSIST f", "DBSIZE", "GET s", "RENAME f {x}f", "EXISTS f {x}f", "DEL {x}f c", "EXISTS c", "SET c v", "GET c"}
		var want []string
		for _, line := range lines {
			want = append(want, b.line(line))
		}
		b.line("FLUSHALL")
		setup(b)
		spreadOut(t, b, 2)
		for i, line := range lines {
			if got := b.line(line); got != want[i] || strings.HasPrefix(got, "-") {
				t.Errorf("%s = %s, want %s", line, got, want[i])
			}
		}
	})
}

// TestCreateWhatExists creates filters that exist, at nodes that hold some of their parts or none.
func TestCreateWhatExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.nodes[0].lines("FILTER.CREATE many bloom CAPACITY 1000 PARTS 16", "FILTER.CREATE one bloom CAPACITY 1000", "TOPK.RESERVE top 5")
		time.Sleep(time.Second)
		for i, b := range v.nodes {
			for line, want := range map[string]string{
				"FILTER.CREATE many bloom": "-ERR item exists", "FILTER.CREATE many bloom NX": ":0", "FILTER.CREATE many bloom PARTS 16 NX": ":0",
				"FILTER.CREATE one bloom": "-ERR item exists", "FILTER.CREATE one bloom NX": ":0",
				"FILTER.CREATE top bloom NX":           "-WRONGTYPE Operation against a key holding the wrong kind of value",
				"FILTER.CREATE many bloom LIKE one NX": ":0",
			} {
				if got := b.line(line); got != want {
					t.Errorf("node %d, %s = %s, want %s", i+1, line, got, want)
				}
			}
		}
	})
}
