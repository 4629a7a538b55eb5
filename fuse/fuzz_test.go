package fuse_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/fuse"
)

// Whatever comes in: no panic, an error of a known cause, and what is accepted
// comes out as it went in and can be asked.
func FuzzUnmarshal(f *testing.F) {
	hs := random(200, 1)
	for _, c := range []fuse.Config[uint8]{{}, {Arity: 4}, {Shards: 4}} {
		data := encoded(f, built(f, c, hs))
		f.Add(data, uint16(70), byte(1))
		f.Add(data[:64], uint16(0), byte(0))
	}
	f.Add([]byte{}, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint16, flip byte) {
		decode(t, data)
		// Once more with a changed byte that no checksum tells of.
		if len(data) > 68 {
			data = slices.Clone(data)
			data[int(at)%len(data)] ^= flip
			decode(t, reseal(data))
		}
	})
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

func decode(t *testing.T, data []byte) {
	t.Helper()
	var x, y fuse.Filter[uint8]
	err := x.UnmarshalBinary(data)
	_, readErr := y.ReadFrom(bytes.NewReader(data))
	v, viewErr := fuse.Config[uint8]{}.View(data)
	if viewErr == nil {
		for h := range uint64(50) {
			v.ContainsHash(h * 0x9e3779b97f4a7c15)
		}
		v.Stats()
	}
	for _, err := range []error{err, readErr, viewErr} {
		if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) &&
			!errors.Is(err, bloomery.ErrKey) && !errors.Is(err, bloomery.ErrIncompatible) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("error without a known cause: %v", err)
		}
	}
	if err != nil {
		return
	}
	if readErr != nil || viewErr != nil {
		t.Errorf("UnmarshalBinary accepts, ReadFrom says %v, NewView %v", readErr, viewErr)
	}
	if again, _ := x.MarshalBinary(); !bytes.Equal(again, data) {
		t.Error("accepted bytes do not come out as they went in")
	}
}
