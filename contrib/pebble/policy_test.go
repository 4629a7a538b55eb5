package pebblefilter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bloomery/bloomery"
	pebblefilter "github.com/bloomery/bloomery/contrib/pebble"
	"github.com/bloomery/bloomery/hashing"
)

var configs = map[string]pebblefilter.Config{
	"blocked":        {Kind: pebblefilter.Blocked, BitsPerKey: 10},
	"blocked, rate":  {Kind: pebblefilter.Blocked, ErrorRate: 0.01},
	"fuse8":          {Kind: pebblefilter.Fuse8},
	"ribbon":         {Kind: pebblefilter.Ribbon, ErrorRate: 0.01},
	"ribbon, secret": {Kind: pebblefilter.Ribbon, ErrorRate: 0.01, Hasher: hashing.Keyed([16]byte{1})},
}

func made(t *testing.T, c pebblefilter.Config) *pebblefilter.Policy {
	t.Helper()
	p, err := c.New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func key(i int) []byte { return fmt.Appendf(nil, "user:%08d", i) }

// opened returns the database in files, whose tables get filters of p.
func opened(t *testing.T, files vfs.FS, p pebble.FilterPolicy, others ...pebble.FilterPolicy) *pebble.DB {
	t.Helper()
	opts := &pebble.Options{FS: files, Logger: logger{t}, Filters: map[string]pebble.FilterPolicy{}}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = p
	}
	for _, o := range others {
		opts.Filters[o.Name()] = o
	}
	db, err := pebble.Open("db", opts)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// logger keeps the words of Pebble for tests that fail.
type logger struct{ *testing.T }

func (l logger) Infof(string, ...any) {}

// written returns the files of a database with the even ones of 2n keys, all in the lowest
// level.
func written(t *testing.T, p pebble.FilterPolicy, n int) vfs.FS {
	t.Helper()
	files := vfs.NewMem()
	db := opened(t, files, p)
	for i := range n {
		if err := db.Set(key(2*i), []byte("value"), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Flush(), db.Compact(context.Background(), key(0), key(2*n), false), db.Close()); err != nil {
		t.Fatal(err)
	}
	return files
}

// asked looks up all of 2n keys, by Get and by an iterator that asks filters of every level,
// and returns what the filters have ruled out and let pass for the latter.
func asked(t *testing.T, db *pebble.DB, n int) (hits, misses int64) {
	t.Helper()
	for i := range 2 * n {
		_, closer, err := db.Get(key(i))
		if there := i%2 == 0; there && err != nil || !there && !errors.Is(err, pebble.ErrNotFound) {
			t.Fatalf("%s: %v, want it there: %v", key(i), err, there)
		}
		if err == nil {
			closer.Close()
		}
	}
	before := db.Metrics().Filter
	iter, err := db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * n {
		if got, want := iter.SeekPrefixGE(key(i)), i%2 == 0; got != want {
			t.Fatalf("%s: found %v, want %v", key(i), got, want)
		}
	}
	after := db.Metrics().Filter
	if err := errors.Join(iter.Error(), iter.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	return after.Hits - before.Hits, after.Misses - before.Misses
}

// Tables of a real database: no key is lost, and filters rule out what they promise. At 1%,
// 50,000 absent keys differ by 22 (one sigma).
func TestDatabase(t *testing.T) {
	const n = 50_000
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			p := made(t, c)
			hits, misses := asked(t, opened(t, written(t, p, n), p), n)
			if wrong := misses - n; hits+misses < 2*n-100 || wrong > 500+3*22 {
				t.Errorf("%d ruled out, %d passed wrongly, want nearly all, and at most 1%% + 3 sigma", hits, wrong)
			}
		})
	}
}

// A database whose policy changes reads its old tables, ours and built in, with their filters.
func TestPolicyChanges(t *testing.T) {
	const n = 1000
	blocked, ribbon := made(t, configs["blocked"]), made(t, configs["ribbon"])
	for name, c := range map[string]struct {
		old pebble.FilterPolicy
		now []pebble.FilterPolicy
	}{
		"another kind":  {blocked, []pebble.FilterPolicy{ribbon}},
		"from built in": {bloom.FilterPolicy(10), []pebble.FilterPolicy{ribbon, bloom.FilterPolicy(10)}},
		"to built in":   {ribbon, []pebble.FilterPolicy{bloom.FilterPolicy(10), ribbon}},
	} {
		files := written(t, c.old, n)
		if hits, _ := asked(t, opened(t, files, c.now[0], c.now[1:]...), n); hits < n*9/10 {
			t.Errorf("%s: %d of %d absent keys ruled out", name, hits, n)
		}
	}
}

// A filter of another hasher is not asked at all: its answers would lose keys.
func TestAnotherHasherIsIgnored(t *testing.T) {
	const n = 1000
	files := written(t, made(t, configs["ribbon"]), n)
	if hits, misses := asked(t, opened(t, files, made(t, configs["ribbon, secret"])), n); hits+misses > 0 {
		t.Errorf("filters were asked %d times", hits+misses)
	}
}

// Filters of any number of keys, one after the other by one writer, are appended, and hold
// their keys. Keys that come twice count once.
func TestWriter(t *testing.T) {
	for name, c := range configs {
		p := made(t, c)
		w := p.NewWriter(pebble.TableFilter)
		for _, n := range []int{1, 0, 30, 5000, 30} {
			for i := range n {
				w.AddKey(key(i))
				w.AddKey(key(i))
			}
			data := w.Finish([]byte("before"))
			filter, ok := bytes.CutPrefix(data, []byte("before"))
			if !ok || n == 5000 && len(filter) > 5000*12/8 {
				t.Errorf("%s: %d keys take %d bytes behind %q", name, n, len(filter), data[:6])
			}
			for i := range n {
				if !p.MayContain(pebble.TableFilter, filter, key(i)) {
					t.Fatalf("%s: %d keys: %s is forgotten", name, n, key(i))
				}
			}
		}
	}
}

// Bytes that are no filter make every key possible.
func TestHostileBytes(t *testing.T) {
	for name, c := range configs {
		p := made(t, c)
		for _, data := range [][]byte{nil, {0}, {7}, make([]byte, 64), make([]byte, 65), bytes.Repeat([]byte{0xff}, 1000)} {
			if !p.MayContain(pebble.TableFilter, data, key(1)) {
				t.Errorf("%s: %d bytes that are no filter rule a key out", name, len(data))
			}
		}
	}
}

func TestMayContainAllocatesNothing(t *testing.T) {
	for name, c := range configs {
		p := made(t, c)
		w := p.NewWriter(pebble.TableFilter)
		for i := range 1000 {
			w.AddKey(key(i))
		}
		filter, k := w.Finish(nil), key(1)
		if n := testing.AllocsPerRun(100, func() { p.MayContain(pebble.TableFilter, filter, k) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, c := range map[string]pebblefilter.Config{
		"nothing":          {},
		"both":             {BitsPerKey: 10, ErrorRate: 0.01},
		"negative":         {BitsPerKey: -1},
		"NaN":              {BitsPerKey: math.NaN()},
		"ribbon, no rate":  {Kind: pebblefilter.Ribbon},
		"ribbon, 1":        {Kind: pebblefilter.Ribbon, ErrorRate: 1},
		"ribbon, 1e-30":    {Kind: pebblefilter.Ribbon, ErrorRate: 1e-30},
		"ribbon with bits": {Kind: pebblefilter.Ribbon, ErrorRate: 0.01, BitsPerKey: 10},
		"fuse8 with rate":  {Kind: pebblefilter.Fuse8, ErrorRate: 0.01},
		"unknown kind":     {Kind: 3},
		"keyless":          {Kind: pebblefilter.Fuse8, Hasher: hashing.Keyless(1)},
	} {
		if _, err := c.New(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
}
