package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// An empty filter of 64 MiB travels in some KiB: a limit refuses it, by every
// way in, before anything is allocated for it.
func TestLimits(t *testing.T) {
	f, err := bloom.Config{Bits: 64 << 23, Hashes: 8}.New()
	if err != nil {
		t.Fatal(err)
	}
	data := encoded(t, f)
	small, err := codec.Compress(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	tight := codec.Config{Limits: codec.Limits{Bytes: uint64(len(data)) - 1}}
	for name, open := range map[string]func(codec.Config) error{
		"open":           func(c codec.Config) error { _, err := c.Open(data); return err },
		"read":           func(c codec.Config) error { _, err := c.Read(bytes.NewReader(data)); return err },
		"view":           func(c codec.Config) error { _, err := c.View(data); return err },
		"open transport": func(c codec.Config) error { _, err := c.Open(small); return err },
		"read transport": func(c codec.Config) error { _, err := c.Read(bytes.NewReader(small)); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := open(tight)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%s of %d bytes with a limit of one less: %v, want ErrTooLarge", name, len(data), err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%s allocates %d bytes before it is refused", name, got)
		}
		if err := open(codec.Config{Limits: codec.Limits{Bytes: uint64(len(data))}}); err != nil {
			t.Errorf("%s with a limit of its size: %v", name, err)
		}
	}
}

// Shards take memory beside the payload, which counts.
func TestLimitsCountShards(t *testing.T) {
	for _, k := range codec.Kinds() {
		if !k.Features.Static {
			continue
		}
		f, err := k.Build(nil, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		data := encoded(t, f)
		if _, err := (codec.Config{Limits: codec.Limits{Bytes: uint64(len(data))}}).Open(data); !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%s: a limit of the encoding's length: %v, want ErrTooLarge", k.Name, err)
		}
		const oneShard = 256
		if _, err := (codec.Config{Limits: codec.Limits{Bytes: uint64(len(data) + oneShard)}}).Open(data); err != nil {
			t.Errorf("%s: a limit that one shard fits into: %v", k.Name, err)
		}
	}
}

// A static filter cannot be a member: nothing could be inserted, and the shards
// of many members together would be beyond every limit.
func TestStaticMembers(t *testing.T) {
	for _, k := range codec.Kinds() {
		if !k.Features.Static {
			continue
		}
		f, err := k.Build(hashes(50, 1), 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		member, st := encoded(t, f), f.Stats()
		payload := make([]byte, 64, 64+len(member)+64)
		binary.LittleEndian.PutUint64(payload, uint64(len(member)))
		payload = append(payload, member...)
		payload = append(payload, make([]byte, -len(member)&63)...)
		data := envelope.Append(nil, envelope.Header{
			Kind: envelope.KindQuorum, K: 1, Extra: 1, Capacity: st.Capacity, Rate: st.Asked, Size: st.Bits, Payload: uint64(len(payload)),
		}, envelope.WordsOf(payload))
		for name, open := range map[string]func() error{
			"open": func() error { _, err := codec.Open(data); return err },
			"read": func() error { _, err := codec.Read(bytes.NewReader(data)); return err },
			"view": func() error { _, err := codec.Config{}.View(data); return err },
		} {
			if err := open(); !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), "takes no keys") {
				t.Errorf("%s of a quorum of a %s: %v", name, k.Name, err)
			}
		}
	}
}

// Alloc places the arrays of filters that are opened, of every kind but those
// that do not use it, which never call it.
func TestOpenAllocs(t *testing.T) {
	for _, k := range codec.Kinds() {
		f, err := filledKind(k, hashes(500, 1), 500, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		data := encoded(t, f)
		for name, open := range map[string]func(codec.Config) (bloomery.Hashed, error){
			"open": func(c codec.Config) (bloomery.Hashed, error) { return c.Open(data) },
			"read": func(c codec.Config) (bloomery.Hashed, error) { return c.Read(bytes.NewReader(data)) },
		} {
			var given [][]byte
			total := 0
			g, err := open(codec.Config{Alloc: func(n int) ([]byte, error) {
				given = append(given, make([]byte, n))
				total += n
				return given[len(given)-1], nil
			}})
			if err != nil || !bytes.Equal(encoded(t, g), data) {
				t.Errorf("%s: %s with Alloc gives another filter (%v)", k.Name, name, err)
			}
			if traits[k.Name].onHeap {
				if total > 0 {
					t.Errorf("%s: %s asked Alloc for %d bytes", k.Name, name, total)
				}
				continue
			}
			if uint64(total) < f.Stats().Bits/8 {
				t.Errorf("%s: %s asked Alloc for %d bytes, the array has %d", k.Name, name, total, f.Stats().Bits/8)
			}
			for _, part := range given {
				clear(part)
			}
			if g.ContainsHash(hashes(500, 1)[0]) && k.Name != "quotient" && !k.Features.Static {
				t.Errorf("%s: %s: the array is not where Alloc put it", k.Name, name)
			}
			no := errors.New("no memory")
			if _, err := open(codec.Config{Alloc: func(int) ([]byte, error) { return nil, no }}); !errors.Is(err, no) {
				t.Errorf("%s: %s: %v, want the error of Alloc", k.Name, name, err)
			}
		}
	}
}
