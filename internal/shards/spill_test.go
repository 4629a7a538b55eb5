package shards_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/shards"
)

// disk is a Scratch in memory, of limited size.
type disk struct {
	mu   sync.Mutex
	data []byte
	room int
}

var errFull = errors.New("no space left on device")

func (d *disk) WriteAt(b []byte, at int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := int(at) + len(b)
	if end > d.room {
		return 0, errFull
	}
	if end > len(d.data) {
		d.data = append(d.data, make([]byte, end-len(d.data))...)
	}
	return copy(d.data[at:], b), nil
}

func (d *disk) ReadAt(b []byte, at int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at >= int64(len(d.data)) {
		return 0, io.EOF
	}
	n := copy(b, d.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// spilled returns a Spill that holds hs.
func spilled(t *testing.T, d *disk, memory int, hs []uint64) *shards.Spill {
	t.Helper()
	s := shards.NewSpill(d, memory, 0)
	if err := s.AddSeq(t.Context(), slices.Values(hs), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpill(t *testing.T) {
	hs := random(20_000, 1)
	for _, memory := range []int{shards.MinMemory, 100_000, 5 << 20, 1 << 30} {
		s := spilled(t, &disk{room: 1 << 30}, memory, hs)
		if s.Total() != uint64(len(hs)) {
			t.Errorf("Total() = %d, want %d", s.Total(), len(hs))
		}
		for b := range min(s.Bits(), 4) + 1 {
			var longest uint64
			for i := range 1 << b {
				got, err := s.Load(nil, i, b)
				if err != nil {
					t.Fatal(err)
				}
				want := slices.DeleteFunc(slices.Clone(hs), func(h uint64) bool { return bloomery.Route(h, b) != i })
				if uint64(len(want)) != s.Len(i, b) {
					t.Errorf("Len(%d, %d) = %d, want %d", i, b, s.Len(i, b), len(want))
				}
				longest = max(longest, s.Len(i, b))
				shards.Sort(got)
				shards.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("memory %d: shard %d of 2^%d has other hashes", memory, i, b)
				}
			}
			if got := s.MaxLen(b); got != longest {
				t.Errorf("MaxLen(%d) = %d, want %d", b, got, longest)
			}
		}
	}
}

func TestSpillOfNothing(t *testing.T) {
	s := spilled(t, &disk{}, shards.MinMemory, nil)
	got, err := s.Load(nil, 0, 0)
	if s.Total() != 0 || len(got) != 0 || err != nil {
		t.Errorf("%d hashes, %d loaded (%v), want none", s.Total(), len(got), err)
	}
}

func TestStoreRestore(t *testing.T) {
	d := &disk{room: 1 << 30}
	s := spilled(t, d, shards.MinMemory, random(1000, 2))
	var wg sync.WaitGroup
	for i, n := range []int{0, 1, 8191, 8192, 8193, 100_000} {
		wg.Go(func() {
			words := random(n, uint64(i))
			runs, err := s.Store(words)
			if err != nil {
				t.Error(err)
			}
			var got []uint64
			for piece, err := range s.Payload(nil, [][]shards.Run{runs}) {
				if err != nil {
					t.Error(err)
				}
				got = append(got, piece...)
			}
			if !slices.Equal(got, words) {
				t.Errorf("%d words come back as %d others", n, len(got))
			}
		})
	}
	wg.Wait()
}

func TestFullDisk(t *testing.T) {
	hs := random(50_000, 3)
	s := shards.NewSpill(&disk{room: 100_000}, 1<<20, 0)
	if err := s.AddSeq(t.Context(), slices.Values(hs), nil); !errors.Is(err, errFull) {
		t.Errorf("AddSeq: %v, want %v", err, errFull)
	}
	s = spilled(t, &disk{room: 8 * len(hs)}, 1<<20, hs)
	if _, err := s.Store(hs); !errors.Is(err, errFull) {
		t.Errorf("Store: %v, want %v", err, errFull)
	}
}

// What the scratch loses or changes is noticed.
func TestDamagedScratch(t *testing.T) {
	hs := random(50_000, 4)
	for name, damage := range map[string]func(d *disk){
		"cut off": func(d *disk) { d.data = d.data[:len(d.data)-3] },
		"empty":   func(d *disk) { d.data = nil },
		"flipped": func(d *disk) { d.data[1000] ^= 1 },
	} {
		d := &disk{room: 1 << 30}
		s := spilled(t, d, 1<<20, hs)
		runs, err := s.Store(hs)
		if err != nil {
			t.Fatal(err)
		}
		damage(d)
		_, err = s.Load(nil, 0, 0)
		for _, e := range s.Payload(nil, [][]shards.Run{runs}) {
			if err == nil {
				err = e
			}
		}
		if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

func TestCancelledStream(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	read := 0
	endless := func(yield func(uint64) bool) {
		for h := uint64(0); yield(h * 0x9e3779b97f4a7c15); h++ {
			if read++; read == 1_000_000 {
				cancel()
			}
		}
	}
	var told uint64
	calls := 0
	s := shards.NewSpill(&disk{room: 1 << 30}, 1<<20, 0)
	err := s.AddSeq(ctx, endless, func(n uint64) { told = n; calls++ })
	if !errors.Is(err, context.Canceled) || read > 1_100_000 || told < 900_000 {
		t.Errorf("%v after %d hashes, progress reports %d", err, read, told)
	}
	if calls > 20 { // every 2^16 hashes
		t.Errorf("progress is reported %d times", calls)
	}
}

// Copies of a hash are dropped before they are counted, and before they are
// written where they come close after each other.
func TestSpillDropsDuplicates(t *testing.T) {
	hs := random(1000, 5)
	many := slices.Concat(hs[:500], slices.Repeat(hs[:1], 100_000), hs[500:], slices.Repeat(hs[7:9], 50_000))
	for _, memory := range []int{1 << 18, 4 << 20} {
		d := &disk{room: 1 << 30}
		s := spilled(t, d, memory, many)
		if want := uint64(len(many) - len(hs)); s.Total() != 1000 || s.Dropped() != want {
			t.Errorf("%d bytes: Total() = %d, Dropped() = %d, want 1000 and %d", memory, s.Total(), s.Dropped(), want)
		}
		if len(d.data) != 8*len(hs) {
			t.Errorf("%d bytes: %d bytes are on the disk, want %d", memory, len(d.data), 8*len(hs))
		}
		got, err := s.Load(nil, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(shards.Dedupe(got), slices.Sorted(slices.Values(hs))) {
			t.Errorf("%d bytes: other hashes come back", memory)
		}
	}
	s := shards.NewSpill(&disk{room: 1 << 30}, 1<<18, 0)
	s.KeepDuplicates = true
	if err := s.AddSeq(t.Context(), slices.Values(many), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), 1<<20); err != nil {
		t.Fatal(err)
	}
	if s.Total() != uint64(len(many)) || s.Dropped() != 0 {
		t.Errorf("KeepDuplicates: Total() = %d, Dropped() = %d, want %d and 0", s.Total(), s.Dropped(), len(many))
	}
}

// Compact finds duplicates however far apart they come, if memory holds the
// different hashes of a part.
func TestCompact(t *testing.T) {
	hs := random(20_000, 6)
	d := &disk{room: 1 << 30}
	s := spilled(t, d, shards.MinMemory, slices.Repeat(hs, 5))
	if s.Total() <= 60_000 {
		t.Fatalf("Total() = %d: they came too close after each other", s.Total())
	}
	before := s.Total()
	if err := s.Compact(t.Context(), 8*5000); err != nil || s.Total() != before {
		t.Errorf("with too little memory: %v, %d hashes of %d", err, s.Total(), before)
	}
	if err := s.Compact(t.Context(), 8*12_000); err != nil {
		t.Fatal(err)
	}
	if s.Total() != 20_000 || s.Dropped() != 80_000 || s.Len(0, 1)+s.Len(1, 1) != 20_000 {
		t.Errorf("Total() = %d, Dropped() = %d, want 20000 and 80000", s.Total(), s.Dropped())
	}
	got, err := s.Load(nil, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	shards.Sort(got)
	if !slices.Equal(got, slices.Sorted(slices.Values(hs))) {
		t.Error("other hashes come back")
	}
	d.data[len(d.data)-1] ^= 1
	if err := s.Compact(t.Context(), 1<<20); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("damaged scratch: %v, want ErrCorrupt", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Compact(ctx, 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestCut(t *testing.T) {
	hs := random(40_000, 7)
	need := func(n uint64) uint64 { return 100 * n }
	bits := func(total uint64) uint { return shards.Bits(total, 30_000) }
	for name, c := range map[string]struct {
		hs     []uint64
		d      shards.Demand
		want   uint
		refuse bool
	}{
		"as in memory":      {hs, shards.Demand{Bits: bits, Need: need, Memory: 1 << 30}, 1, false},
		"more":              {hs, shards.Demand{Bits: bits, Need: need, Memory: 1 << 20}, 3, false},
		"one at a time":     {hs, shards.Demand{Bits: bits, Need: need, Memory: 100_000}, 6, false},
		"too little":        {hs, shards.Demand{Bits: bits, Need: need, Memory: 30_000}, 0, true},
		"fixed":             {hs, shards.Demand{Bits: func(uint64) uint { return 3 }, Fixed: true, Need: need, Memory: 600_000}, 3, false},
		"fixed, too large":  {hs, shards.Demand{Bits: func(uint64) uint { return 3 }, Fixed: true, Need: need, Memory: 400_000}, 0, true},
		"as many as can be": {hs, shards.Demand{Bits: func(uint64) uint { return 6 }, Need: need, Memory: 1 << 30}, 6, false},
		"one too many":      {hs, shards.Demand{Bits: func(uint64) uint { return 7 }, Need: need, Memory: 1 << 30}, 0, true},
		"too many":          {hs, shards.Demand{Bits: func(uint64) uint { return 12 }, Need: need, Memory: 1 << 30}, 0, true},
		"duplicates":        {slices.Repeat(hs, 10), shards.Demand{Bits: bits, Need: need, Memory: 100_000}, 6, false},
	} {
		s := spilled(t, &disk{room: 1 << 30}, 1<<18, c.hs)
		b, longest, left, err := s.Cut(t.Context(), c.d)
		if c.refuse {
			if !errors.Is(err, bloomery.ErrTooLarge) {
				t.Errorf("%s: %v, want ErrTooLarge", name, err)
			}
			continue
		}
		if err != nil || b != c.want || longest != s.MaxLen(b) || left >= c.d.Memory || need(longest) > left {
			t.Errorf("%s: 2^%d shards of up to %d, %d bytes are left (%v), want 2^%d", name, b, longest, left, err, c.want)
		}
	}
}
