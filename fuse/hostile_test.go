package fuse_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
)

// Headers and directories that claim what is not there are refused before
// anything is allocated for it, and leave the filter as it was.
func TestHostile(t *testing.T) {
	le := binary.LittleEndian
	good := encoded(t, built(t, fuse.Config[uint8]{Shards: 4}, random(1000, 1)))
	entry := func(i int) int { return 64 + 16*i }
	for name, c := range map[string]struct {
		change func(b []byte)
		want   error
		text   string
	}{
		"another kind":      {func(b []byte) { b[10] = 13 }, bloomery.ErrIncompatible, "of kind fuse16, not of kind fuse8"},
		"arity 2":           {func(b []byte) { b[13] = 2 }, bloomery.ErrCorrupt, "arity 2"},
		"arity 4":           {func(b []byte) { b[13] = 4 }, nil, ""}, // four slots would fit, and find nothing
		"2^21 shards":       {func(b []byte) { le.PutUint32(b[56:], 21) }, bloomery.ErrCorrupt, "2^21 shards"},
		"2^32-1 shards":     {func(b []byte) { le.PutUint32(b[56:], math.MaxUint32) }, bloomery.ErrCorrupt, "shards"},
		"2^20 shards":       {func(b []byte) { le.PutUint32(b[56:], 20) }, bloomery.ErrCorrupt, "payload"},
		"odd bits":          {func(b []byte) { b[40]++ }, bloomery.ErrCorrupt, "payload"},
		"huge bits":         {func(b []byte) { le.PutUint64(b[40:], 1<<63) }, bloomery.ErrCorrupt, "payload"},
		"other keys":        {func(b []byte) { b[24]++ }, bloomery.ErrCorrupt, "the header says 1001 keys"},
		"keys of a shard":   {func(b []byte) { le.PutUint64(b[entry(1):], 1<<40) }, bloomery.ErrCorrupt, "shard 1: 1099511627776 keys"},
		"long segments":     {func(b []byte) { b[entry(1)+12] = 19 }, bloomery.ErrCorrupt, "2^19 slots"},
		"longer segments":   {func(b []byte) { b[entry(1)+12] = 255 }, bloomery.ErrCorrupt, "2^255 slots"},
		"short segments":    {func(b []byte) { b[entry(1)+12] = 5 }, bloomery.ErrCorrupt, "2^5 slots"},
		"no segments":       {func(b []byte) { le.PutUint32(b[entry(2)+8:], 0) }, bloomery.ErrCorrupt, "shard 2: 0 segments"},
		"two segments":      {func(b []byte) { le.PutUint32(b[entry(2)+8:], 2) }, bloomery.ErrCorrupt, "shard 2: 2 segments"},
		"too many segments": {func(b []byte) { le.PutUint32(b[entry(2)+8:], math.MaxUint32) }, bloomery.ErrCorrupt, "shard 2"},
		"more segments":     {func(b []byte) { b[entry(3)+8]++ }, bloomery.ErrCorrupt, "shard 3"},
		"fewer segments":    {func(b []byte) { b[entry(3)+8]-- }, bloomery.ErrCorrupt, "words"},
	} {
		data := slices.Clone(good)
		c.change(data)
		reseal(data)
		f := built(t, fuse.Config[uint8]{}, []uint64{42})
		before := encoded(t, f)
		var m1, m2 runtime.MemStats
		runtime.ReadMemStats(&m1)
		err := f.UnmarshalBinary(data)
		_, viewErr := fuse.Config[uint8]{}.View(data)
		runtime.ReadMemStats(&m2)
		if !errors.Is(err, c.want) || !errors.Is(viewErr, c.want) || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, %v, want %v and %q", name, err, viewErr, c.want, c.text)
		}
		if got := m2.TotalAlloc - m1.TotalAlloc; got > 1<<20 {
			t.Errorf("%s: %d bytes allocated for %d", name, got, len(data))
		}
		if err != nil && !slices.Equal(encoded(t, f), before) {
			t.Errorf("%s: the filter has changed", name)
		}
	}
}

// reseal puts the right checksums on a changed encoding of up to 1 MiB.
func reseal(data []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	le := binary.LittleEndian
	le.PutUint32(data[60:], crc32.Checksum(data[:60], table))
	if payload := le.Uint64(data[48:]); payload > 0 && payload == uint64(len(data)-64-8) {
		sums := data[len(data)-8:]
		le.PutUint32(sums, crc32.Checksum(data[64:len(data)-8], table))
		le.PutUint32(sums[4:], crc32.Checksum(sums[:4], table))
	}
	return data
}

// TestViewOfDamagedData clones what cannot be verified.
func TestViewOfDamagedData(t *testing.T) {
	hs := random(1000, 3)
	data := encoded(t, built(t, fuse.Config[uint8]{}, hs))
	v, err := fuse.Config[uint8]{}.View(data)
	if err != nil {
		t.Fatal(err)
	}
	f, err := v.Clone()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, f.(*fuse.Filter[uint8]), hs)
	data[len(data)-100] ^= 1
	if f, err := v.Clone(); f != nil || !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Clone of damaged data: %v, want ErrCorrupt", err)
	}
}

// TestKeyedNeedsItsKey decodes a filter with a secret without it.
func TestKeyedNeedsItsKey(t *testing.T) {
	keyed := hashing.Keyed([16]byte{1})
	data := encoded(t, built(t, fuse.Config[uint8]{Hasher: keyed}, random(100, 2)))
	for name, c := range map[string]fuse.Config[uint8]{"none": {}, "another": {Hasher: hashing.Keyed([16]byte{2})}} {
		if _, err := c.Decode(data); !errors.Is(err, bloomery.ErrKey) {
			t.Errorf("Decode with the key %s: %v, want ErrKey", name, err)
		}
		if _, err := c.View(data); !errors.Is(err, bloomery.ErrKey) {
			t.Errorf("View with the key %s: %v, want ErrKey", name, err)
		}
	}
	if _, err := (fuse.Config[uint8]{Hasher: keyed}).Decode(data); err != nil {
		t.Errorf("Decode: %v", err)
	}
}
