package quotient_test

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
)

func TestConfigRefuses(t *testing.T) {
	for _, c := range []struct {
		config quotient.Config
		want   error
		say    string
	}{
		{quotient.Config{}, bloomery.ErrParameter, "capacity 0"},
		{quotient.Config{Capacity: -5, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity -5"},
		{quotient.Config{Capacity: math.MinInt, ErrorRate: 0.01}, bloomery.ErrParameter, "capacity -"},
		{quotient.Config{Capacity: 10}, bloomery.ErrParameter, "error rate 0 "},
		{quotient.Config{Capacity: 10, ErrorRate: 1}, bloomery.ErrParameter, "error rate 1 "},
		{quotient.Config{Capacity: 10, ErrorRate: math.NaN()}, bloomery.ErrParameter, "error rate NaN"},
		{quotient.Config{Capacity: 10, ErrorRate: math.Inf(1)}, bloomery.ErrParameter, "error rate +Inf"},
		{quotient.Config{Capacity: 10, ErrorRate: 1e-300}, bloomery.ErrParameter, "more bits than a hash has"},
		{quotient.Config{Capacity: 10, ErrorRate: 0.1, Doublings: -1}, bloomery.ErrParameter, "-1 doublings"},
		{quotient.Config{Capacity: 10, ErrorRate: 0.1, Doublings: 33}, bloomery.ErrParameter, "33 doublings"},
		{quotient.Config{Capacity: 1 << 30, ErrorRate: 1e-6, Doublings: 32}, bloomery.ErrParameter, "more bits than a hash has"},
		{quotient.Config{Capacity: math.MaxInt, ErrorRate: 1e-3}, bloomery.ErrTooLarge, ""}, // for memory, or than 2^48
	} {
		f, err := c.config.New()
		if f != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%+v: %v, want %v and %q", c.config, err, c.want, c.say)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("New(0, 0.1) does not panic")
		}
	}()
	quotient.New(0, 0.1)
}

func TestAlloc(t *testing.T) {
	no := errors.New("no")
	for name, c := range map[string]struct {
		alloc func(n int) ([]byte, error)
		want  error
	}{
		"odd begin": {func(n int) ([]byte, error) { return make([]byte, n+3)[3:], nil }, nil},
		"more":      {func(n int) ([]byte, error) { return make([]byte, n+100), nil }, nil},
		"less":      {func(n int) ([]byte, error) { return make([]byte, n-1), nil }, bloomery.ErrParameter},
		"refused":   {func(int) ([]byte, error) { return nil, no }, no},
	} {
		f, err := quotient.Config{Capacity: 1000, ErrorRate: 0.01, Alloc: c.alloc}.New()
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err != nil {
			continue
		}
		hs := hashes(1000, 1)
		for _, h := range hs {
			if err := f.InsertHash(h); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(marshal(t, f), marshal(t, filled(t, hs, 0.01))) {
			t.Errorf("%s: another encoding", name)
		}
		if err := f.Resize(3000); err != nil || f.Stats().Capacity != 3000 {
			t.Errorf("%s: resize: %v, %+v", name, err, f.Stats())
		}
	}
	calls := 0
	f, err := quotient.Config{Capacity: 100, ErrorRate: 0.01, Alloc: func(n int) ([]byte, error) {
		if calls++; calls > 1 {
			return nil, no
		}
		return make([]byte, n), nil
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	before := marshal(t, f)
	if err := f.Resize(1000); !errors.Is(err, no) || !bytes.Equal(before, marshal(t, f)) {
		t.Errorf("resize without memory: %v, want its error and no change", err)
	}
}

// A filter takes the keys it was made for and is full not before 95% of its
// slots are in use, nor much later.
func TestLoad(t *testing.T) {
	sizes := []int{1, 2, 10, 60, 61, 100, 121, 1000, 5000}
	if !testing.Short() {
		sizes = append(sizes, 100_000)
	}
	for _, n := range sizes {
		for _, p := range []float64{0.5, 0.1, 1e-2, 1e-3, 1e-6} {
			f := quotient.New(n, p)
			for i, h := range hashes(2*n+200, uint64(n)) {
				err := f.InsertHash(h)
				if err == nil {
					continue
				}
				if s := f.Stats(); !errors.Is(err, bloomery.ErrFull) || i < n || s.Saturation < 0.95 {
					t.Errorf("n = %d, p = %g: %v after %d keys, %+v", n, p, err, i, s)
				}
				break
			}
			if s := f.Stats(); s.Saturation < 0.95 || s.Saturation > 0.98 {
				t.Errorf("n = %d, p = %g: saturation %g in the end", n, p, s.Saturation)
			}
			if err := quotient.Check(f); err != nil {
				t.Errorf("n = %d, p = %g: %v", n, p, err)
			}
		}
	}
}

// All keys in a few quotients: runs and clusters over many blocks, in which
// offsets do not fit into their byte.
func TestLongClusters(t *testing.T) {
	f := quotient.New(20_000, 1e-4)
	all := f.Shape().Blocks * 64
	r := rand.New(rand.NewPCG(3, 3))
	var hs []uint64
	for i := range uint64(3000) {
		h, _ := bits.Div64(all/2+i%3*40, r.Uint64(), all) // of two blocks
		hs = append(hs, h)
	}
	hs = append(hs, hashes(6000, 5)...)
	exact := map[uint64]uint64{}
	for i, h := range hs {
		if err := quotient.Force(f, h); err != nil {
			t.Fatalf("key %d: %v", i, err)
		}
		exact[h]++
	}
	if got := quotient.Saturated(f); got < 20 {
		t.Errorf("%d offsets are saturated, the test needs more", got)
	}
	for _, h := range hs {
		if !f.ContainsHash(h) || f.CountHash(h) < exact[h] {
			t.Fatalf("hash %#x: contained %v, count %d, want %d", h, f.ContainsHash(h), f.CountHash(h), exact[h])
		}
	}
	if err := quotient.Check(f); err != nil {
		t.Fatal(err)
	}
	r.Shuffle(len(hs), func(i, j int) { hs[i], hs[j] = hs[j], hs[i] })
	for i, h := range hs {
		if !f.DeleteHash(h) {
			t.Fatalf("key %d is gone", i)
		}
		if i%1000 == 0 {
			if err := quotient.Check(f); err != nil {
				t.Fatalf("after %d deletes: %v", i+1, err)
			}
		}
	}
	if s := f.Stats(); s.Items != 0 || s.Saturation != 0 || !bytes.Equal(marshal(t, f), marshal(t, quotient.New(20_000, 1e-4))) {
		t.Errorf("all keys deleted: %+v", s)
	}
}

// Keys that run over the last block go to the spill, and when that is full, too,
// nothing changes.
func TestEndOfTable(t *testing.T) {
	f := quotient.New(1000, 1e-4)
	var in []uint64
	for i := range uint64(1000) {
		h := ^uint64(0) - i<<40
		before := marshal(t, f)
		err := f.InsertHash(h)
		if err == nil {
			in = append(in, h)
			continue
		}
		if !errors.Is(err, bloomery.ErrFull) || !bytes.Equal(before, marshal(t, f)) {
			t.Fatalf("key %d: %v, changed: %v", i, err, !bytes.Equal(before, marshal(t, f)))
		}
		break
	}
	if len(in) < 100 || len(in) == 1000 {
		t.Errorf("%d keys fit at the end", len(in))
	}
	for _, h := range in {
		if !f.ContainsHash(h) {
			t.Fatalf("hash %#x is forgotten", h)
		}
	}
	if err := quotient.Check(f); err != nil {
		t.Error(err)
	}
}

func TestNoAllocations(t *testing.T) {
	f := filled(t, hashes(1000, 1), 1e-3)
	h := hashes(1, 2)[0]
	key, s := []byte("alice"), "alice"
	keys, dst := [][]byte{key, key}, make([]bool, 2)
	for name, run := range map[string]func(){
		"insert and delete": func() { _ = f.InsertHash(h); f.DeleteHash(h) },
		"counts":            func() { _ = f.InsertHash(h); _ = f.InsertHash(h); f.DeleteHash(h); f.DeleteHash(h) },
		"keys":              func() { _ = f.Insert(key); f.Contains(key); f.Count(key); f.Delete(key) },
		"strings":           func() { _ = f.InsertString(s); f.ContainsString(s); f.CountString(s); f.DeleteString(s) },
		"ContainsKeys":      func() { f.ContainsKeys(dst, keys) },
		"Stats":             func() { f.Stats() },
	} {
		if got := testing.AllocsPerRun(50, run); got > 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

func TestHasher(t *testing.T) {
	f, err := quotient.Config{Capacity: 10, ErrorRate: 0.1, Hasher: hashing.Seeded(7)}.New()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Hash([]byte("x")), f.Hasher().HashString("x"); got != want || f.Hasher().Check() != 7 {
		t.Errorf("Hash = %#x, want %#x", got, want)
	}
}

// TestViewClones checks that a clone of a view has the keys and takes more.
func TestViewClones(t *testing.T) {
	hs := hashes(1000, 1)
	v, err := quotient.Config{}.View(marshal(t, filled(t, hs, 0.01)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := v.Clone()
	if err != nil {
		t.Fatal(err)
	}
	f, counts := c.(*quotient.Filter), v.(bloomery.Counter)
	for _, h := range hs {
		if !f.ContainsHash(h) {
			t.Fatalf("the clone has lost %#x", h)
		}
	}
	if err := f.InsertHash(hs[0]); err != nil || f.CountHash(hs[0]) != counts.CountHash(hs[0])+1 {
		t.Errorf("after an insert: %d, the view has %d: %v", f.CountHash(hs[0]), counts.CountHash(hs[0]), err)
	}
}
