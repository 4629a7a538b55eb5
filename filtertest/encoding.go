package filtertest

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/measuring"
)

// headerSize is the length of the header that all encodings begin with.
const headerSize = 64

// encode returns the encoding of f by all of its spellings, which must agree.
func encode(t *testing.T, f any) []byte {
	t.Helper()
	data, err := f.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		t.Fatalf("MarshalBinary: %v", err)
	}
	appended, err := f.(encoding.BinaryAppender).AppendBinary([]byte("before"))
	if err != nil || !bytes.Equal(appended, append([]byte("before"), data...)) {
		t.Fatalf("AppendBinary differs from MarshalBinary (%v)", err)
	}
	var buf bytes.Buffer
	n, err := f.(io.WriterTo).WriteTo(&buf)
	if err != nil || n != int64(len(data)) || !bytes.Equal(buf.Bytes(), data) {
		t.Fatalf("WriteTo wrote %d bytes that differ from MarshalBinary (%v)", n, err)
	}
	return data
}

// same ends the test if two filters answer differently.
func same(t *testing.T, what string, a, b bloomery.Hashed, hs []uint64) {
	t.Helper()
	for _, h := range hs {
		if a.ContainsHash(h) != b.ContainsHash(h) {
			t.Fatalf("%s: answers differ for hash %#x", what, h)
		}
	}
	if sa, sb := a.Stats(), b.Stats(); sa != sb {
		t.Fatalf("%s: Stats differ: %+v and %+v", what, sa, sb)
	}
}

func roundTrip(t *testing.T, k Kind) {
	for _, n := range []int{1, 100, 10_000, 1_000_000} {
		if testing.Short() && n > 10_000 {
			continue
		}
		// The largest is mostly empty: its length alone makes it more than one chunk.
		hs := hashes(min(n, 200_000), 20)
		f := k.must(t, hs, n, 1e-2)
		data := encode(t, f)
		probes := append(hashes(10_000, 21), hs[:min(len(hs), 1000)]...)

		g, err := k.Decode(data, hashing.Hasher{})
		if err != nil {
			t.Fatalf("n = %d: decode: %v", n, err)
		}
		same(t, "decoded", f, g, probes)
		if again := encode(t, g); !bytes.Equal(again, data) {
			t.Errorf("n = %d: the decoded filter encodes to other bytes", n)
		}
		if k.Read == nil {
			continue
		}
		// A reader that gives few bytes at a time and has more behind the end.
		r := io.MultiReader(iotest.HalfReader(bytes.NewReader(data)), bytes.NewReader([]byte("rest")))
		g, err = k.Read(r)
		if err != nil {
			t.Fatalf("n = %d: read: %v", n, err)
		}
		same(t, "read", f, g, probes)
		if rest, err := io.ReadAll(r); string(rest) != "rest" || err != nil {
			t.Errorf("n = %d: after reading %q is left (%v), want %q", n, rest, err, "rest")
		}
	}
}

func viewing(t *testing.T, k Kind) {
	hs := hashes(10_000, 22)
	f := k.must(t, hs, len(hs), 1e-2)
	data := encode(t, f)
	before := bytes.Clone(data)
	probes := append(hashes(10_000, 23), hs...)
	for shift := range 9 { // views must not depend on alignment
		moved := append(make([]byte, shift, shift+len(data)), data...)[shift:]
		v, err := k.View(moved)
		if err != nil {
			t.Fatalf("view: %v", err)
		}
		same(t, "view", f, v, probes)
		if err := v.Verify(); err != nil {
			t.Errorf("Verify of a sound filter: %v", err)
		}
		if !bytes.Equal(moved, before) {
			t.Fatal("the view changed its data")
		}
	}
}

// damage flips every bit of the header and a sample of the rest, cuts the
// data off at many lengths and adds to it.
func damage(t *testing.T, k Kind) {
	p := max(1e-3, slices.Min(k.Rates))
	hs := hashes(200_000, 24)
	spoil(t, k, encode(t, k.must(t, hs[:5000], 5000, p)), 200)
	if testing.Short() {
		return
	}
	// More than one chunk of 1 MiB for some kinds; two will do.
	data := encode(t, k.must(t, hs, len(hs), p))
	if len(data) > 4<<20 {
		data = encode(t, k.must(t, hs[:20_000], 20_000, p))
	}
	spoil(t, k, data, 40)
}

// spoil is damage to one encoding, with so many flips behind its header.
func spoil(t *testing.T, k Kind, data []byte, flips int) {
	t.Helper()
	refused := func(what string, data []byte) {
		t.Helper()
		if _, err := k.Decode(data, hashing.Hasher{}); !isDamage(err) {
			t.Errorf("%s: decode: %v, want ErrCorrupt, ErrVersion or ErrKey", what, err)
		}
		if k.Read != nil {
			if _, err := k.Read(bytes.NewReader(data)); !isDamage(err) {
				t.Errorf("%s: read: %v, want ErrCorrupt, ErrVersion or ErrKey", what, err)
			}
		}
	}
	bad, last := bytes.Clone(data), 0
	flip := func(at int, bit uint) []byte { // and back, what was flipped before
		bad[last] = data[last]
		bad[at] ^= 1 << bit
		last = at
		return bad
	}
	for at := range headerSize {
		for bit := range uint(8) {
			bad := flip(at, bit)
			refused(fmt.Sprintf("header byte %d, bit %d flipped", at, bit), bad)
			if k.View != nil {
				if _, err := k.View(bad); !isDamage(err) {
					t.Errorf("header byte %d, bit %d flipped: view: %v", at, bit, err)
				}
			}
		}
	}
	for i := range flips {
		at := headerSize + int(measuring.Scramble(uint64(i))%uint64(len(data)-headerSize))
		if i < flips/10 {
			at = len(data) - 1 - i // the checksum table
		}
		bad := flip(at, uint(i%8))
		refused(fmt.Sprintf("byte %d of %d flipped", at, len(data)), bad)
		if k.View == nil {
			continue
		}
		v, err := k.View(bad)
		if err != nil { // a payload may begin with lengths, which a view looks at
			if !isDamage(err) {
				t.Errorf("byte %d flipped: view: %v", at, err)
			}
			continue
		}
		if err := v.Verify(); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("byte %d flipped: Verify: %v, want ErrCorrupt", at, err)
		}
	}
	for _, n := range []int{0, 1, 8, 63, 64, 65, len(data) / 2, len(data) - 5, len(data) - 4, len(data) - 1} {
		refused(fmt.Sprintf("cut off after %d bytes", n), data[:n])
	}
	if _, err := k.Decode(append(bytes.Clone(data), 0), hashing.Hasher{}); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a byte too many: %v, want ErrCorrupt", err)
	}
	if k.Read != nil {
		broken := errors.New("broken pipe")
		_, err := k.Read(io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("reader that fails midway: %v, want its error", err)
		}
	}
}

func isDamage(err error) bool {
	return errors.Is(err, bloomery.ErrCorrupt) || errors.Is(err, bloomery.ErrVersion) || errors.Is(err, bloomery.ErrKey)
}

// wrongKey opens filters with a secret key by the right key, a wrong one and
// none.
func wrongKey(t *testing.T, k Kind) {
	secret := [16]byte([]byte("a secret of ours"))
	right, wrong := hashing.Keyed(secret), hashing.Keyed([16]byte{2})
	f, err := k.MakeKeyed(right)
	if err != nil {
		t.Fatal(err)
	}
	data := encode(t, f)
	if g, err := k.Decode(data, right); err != nil {
		t.Errorf("right key: %v", err)
	} else if g.Hash([]byte("x")) != f.Hash([]byte("x")) {
		t.Error("right key: another hash")
	}
	for what, h := range map[string]hashing.Hasher{"wrong key": wrong, "no key": {}} {
		if _, err := k.Decode(data, h); !errors.Is(err, bloomery.ErrKey) {
			t.Errorf("%s: %v, want ErrKey", what, err)
		}
	}
	if bytes.Contains(data, secret[:8]) || bytes.Contains(data, secret[8:]) {
		t.Error("the encoding holds the secret key")
	}
}

func union(t *testing.T, k Kind) {
	const n, p = 20_000, 1e-2
	all := hashes(n, 25)
	a, b := k.must(t, all[:n/2], n, p), k.must(t, all[n/3:], n, p)
	if err := k.Union(a, b); err != nil {
		t.Fatalf("union: %v", err)
	}
	if got := missing(a, all); got > 0 {
		t.Errorf("union forgot %d keys", got)
	}
	same(t, "union", a, k.must(t, all, n, p), hashes(50_000, 26))

	before := encode(t, a)
	for what, other := range map[string]bloomery.Hashed{
		"another capacity": k.must(t, nil, 2*n, p),
		"another rate":     k.must(t, nil, n, p/10),
	} {
		if err := k.Union(a, other); !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("union with %s: %v, want ErrIncompatible", what, err)
		}
	}
	if k.MakeKeyed != nil {
		x, err := k.MakeKeyed(hashing.Keyed([16]byte{1}))
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range []hashing.Hasher{{}, hashing.Seeded(3), hashing.Keyed([16]byte{2})} {
			y, err := k.MakeKeyed(h)
			if err != nil {
				t.Fatal(err)
			}
			if err := k.Union(x, y); !errors.Is(err, bloomery.ErrIncompatible) {
				t.Errorf("union with hasher %d: %v, want ErrIncompatible", i, err)
			}
		}
	}
	if !bytes.Equal(before, encode(t, a)) {
		t.Error("a refused union changed its receiver")
	}
}

func cloneAndClear(t *testing.T, k Kind) {
	const n = 5000
	hs := hashes(n, 27)
	f := k.must(t, hs, n, 1e-2)
	data := encode(t, f)
	c := k.Clone(f)
	if !bytes.Equal(data, encode(t, c)) {
		t.Error("the clone encodes to other bytes")
	}
	k.Clear(c)
	if got := missing(c, hs); got != n {
		t.Errorf("after Clear %d of %d keys are there", n-got, n)
	}
	if s := c.Stats(); s.Items != 0 || s.Saturation != 0 {
		t.Errorf("after Clear: %+v", s)
	}
	if !bytes.Equal(data, encode(t, f)) {
		t.Error("clearing the clone changed the original")
	}
}
