package redisbloom_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign/redisbloom"
)

// filled returns one of each kind, with something in it, and questions whose
// answers differ from those of an empty one.
func filled(t testing.TB) map[string]struct {
	value redisbloom.Value
	asked func(redisbloom.Value) string
} {
	t.Helper()
	b, err1 := redisbloom.NewBloom(redisbloom.BloomConfig{ErrorRate: 0.01, Capacity: 100, Expansion: 2})
	c, err2 := redisbloom.NewCuckoo(redisbloom.CuckooConfig{Capacity: 64})
	m, err3 := redisbloom.NewCountMin(50, 4)
	k, err4 := redisbloom.NewTopK(redisbloom.TopKConfig{K: 5, Width: 50, Depth: 3})
	d, err5 := redisbloom.NewTDigest(100)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		item := fmt.Appendf(nil, "item %d", i)
		_, err1 = b.Add(item)
		err2 = c.Insert(item)
		m.Incr(item, uint64(i))
		_, _, err4 = k.Incr(item, int64(i+1))
		if err := errors.Join(err1, err2, err4, d.Add(float64(i*i))); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]struct {
		value redisbloom.Value
		asked func(redisbloom.Value) string
	}{
		"Bloom": {b, func(v redisbloom.Value) string {
			b := v.(*redisbloom.Bloom)
			found := make([]bool, 300)
			keys := make([][]byte, 300)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "item %d", 400+i)
			}
			b.ContainsKeys(found, keys)
			for i, key := range keys {
				if found[i] != b.Contains(key) {
					t.Errorf("ContainsKeys(%s) = %v, want what Contains reports", key, found[i])
				}
			}
			return fmt.Sprint(found, b)
		}},
		"Cuckoo": {c, func(v redisbloom.Value) string {
			c := v.(*redisbloom.Cuckoo)
			return fmt.Sprint(c.Count([]byte("item 7")), c.Contains([]byte("other")), c)
		}},
		"CountMin": {m, func(v redisbloom.Value) string {
			m := v.(*redisbloom.CountMin)
			return fmt.Sprint(m.Count([]byte("item 7")), m.Stats())
		}},
		"TopK": {k, func(v redisbloom.Value) string {
			k := v.(*redisbloom.TopK)
			s := fmt.Sprint(k.Stats(), k.Contains([]byte("item 499")), k.Count([]byte("item 499")))
			for item, n := range k.All() {
				s += fmt.Sprintf(" %s %d", item, n)
			}
			return s
		}},
		"TDigest": {d, func(v redisbloom.Value) string {
			d := v.(*redisbloom.TDigest)
			s := d.Stats()
			return fmt.Sprint(d.Quantile(0.5), d.CDF(900), d.Rank(900), d.ByRank(3), d.TrimmedMean(0.1, 0.9), s.Count, s.Min, s.Max)
		}},
	}
}

func TestDumpsComeBack(t *testing.T) {
	for kind, c := range filled(t) {
		dump, err := c.value.MarshalBinary()
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		back, err := redisbloom.Open(dump)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if got, want := c.asked(back), c.asked(c.value); got != want {
			t.Errorf("%s: answers %s, want %s", kind, got, want)
		}
		again, err := back.MarshalBinary()
		if err != nil || !bytes.Equal(again, dump) {
			t.Errorf("%s: dumped again differs: %v", kind, err)
		}
		for i := range dump { // no allocation by a length that is not checked, no panic
			if _, err := redisbloom.Open(dump[:i]); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Fatalf("%s: the first %d bytes: %v", kind, i, err)
			}
		}
		for other, o := range filled(t) {
			err := o.value.UnmarshalBinary(dump)
			if (err == nil) != (other == kind) || errors.Is(err, bloomery.ErrIncompatible) != (other != kind) {
				t.Errorf("%s into a %s: %v, want ErrIncompatible for another kind", kind, other, err)
			}
			if other != kind && o.asked(o.value) != filled(t)[other].asked(o.value) {
				t.Errorf("%s: a refused dump has changed it", other)
			}
		}
		if _, err := json.Marshal(c.value); err == nil || !strings.Contains(err.Error(), "MarshalBinary") {
			t.Errorf("%s: JSON: %v", kind, err)
		}
	}
}

func TestChunksComeBack(t *testing.T) {
	values := filled(t)
	b, c := values["Bloom"].value.(*redisbloom.Bloom), values["Cuckoo"].value.(*redisbloom.Cuckoo)
	b2, err := redisbloom.LoadBloom(b.Chunks())
	if err != nil {
		t.Fatal(err)
	}
	c2, err := redisbloom.LoadCuckoo(c.Chunks())
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]redisbloom.Value{{b, b2}, {c, c2}} {
		want, _ := pair[0].MarshalBinary()
		if got, err := pair[1].MarshalBinary(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%T by chunks differs: %v", pair[0], err)
		}
	}
	if _, err := redisbloom.LoadBloom(func(func(int64, []byte) bool) {}); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("no chunks: %v", err)
	}
	if _, err := redisbloom.LoadCuckoo(b.Chunks()); err == nil {
		t.Error("the chunks of a Bloom are those of a Cuckoo")
	}
	if _, err := redisbloom.LoadBloom(func(yield func(int64, []byte) bool) {
		for at, data := range b.Chunks() {
			if !yield(at+1, data) {
				return
			}
		}
	}); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("chunks at other places: %v", err)
	}
}

// What a RedisBloom server answered to DUMP is opened and dumped to the same byte.
func TestRecordedDumps(t *testing.T) {
	f, err := os.Open("../../internal/redisbloom/testdata/sketches.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dumps := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var call struct {
			Args  []string
			Reply string
		}
		if json.Unmarshal(s.Bytes(), &call) != nil || len(call.Args) == 0 || call.Args[0] != "DUMP" {
			continue
		}
		_, text, _ := strings.Cut(call.Reply, "\r\n")
		var dump []byte
		for _, r := range strings.TrimSuffix(text, "\r\n") {
			dump = append(dump, byte(r))
		}
		v, err := redisbloom.Open(dump)
		if err != nil {
			t.Fatalf("%q: %v", call.Reply, err)
		}
		again, err := v.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		// The last ten bytes are the version of the server that wrote it, and the
		// checksum of all.
		if n := len(dump) - 10; len(again) != len(dump) || !bytes.Equal(again[:n], dump[:n]) {
			t.Errorf("%T dumped again: %x, want %x", v, again, dump)
		}
		dumps++
	}
	if dumps < 6 {
		t.Errorf("%d dumps in the recording, want 6", dumps)
	}
}

func TestZeroValues(t *testing.T) {
	var (
		b redisbloom.Bloom
		c redisbloom.Cuckoo
		m redisbloom.CountMin
		k redisbloom.TopK
		d redisbloom.TDigest
	)
	key := []byte("key")
	if b.Contains(key) || c.Contains(key) || c.Count(key) != 0 || c.Delete(key) || m.Count(key) != 0 || k.Contains(key) || k.Count(key) != 0 {
		t.Error("a zero value has something in it")
	}
	b.ContainsKeys(make([]bool, 1), [][]byte{key})
	if _, err := b.Add(key); err == nil {
		t.Error("a zero Bloom takes a key")
	}
	if err := c.Insert(key); err == nil {
		t.Error("a zero Cuckoo takes a key")
	}
	if _, _, err := k.Incr(key, 1); err == nil {
		t.Error("a zero TopK takes an item")
	}
	if err := errors.Join(d.Add(1), d.Merge(&d), m.Merge(nil, nil)); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("zero sketches: %v", err)
	}
	if got := d.Quantile(0.5); !math.IsNaN(got) || d.Rank(1) != -2 || !math.IsNaN(d.Stats().Min) {
		t.Errorf("quantile of no values = %v", got)
	}
	for range k.All() {
		t.Error("a zero TopK has an item")
	}
	_, _, _, _ = b.Stats(), c.Stats(), m.Stats(), k.Stats()
	for range b.Chunks() {
		t.Error("a zero Bloom has a chunk")
	}
	for _, v := range []redisbloom.Value{&b, &c, &m, &k, &d} {
		if _, err := v.MarshalBinary(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("a zero %T is dumped: %v", v, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, c := range filled(f) {
		dump, _ := c.value.MarshalBinary()
		f.Add(dump)
	}
	f.Fuzz(func(t *testing.T, dump []byte) {
		v, err := redisbloom.Open(dump)
		if err != nil {
			return
		}
		again, err := v.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := redisbloom.Open(again); err != nil {
			t.Fatalf("what was opened and dumped cannot be opened: %v", err)
		}
	})
}

// TestBloomConfig asks for RedisBloom's expansion where none is given, and for a filter
// that refuses items when it is full.
func TestBloomConfig(t *testing.T) {
	usual, err1 := redisbloom.NewBloom(redisbloom.BloomConfig{ErrorRate: 0.01, Capacity: 100})
	given, err2 := redisbloom.NewBloom(redisbloom.BloomConfig{ErrorRate: 0.01, Capacity: 100, Expansion: 2})
	fixed, err3 := redisbloom.NewBloom(redisbloom.BloomConfig{ErrorRate: 0.01, Capacity: 100, Expansion: 2, NonScaling: true})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	var full error
	for i := range 500 {
		item := fmt.Appendf(nil, "item %d", i)
		_, err1 := usual.Add(item)
		_, err2 := given.Add(item)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if _, err := fixed.Add(item); err != nil {
			full = err
		}
	}
	a, err1 := usual.MarshalBinary()
	b, err2 := given.MarshalBinary()
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("the default of Expansion is not 2: %v", err)
	}
	if !errors.Is(full, bloomery.ErrFull) {
		t.Errorf("a filter that does not grow: %v, want ErrFull", full)
	}
	for _, c := range []redisbloom.BloomConfig{{Capacity: 100}, {ErrorRate: 0.01}, {ErrorRate: 1, Capacity: 100}} {
		if _, err := redisbloom.NewBloom(c); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
