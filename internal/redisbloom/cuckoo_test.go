package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

func TestCuckooParameters(t *testing.T) {
	good := redisbloom.CuckooParams{Capacity: 1000, BucketSize: 4, MaxIterations: 20, Expansion: 1}
	for _, change := range []func(p *redisbloom.CuckooParams){
		func(p *redisbloom.CuckooParams) { p.Capacity = 7 },
		func(p *redisbloom.CuckooParams) { p.Capacity = 1<<30 + 1 },
		func(p *redisbloom.CuckooParams) { p.BucketSize = 0 },
		func(p *redisbloom.CuckooParams) { p.BucketSize = 256 },
		func(p *redisbloom.CuckooParams) { p.MaxIterations = 0 },
		func(p *redisbloom.CuckooParams) { p.Expansion = 32769 },
	} {
		p := good
		change(&p)
		if _, err := redisbloom.NewCuckoo(p); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("NewCuckoo(%+v): %v", p, err)
		}
	}
	for _, c := range []struct {
		capacity        uint64
		bucket, expand  uint16
		buckets, growth uint64
	}{
		{1000, 4, 1, 256, 1},
		{5, 2, 0, 2, 0},
		{1024, 2, 3, 512, 4},
		{16, 2, 5, 8, 8},
		{1 << 30, 1, 32768, 1 << 30, 32768},
	} {
		p := redisbloom.CuckooParams{Capacity: c.capacity, BucketSize: c.bucket, MaxIterations: 20, Expansion: c.expand}
		want := 96 + 32 + c.buckets*uint64(c.bucket)
		if got, err := p.Bytes(); got != want || err != nil {
			t.Errorf("%+v.Bytes() = %d, %v, want %d", p, got, err, want)
		}
		if c.capacity > 1<<20 {
			continue
		}
		f := newCuckoo(t, p)
		if f.Buckets() != c.buckets || uint64(f.Expansion()) != c.growth || f.Bytes() != want {
			t.Errorf("%+v: %d buckets, expansion %d, %d bytes", p, f.Buckets(), f.Expansion(), f.Bytes())
		}
	}
	if got := newCuckoo(t, redisbloom.CuckooParams{Capacity: 1024, BucketSize: 2, MaxIterations: 20}).Size(); got != 1080 {
		t.Errorf("Size() = %d, want 1080", got)
	}
}

// TestCuckooFull fills a filter that must not grow: an insert that finds no
// room changes nothing, and the batch goes on after it.
func TestCuckooFull(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 64, BucketSize: 2, MaxIterations: 20})
	refused := 0
	for i := range 200 {
		before, _ := c.MarshalBinary()
		err := c.InsertDigest(redisbloom.CuckooDigest(item(i)))
		if err == nil {
			continue
		}
		refused++
		if !errors.Is(err, redisbloom.ErrFull) || !errors.Is(err, bloomery.ErrFull) {
			t.Fatalf("InsertDigest: %v, want ErrFull", err)
		}
		if after, _ := c.MarshalBinary(); !bytes.Equal(before, after) {
			t.Fatalf("item%d was refused and changed the filter", i)
		}
	}
	if refused < 136 || c.Items() != uint64(200-refused) || c.GrowBytes() != 0 {
		t.Errorf("%d refused, %d items of 64, GrowBytes %d", refused, c.Items(), c.GrowBytes())
	}
	dst := make([]int8, 2)
	hs := []uint64{redisbloom.CuckooDigest([]byte("hello")), redisbloom.CuckooDigest(item(0))}
	if n, err := c.InsertNXDigests(dst, hs, math.MaxUint64); n != 2 || !errors.Is(err, redisbloom.ErrFull) {
		t.Errorf("InsertNXDigests = %d, %v", n, err)
	}
	if dst[0] != redisbloom.Refused || dst[1] != redisbloom.Present {
		t.Errorf("InsertNXDigests = %v", dst)
	}
}

// TestCuckooRoom limits growth by bytes.
func TestCuckooRoom(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 8, BucketSize: 2, MaxIterations: 20, Expansion: 2})
	hs, dst := make([]uint64, 100), make([]int8, 100)
	for i := range hs {
		hs[i] = redisbloom.CuckooDigest(item(i))
	}
	before, grow := c.Bytes(), c.GrowBytes()
	n, err := c.InsertDigests(dst, hs, grow)
	if !errors.Is(err, memory.ErrRoom) || !errors.Is(err, bloomery.ErrTooLarge) || errors.Is(err, redisbloom.ErrGrowth) {
		t.Errorf("InsertDigests: %v, want ErrBudget", err)
	}
	if c.Filters() != 2 || c.Bytes() != before+grow || n < 8 || n > 24 || c.Items() != uint64(n) {
		t.Errorf("%d done, %d filters, %d bytes, want 2 and %d", n, c.Filters(), c.Bytes(), before+grow)
	}
	state, _ := c.MarshalBinary()
	if m, err := c.InsertNXDigests(dst, hs[n:], 10); m != 0 || !errors.Is(err, memory.ErrRoom) {
		t.Errorf("InsertNXDigests without room = %d, %v", m, err)
	}
	if after, _ := c.MarshalBinary(); !bytes.Equal(after, state) {
		t.Error("InsertNXDigests without room changed the filter")
	}
	if m, err := c.InsertDigests(dst[n:], hs[n:], math.MaxUint64); m != 100-n || err != nil {
		t.Errorf("InsertDigests with room = %d, %v", m, err)
	}
	whole := newCuckoo(t, redisbloom.CuckooParams{Capacity: 8, BucketSize: 2, MaxIterations: 20, Expansion: 2})
	_, _ = whole.InsertDigests(dst, hs, math.MaxUint64)
	equal(t, c.MarshalBinary, whole.MarshalBinary)
}

// model is the law of the filter restated as plainly as possible, over lists of
// slots, for the property test: it knows no words, masks or shared positions.
type model struct {
	subs            [][][]byte
	items, deletes  int
	bucket, kicks   int
	buckets, growth uint64
}

func (m *model) pair(k int, h uint64, fp byte) [2]uint64 {
	n := uint64(len(m.subs[k]))
	return [2]uint64{h % n, (h ^ uint64(fp)*0x5bd1e995) % n}
}

func (m *model) grow() {
	n := m.buckets
	for range m.subs {
		n *= m.growth
	}
	s := make([][]byte, n)
	for i := range s {
		s[i] = make([]byte, m.bucket)
	}
	m.subs = append(m.subs, s)
}

// store puts v into the first slot of bucket b that holds old.
func (m *model) store(k int, b uint64, old, v byte) bool {
	for i, x := range m.subs[k][b] {
		if x == old {
			m.subs[k][b][i] = v
			return true
		}
	}
	return false
}

func (m *model) insert(h uint64) bool {
	fp := byte(h%255) + 1
	for k := range slices.Backward(m.subs) {
		for _, b := range m.pair(k, h, fp) {
			if m.store(k, b, 0, fp) {
				m.items++
				return true
			}
		}
	}
	last := len(m.subs) - 1
	saved := make([][]byte, len(m.subs[last]))
	for i, b := range m.subs[last] {
		saved[i] = bytes.Clone(b)
	}
	b, carried := m.pair(last, h, fp)[0], fp
	for i := range m.kicks {
		v := i % m.bucket
		m.subs[last][b][v], carried = carried, m.subs[last][b][v]
		b = m.pair(last, b, carried)[1]
		if m.store(last, b, 0, carried) {
			m.items++
			return true
		}
	}
	m.subs[last] = saved
	if m.growth == 0 {
		return false
	}
	m.grow()
	return m.insert(h)
}

func (m *model) delete(h uint64) bool {
	fp := byte(h%255) + 1
	for k := range slices.Backward(m.subs) {
		for _, b := range m.pair(k, h, fp) {
			if m.store(k, b, fp, 0) {
				m.items--
				m.deletes++
				if len(m.subs) > 1 && float64(m.deletes) > 0.10*float64(m.items) {
					m.compact(true)
				}
				return true
			}
		}
	}
	return false
}

func (m *model) compact(stop bool) {
	for x := len(m.subs) - 1; x > 0; x-- {
		left := 0
		for b := range m.subs[x] {
			for i, fp := range m.subs[x][b] {
				if fp == 0 {
					continue
				}
				left++
				for k := 0; k < x && left > 0; k++ {
					p := m.pair(k, uint64(b), fp)
					if m.store(k, p[0], 0, fp) || m.store(k, p[1], 0, fp) {
						m.subs[x][b][i] = 0
						left--
						break
					}
				}
			}
		}
		if left == 0 && x == len(m.subs)-1 {
			m.subs = m.subs[:x]
		}
		if left > 0 && stop {
			break
		}
	}
	m.deletes = 0
}

func (m *model) count(h uint64) (n uint64) {
	fp := byte(h%255) + 1
	for k := range m.subs {
		for _, b := range m.pair(k, h, fp) {
			n += uint64(bytes.Count(m.subs[k][b], []byte{fp}))
		}
	}
	return n
}

func (m *model) bytes() []byte {
	var out []byte
	for _, s := range m.subs {
		out = append(out, bytes.Join(s, nil)...)
	}
	return out
}

func cuckooBytes(t fataler, c *redisbloom.Cuckoo) []byte {
	t.Helper()
	var out []byte
	for iter := int64(1); ; {
		next, data, err := c.ScanDump(iter)
		if err != nil {
			t.Fatal(err)
		}
		if next == 0 {
			return out
		}
		out = append(out, data...)
		iter = next
	}
}

// TestCuckooHistory runs random histories through the filter, through one that
// is reloaded all the time, and through the model; slots are compared after
// every step. A multiset of the keys checks that nothing is forgotten as long
// as only present keys are deleted.
func TestCuckooHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := redisbloom.CuckooParams{
			BucketSize:    rapid.SampledFrom([]uint16{1, 2, 3, 4, 5, 8}).Draw(t, "bucket"),
			MaxIterations: rapid.SampledFrom([]uint16{1, 2, 20, 100}).Draw(t, "kicks"),
			Expansion:     rapid.SampledFrom([]uint16{0, 1, 2, 4}).Draw(t, "expansion"),
		}
		p.Capacity = uint64(p.BucketSize) * rapid.Uint64Range(2, 16).Draw(t, "buckets")
		c, err := redisbloom.NewCuckoo(p)
		if err != nil {
			t.Fatal(err)
		}
		m := &model{bucket: int(p.BucketSize), kicks: int(p.MaxIterations), buckets: c.Buckets(), growth: uint64(p.Expansion)}
		m.grow()
		stored := reloadCuckoo(t, c)
		keys := map[int]int{}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			key := rapid.IntRange(0, 60).Draw(t, "key")
			h := redisbloom.CuckooDigest(item(key))
			switch op := rapid.IntRange(0, 11).Draw(t, "op"); {
			case op < 7:
				ok := m.insert(h)
				if err := c.InsertDigest(h); (err == nil) != ok {
					t.Fatalf("InsertDigest(%d): %v, want %v", key, err, ok)
				}
				if err := stored.InsertDigest(h); (err == nil) != ok {
					t.Fatalf("reloaded: InsertDigest(%d): %v, want %v", key, err, ok)
				}
				if ok {
					keys[key]++
				}
			case op < 11 && keys[key] > 0:
				if !m.delete(h) || !c.DeleteDigest(h) || !stored.DeleteDigest(h) {
					t.Fatalf("DeleteDigest(%d) found nothing", key)
				}
				keys[key]--
			case op == 11:
				m.compact(false)
				c.Compact()
				stored.Compact()
			}
			if got, want := cuckooBytes(t, c), m.bytes(); !bytes.Equal(got, want) {
				t.Fatalf("slots:\n got %x\nwant %x", got, want)
			}
			if rapid.IntRange(0, 7).Draw(t, "reload") == 0 {
				stored = reloadCuckoo(t, stored)
			}
			if got, want := stored.AppendHeader(nil), c.AppendHeader(nil); !bytes.Equal(got, want) {
				t.Fatalf("reloaded header:\n got %x\nwant %x", got, want)
			}
			if c.Items() != uint64(m.items) || c.Deletes() != uint64(m.deletes) || c.Filters() != len(m.subs) {
				t.Fatalf("%d items, %d deletes, %d filters, want %d, %d, %d",
					c.Items(), c.Deletes(), c.Filters(), m.items, m.deletes, len(m.subs))
			}
		}
		dst := make([]bool, 1)
		for key, n := range keys {
			h := redisbloom.CuckooDigest(item(key))
			if got := c.CountDigest(h); got != m.count(h) || got < uint64(n) {
				t.Fatalf("CountDigest(%d) = %d, want %d, at least %d", key, got, m.count(h), n)
			}
			c.ContainsDigests(dst, []uint64{h})
			if want := m.count(h) > 0; c.Contains(item(key)) != want || dst[0] != want {
				t.Fatalf("Contains(%d) = %v, want %v", key, c.Contains(item(key)), want)
			}
		}
	})
}

// TestCuckooCompact compacts random slots, among them sub-filters that become
// empty below one that does not.
func TestCuckooCompact(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	inner := 0
	for range 3000 {
		p := redisbloom.CuckooParams{Capacity: 8, BucketSize: 1 + uint16(rng.IntN(2)), MaxIterations: 5, Expansion: 1 << rng.IntN(2)}
		header := newCuckoo(t, p).AppendHeader(nil)
		header[0], header[24] = 1, 4
		h, err := redisbloom.ParseCuckooHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		c := newFromHeader(t, h)
		m := &model{bucket: int(p.BucketSize), kicks: 5, buckets: c.Buckets(), growth: uint64(p.Expansion), items: 1}
		off, fill := uint64(0), rng.IntN(12)
		for range 4 {
			m.grow()
			for _, bucket := range m.subs[len(m.subs)-1] {
				for i := range bucket {
					if rng.IntN(12) < fill {
						bucket[i] = byte(1 + rng.IntN(255))
					}
				}
				if err := c.LoadAt(off, bucket); err != nil {
					t.Fatal(err)
				}
				off += uint64(len(bucket))
			}
		}
		m.compact(false)
		c.Compact()
		if !bytes.Equal(cuckooBytes(t, c), m.bytes()) {
			t.Fatalf("slots:\n got %x\nwant %x", cuckooBytes(t, c), m.bytes())
		}
		for _, s := range m.subs[1:] {
			if len(bytes.Trim(bytes.Join(s, nil), "\x00")) == 0 {
				inner++
			}
		}
	}
	if inner == 0 {
		t.Error("no sub-filter was emptied below a newer one")
	}
}

// TestCuckooHotItems inserts a few items over and over, to more than a hundred
// sub-filters, with deletes and compactions between: slots are those of the
// model.
func TestCuckooHotItems(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	most := 0
	for round := range 12 {
		p := redisbloom.CuckooParams{
			Capacity: 4 << (round % 3), BucketSize: uint16(1 + round%2), MaxIterations: 5, Expansion: 1,
		}
		c := newCuckoo(t, p)
		m := &model{bucket: int(p.BucketSize), kicks: 5, buckets: c.Buckets(), growth: 1}
		m.grow()
		hot := 1 + rng.IntN(5)
		for step := range 1200 {
			h := redisbloom.CuckooDigest(item(rng.IntN(hot)))
			switch op := rng.IntN(1000); {
			case op < 960:
				m.insert(h)
				_ = c.InsertDigest(h)
			case op < 998:
				if got, want := c.DeleteDigest(h), m.delete(h); got != want {
					t.Fatalf("DeleteDigest = %v, want %v", got, want)
				}
			default:
				c.Compact()
				m.compact(false)
			}
			most = max(most, c.Filters())
			if step%20 == 0 && !bytes.Equal(cuckooBytes(t, c), m.bytes()) {
				t.Fatalf("round %d, step %d: slots differ", round, step)
			}
			if step == 600 {
				c = reloadCuckoo(t, c)
			}
		}
	}
	if most < 100 {
		t.Errorf("at most %d sub-filters, want more than 100", most)
	}
}

// reloadCuckoo returns a copy: by binary form, and by dump where there is one.
func reloadCuckoo(t fataler, c *redisbloom.Cuckoo) *redisbloom.Cuckoo {
	t.Helper()
	data, _ := c.MarshalBinary()
	n := new(redisbloom.Cuckoo)
	if err := n.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	iter, header, err := c.ScanDump(0)
	if iter == 0 || err != nil {
		return n
	}
	h, err := redisbloom.ParseCuckooHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	d := newFromHeader(t, h)
	for {
		next, chunk, err := c.ScanDump(iter)
		if err != nil {
			t.Fatal(err)
		}
		if next == 0 {
			break
		}
		if err := d.LoadChunk(next, chunk); err != nil {
			t.Fatal(err)
		}
		iter = next
	}
	if again, _ := d.MarshalBinary(); !bytes.Equal(again, data) {
		t.Fatal("dump and binary form differ")
	}
	return d
}

// TestCuckooScanDumpInside asks for positions inside of sub-filters.
func TestCuckooScanDumpInside(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 64, BucketSize: 2, MaxIterations: 20, Expansion: 1})
	if next, data, err := c.ScanDump(0); next != 0 || data != nil || err != nil {
		t.Errorf("ScanDump(0) of an empty filter = %d, %v, %v", next, data, err)
	}
	if next, data, err := c.ScanDump(1); next != 65 || len(data) != 64 || err != nil {
		t.Errorf("ScanDump(1) of an empty filter = %d, %d bytes, %v", next, len(data), err)
	}
	_ = c.InsertDigest(1)
	if next, data, err := c.ScanDump(2); next != 66 || len(data) != 64 || err != nil {
		t.Errorf("ScanDump(2) = %d, %d bytes, %v", next, len(data), err)
	}
	if next, data, err := c.ScanDump(65); next != 0 || data != nil || err != nil {
		t.Errorf("ScanDump(65) = %d, %v, %v", next, data, err)
	}
	if _, _, err := c.ScanDump(-1); !errors.Is(err, redisbloom.ErrChunkPosition) {
		t.Errorf("ScanDump(-1): %v", err)
	}
	for _, bad := range []struct {
		iter int64
		n    int
	}{{0, 1}, {-5, 1}, {5, 0}, {65, 0}, {1, 1}, {66, 1}, {67, 65}, {math.MinInt64, 1}, {math.MaxInt64, 1}} {
		if err := c.LoadChunk(bad.iter, make([]byte, bad.n)); err == nil {
			t.Errorf("LoadChunk(%d) of %d bytes: no error", bad.iter, bad.n)
		}
	}
	if err := c.LoadChunk(65, []byte{7}); err != nil {
		t.Errorf("LoadChunk(65) of 1 byte: %v", err)
	}
}

func TestCuckooLargeDump(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 1 << 25, BucketSize: 2, MaxIterations: 20, Expansion: 1})
	_ = c.InsertDigest(redisbloom.CuckooDigest(item(0)))
	for _, want := range []struct{ iter, next, n int64 }{
		{1, 1 + 16<<20, 16 << 20},
		{1 + 16<<20, 1 + 32<<20, 16 << 20},
		{1 + 20<<20, 1 + 32<<20, 12 << 20},
		{1 + 32<<20, 0, 0},
	} {
		next, data, err := c.ScanDump(want.iter)
		if next != want.next || int64(len(data)) != want.n || err != nil {
			t.Errorf("ScanDump(%d) = %d, %d bytes, %v, want %d, %d", want.iter, next, len(data), err, want.next, want.n)
		}
	}
}

func TestCuckooBadHeaders(t *testing.T) {
	good := newCuckoo(t, redisbloom.CuckooParams{Capacity: 16, BucketSize: 2, MaxIterations: 20, Expansion: 1}).AppendHeader(nil)
	le := binary.LittleEndian
	for name, c := range map[string]struct {
		change func(h []byte) []byte
		want   error
	}{
		"good":           {func(h []byte) []byte { return h }, nil},
		"short":          {func(h []byte) []byte { return h[:37] }, redisbloom.ErrHeaderLength},
		"long":           {func(h []byte) []byte { return append(h, 0) }, redisbloom.ErrHeaderLength},
		"no buckets":     {func(h []byte) []byte { h[8] = 0; return h }, redisbloom.ErrHeader},
		"7 buckets":      {func(h []byte) []byte { h[8] = 7; return h }, redisbloom.ErrHeader},
		"no filters":     {func(h []byte) []byte { h[24] = 0; return h }, redisbloom.ErrHeader},
		"bucket size 0":  {func(h []byte) []byte { h[32] = 0; return h }, redisbloom.ErrHeader},
		"bucket of 256":  {func(h []byte) []byte { h[32], h[33] = 0, 1; return h }, redisbloom.ErrHeader},
		"no iterations":  {func(h []byte) []byte { h[34] = 0; return h }, redisbloom.ErrHeader},
		"expansion 3":    {func(h []byte) []byte { h[36] = 3; h[24] = 4; return h }, nil},
		"expansion 0":    {func(h []byte) []byte { h[36] = 0; return h }, nil},
		"impossible":     {func(h []byte) []byte { h[36] = 0; h[24] = 2; return h }, redisbloom.ErrHeader},
		"2^63 buckets":   {func(h []byte) []byte { le.PutUint64(h[8:], 1<<63); return h }, redisbloom.ErrTooLarge},
		"2^40 buckets":   {func(h []byte) []byte { le.PutUint64(h[8:], 1<<40); return h }, redisbloom.ErrTooLarge},
		"2^64-1 filters": {func(h []byte) []byte { le.PutUint64(h[24:], math.MaxUint64); return h }, redisbloom.ErrTooLarge},
		"2^30 filters":   {func(h []byte) []byte { le.PutUint64(h[24:], 1<<30); return h }, redisbloom.ErrTooLarge},
		"2^100 slots":    {func(h []byte) []byte { h[36] = 2; h[24] = 97; return h }, redisbloom.ErrTooLarge},
	} {
		data := c.change(bytes.Clone(good))
		h, err := redisbloom.ParseCuckooHeader(data)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err != nil {
			continue
		}
		f := newFromHeader(t, h)
		if got := f.AppendHeader(nil); !bytes.Equal(got, data) {
			t.Errorf("%s: header comes back as %x, was %x", name, got, data)
		}
		if h.Bytes() != f.Bytes() {
			t.Errorf("%s: Bytes() = %d before and %d after", name, h.Bytes(), f.Bytes())
		}
		for i := range 100 {
			if err := f.InsertDigest(redisbloom.CuckooDigest(item(i))); err != nil && f.Expansion() > 0 {
				t.Errorf("%s: InsertDigest: %v", name, err)
			}
		}
	}
}

// TestCuckooManyFilters inserts one item until there are 50,000 sub-filters, by
// batches as a server would, and asks the filter.
func TestCuckooManyFilters(t *testing.T) {
	const filters = 50000
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 4, BucketSize: 2, MaxIterations: 1, Expansion: 1})
	hs, dst := make([]uint64, 1000), make([]int8, 1000)
	for i := range hs {
		hs[i] = redisbloom.CuckooDigest([]byte("hello"))
	}
	n := uint64(0)
	for c.Filters() < filters {
		before, grow, had := c.Bytes(), c.GrowBytes(), c.Filters()
		if err := c.InsertDigest(hs[0]); err != nil {
			t.Fatal(err)
		}
		if c.Filters() > had && c.Bytes() != before+grow {
			t.Fatalf("%d filters: %d bytes, then %d: GrowBytes said %d", had, before, c.Bytes(), grow)
		}
		if _, err := c.InsertDigests(dst, hs, math.MaxUint64); err != nil {
			t.Fatal(err)
		}
		n += 1001
	}
	if c.Items() != n || c.CountDigest(hs[0]) < n {
		t.Errorf("%d items, count %d, want %d", c.Items(), c.CountDigest(hs[0]), n)
	}
	if c.Contains([]byte("absent")) || !c.Contains([]byte("hello")) {
		t.Error("wrong answer")
	}
	data, _ := c.MarshalBinary()
	var again redisbloom.Cuckoo
	if err := again.UnmarshalBinary(data); err != nil || again.CountDigest(hs[0]) != c.CountDigest(hs[0]) {
		t.Errorf("UnmarshalBinary: %v, count %d", err, again.CountDigest(hs[0]))
	}
	c.Compact()
	if got, _ := c.MarshalBinary(); !bytes.Equal(got, data) {
		t.Error("Compact changed a full filter")
	}
}

// TestCuckooRate holds the predicted rate to 4 standard deviations.
func TestCuckooRate(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 4096, BucketSize: 2, MaxIterations: 20, Expansion: 1})
	for i := range 3000 {
		if err := c.InsertDigest(redisbloom.CuckooDigest(item(i))); err != nil {
			t.Fatal(err)
		}
	}
	const asked = 100000
	wrong := 0
	for i := range asked {
		if c.Contains(fmt.Appendf(nil, "absent%d", i)) {
			wrong++
		}
	}
	s := c.Stats()
	mean := s.Predicted * asked
	if math.Abs(float64(wrong)-mean) > 4*math.Sqrt(mean) {
		t.Errorf("%d of %d wrong, predicted %.0f", wrong, asked, mean)
	}
	if s.Kind != "cf" || s.Items != 3000 || !s.Exact {
		t.Errorf("Stats() = %+v", s)
	}
}

func TestCuckooAllocs(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 1 << 12, BucketSize: 2, MaxIterations: 20})
	hs, dst, res := make([]uint64, 100), make([]bool, 100), make([]int8, 100)
	n := 0
	got := testing.AllocsPerRun(100, func() { // fills the filter: kicks are in
		for i := range hs {
			n++
			hs[i] = redisbloom.CuckooDigest([]byte{byte(n), byte(n >> 8)})
		}
		_, _ = c.InsertDigests(res, hs, 0)
		_, _ = c.InsertNXDigests(res, hs, 0)
		c.ContainsDigests(dst, hs)
		c.CountDigest(hs[0])
		c.DeleteDigest(hs[0])
		c.Stats()
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}
