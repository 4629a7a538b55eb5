package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// hashes returns n hashes; different seeds give different ones.
func hashes(n int, seed uint64) []uint64 {
	hs := make([]uint64, n)
	h := hashing.Seeded(seed)
	for i := range hs {
		hs[i] = h.HashUint64(uint64(i))
	}
	return hs
}

// made returns a filter of kind k for n keys at 1% that holds keys of them.
func made(tb testing.TB, k codec.Kind, n, keys int, h hashing.Hasher) bloomery.Hashed {
	tb.Helper()
	if k.Features.Static {
		f, err := k.Build(hashes(keys, 7), 0.01, h)
		if err != nil {
			tb.Fatal(err)
		}
		return f
	}
	f, err := k.New(n, 0.01, h)
	if err != nil {
		tb.Fatal(err)
	}
	fill(tb, f, hashes(keys, 7))
	return f
}

// fill adds or inserts keys by their hashes, those that there is room for.
func fill(tb testing.TB, f bloomery.Hashed, hs []uint64) {
	tb.Helper()
	if a, ok := f.(bloomery.Adder); ok {
		a.AddHashes(nil, hs)
		return
	}
	for _, h := range hs {
		if err := f.(bloomery.Inserter).InsertHash(h); errors.Is(err, bloomery.ErrFull) {
			return
		} else if err != nil {
			tb.Fatal(err)
		}
	}
}

// encoded returns the encoding of f.
func encoded(tb testing.TB, f any) []byte {
	tb.Helper()
	data, err := f.(interface{ MarshalBinary() ([]byte, error) }).MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func compressed(tb testing.TB, data []byte) []byte {
	tb.Helper()
	small, err := codec.Compress(nil, data)
	if err != nil {
		tb.Fatal(err)
	}
	return small
}

// TestKindsIsACopy changes what Kinds returned: the table stays as it is.
func TestKindsIsACopy(t *testing.T) {
	changed := codec.Kinds()
	name := changed[0].Name
	changed[0].Name, changed[0].New = "changed", nil
	if k := codec.Kinds()[0]; k.Name != name || k.New == nil {
		t.Errorf("the first kind is now %q", k.Name)
	}
}

func TestKindsTable(t *testing.T) {
	last := uint16(0)
	var names []string
	for _, k := range codec.Kinds() {
		names = append(names, k.Name)
		if k.Number <= last {
			t.Errorf("kind %d comes after %d", k.Number, last)
		}
		last = k.Number
		if (k.New == nil) != k.Features.Static {
			t.Errorf("%s: static %v, but New is nil: %v", k.Name, k.Features.Static, k.New == nil)
		}
		if (k.Build != nil) != k.Features.Static {
			t.Errorf("%s: static %v, but Build is nil: %v", k.Name, k.Features.Static, k.Build == nil)
		}
		if k.New == nil {
			continue
		}
		f, err := k.New(100, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Stats().Kind; got != k.Name {
			t.Errorf("kind %d calls itself %q, the table says %q", k.Number, got, k.Name)
		}
		if got := binary.LittleEndian.Uint16(encoded(t, f)[10:]); got != k.Number {
			t.Errorf("%s writes kind %d, the table says %d", k.Name, got, k.Number)
		}
		_, add := f.(bloomery.Adder)
		_, insert := f.(bloomery.Inserter)
		_, remove := f.(bloomery.Deleter)
		_, count := f.(bloomery.Counter)
		has := k.Features
		if add != has.Add || insert != has.Insert || remove != has.Delete || count != has.Count {
			t.Errorf("%s: the table says %+v, the filter is add %v, insert %v, delete %v, count %v", k.Name, has, add, insert, remove, count)
		}
		for _, bad := range []struct {
			n int
			p float64
		}{{0, 0.01}, {-1, 0.01}, {10, 0}, {10, 1}} {
			if f, err := k.New(bad.n, bad.p, hashing.Hasher{}); f != nil || !errors.Is(err, bloomery.ErrParameter) {
				t.Errorf("%s for %d keys at %v: %v, %v, want ErrParameter", k.Name, bad.n, bad.p, f, err)
			}
		}
		// Ten times too many keys: only those that grow take all and keep the rate.
		full := made(t, k, 100, 1000, hashing.Hasher{}).Stats()
		if grows := full.Items > 900 && full.Predicted <= full.Asked; grows != has.Grow {
			t.Errorf("%s: the table says grow %v, overfull it is %+v", k.Name, has.Grow, full)
		}
		if has.Forget && (full.Items > 200 || full.Predicted > 1.5*full.Asked) {
			t.Errorf("%s: the table says that it forgets, overfull it is %+v", k.Name, full)
		}
	}
	if want := []string{"bloom", "standard", "partitioned", "split", "scalable", "counting", "spectral", "stable", "cuckoo", "quotient", "fuse8", "fuse16", "fuse32", "ribbon", "growing", "window", "quorum", "map", "exact"}; !slices.Equal(names, want) {
		t.Errorf("the table has %v, want %v", names, want)
	}
}

// Every kind comes back from every form by every way in, with its key only.
func TestOpen(t *testing.T) {
	secret := hashing.Keyed([16]byte([]byte("a secret of ours")))
	for _, k := range codec.Kinds() {
		for i, h := range []hashing.Hasher{{}, hashing.Seeded(9), secret, {}} {
			// The last one is overfull: a filter that grows has several layers.
			f := made(t, k, []int{5000, 5000, 5000, 60}[i], 300, h)
			data := encoded(t, f)
			for form, in := range map[string][]byte{"plain": data, "transport": compressed(t, data)} {
				opened, err := codec.Config{Hasher: h}.Open(in)
				same(t, k.Name+" opened, "+form, f, opened, err)
				r := io.MultiReader(iotest.HalfReader(bytes.NewReader(in)), strings.NewReader("rest"))
				read, err := codec.Config{Hasher: h}.Read(r)
				same(t, k.Name+" read, "+form, f, read, err)
				if rest, _ := io.ReadAll(r); string(rest) != "rest" {
					t.Errorf("%s, %s: after reading %q is left", k.Name, form, rest)
				}
				if h.Kind() == hashing.SipHash {
					_, err := codec.Config{Hasher: hashing.Keyed([16]byte{1})}.Open(in)
					_, err2 := codec.Read(bytes.NewReader(in))
					if !errors.Is(err, bloomery.ErrKey) || !errors.Is(err2, bloomery.ErrKey) {
						t.Errorf("%s, %s: wrong keys: %v, %v, want ErrKey", k.Name, form, err, err2)
					}
				}
				if _, err := (codec.Config{Hasher: h}).Open(append(bytes.Clone(in), 0)); !errors.Is(err, bloomery.ErrCorrupt) {
					t.Errorf("%s, %s: a byte too many: %v, want ErrCorrupt", k.Name, form, err)
				}
			}
			v, err := codec.Config{Hasher: h}.View(data)
			same(t, k.Name+" viewed", f, v, err)
			if err := v.Verify(); err != nil {
				t.Error(err)
			}
			data[100] ^= 1
			if err := v.Verify(); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%s: damaged view: %v", k.Name, err)
			}
		}
	}
}

func same(t *testing.T, what string, f, g bloomery.Hashed, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for _, h := range append(hashes(300, 7), hashes(2000, 8)...) {
		if f.ContainsHash(h) != g.ContainsHash(h) {
			t.Fatalf("%s: answers differ", what)
		}
	}
	if f.Stats() != g.Stats() || f.Hash([]byte("k")) != g.Hash([]byte("k")) {
		t.Fatalf("%s: stats or hasher differ", what)
	}
}

// resealed returns data with a changed header under the right checksum.
func resealed(data []byte, at int, b byte) []byte {
	data = bytes.Clone(data)
	data[at] = b
	binary.LittleEndian.PutUint32(data[60:], crc32.Checksum(data[:60], crc32.MakeTable(crc32.Castagnoli)))
	return data
}

func TestOpenRefuses(t *testing.T) {
	data := encoded(t, bloom.New(100, 0.01))
	patch, err := codec.Diff(data, data)
	if err != nil {
		t.Fatal(err)
	}
	columns := encoded(t, slicedFilter(t))
	broken := errors.New("broken pipe")
	for _, c := range []struct {
		name string
		data []byte
		want error
		says string
	}{
		{"unknown kind", resealed(data, 10, 99), bloomery.ErrVersion, "kind 99"},
		{"unknown version", resealed(data, 8, 2), bloomery.ErrVersion, "format 2"},
		{"nothing", nil, bloomery.ErrCorrupt, "0 bytes"},
		{"text", bytes.Repeat([]byte("text"), 30), bloomery.ErrCorrupt, "texttext"},
		{"a header alone", data[:64], bloomery.ErrCorrupt, "64 bytes"},
		{"a patch", patch, bloomery.ErrIncompatible, "patch"},
		{"a sliced", columns, bloomery.ErrIncompatible, "bloom.Sliced"},
		{"a compressed sliced", compressed(t, columns), bloomery.ErrIncompatible, "bloom.Sliced"},
		{"a cut transport form", compressed(t, data)[:90], bloomery.ErrCorrupt, "ends"},
	} {
		f, err := codec.Open(c.data)
		if f != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: Open = %v, %v, want %v and %q", c.name, f, err, c.want, c.says)
		}
		f, err = codec.Read(bytes.NewReader(c.data))
		if f != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: Read = %v, %v, want %v", c.name, f, err, c.want)
		}
		f, err = codec.Read(io.MultiReader(bytes.NewReader(c.data[:min(len(c.data), 40)]), iotest.ErrReader(broken)))
		if f != nil || !errors.Is(err, broken) {
			t.Errorf("%s: broken reader: %v, %v", c.name, f, err)
		}
		v, err := codec.Config{}.View(c.data)
		if v != nil || !errors.Is(err, c.want) && !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("%s: NewView = %v, %v, want %v", c.name, v, err, c.want)
		}
	}
}

// slicedFilter returns an empty bloom.Sliced of 100 columns for 50 keys each.
func slicedFilter(tb testing.TB) *bloom.Sliced {
	tb.Helper()
	s, err := bloom.Config{Columns: 100, Capacity: 50, ErrorRate: 0.01}.NewSliced()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// The comment of Kind.New says what a window is not for: all its keys in one generation.
func TestWindowOfOneGeneration(t *testing.T) {
	for _, k := range codec.Kinds() {
		if k.Name != "window" {
			continue
		}
		const n = 20_000
		f, err := k.New(n, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		h := hashing.Seeded(7)
		for i := range uint64(n) {
			f.(bloomery.Adder).AddHash(h.HashUint64(i))
		}
		if got := f.Stats().Predicted; got < 0.37 || got > 0.41 {
			t.Errorf("rate %v of a window with all keys in one generation, the comment says 39%%", got)
		}
	}
}

// TestPeek asks for the hash of an encoding, of an outline and of what is neither.
func TestPeek(t *testing.T) {
	f, err := bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: hashing.Seeded(7)}.New()
	if err != nil {
		t.Fatal(err)
	}
	data := encoded(t, f)
	if h, err := codec.Peek(data[:64]); err != nil || h.Kind.Name != "bloom" || h.Hash != hashing.XXH3 || h.Check != 7 {
		t.Errorf("Peek = %s, %v, %d, %v", h.Kind.Name, h.Hash, h.Check, err)
	}
	outline, err := codec.AppendOutline(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	o, err := codec.ParseOutline(outline)
	if err != nil {
		t.Fatal(err)
	}
	if hash, check := o.Hash(); hash != hashing.XXH3 || check != 7 {
		t.Errorf("Hash = %v, %d", hash, check)
	}
	if _, err := codec.ParseOutline(append(outline, 0)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a byte behind the outline: %v, want ErrCorrupt", err)
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"transport":    {compressed(t, data), bloomery.ErrIncompatible},
		"sealed":       {sealed(t, data), bloomery.ErrIncompatible},
		"cut":          {data[:63], bloomery.ErrCorrupt},
		"unknown kind": {resealed(data, 10, 200), bloomery.ErrVersion},
	} {
		if _, err := codec.Peek(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
