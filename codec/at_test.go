package codec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

// farKinds are the kinds that can be asked where they lie.
var farKinds = []string{"bloom", "standard", "partitioned", "split", "fuse8", "fuse16", "fuse32", "ribbon", "map"}

// farSets are filters of n keys of all kinds that can be asked where they lie, also in the
// shapes that are not the default.
func farSets(t *testing.T, n int) (sets map[string]bloomery.Hashed, keys []uint64) {
	t.Helper()
	sets, keys = map[string]bloomery.Hashed{}, hashes(n, 7)
	put := func(name string) func(f bloomery.Hashed, err error) {
		return func(f bloomery.Hashed, err error) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sets[name] = f
		}
	}
	for _, k := range codec.Kinds() {
		if slices.Contains(farKinds, k.Name) {
			put(k.Name)(filledKind(k, keys, max(n, 1), 0.01, hashing.Hasher{}))
		}
	}
	ctx := context.Background()
	bits, err := bloom.Config{Capacity: max(n, 1), BitsPerKey: 24}.New() // 9 bits of a key or more
	if err != nil {
		t.Fatal(err)
	}
	bits.AddHashes(nil, keys)
	put("bloom of many bits")(bits, nil)
	four, err := fuse.Config[uint8]{Arity: 4, Shards: 8}.Build(ctx, slices.Clone(keys))
	put("fuse8 in shards of 4")(four, err)
	wide, err := ribbon.Config{ErrorRate: 0.003, Width: 128, Shards: 4}.Build(ctx, slices.Clone(keys))
	put("ribbon in shards of 128")(wide, err)
	narrow, err := ribbon.Config{ErrorRate: 0.3, Width: 64}.Build(ctx, slices.Clone(keys))
	put("ribbon of 2 columns")(narrow, err)
	return sets, keys
}

// TestAt asks filters where they lie: the answers are those of the filter, alone and in
// batches, not verified at first and verified afterwards, which changes none.
func TestAt(t *testing.T) {
	for _, n := range []int{0, 1, 100, 60_000} {
		sets, keys := farSets(t, n)
		asked := append(slices.Clone(keys[:min(n, 300)]), hashes(3000, 8)...)
		rand.New(rand.NewPCG(33, 1)).Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
		for name, f := range sets {
			t.Run(fmt.Sprintf("%s/n=%d", name, n), func(t *testing.T) {
				want := make([]bool, len(asked))
				f.ContainsHashes(want, asked)
				far, err := codec.At(bytes.NewReader(encoded(t, f)))
				if err != nil {
					t.Fatal(err)
				}
				if got, want := far.Stats(), f.Stats(); got.Kind != want.Kind || got.Capacity != want.Capacity || got.Bits != want.Bits || got.Bytes != want.Bytes || got.Asked != want.Asked {
					t.Errorf("%+v, want %+v", got, want)
				}
				for i := range 200 {
					if a, err := far.AskHash(asked[i]); err != nil || a.Found != want[i] || a.Verified {
						t.Fatalf("hash %#x: %+v, %v, want %v", asked[i], a, err, want[i])
					}
				}
				answers(t, far, asked, want, false)
				if err := far.VerifyHashes(asked[:100]); err != nil {
					t.Fatal(err)
				}
				answers(t, far, asked[:100], want[:100], true)
				if err := far.Verify(); err != nil {
					t.Fatal(err)
				}
				answers(t, far, asked, want, true)
			})
		}
	}
}

// answers compares the answers to a batch, and whether they are verified.
func answers(t *testing.T, far bloomery.Far, hs []uint64, want []bool, verified bool) {
	t.Helper()
	got := make([]bloomery.Answer, len(hs))
	if err := far.AskHashes(got, hs); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i].Found != want[i] || got[i].Verified != verified {
			t.Fatalf("hash %#x: %+v, want %v, verified: %v", hs[i], got[i], want[i], verified)
		}
	}
}

// TestAtReads counts reads: one of 64 bytes for a key of a bloom or split filter, none for one that
// was just asked for, and few for a batch of neighbours.
func TestAtReads(t *testing.T) {
	sets, keys := farSets(t, 60_000)
	for name, most := range map[string]uint64{"bloom": 1, "split": 1, "fuse8": 3, "fuse8 in shards of 4": 4} {
		far, err := codec.At(bytes.NewReader(encoded(t, sets[name])))
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(100) {
			reads, read := far.Reads()
			for range 2 {
				if _, err := far.AskHash(keys[i]); err != nil {
					t.Fatal(err)
				}
			}
			again, bytes := far.Reads()
			if again-reads > most || most == 1 && bytes-read > 64 {
				t.Fatalf("%s: key %d took %d reads of %d bytes together", name, i, again-reads, bytes-read)
			}
		}
		before, _ := far.Reads()
		if err := far.AskHashes(make([]bloomery.Answer, 20_000), keys[:20_000]); err != nil {
			t.Fatal(err)
		}
		if after, _ := far.Reads(); after-before > 10 {
			t.Errorf("%s: %d reads for 20,000 keys that lie close together", name, after-before)
		}
	}
}

// TestAtVerifiesOnce reads the MiB around a key, and then 64 bytes for another key in it.
func TestAtVerifiesOnce(t *testing.T) {
	f := bloom.New(4_000_000, 0.01)
	far, err := codec.At(bytes.NewReader(encoded(t, f)))
	if err != nil {
		t.Fatal(err)
	}
	_, start := far.Reads()
	if err := far.VerifyHashes([]uint64{1, 2, 1 << 40}); err != nil {
		t.Fatal(err)
	}
	_, first := far.Reads()
	if err := far.VerifyHashes([]uint64{3, 1 << 59}); err != nil {
		t.Fatal(err)
	}
	a, err := far.AskHash(1 << 58)
	if err != nil || !a.Verified {
		t.Errorf("%+v, %v", a, err)
	}
	if _, second := far.Reads(); first-start < 1<<20 || first-start > 1<<20+64 || second-first > 3*64 {
		t.Errorf("%d bytes to verify a MiB, %d for keys in it", first-start, second-first)
	}
	if a, err := far.AskHash(1 << 63); err != nil || a.Verified {
		t.Errorf("another MiB: %+v, %v", a, err)
	}
}

// TestAtDamage changes single bytes: those of the header are found at once, those of the array
// when they are verified, and others do no harm.
func TestAtDamage(t *testing.T) {
	sets, keys := farSets(t, 20_000)
	for name, f := range sets {
		data := encoded(t, f)
		for _, at := range []int{3, 20, 63} {
			if _, err := codec.At(bytes.NewReader(flipped(data, at))); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%s: byte %d of the header: %v", name, at, err)
			}
		}
		for _, at := range []int{len(data) / 2, len(data) - 3} {
			far, err := codec.At(bytes.NewReader(flipped(data, at)))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := make([]bloomery.Answer, len(keys))
			if err := far.AskHashes(got, keys); err != nil {
				t.Errorf("%s: byte %d: %v", name, at, err)
			}
			for _, err := range []error{far.VerifyHashes(keys), far.Verify()} {
				if !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), ": verify: ") {
					t.Errorf("%s: byte %d: %v", name, at, err)
				}
			}
		}
		for _, size := range []int{0, 10, 64, len(data) / 2, len(data) - 1} {
			far, err := codec.At(bytes.NewReader(data[:size]))
			if err == nil {
				err = far.AskHashes(make([]bloomery.Answer, len(keys)), keys)
			}
			if err == nil {
				err = far.Verify()
			}
			if !errors.Is(err, bloomery.ErrCorrupt) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %d bytes of %d: %v", name, size, len(data), err)
			}
		}
	}
}

func flipped(data []byte, at int) []byte {
	data = slices.Clone(data)
	data[at] ^= 4
	return data
}

// TestAtFrontChanges opens a static filter whose directory is another one later: that is found
// when it is verified.
func TestAtFrontChanges(t *testing.T) {
	sets, keys := farSets(t, 1000)
	for _, name := range []string{"fuse8", "ribbon", "ribbon in shards of 128"} {
		r := &replaced{data: encoded(t, sets[name])}
		far, err := codec.At(r)
		if err != nil {
			t.Fatal(err)
		}
		other, err := filledLike(sets[name], hashes(1500, 9))
		if err != nil {
			t.Fatal(err)
		}
		r.data = encoded(t, other)
		if err := far.VerifyHashes(keys); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// filledLike returns a static filter of the kind of another.
func filledLike(f bloomery.Hashed, hs []uint64) (bloomery.Hashed, error) {
	for _, k := range codec.Kinds() {
		if k.Name == f.Stats().Kind {
			return k.Build(hs, 0.01, hashing.Hasher{})
		}
	}
	return nil, errors.New("no such kind")
}

// replaced is a file that another one takes the place of.
type replaced struct{ data []byte }

func (c *replaced) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(c.data).ReadAt(p, off)
}

func TestAtRefuses(t *testing.T) {
	for _, k := range codec.Kinds() {
		if slices.Contains(farKinds, k.Name) {
			continue
		}
		f, err := filledKind(k, hashes(10, 1), 100, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := codec.At(bytes.NewReader(encoded(t, f))); !errors.Is(err, bloomery.ErrIncompatible) || !strings.Contains(err.Error(), k.Name) {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
	plain := encoded(t, bloom.New(100, 0.01))
	if _, err := codec.At(bytes.NewReader(compressed(t, plain))); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a transport form: %v", err)
	}
	if _, err := (codec.Config{Alloc: func(int) ([]byte, error) { return nil, nil }}).At(bytes.NewReader(plain)); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("with Alloc: %v", err)
	}
	if _, err := (bloom.Config{Capacity: 5}).At(bytes.NewReader(plain)); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("with a capacity: %v", err)
	}
	if _, err := (ribbon.Config{}).At(bytes.NewReader(plain)); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("another kind: %v", err)
	}
	limited := codec.Config{}
	limited.Limits.Bytes = 7
	if _, err := limited.At(bytes.NewReader(plain)); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
	secret := hashing.Keyed([16]byte{1})
	keyed, err := bloom.Config{Capacity: 10, ErrorRate: 0.01, Hasher: secret}.New()
	if err != nil {
		t.Fatal(err)
	}
	keyed.AddString("alice")
	if _, err := codec.At(bytes.NewReader(encoded(t, keyed))); !errors.Is(err, bloomery.ErrKey) {
		t.Errorf("without its key: %v", err)
	}
	far, err := codec.Config{Hasher: secret}.At(bytes.NewReader(encoded(t, keyed)))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]bloomery.Answer, 2)
	if err := far.AskKeys(got, [][]byte{[]byte("alice"), []byte("bob")}); err != nil || !got[0].Found || got[1].Found {
		t.Errorf("%+v, %v", got, err)
	}
	if a, err := far.Ask([]byte("alice")); err != nil || !a.Found {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestAtReaderFails passes the errors of a reader on.
func TestAtReaderFails(t *testing.T) {
	data, broken := encoded(t, bloom.New(1000, 0.01)), errors.New("the cable is out")
	r := &failing{data: data, after: 1, err: broken}
	far, err := codec.At(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := far.AskHash(1); !errors.Is(err, broken) {
		t.Errorf("a lookup: %v", err)
	}
	if err := far.VerifyHashes([]uint64{1}); !errors.Is(err, broken) {
		t.Errorf("a check: %v", err)
	}
	if _, err := codec.At(r); !errors.Is(err, broken) {
		t.Errorf("opening: %v", err)
	}
}

// failing fails after some reads.
type failing struct {
	data  []byte
	after int
	err   error
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.after--; f.after < 0 {
		return 0, f.err
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

// TestAtConcurrent asks and verifies from several goroutines.
func TestAtConcurrent(t *testing.T) {
	sets, keys := farSets(t, 20_000)
	for name, f := range sets {
		far, err := codec.At(bytes.NewReader(encoded(t, f)))
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for g := range 6 {
			all.Go(func() {
				mine := keys[g*1000:][:3000]
				if g%3 == 0 {
					if err := far.VerifyHashes(mine); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				got := make([]bloomery.Answer, len(mine))
				if err := far.AskHashes(got, mine); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				for i := range got {
					if !got[i].Found {
						t.Errorf("%s: key %#x is lost", name, mine[i])
						return
					}
				}
			})
		}
		all.Wait()
	}
}

// FuzzAt asks whatever comes in, as it is and with a byte changed under sound checksums: no
// panic, an error of a known cause, and what is verified answers as a view does.
func FuzzAt(f *testing.F) {
	for _, data := range kindSeeds(f) {
		f.Add(data, uint16(0), byte(0))
		f.Add(data, uint16(70), byte(1)) // the payload
		f.Add(data, uint16(13), byte(2)) // the header
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16, flip byte) {
		askAny(t, data)
		if len(data) > 72 && len(data) < 1<<20 {
			data = bytes.Clone(data)
			data[int(at)%len(data)] ^= flip
			reseal(data)
			askAny(t, data)
		}
	})
}

// askAny asks data where it lies.
func askAny(t *testing.T, data []byte) {
	t.Helper()
	c := codec.Config{Hasher: windowKey, Limits: codec.Limits{Bytes: 16 << 20}}
	far, err := c.At(bytes.NewReader(data))
	if err != nil {
		return
	}
	asked := hashes(50, 1)
	got := make([]bloomery.Answer, len(asked))
	if err := far.AskHashes(got, asked); err != nil && !errors.Is(err, bloomery.ErrCorrupt) {
		t.Fatal(err)
	}
	if err := far.VerifyHashes(asked); err != nil {
		if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatal(err)
		}
		return
	}
	if err := far.AskHashes(got, asked); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(data)
	if err != nil {
		return
	}
	want := make([]bool, len(asked))
	v.ContainsHashes(want, asked)
	for i := range got {
		if got[i].Found != want[i] || !got[i].Verified {
			t.Fatalf("hash %#x: %+v, want %v", asked[i], got[i], want[i])
		}
	}
}
