package compose_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
)

// openBloom and openCuckoo open members of one family.
func openBloom(data []byte) (bloomery.Hashed, error) {
	f := &bloom.Filter{}
	return f, f.UnmarshalBinary(data)
}

func openCuckoo(data []byte) (bloomery.Hashed, error) {
	f := &cuckoo.Filter{}
	return f, f.UnmarshalBinary(data)
}

// The joint rate is what Stats says, for members of different rates, and m of n
// behave as the binomial tail; tolerance 4 standard deviations.
func TestQuorumJointRate(t *testing.T) {
	const n, asked = 20_000, 300_000
	for _, c := range []struct{ need, members int }{{1, 1}, {1, 3}, {2, 2}, {2, 3}, {3, 5}} {
		var members []bloomery.Hashed
		for i := range c.members {
			members = append(members, bloom.New(n, []float64{0.1, 0.2, 0.05, 0.1, 0.3}[i]))
		}
		q, err := compose.NewQuorum(c.need, members...)
		if err != nil {
			t.Fatal(err)
		}
		keys := hashes(n, 1)
		if done, err := q.InsertHashes(keys); done != n || err != nil {
			t.Fatalf("InsertHashes = %d, %v", done, err)
		}
		found := make([]bool, asked)
		q.ContainsHashes(found[:n], keys)
		if i := slices.Index(found[:n], false); i >= 0 {
			t.Fatalf("%d of %d: key %d is not found", c.need, c.members, i)
		}
		absent := hashes(asked, 2)
		q.ContainsHashes(found, absent)
		yes := 0
		for i, f := range found {
			if f {
				yes++
			}
			if f != q.ContainsHash(absent[i]) {
				t.Fatalf("%d of %d: batch and single differ", c.need, c.members)
			}
		}
		st := q.Stats()
		want := st.Predicted * asked
		if math.Abs(float64(yes)-want) > 4*math.Sqrt(want)+asked*st.PredictedSigma*4+0.02*want {
			t.Errorf("%d of %d: %d false positives, Stats predicts %.0f", c.need, c.members, yes, want)
		}
	}
}

// Up to n - m members may be lost.
func TestQuorumLosesMembers(t *testing.T) {
	members := []bloomery.Hashed{bloom.New(1000, 0.01), bloom.New(1000, 0.01), bloom.New(1000, 0.01)}
	q, err := compose.NewQuorum(2, members...)
	if err != nil {
		t.Fatal(err)
	}
	keys := hashes(1000, 3)
	if _, err := q.InsertHashes(keys); err != nil {
		t.Fatal(err)
	}
	members[1].(*bloom.Filter).Clear()
	for _, h := range keys {
		if !q.ContainsHash(h) {
			t.Fatal("a key is not found with one of three members lost")
		}
	}
}

func TestQuorumRefuses(t *testing.T) {
	a := bloom.New(100, 0.01)
	seeded, err := bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: hashing.Seeded(1)}.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		need    int
		members []bloomery.Hashed
		want    error
	}{
		"none":       {1, nil, bloomery.ErrParameter},
		"need 0":     {0, []bloomery.Hashed{a}, bloomery.ErrParameter},
		"need 2":     {2, []bloomery.Hashed{a}, bloomery.ErrParameter},
		"many":       {1, make([]bloomery.Hashed, 256), bloomery.ErrParameter},
		"nil":        {1, []bloomery.Hashed{nil}, bloomery.ErrParameter},
		"other hash": {1, []bloomery.Hashed{a, seeded}, bloomery.ErrIncompatible},
	} {
		if _, err := compose.NewQuorum(c.need, c.members...); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestMembersRoundTrip(t *testing.T) {
	q, err := compose.NewQuorum(2, bloom.New(500, 0.01), bloom.New(1000, 0.02), bloom.New(500, 0.03))
	if err != nil {
		t.Fatal(err)
	}
	s := newStriped(t, 8, 1000)
	for _, h := range hashes(500, 4) {
		if err := errors.Join(q.InsertHash(h), s.InsertHash(h)); err != nil {
			t.Fatal(err)
		}
	}
	qd, err := q.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	q2, err := compose.QuorumConfig{Open: openBloom}.Decode(qd)
	if err != nil {
		t.Fatal(err)
	}
	sd, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	s2, err := compose.StripedConfig{Open: openCuckoo}.Decode(sd)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range append(hashes(500, 4), hashes(5000, 5)...) {
		if q.ContainsHash(h) != q2.ContainsHash(h) || s.CountHash(h) != s2.CountHash(h) {
			t.Fatal("a filter that was written and read answers differently")
		}
	}
	if q.Stats() != q2.Stats() || q2.Need() != 2 || s.Stats() != s2.Stats() {
		t.Error("Stats differ after reading")
	}
	again, _ := q2.MarshalBinary()
	if !bytes.Equal(again, qd) {
		t.Error("the encoding differs after reading")
	}
	refuseDamage(t, "quorum", qd, func(b []byte) error { _, err := compose.QuorumConfig{Open: openBloom}.Decode(b); return err })
	refuseDamage(t, "striped", sd, func(b []byte) error { _, err := compose.StripedConfig{Open: openCuckoo}.Decode(b); return err })
	if _, err := (compose.QuorumConfig{Open: openBloom}).Decode(sd); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a striped filter opened as a quorum: %v", err)
	}
	if _, err := (compose.QuorumConfig{Open: nil}).Decode(qd); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("no function to open members: %v", err)
	}
}

// refuseDamage tries truncations, flipped bits, and hostile fields with the right
// checksums.
func refuseDamage(t *testing.T, name string, data []byte, decode func([]byte) error) {
	t.Helper()
	for _, n := range []int{0, 1, 63, 64, 100, len(data) - 1} {
		if err := decode(data[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s cut at %d: %v", name, n, err)
		}
	}
	for at := 0; at < len(data); at += 1 + len(data)/300 {
		bad := bytes.Clone(data)
		bad[at] ^= 0x10
		if err := decode(bad); err == nil {
			t.Errorf("%s: byte %d changed and not noticed", name, at)
		}
	}
	le := binary.LittleEndian
	for what, change := range map[string]func(b []byte){
		"0 members":        func(b []byte) { le.PutUint32(b[56:], 0) },
		"2^32-1 members":   func(b []byte) { le.PutUint32(b[56:], math.MaxUint32) },
		"more members":     func(b []byte) { le.PutUint32(b[56:], le.Uint32(b[56:])*2) },
		"a huge member":    func(b []byte) { le.PutUint64(b[64:], math.MaxUint64) },
		"a longer member":  func(b []byte) { le.PutUint64(b[64:], le.Uint64(b[64:])+64) },
		"a shorter member": func(b []byte) { le.PutUint64(b[64:], le.Uint64(b[64:])-64) },
		"another hash":     func(b []byte) { le.PutUint64(b[16:], 77) },
		"a rate":           func(b []byte) { le.PutUint64(b[32:], math.Float64bits(0.5)) },
		"need 200 or a K":  func(b []byte) { b[13] = 200 },
	} {
		bad := bytes.Clone(data)
		change(bad)
		reseal(bad)
		if err := decode(bad); !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
			t.Errorf("%s with %s: %v, want ErrCorrupt", name, what, err)
		}
	}
}

// reseal puts right checksums on a changed encoding of less than 1 MiB.
func reseal(b []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	le := binary.LittleEndian
	le.PutUint32(b[60:], crc32.Checksum(b[:60], table))
	end := len(b) - 8
	le.PutUint32(b[end:], crc32.Checksum(b[64:end], table))
	le.PutUint32(b[end+4:], crc32.Checksum(b[end:end+4], table))
}

func newStriped(t testing.TB, stripes, capacity int) *compose.Striped {
	t.Helper()
	s, err := compose.StripedConfig{
		Capacity: capacity, Stripes: stripes,
		Make: func(n int) (bloomery.Hashed, error) { return cuckoo.Config{Capacity: n, ErrorRate: 0.01}.New() },
	}.New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Many goroutines insert, delete, count and ask, batch-wise and one by one; what
// each has inserted it finds, and in the end the counts are right.
func TestStripedConcurrently(t *testing.T) {
	const workers, each = 8, 3000
	s := newStriped(t, 16, workers*each)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			hs := hashes(each, uint64(w+10))
			half := hs[:each/2]
			if n, err := s.InsertHashes(half); n != len(half) || err != nil {
				t.Errorf("InsertHashes = %d, %v", n, err)
			}
			for _, h := range hs[each/2:] {
				if err := s.InsertHash(h); err != nil {
					t.Error(err)
				}
			}
			found := make([]bool, each)
			s.ContainsHashes(found, hs)
			if i := slices.Index(found, false); i >= 0 {
				t.Errorf("worker %d: key %d is not found", w, i)
			}
			for _, h := range half {
				if s.CountHash(h) == 0 || !s.DeleteHash(h) {
					t.Errorf("worker %d: a key that was inserted cannot be deleted", w)
				}
			}
			_ = s.Stats()
		})
	}
	wg.Wait()
	if st := s.Stats(); st.Items != workers*each/2 || !st.Exact {
		t.Errorf("%d items are left, want %d", st.Items, workers*each/2)
	}
	for w := range workers {
		for _, h := range hashes(each, uint64(w+10))[each/2:] {
			if !s.ContainsHash(h) {
				t.Fatalf("worker %d: a key is lost", w)
			}
		}
	}
	s.Clear()
	if st := s.Stats(); st.Items != 0 {
		t.Errorf("%d items after Clear", st.Items)
	}
}

// A stripe that is full does not keep keys out of the others, and the error names
// what is missing.
func TestStripedFull(t *testing.T) {
	s := newStriped(t, 4, 100)
	hs := hashes(20_000, 20)
	n, err := s.InsertHashes(hs)
	var failed *compose.StripedError
	if !errors.As(err, &failed) || !errors.Is(err, bloomery.ErrFull) {
		t.Fatalf("InsertHashes = %d, %v", n, err)
	}
	if n+len(failed.Missing) != len(hs) || n == 0 || !slices.IsSorted(failed.Missing) {
		t.Errorf("%d inserted and %d missing of %d", n, len(failed.Missing), len(hs))
	}
	missing := map[int]bool{}
	for _, i := range failed.Missing {
		missing[i] = true
	}
	for i, h := range hs {
		if !missing[i] && !s.ContainsHash(h) {
			t.Fatalf("key %d was inserted and is not found", i)
		}
	}
}

func TestStripedOtherFamilies(t *testing.T) {
	for name, mk := range map[string]func(n int) (bloomery.Hashed, error){
		"quotient": func(n int) (bloomery.Hashed, error) { return quotient.Config{Capacity: n, ErrorRate: 0.01}.New() },
		"bloom":    func(n int) (bloomery.Hashed, error) { return bloom.Config{Capacity: n, ErrorRate: 0.01}.New() },
	} {
		s, err := compose.StripedConfig{Capacity: 10_000, Make: mk}.New()
		if err != nil {
			t.Fatal(err)
		}
		if s.Stripes() != 64 {
			t.Errorf("%d stripes by default", s.Stripes())
		}
		keys := make([][]byte, 5000)
		for i := range keys {
			keys[i] = fmt.Append(nil, "key ", i)
		}
		if n, err := s.InsertKeys(keys); n != len(keys) || err != nil {
			t.Fatalf("%s: InsertKeys = %d, %v", name, n, err)
		}
		found := make([]bool, len(keys))
		s.ContainsKeys(found, keys)
		if i := slices.Index(found, false); i >= 0 {
			t.Errorf("%s: key %d is not found", name, i)
		}
		if got := s.Delete(keys[0]); got != (name == "quotient") {
			t.Errorf("%s: Delete = %v", name, got)
		}
		if s.Count(keys[1]) != 1 {
			t.Errorf("%s: Count = %d", name, s.Count(keys[1]))
		}
	}
}

func TestStripedRefuses(t *testing.T) {
	mk := func(n int) (bloomery.Hashed, error) { return bloom.Config{Capacity: n, ErrorRate: 0.01}.New() }
	for name, c := range map[string]compose.StripedConfig{
		"no make":      {Capacity: 10},
		"capacity 0":   {Make: mk},
		"3 stripes":    {Capacity: 10, Stripes: 3, Make: mk},
		"-1 stripes":   {Capacity: 10, Stripes: -1, Make: mk},
		"8192 stripes": {Capacity: 10, Stripes: 8192, Make: mk},
	} {
		if _, err := c.New(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
}

func TestLayers(t *testing.T) {
	stored := map[string]bool{}
	asked := 0
	exact := func(key []byte) bool { asked++; return stored[string(key)] }
	first, second := bloom.New(10_000, 0.1), cuckoo.New(10_000, 0.02)
	l, err := compose.NewLayers(exact, first, second)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		key := fmt.Append(nil, "key ", i)
		stored[string(key)] = true
		if err := l.Insert(key); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10_000 {
		if !l.Contains(fmt.Append(nil, "key ", i)) {
			t.Fatalf("key %d is not found", i)
		}
	}
	const absent = 200_000
	asked = 0
	for i := range absent {
		if l.Contains(fmt.Append(nil, "absent ", i)) {
			t.Fatalf("absent key %d is found", i)
		}
	}
	c := l.Counts()
	if c.Queries != 10_000+absent || c.Found != 10_000 || c.Stopped[0]+c.Stopped[1]+c.Exact != absent || c.Exact != uint64(asked) {
		t.Errorf("counts %+v, exact was asked %d times", c, asked)
	}
	// Independent layers let the product of their rates pass, 4 standard
	// deviations at most off.
	want := l.Stats().Predicted * absent
	if math.Abs(float64(c.Exact)-want) > 4*math.Sqrt(want)+0.05*want {
		t.Errorf("%d absent keys passed both layers, Stats predicts %.0f", c.Exact, want)
	}
	delete(stored, "key 7")
	if !l.ContainsString("key 8") || !l.DeleteString("key 7") || l.ContainsString("key 7") {
		t.Error("key 7 was deleted and is found")
	}
}

func TestLayersRefuse(t *testing.T) {
	seeded, _ := bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: hashing.Seeded(1)}.New()
	for name, layers := range map[string][]bloomery.Hashed{
		"none":       nil,
		"nil":        {nil},
		"other hash": {bloom.New(100, 0.01), seeded},
	} {
		if _, err := compose.NewLayers(nil, layers...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func ExampleLayers() {
	disk := map[string]bool{"alice": true}
	l, err := compose.NewLayers(func(key []byte) bool { return disk[string(key)] }, bloom.New(1000, 0.01), cuckoo.New(1000, 0.001))
	if err != nil {
		panic(err)
	}
	if err := l.InsertString("alice"); err != nil {
		panic(err)
	}
	fmt.Println(l.ContainsString("alice"), l.ContainsString("bob"))
	fmt.Println(l.Counts().Stopped[0], "of", l.Counts().Queries, "stopped by the first layer")
	// Output:
	// true false
	// 1 of 2 stopped by the first layer
}

func ExampleQuorum() {
	q, err := compose.NewQuorum(2, bloom.New(1000, 0.01), bloom.New(1000, 0.01), bloom.New(1000, 0.01))
	if err != nil {
		panic(err)
	}
	if err := q.InsertString("alice"); err != nil {
		panic(err)
	}
	fmt.Printf("%v %v, rate asked %.4f%%\n", q.ContainsString("alice"), q.ContainsString("bob"), 100*q.Stats().Asked)
	// Output: true false, rate asked 0.0298%
}

func ExampleStriped() {
	s, err := compose.StripedConfig{
		Capacity: 1_000_000,
		Make:     func(n int) (bloomery.Hashed, error) { return cuckoo.Config{Capacity: n, ErrorRate: 0.01}.New() },
	}.New()
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { _ = s.InsertString(fmt.Sprint("worker ", i)) })
	}
	wg.Wait()
	fmt.Println(s.Stats().Items, s.DeleteString("worker 2"), s.ContainsString("worker 2"))
	// Output: 4 true false
}

func BenchmarkStriped(b *testing.B) {
	const keys = 1 << 20
	hs := hashes(keys, 30)
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := newStriped(b, 64, keys)
				b.StartTimer()
				var wg sync.WaitGroup
				for g := range goroutines {
					part := hs[g*keys/goroutines : (g+1)*keys/goroutines]
					wg.Go(func() {
						for _, h := range part {
							if err := s.InsertHash(h); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			}
			b.ReportMetric(keys*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
		})
	}
}

// Members that have members cannot be opened, so they are not written either.
func TestNestedMembersAreNotWritten(t *testing.T) {
	inner, err := compose.StripedConfig{Capacity: 100, Stripes: 2, Make: func(n int) (bloomery.Hashed, error) {
		return quotient.Config{Capacity: n, ErrorRate: 0.01}.New()
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	quorum, err := compose.NewQuorum(1, inner)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := compose.StripedConfig{Capacity: 100, Stripes: 1, Make: func(int) (bloomery.Hashed, error) { return quorum, nil }}.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := outer.InsertString("a"); err != nil || !outer.ContainsString("a") {
		t.Errorf("nested in memory: %v, or the key is not found", err)
	}
	for name, marshal := range map[string]func([]byte) ([]byte, error){"quorum": quorum.AppendBinary, "striped": outer.AppendBinary} {
		if data, err := marshal([]byte("x")); !errors.Is(err, bloomery.ErrIncompatible) || string(data) != "x" {
			t.Errorf("%s: %d bytes, %v, want ErrIncompatible", name, len(data), err)
		}
	}
}

// The rate that a member would need is named as it is, not as 0.
func TestQuorumOfTinyRate(t *testing.T) {
	for _, p := range []float64{1e-30, 1e-300, math.SmallestNonzeroFloat64} {
		_, err := compose.QuorumConfig{Capacity: 10, ErrorRate: p, Members: 1}.New()
		if !errors.Is(err, bloomery.ErrParameter) || !strings.Contains(err.Error(), fmt.Sprint(p)) {
			t.Errorf("rate %v: %v", p, err)
		}
	}
}

// A Striped whose family cannot be emptied says so, keeps its keys, and goes on:
// no stripe stays locked.
func TestStripedClearThatPanics(t *testing.T) {
	s, err := compose.StripedConfig{Capacity: 10, Stripes: 1, Make: func(n int) (bloomery.Hashed, error) {
		return compose.NewQuorum(1, bloom.New(n, 0.01))
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.InsertString("a"); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if said := fmt.Sprint(recover()); !strings.HasPrefix(said, "compose: clear: ") {
				t.Errorf("Clear says %q", said)
			}
		}()
		s.Clear()
	}()
	found := make(chan bool, 1)
	go func() { found <- s.ContainsString("a") && s.InsertString("b") == nil }()
	select {
	case ok := <-found:
		if !ok {
			t.Error("the key is gone")
		}
	case <-time.After(time.Minute):
		t.Error("a stripe stays locked")
	}
}

// One filter twice is refused: as members of a Quorum it would agree with itself, and as
// two layers or stripes it would hold every key twice.
func TestOneFilterTwice(t *testing.T) {
	f, g := bloom.New(100, 0.01), bloom.New(100, 0.01)
	_, quorum := compose.NewQuorum(2, f, g, f)
	_, layers := compose.NewLayers(nil, f, f)
	_, striped := compose.StripedConfig{Capacity: 100, Stripes: 2, Make: func(int) (bloomery.Hashed, error) { return f, nil }}.New()
	for name, err := range map[string]error{"quorum": quorum, "layers": layers, "striped": striped} {
		if !errors.Is(err, bloomery.ErrParameter) || !strings.Contains(err.Error(), "is the same filter as member 0") {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
	if _, err := compose.NewQuorum(2, f, g); err != nil {
		t.Errorf("two filters: %v", err)
	}
}

// TestLayersSalt asks for the hashes that the layers get: stored ones depend on
// them.
func TestLayersSalt(t *testing.T) {
	first, second, third := pose(0, 0, 0), pose(0, 0, 0), pose(0, 0, 0)
	l, err := compose.NewLayers(nil, first, second, third)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.InsertString("key"); err != nil {
		t.Fatal(err)
	}
	h := first.Hash([]byte("key"))
	if first.last != h || second.last != bloomery.Salted(h, 1) || third.last != bloomery.Salted(h, 2) {
		t.Errorf("hashes %x, %x, %x", first.last, second.last, third.last)
	}
}

// TestStripedStats adds up what stripes say.
func TestStripedStats(t *testing.T) {
	one, err := compose.StripedConfig{Capacity: 1000, Stripes: 1, Make: func(n int) (bloomery.Hashed, error) {
		return bloom.New(n, 0.01), nil
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	if got := one.Stats().Capacity; got != 1000 {
		t.Errorf("one stripe has capacity %d, want 1000", got)
	}
	s, err := compose.StripedConfig{Capacity: 1000, Stripes: 4, Make: func(int) (bloomery.Hashed, error) {
		p := pose(0.1, 0.2, 0.03)
		p.stats.Items = math.MaxUint64
		return p, nil
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if !near(st.Asked, 0.1) || !near(st.Predicted, 0.2) || !near(st.PredictedSigma, 0.015) || st.Items != math.MaxUint64 {
		t.Errorf("asked %v, predicted %v by %v, %d items", st.Asked, st.Predicted, st.PredictedSigma, st.Items)
	}
	if new(compose.Striped).ContainsHash(1) {
		t.Error("a zero Striped contains a key")
	}
}
