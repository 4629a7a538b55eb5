package codec_test

import (
	"bytes"
	"testing"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// What is appended to dst does not write over data, if data lies in the room
// behind dst: in place, and from a place in the middle.
func TestInPlace(t *testing.T) {
	key := [32]byte{1}
	f, err := filledKind(codec.Kinds()[0], hashes(9000, 1), 100_000, 0.01, hashing.Hasher{})
	if err != nil {
		t.Fatal(err)
	}
	data := encoded(t, f)
	packed, err := codec.Compress(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := codec.Seal(nil, data, key)
	if err != nil {
		t.Fatal(err)
	}
	seal := func(dst, data []byte) ([]byte, error) { // and back, since two calls differ
		out, err := codec.Seal(dst, data, key)
		if err != nil {
			return nil, err
		}
		return codec.Unseal(nil, out, key)
	}
	for name, c := range map[string]struct {
		call     func(dst, data []byte) ([]byte, error)
		in, want []byte
	}{
		"compress":     {codec.Compress, data, packed},
		"decompress":   {codec.Decompress, packed, data},
		"seal":         {seal, data, data},
		"seal a short": {seal, data[:40], data[:40]},
		"unseal":       {func(dst, data []byte) ([]byte, error) { return codec.Unseal(dst, data, key) }, sealed, data},
	} {
		for _, at := range []int{0, 1, 64, 4096} {
			room := make([]byte, 1<<20)
			in := room[at : at+copy(room[at:], c.in)]
			got, err := c.call(room[:0], in)
			if err != nil || !bytes.Equal(got, c.want) {
				t.Errorf("%s of data %d bytes behind dst: %v, or another result", name, at, err)
			}
			if !bytes.Equal(in, c.in) {
				t.Errorf("%s of data %d bytes behind dst wrote over it", name, at)
			}
		}
	}
	if room := make([]byte, 0, 1<<20); testing.AllocsPerRun(5, func() { _, _ = codec.Decompress(room, packed) }) > 20 {
		t.Error("Decompress does not use the room of a dst that lies apart")
	}
}
