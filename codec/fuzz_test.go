package codec_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
)

// Whatever comes in: no panic, an error of a known cause, and what is accepted
// comes out as it went in.

func known(err error) bool {
	for _, cause := range []error{
		bloomery.ErrCorrupt, bloomery.ErrVersion, bloomery.ErrKey, bloomery.ErrIncompatible, bloomery.ErrTooLarge,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// seeds are encodings in the plain form, in all forms of chunks.
func seeds(f *testing.F) [][]byte {
	f.Helper()
	clustered := encoded(f, sparse(f, 64*40, 0, 1))
	for i := range 64 {
		clustered[64+i] = byte(0x55 + i%5)
	}
	grown := bloom.NewScalable(20, 0.1)
	grown.AddHashes(nil, hashes(100, 1))
	return [][]byte{
		encoded(f, bloom.NewPartitioned(20, 0.1)), encoded(f, bloom.NewSplit(20, 0.1)), encoded(f, grown),
		encoded(f, slicedFilter(f)), encoded(f, bloom.New(20, 0.1)), encoded(f, sparse(f, 3000, 0.5, 1)), encoded(f, sparse(f, 3000, 0.1, 2)),
		encoded(f, sparse(f, 3000, 0.95, 3)), encoded(f, sparse(f, 3000, 0.01, 3)), sealTable(clustered, 40*8),
	}
}

func FuzzOpen(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
		f.Add(compressed(f, data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := codec.Open(data)
		if err != nil && !known(err) {
			t.Errorf("Open: error without a known cause: %v", err)
		}
		if _, err2 := codec.Read(bytes.NewReader(data)); err == nil && err2 != nil {
			t.Errorf("Open accepts, Read says %v", err2)
		}
		if v, err := (codec.Config{}).View(data); err == nil {
			v.ContainsHash(1)
		}
		if err == nil {
			x.ContainsHash(1)
			x.Stats()
		}
	})
}

func FuzzTransport(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(compressed(f, data))
	}
	f.Fuzz(func(t *testing.T, small []byte) {
		data, err := codec.Decompress(nil, small)
		read, err2 := io.ReadAll(io.LimitReader(codec.NewReader(bytes.NewReader(small)), 1<<24))
		if err != nil {
			if !known(err) {
				t.Errorf("error without a known cause: %v", err)
			}
			return
		}
		if len(read) < 1<<24 && (err2 != nil || !bytes.Equal(read, data)) {
			t.Errorf("Decompress accepts, Reader gives %d other bytes and %v", len(read), err2)
		}
		// There are longer codes for the same bytes, but ours comes back too.
		if again, err := codec.Decompress(nil, compressed(t, data)); err != nil || !bytes.Equal(again, data) {
			t.Errorf("what was accepted does not come back: %v", err)
		}
	})
}

// FuzzChunks puts any bytes where the chunks are, under a sound header, so that
// the decoders of chunks are reached.
func FuzzChunks(f *testing.F) {
	plain := encoded(f, sparse(f, 3000, 0.1, 2))
	small := compressed(f, plain)
	for _, data := range seeds(f) {
		f.Add(compressed(f, data)[80:])
	}
	f.Fuzz(func(t *testing.T, chunks []byte) {
		data, err := codec.Decompress(nil, append(bytes.Clone(small[:80]), chunks...))
		if err == nil && (len(data) != len(plain) || !bytes.Equal(data[:64], plain[:64])) {
			t.Error("another length or header than that in front")
		}
		if err != nil && !known(err) {
			t.Errorf("error without a known cause: %v", err)
		}
	})
}

func FuzzPatch(f *testing.F) {
	before := encoded(f, sparse(f, 3000, 0.1, 2))
	for _, after := range seeds(f) {
		patch, err := codec.Diff(before, after)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(patch)
	}
	f.Fuzz(func(t *testing.T, patch []byte) {
		after, err := codec.Patch(before, patch)
		if err != nil {
			if !known(err) {
				t.Errorf("error without a known cause: %v", err)
			}
			return
		}
		again, err := codec.Diff(before, after)
		if err != nil {
			t.Fatalf("what was accepted is no encoding: %v", err)
		}
		if back, err := codec.Patch(before, again); err != nil || !bytes.Equal(back, after) {
			t.Errorf("what was accepted does not come back: %v", err)
		}
	})
}

func FuzzInspect(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
		f.Add(compressed(f, data))
		f.Add(data[:len(data)-9])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := codec.Inspect(bytes.NewReader(data))
		if err != nil && !known(err) {
			t.Errorf("error without a known cause: %v", err)
		}
		if i.Read > int64(len(data)) {
			t.Errorf("read %d of %d bytes", i.Read, len(data))
		}
		if _, openErr := codec.Open(data); openErr == nil && (err != nil || i.Err() != nil) {
			t.Errorf("Open accepts, Inspect says %v, %v", err, i.Err())
		}
		for _, d := range i.Damage {
			if d.From > d.To || d.To > i.Size {
				t.Errorf("damage from %d to %d in %d bytes", d.From, d.To, i.Size)
			}
		}
	})
}
