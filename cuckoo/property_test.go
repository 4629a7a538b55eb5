package cuckoo_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
)

// A random history runs through variants of one filter: plain, reloaded after
// every step, cloned after every step. Beside them is an exact multiset of what
// was inserted, deleted and not refused. All must hold it at every step, end in
// the same bytes and, with all keys deleted, be as they were at first.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := drawConfig(t)
		fresh := func() *cuckoo.Filter {
			f, err := config.New()
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		s := &history{t: t, plain: fresh(), reloaded: fresh(), cloned: fresh(), members: map[uint64]uint64{}}
		s.pool = rapid.SliceOfN(rapid.Uint64(), 1, 400).Draw(t, "hashes")
		first := encoded(s.plain)
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			if rapid.IntRange(0, 14).Draw(t, "clear") == 0 {
				s.clear()
			}
			s.run(rapid.SliceOfN(rapid.IntRange(0, 3*len(s.pool)-1), 0, 200).Draw(t, "step"))
			s.reload()
			s.check()
		}
		for h, n := range s.members {
			for range n {
				s.remove(h)
			}
		}
		if !bytes.Equal(encoded(s.plain), first) {
			t.Fatal("all keys are deleted and the filter is not as it was at first")
		}
	})
}

func drawConfig(t *rapid.T) cuckoo.Config {
	if rapid.Bool().Draw(t, "shaped") {
		width := rapid.IntRange(4, 31).Draw(t, "width")
		if width == 31 {
			width = 32
		}
		return cuckoo.Config{Buckets: rapid.Uint64Range(1, 200).Draw(t, "buckets"), Width: width}
	}
	return cuckoo.Config{
		Capacity:  rapid.IntRange(1, 500).Draw(t, "n"),
		ErrorRate: rapid.Float64Range(1e-8, 0.9).Draw(t, "p"),
	}
}

// history is one run of TestHistories.
type history struct {
	t                       *rapid.T
	plain, reloaded, cloned *cuckoo.Filter
	pool                    []uint64
	members                 map[uint64]uint64
	items                   uint64
}

// run inserts two times out of three, else deletes.
func (s *history) run(steps []int) {
	for _, x := range steps {
		if h := s.pool[x/3]; x%3 < 2 {
			s.insert(h)
		} else {
			s.remove(h)
		}
	}
}

func (s *history) insert(h uint64) {
	before := encoded(s.plain)
	err := s.plain.InsertHash(h)
	if a, b := s.reloaded.InsertHash(h), s.cloned.InsertHash(h); (a == nil) != (err == nil) || (b == nil) != (err == nil) {
		s.t.Fatalf("insert: plain %v, reloaded %v, cloned %v", err, a, b)
	}
	if err == nil {
		s.members[h]++
		s.items++
		return
	}
	if !errors.Is(err, bloomery.ErrFull) || !bytes.Equal(encoded(s.plain), before) {
		s.t.Fatalf("insert: %v, want ErrFull and no change", err)
	}
}

func (s *history) remove(h uint64) {
	if s.members[h] == 0 {
		// Only what is certainly absent may be tried: another key's
		// fingerprint would go.
		if !s.plain.ContainsHash(h) && s.plain.DeleteHash(h) {
			s.t.Fatalf("key %#x, which is certainly absent, was deleted", h)
		}
		return
	}
	if !s.plain.DeleteHash(h) || !s.reloaded.DeleteHash(h) || !s.cloned.DeleteHash(h) {
		s.t.Fatalf("key %#x, which is there %d times, cannot be deleted", h, s.members[h])
	}
	s.members[h]--
	s.items--
}

func (s *history) clear() {
	s.plain.Clear()
	s.reloaded.Clear()
	s.cloned.Clear()
	clear(s.members)
	s.items = 0
}

// reload replaces the filters that are not the plain one by copies.
func (s *history) reload() {
	data := encoded(s.reloaded)
	s.reloaded = new(cuckoo.Filter)
	if err := s.reloaded.UnmarshalBinary(data); err != nil {
		s.t.Fatal(err)
	}
	s.cloned = s.cloned.Clone()
}

func (s *history) check() {
	for h, n := range s.members {
		for name, f := range map[string]*cuckoo.Filter{"plain": s.plain, "reloaded": s.reloaded, "cloned": s.cloned} {
			if n > 0 && !f.ContainsHash(h) {
				s.t.Fatalf("%s: key %#x is forgotten", name, h)
			}
			if got := f.CountHash(h); got < n || got > 8 || got > s.items {
				s.t.Fatalf("%s: key %#x has count %d, it is there %d times of %d", name, h, got, n, s.items)
			}
		}
	}
	if got := s.plain.Stats(); got.Items != s.items || !got.Exact {
		s.t.Fatalf("%d items, want exactly %d", got.Items, s.items)
	}
	if want := encoded(s.plain); !bytes.Equal(encoded(s.reloaded), want) || !bytes.Equal(encoded(s.cloned), want) {
		s.t.Fatal("the reloaded or the cloned filter differs from the plain one")
	}
}

// One history gives one file, on every machine: that of all searches for room
// as they were written first.
func TestOneHistoryOneFile(t *testing.T) {
	for width, want := range map[int]string{
		8:  "1740e5143d7167e9",
		13: "fafbee4b28d16e6c",
		24: "91c78478e1991832",
	} {
		f := shaped(t, 300, width)
		in := fillUp(f, 5)
		for i := 0; i < len(in); i += 3 {
			f.DeleteHash(in[i])
		}
		h := hashing.Seeded(6)
		for i := range uint64(500) {
			_ = f.InsertHash(h.HashUint64(i)) // some are refused
		}
		sum := sha256.Sum256(encoded(f))
		if got := hex.EncodeToString(sum[:8]); got != want {
			t.Errorf("width %d: the history gives file %s, want %s", width, got, want)
		}
	}
}
