package redisbloom_test

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// newBloom and newCuckoo make filters of parameters known to be good.
func newBloom(tb testing.TB, p redisbloom.BloomParams) *redisbloom.Bloom {
	tb.Helper()
	b, err := redisbloom.NewBloom(p)
	if err != nil {
		tb.Fatalf("NewBloom(%+v): %v", p, err)
	}
	return b
}

func newCuckoo(tb testing.TB, p redisbloom.CuckooParams) *redisbloom.Cuckoo {
	tb.Helper()
	c, err := redisbloom.NewCuckoo(p)
	if err != nil {
		tb.Fatalf("NewCuckoo(%+v): %v", p, err)
	}
	return c
}

// newFromHeader makes a filter from a header that was parsed.
func newFromHeader[F any](t fataler, header interface {
	New(m *memory.Arena) (F, error)
},
) F {
	t.Helper()
	f, err := header.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func item(i int) []byte { return fmt.Appendf(nil, "item%d", i) }

// bloomDump and cuckooDump return the replies of a whole SCANDUMP loop.
func bloomDump(b *redisbloom.Bloom) (iters []int64, parts []string) {
	for iter := int64(0); ; {
		next, data := b.ScanDump(iter)
		if next == 0 {
			return iters, parts
		}
		iters, parts = append(iters, next), append(parts, hex.EncodeToString(data))
		iter = next
	}
}

func cuckooDump(tb testing.TB, c *redisbloom.Cuckoo) (iters []int64, parts []string) {
	tb.Helper()
	for iter := int64(0); ; {
		next, data, err := c.ScanDump(iter)
		if err != nil {
			tb.Fatalf("ScanDump(%d): %v", iter, err)
		}
		if next == 0 {
			return iters, parts
		}
		iters, parts = append(iters, next), append(parts, hex.EncodeToString(data))
		iter = next
	}
}

func TestDigests(t *testing.T) {
	for _, c := range []struct {
		item    string
		a, b, h uint64
	}{
		{"", 0x1ab11ea5a7b2c56e, 0xbbddcb5ab56dd547, 0},
		{"hello", 0x5ba5b8a59803e699, 0xa7d451d588a0c2a4, 0x1e68d17c457bf117},
		{"foo", 0x822b4f99b121f10d, 0x9d63d52a557f61c2, 0xcdde38358fd25b01},
		{"item0", 0xb695a0dfad60344a, 0xa508c3304fbf7a69, 0xf5ad6b7065a89185},
	} {
		if got, want := redisbloom.BloomDigest([]byte(c.item)), (redisbloom.Digest{A: c.a, B: c.b}); got != want {
			t.Errorf("BloomDigest(%q) = %x, want %x", c.item, got, want)
		}
		if got := redisbloom.CuckooDigest([]byte(c.item)); got != c.h {
			t.Errorf("CuckooDigest(%q) = %x, want %x", c.item, got, c.h)
		}
	}
}

// TestDigestsOfAllLengths compares with MurmurHash64A written byte by byte.
func TestDigestsOfAllLengths(t *testing.T) {
	const m = 0xc6a4a7935bd1e995
	murmur := func(key []byte, h uint64) uint64 {
		h ^= uint64(len(key)) * m
		for ; len(key) > 0; key = key[min(8, len(key)):] {
			k := uint64(0)
			for i, b := range key[:min(8, len(key))] {
				k |= uint64(b) << (8 * i)
			}
			if len(key) >= 8 {
				k *= m
				k = (k ^ k>>47) * m
			}
			h = (h ^ k) * m
		}
		h = (h ^ h>>47) * m
		return h ^ h>>47
	}
	key := make([]byte, 64)
	for i := range key {
		key[i] = byte(151*i + 201)
	}
	for n := range key {
		a := murmur(key[:n], m)
		if got, want := redisbloom.BloomDigest(key[:n]), (redisbloom.Digest{A: a, B: murmur(key[:n], a)}); got != want {
			t.Errorf("BloomDigest of %d bytes = %x, want %x", n, got, want)
		}
		if got, want := redisbloom.CuckooDigest(key[:n]), murmur(key[:n], 0); got != want {
			t.Errorf("CuckooDigest of %d bytes = %x, want %x", n, got, want)
		}
	}
}

// TestBloomPositions asks which bits an item sets, one item per filter.
func TestBloomPositions(t *testing.T) {
	for key, want := range map[string][]int{
		"":      {366, 1077, 764, 451, 138, 849, 536, 223},
		"hello": {537, 957, 97, 517, 809, 77, 497, 789},
		"foo":   {269, 847, 145, 723, 21, 599, 25, 475},
		"item0": {74, 179, 284, 261, 366, 343, 448, 553},
	} {
		b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2})
		if added, err := b.Add([]byte(key)); !added || err != nil {
			t.Fatalf("Add(%q) = %v, %v", key, added, err)
		}
		_, data := b.ScanDump(1)
		bits := make([]byte, 144)
		for _, p := range want {
			bits[p>>3] |= 1 << (p & 7)
		}
		if hex.EncodeToString(data) != hex.EncodeToString(bits) {
			t.Errorf("bits of %q:\n got %x\nwant %x", key, data, bits)
		}
	}
}

// TestCuckooBuckets asks where an item goes, and where its second copy goes
// when a bucket has one slot.
func TestCuckooBuckets(t *testing.T) {
	for key, want := range map[string]struct {
		fp      byte
		buckets [2]int
	}{
		"":      {1, [2]int{0, 5}},
		"hello": {159, [2]int{7, 4}},
		"foo":   {217, [2]int{1, 4}},
		"item0": {165, [2]int{5, 4}},
	} {
		c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 8, BucketSize: 1, MaxIterations: 20, Expansion: 1})
		slots := make([]byte, 8)
		for _, bucket := range want.buckets {
			if err := c.InsertDigest(redisbloom.CuckooDigest([]byte(key))); err != nil {
				t.Fatal(err)
			}
			slots[bucket] = want.fp
			_, data, _ := c.ScanDump(1)
			if string(data) != string(slots) {
				t.Errorf("slots of %q = %v, want %v", key, data, slots)
			}
		}
	}
}

func TestBloomVectors(t *testing.T) {
	for _, c := range []struct {
		name   string
		params redisbloom.BloomParams
		items  int
		iters  []int64
		parts  []string
	}{
		{
			"scaling",
			redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2},
			3,
			[]int64{1, 145},
			[]string{
				"03000000000000000100000005000000020000009000000000000000800400000000000003000000000000007b14ae47e17a743fe9862fb2350e264008000000640000000000000000",
				"000000000000000000060000000000000000000000000844040000000000000021000010000000000000808000400000000000000000004001000000000000000040440000020000000000000000200000000000000000000000100000000000000000000000000000000000400000000008000000000000000000000004000000000000000000000000000000000000",
			},
		},
		{
			// The bits per entry of this one differ in the last bit if the
			// logarithm is that of package math.
			"nonscaling",
			redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2, NonScaling: true},
			10,
			[]int64{1, 17},
			[]string{
				"0a00000000000000010000000d00000002000000100000000000000080000000000000000a000000000000007b14ae47e17a843f88168ac58c2b2340070000000a0000000000000000",
				"a598f59a8d6088c68707d080d1c4281b",
			},
		},
		{
			"two layers",
			redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2},
			30,
			[]int64{1, 17, 49},
			[]string{
				"1e00000000000000020000000500000002000000100000000000000080000000000000000a000000000000007b14ae47e17a743fe9862fb2350e2640080000000a00000000000000002000000000000000000100000000000014000000000000007b14ae47e17a643f4af7d49edef0284009000000140000000000000000",
				"a5d8f59a8d6a88c68707d084d1c42a1b",
				"57bb6d74cd55763c95f69e981643d8b4ef04c5cb00cde155a9578421f78057c7",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBloom(t, c.params)
			for i := range c.items {
				if added, err := b.Add(item(i)); !added || err != nil {
					t.Fatalf("Add(item%d) = %v, %v", i, added, err)
				}
			}
			iters, parts := bloomDump(b)
			if fmt.Sprint(iters) != fmt.Sprint(c.iters) {
				t.Errorf("iters = %d, want %d", iters, c.iters)
			}
			for i := range c.parts {
				if parts[i] != c.parts[i] {
					t.Errorf("part %d:\n got %s\nwant %s", i, parts[i], c.parts[i])
				}
			}
		})
	}
}

func TestCuckooVector(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 16, BucketSize: 2, MaxIterations: 20, Expansion: 1})
	for i := range 10 {
		if err := c.InsertDigest(redisbloom.CuckooDigest(item(i))); err != nil {
			t.Fatal(err)
		}
	}
	iters, parts := cuckooDump(t, c)
	if fmt.Sprint(iters) != "[1 17]" {
		t.Errorf("iters = %d, want 1 and 17", iters)
	}
	want := []string{
		"0a00000000000000080000000000000000000000000000000100000000000000020014000100",
		"9639b40007839c00ad00a5b419000000",
	}
	for i := range want {
		if parts[i] != want[i] {
			t.Errorf("part %d:\n got %s\nwant %s", i, parts[i], want[i])
		}
	}
}

func TestBloomSizing(t *testing.T) {
	for _, c := range []struct {
		err        float64
		capacity   uint64
		nonScaling bool
		bytes      uint64
		hashes     uint32
		ratio      float64
	}{
		{0.01, 100, false, 144, 8, 0.005},
		{0.01, 100, true, 120, 7, 0.01},
		{0.001, 1000, false, 1984, 11, 0.0005},
		{0.3, 100, false, 56, 4, 0.125},
		{0.3, 100, true, 40, 3, 0.25},
		{0.01, 4, false, 8, 8, 0.005},
		{0.01, 167, true, 200, 7, 0.01}, // 1600 bits: nothing to round up
	} {
		p := redisbloom.BloomParams{ErrorRate: c.err, Capacity: c.capacity, Expansion: 2, NonScaling: c.nonScaling}
		b := newBloom(t, p)
		l := b.Layer(0)
		want := redisbloom.Layer{
			Bytes: c.bytes, Bits: 8 * c.bytes, Hashes: c.hashes, HashWidth: 64,
			Capacity: c.capacity, ErrorRate: c.ratio,
		}
		if l != want {
			t.Errorf("%v/%d: %+v, want %+v", c.err, c.capacity, l, want)
		}
		if got := b.Size(); got != 96+c.bytes {
			t.Errorf("%v/%d: Size() = %d, want %d", c.err, c.capacity, got, 96+c.bytes)
		}
		if got, err := p.Bytes(); got != b.Bytes() || err != nil {
			t.Errorf("%v/%d: Bytes() = %d, %v before and %d after", c.err, c.capacity, got, err, b.Bytes())
		}
	}
}
