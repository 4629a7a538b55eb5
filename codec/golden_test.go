package codec_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/golden"
)

// words returns the encoding of a filter that holds so many keys.
func words(t *testing.T, bits uint64, keys int) []byte {
	t.Helper()
	f, err := bloom.Config{Bits: bits, Hashes: 2}.New()
	if err != nil {
		t.Fatal(err)
	}
	for i := range keys {
		f.AddString(fmt.Sprintf("key %d", i))
	}
	return encoded(t, f)
}

// One file for each form of a chunk, and one with several chunks.
func TestGoldenTransport(t *testing.T) {
	runs := words(t, 100_000, 0)
	for i := range 40 {
		runs[64+8*i] = byte(i * 37)
	}
	for i := range 800 {
		runs[2000+i] = 0xff
	}
	copy(runs[8000:], bytes.Repeat([]byte("repeated"), 50))
	payload := len(runs) - 64 - 8
	for name, data := range map[string][]byte{
		"v1-transport-raw":      words(t, 4096, 1400),
		"v1-transport-set":      words(t, 16_384, 800),
		"v1-transport-clear":    words(t, 16_384, 18_000),
		"v1-transport-runs":     sealTable(runs, payload),
		"v1-transport-empty":    words(t, 16_384, 0),
		"v1-transport-3-chunks": words(t, 2*8*65536+512, 3000),
	} {
		want := golden.File(t, name, compressed(t, data))
		back, err := codec.Decompress(nil, want)
		if err != nil || !bytes.Equal(back, data) {
			t.Errorf("%s is not read any more: %v", name, err)
		}
	}
}

// Kinds whose payload is not one array travel as well: a Scalable has layers,
// each with a head of its own, and a Sliced has a bitmap before its rows.
func TestGoldenTransportKinds(t *testing.T) {
	scalable := bloom.NewScalable(100, 0.01)
	sliced, err := bloom.Config{Columns: 64, Capacity: 100, ErrorRate: 0.01}.NewSliced()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		scalable.AddString(fmt.Sprintf("key %d", i))
	}
	for range 3 {
		column, err := sliced.AddColumn()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			h := sliced.Hash(fmt.Appendf(nil, "key %d of %d", i, column))
			if _, err := sliced.AddHash(column, h); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, f := range map[string]any{"scalable-flat": scalable, "sliced": sliced} {
		data := encoded(t, f)
		want := golden.File(t, "v1-transport-"+name, compressed(t, data))
		back, err := codec.Decompress(nil, want)
		if err != nil || !bytes.Equal(back, data) {
			t.Errorf("%s is not read any more: %v", name, err)
		}
		if len(want) >= len(data) {
			t.Errorf("%s travels in %d bytes, written it has %d", name, len(want), len(data))
		}
	}
}

// TestGoldenTransportOldShares opens Scalables of before, with falling and with equal
// shares of the rate.
func TestGoldenTransportOldShares(t *testing.T) {
	for _, name := range []string{"v1-transport-scalable", "v1-transport-scalable-equal"} {
		t.Run(name, func(t *testing.T) { openOldShares(t, name) })
	}
}

func openOldShares(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := codec.Open(data)
	if err != nil {
		t.Fatalf("the golden file is not read any more: %v", err)
	}
	for i := range 300 {
		if k := fmt.Appendf(nil, "key %d", i); !f.Contains(k) {
			t.Errorf("%q is missing", k)
		}
	}
}

func TestGoldenPatch(t *testing.T) {
	for name, c := range map[string][2][]byte{
		"v1-patch-added": {words(t, 16_384, 3000), words(t, 16_384, 3050)},
		"v1-patch-grown": {words(t, 4096, 300), words(t, 8192, 300)},
	} {
		patch, err := codec.Diff(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		after, err := codec.Patch(c[0], golden.File(t, name, patch))
		if err != nil || !bytes.Equal(after, c[1]) {
			t.Errorf("%s is not read any more: %v", name, err)
		}
	}
}
