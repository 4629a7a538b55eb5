package codec_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"reflect"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/ribbon"
)

// FuzzKinds opens whatever comes in, as it is and with a byte changed under sound
// checksums: no panic, an error of a known cause, and what is accepted works and
// comes out as it went in.
func FuzzKinds(f *testing.F) {
	for _, data := range kindSeeds(f) {
		f.Add(data, uint16(0), byte(0))
		f.Add(data, uint16(70), byte(1)) // the payload
		f.Add(data, uint16(13), byte(2)) // the header
		f.Add(data[:64], uint16(0), byte(0))
	}
	f.Add([]byte{}, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint16, flip byte) {
		openAny(t, data)
		if len(data) > 72 && len(data) < 1<<20 {
			data = bytes.Clone(data)
			data[int(at)%len(data)] ^= flip
			reseal(data)
			openAny(t, data)
		}
	})
}

// kindSeeds returns small encodings of every kind, and of the forms of a kind that
// differ in their encoding.
func kindSeeds(tb testing.TB) (seeds [][]byte) {
	tb.Helper()
	add := func(f any, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		seeds = append(seeds, encoded(tb, f))
	}
	hs := hashes(60, 1)
	for _, k := range codec.Kinds() {
		add(filledKind(k, hs[:20], 20, 0.1, hashing.Hasher{}))
	}
	layers := bloom.NewScalable(20, 0.1)
	layers.AddHashes(nil, hashes(100, 1))
	add(layers, nil)
	wide, err := counting.Config{Capacity: 20, ErrorRate: 0.1, CounterBits: 8}.NewSpectral()
	if err == nil {
		_, err = wide.InsertHashes(append(hs, hs[:10]...))
	}
	add(wide, err)
	elders := quotient.NewGrowing(1, 0.5)
	_, err = elders.InsertHashes(hashes(300, 1))
	add(elders, err)
	for _, c := range []fuse.Config[uint8]{{Arity: 4}, {Shards: 4}} {
		add(c.Build(context.Background(), slices.Clone(hs)))
	}
	add(ribbon.Config{ErrorRate: 0.01, Width: 128, Shards: 2}.Build(context.Background(), slices.Clone(hs)))
	add(exact.Build(hs[:len(hs)/4], hs[len(hs)/4:]))
	add(stripedFilter(tb, hashing.Hasher{}), nil)
	add(correctedFilter(tb, hashing.Hasher{}), nil)
	add(layersFilter(tb, hashing.Hasher{}), nil)
	add(corrected(tb, layersFilter(tb, hashing.Hasher{})), nil)
	add(corrected(tb, stripedFilter(tb, hashing.Hasher{})), nil)
	static, err := fuse.Config[uint8]{}.Build(context.Background(), slices.Clone(hs))
	if err != nil {
		tb.Fatal(err)
	}
	add(corrected(tb, static), nil)
	add(rotatingWindow(tb, windowKey), nil)
	return seeds
}

// reseal puts the right checksums on an encoding of up to 1 MiB that was changed,
// and on those of its members.
func reseal(data []byte) {
	le, table := binary.LittleEndian, crc32.MakeTable(crc32.Castagnoli)
	kind, payload := le.Uint16(data[10:]), data[64:len(data)-8]
	if kind == envelope.KindQuorum || kind == envelope.KindStriped || kind == envelope.KindCorrected || kind == envelope.KindLayers {
		n := min(int(le.Uint32(data[56:])), len(payload)/8)
		at := (8*n + 63) &^ 63
		for i := range n {
			size := int(min(le.Uint64(payload[8*i:]), 1<<20))
			if size < 72 || at+size > len(payload) {
				break
			}
			reseal(payload[at : at+size])
			at += (size + 63) &^ 63
		}
	}
	le.PutUint32(data[60:], crc32.Checksum(data[:60], table))
	if le.Uint64(data[48:]) != uint64(len(payload)) {
		return
	}
	sums := data[len(data)-8:]
	le.PutUint32(sums, crc32.Checksum(payload, table))
	le.PutUint32(sums[4:], crc32.Checksum(sums[:4], table))
}

// openAny opens data by every way and uses what comes of it.
func openAny(t *testing.T, data []byte) {
	t.Helper()
	c := codec.Config{Hasher: windowKey, Limits: codec.Limits{Bytes: 16 << 20}}
	x, err := c.Open(data)
	_, readErr := c.Read(bytes.NewReader(data))
	v, viewErr := c.View(data)
	for _, err := range []error{err, readErr, viewErr} {
		if err != nil && !known(err) {
			t.Errorf("error without a known cause: %v", err)
		}
	}
	if viewErr == nil {
		lookAt(v)
		if clone := reflect.ValueOf(v).MethodByName("Clone"); clone.IsValid() {
			if err := clone.Call(nil)[1]; err.IsNil() && v.Verify() != nil {
				t.Error("a corrupt view was cloned")
			}
		}
	}
	if err != nil {
		return
	}
	if readErr != nil {
		t.Errorf("Open accepts, Read says %v", readErr)
	}
	// A transport form has several codes for the same bytes.
	if magic := string(data[:min(len(data), 8)]); magic == string(encoded(t, x)[:8]) && !bytes.Equal(encoded(t, x), data) {
		t.Error("accepted bytes do not come out as they went in")
	}
	change(t, x)
}

// lookAt calls what reads a filter.
func lookAt(f bloomery.Hashed) {
	hs := []uint64{0, 42, 1 << 63, 1<<64 - 1}
	f.ContainsHashes(make([]bool, len(hs)), hs)
	for _, h := range hs {
		f.ContainsHash(h)
		if c, ok := f.(bloomery.Counter); ok {
			c.CountHash(h)
		}
	}
	f.Stats()
}

// change calls what changes a filter.
func change(t *testing.T, f bloomery.Hashed) {
	t.Helper()
	lookAt(f)
	in, deletes := true, true
	if c, ok := f.(*compose.Corrected); ok { // it can what its filter can
		_, adds := c.Filter().(bloomery.Adder)
		_, inserts := c.Filter().(bloomery.Inserter)
		if _, clears := c.Filter().(interface{ Clear() }); !clears || !adds && !inserts {
			return
		}
		_, deletes = c.Filter().(bloomery.Deleter)
	}
	switch f := f.(type) {
	case bloomery.Adder:
		f.AddHash(42)
	case bloomery.Inserter:
		if err := f.InsertHash(42); err != nil {
			in = false
			if !errors.Is(err, bloomery.ErrFull) && !errors.Is(err, bloomery.ErrTooLarge) {
				t.Errorf("insert: %v, want ErrFull or ErrTooLarge", err)
			}
		}
	default:
		return
	}
	if in && !f.ContainsHash(42) {
		t.Error("a key that was put in is not there")
	}
	if d, ok := f.(bloomery.Deleter); ok && in && deletes && !d.DeleteHash(42) {
		t.Error("a key that was inserted cannot be deleted")
	}
	if c, ok := f.(interface{ Clear() }); ok {
		c.Clear()
		if f.ContainsHash(42) {
			t.Error("a key is there after Clear")
		}
	}
}

// TestHostileKinds changes every bit of every header, and bits of the start of
// every payload, under sound checksums.
func TestHostileKinds(t *testing.T) {
	for _, data := range kindSeeds(t) {
		bad := make([]byte, len(data))
		for at := range min(len(data)-8, 64+256) {
			for bit := range 8 {
				if at >= 64 && bit != at%8 {
					continue
				}
				copy(bad, data)
				bad[at] ^= 1 << bit
				reseal(bad)
				openAny(t, bad)
				if t.Failed() {
					t.Fatalf("%v: byte %d, bit %d changed", data[10], at, bit)
				}
			}
		}
	}
}
