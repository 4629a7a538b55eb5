package leveldbfilter_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/bloomery/bloomery"
	leveldbfilter "github.com/bloomery/bloomery/contrib/goleveldb"
	"github.com/bloomery/bloomery/hashing"
)

func made(t *testing.T, c leveldbfilter.Config) *leveldbfilter.Filter {
	t.Helper()
	f, err := c.New()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// counted counts what a filter is asked for and what it lets pass.
type counted struct {
	filter.Filter
	asked, passed int
}

func (c *counted) Contains(data, key []byte) bool {
	c.asked++
	yes := c.Filter.Contains(data, key)
	if yes {
		c.passed++
	}
	return yes
}

func key(i int) []byte { return fmt.Appendf(nil, "user:%08d", i) }

// written returns the files of a database with the even ones of 2n keys.
func written(t *testing.T, f filter.Filter, n int) storage.Storage {
	t.Helper()
	files := storage.NewMemStorage()
	db, err := leveldb.Open(files, &opt.Options{Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := db.Put(key(2*i), []byte("value"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.CompactRange(util.Range{}), db.Close()); err != nil {
		t.Fatal(err)
	}
	return files
}

// asked looks up all of 2n keys in files with filters f.
func asked(t *testing.T, files storage.Storage, f *counted, n int) {
	t.Helper()
	db, err := leveldb.Open(files, &opt.Options{Filter: f, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range 2 * n {
		_, err := db.Get(key(i), nil)
		if there := i%2 == 0; there && err != nil || !there && !errors.Is(err, leveldb.ErrNotFound) {
			t.Fatalf("%s: %v, want it there: %v", key(i), err, there)
		}
	}
}

// Blocks of a real database: no key is lost, and the rate is that of 10 bits per key or
// better. At 1%, 50,000 absent keys differ by 22 (one sigma).
func TestDatabase(t *testing.T) {
	const n = 50_000
	for name, c := range map[string]leveldbfilter.Config{
		"bits": {BitsPerKey: 10}, "rate": {ErrorRate: 0.01}, "keyed": {BitsPerKey: 10, Hasher: hashing.Keyed([16]byte{1})},
	} {
		f := &counted{Filter: made(t, c)}
		asked(t, written(t, f, n), f, n)
		if wrong := f.passed - n; f.asked < 2*n-1000 || wrong > 500+3*22 {
			t.Errorf("%s: %d asked, %d passed wrongly, want nearly all, and at most 1%% + 3 sigma", name, f.asked, wrong)
		}
	}
}

// A filter of another hasher is not asked at all: its answers would lose keys.
func TestAnotherHasherIsIgnored(t *testing.T) {
	const n = 1000
	files := written(t, made(t, leveldbfilter.Config{BitsPerKey: 10}), n)
	f := &counted{Filter: made(t, leveldbfilter.Config{BitsPerKey: 10, Hasher: hashing.Keyed([16]byte{1})})}
	asked(t, files, f, n)
	if f.asked > 0 {
		t.Errorf("filters were asked %d times", f.asked)
	}
}

// buffer is a filter.Buffer.
type buffer struct{ bytes.Buffer }

func (b *buffer) Alloc(n int) []byte {
	b.Write(make([]byte, n))
	return b.Bytes()[b.Len()-n:]
}

// Filters of any number of keys, one after the other by one generator, hold their keys.
func TestGenerator(t *testing.T) {
	f := made(t, leveldbfilter.Config{BitsPerKey: 10})
	g := f.NewGenerator()
	for _, n := range []int{1, 20, 50, 20, 300, 0, 300, 50} {
		var b buffer
		for i := range n {
			g.Add(key(i))
		}
		g.Generate(&b)
		wrong := 0
		for i := range n {
			if !f.Contains(b.Bytes(), key(i)) {
				t.Errorf("%d keys: %s is forgotten", n, key(i))
			}
		}
		for i := range 1000 {
			if f.Contains(b.Bytes(), key(1<<20+i)) {
				wrong++
			}
		}
		if wrong > 10+3*3 { // 3 is about one sigma of 10
			t.Errorf("%d keys: %d of 1000 absent keys pass, want at most 1%% + 3 sigma", n, wrong)
		}
	}
}

// Bytes that are no filter make every key possible.
func TestHostileBytes(t *testing.T) {
	f := made(t, leveldbfilter.Config{BitsPerKey: 10})
	for _, data := range [][]byte{nil, {0}, {7}, make([]byte, 64), make([]byte, 65), bytes.Repeat([]byte{0xff}, 1000)} {
		if !f.Contains(data, key(1)) {
			t.Errorf("%d bytes that are no filter rule a key out", len(data))
		}
	}
}

func TestContainsAllocatesNothing(t *testing.T) {
	f := made(t, leveldbfilter.Config{BitsPerKey: 10})
	g := f.NewGenerator()
	g.Add(key(1))
	var b buffer
	g.Generate(&b)
	data, k := b.Bytes(), key(1)
	if n := testing.AllocsPerRun(100, func() { f.Contains(data, k) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, c := range map[string]leveldbfilter.Config{
		"nothing":  {},
		"both":     {BitsPerKey: 10, ErrorRate: 0.01},
		"negative": {BitsPerKey: -1},
		"NaN":      {BitsPerKey: math.NaN()},
		"infinite": {BitsPerKey: math.Inf(1)},
		"rate 1":   {ErrorRate: 1},
		"rate NaN": {ErrorRate: math.NaN()},
		"keyless":  {BitsPerKey: 10, Hasher: hashing.Keyless(1)},
	} {
		if _, err := c.New(); !errors.Is(err, bloomery.ErrParameter) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
}
