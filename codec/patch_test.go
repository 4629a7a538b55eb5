package codec_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// 1% changed bits travel in at most 0.1 of the bytes, wherever they lie.
func TestPatchSizes(t *testing.T) {
	half := encoded(t, sparse(t, 8<<20, 0.5, 1))
	changed := bytes.Clone(half)
	rng := rand.New(rand.NewPCG(2, 2))
	for range 8 << 20 / 100 {
		at := rng.IntN(8 << 20)
		changed[64+at/8] ^= 1 << (at % 8)
	}
	sealTable(changed, 1<<20)

	blocked := bloom.New(1_000_000, 0.01)
	hs := hashes(1_000_000, 5)
	blocked.AddHashes(nil, hs[:900_000])
	old := encoded(t, blocked)
	blocked.AddHashes(nil, hs[900_000:935_000])
	for name, c := range map[string][2][]byte{
		"random bits": {half, changed}, "keys added": {old, encoded(t, blocked)},
	} {
		patch, err := codec.Diff(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		bits := different(c[0], c[1])
		got := float64(len(patch)) / float64(len(c[1]))
		t.Logf("%s: %.4f of the bits changed, the patch has %.4f of the bytes", name, bits, got)
		if bits < 0.0095 || got > 0.1 {
			t.Errorf("%s: %.4f of the bits changed, the patch has %.4f of the bytes, want at most 0.1", name, bits, got)
		}
	}
}

// different returns the share of bits that differ.
func different(a, b []byte) float64 {
	n := 0
	for i := range a {
		for x := a[i] ^ b[i]; x != 0; x &= x - 1 {
			n++
		}
	}
	return float64(n) / float64(8*len(a))
}

// A patch makes of the old encoding the new one, and of no other anything.
func TestPatchRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawEncoding(t, "before"), drawEncoding(t, "after")
		patch, err := codec.Diff(before, after)
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec.Patch(before, patch)
		if err != nil || !bytes.Equal(got, after) {
			t.Fatalf("the patch makes something else (%v)", err)
		}
		if bytes.Equal(before, after) {
			return
		}
		if got, err := codec.Patch(after, patch); got != nil || !errors.Is(err, bloomery.ErrIncompatible) {
			t.Fatalf("a patch for another filter: %v, want ErrIncompatible", err)
		}
	})
}

// A filter of every kind that has got more keys, one that has got another
// layer included, comes from the old one and a patch.
func TestPatchKinds(t *testing.T) {
	for _, k := range codec.Kinds() {
		before := encoded(t, made(t, k, 200, 100, hashing.Hasher{}))
		after := encoded(t, made(t, k, 200, 500, hashing.Hasher{}))
		patch, err := codec.Diff(before, after)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codec.Patch(before, patch); err != nil || !bytes.Equal(got, after) {
			t.Errorf("%s: the patch makes something else (%v)", k.Name, err)
		}
	}
}

func TestPatchOfNothing(t *testing.T) {
	data := encoded(t, sparse(t, 8<<20, 0.5, 1))
	patch, err := codec.Diff(data, data)
	if err != nil || len(patch) > 300 {
		t.Errorf("a patch that changes nothing has %d bytes (%v)", len(patch), err)
	}
}

func TestPatchRefuses(t *testing.T) {
	before, after := encoded(t, sparse(t, 20_000, 0.08, 2)), encoded(t, sparse(t, 20_000, 0.09, 3))
	patch, err := codec.Diff(before, after)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(before)
	damaged[300] ^= 1 // the table still says what it said
	if got, err := codec.Patch(damaged, patch); got != nil || !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a damaged old encoding: %v, want ErrCorrupt", err)
	}
	for _, c := range [][2][]byte{{damaged, after}, {before, damaged}, {nil, after}, {before, nil}, {before, after[:100]}} {
		if got, err := codec.Diff(c[0], c[1]); got != nil || !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("Diff of damaged data: %v, want ErrCorrupt", err)
		}
	}
	for at := range patch {
		bad := bytes.Clone(patch)
		bad[at] ^= 0x10
		got, err := codec.Patch(before, bad)
		if err == nil && !bytes.Equal(got, after) {
			t.Fatalf("byte %d flipped: another filter", at)
		}
		if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) && !errors.Is(err, bloomery.ErrIncompatible) {
			t.Fatalf("byte %d flipped: %v", at, err)
		}
	}
	for n := range patch {
		if _, err := codec.Patch(before, patch[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
	}
	if _, err := codec.Patch(before, compressed(t, before)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a transport form is no patch: %v", err)
	}
}
