package formattest

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
)

// Bloom is the format of a package whose filters are of type foreign.Bloom.
func Bloom(fresh func(n uint64, p float64) (*foreign.Bloom, error), open func(data []byte) (*foreign.Bloom, error)) Format {
	return Format{
		Make: func(keys [][]byte, p float64) (bloomery.Filter, error) {
			b, err := fresh(uint64(len(keys)), p)
			if err != nil {
				return nil, err
			}
			for _, key := range keys {
				b.Add(key)
			}
			return b, nil
		},
		Open: func(data []byte) (bloomery.Filter, error) {
			b, err := open(data)
			if err != nil {
				return nil, err
			}
			return b, nil
		},
		Marshal: func(f bloomery.Filter) ([]byte, error) { return f.(*foreign.Bloom).MarshalBinary() },
		Sizes:   []int{10, 1000, 100_000},
	}
}

// Equal asks that a filter, once it has the keys, is written as want: in hexadecimal, or
// the SHA-256 of what is written.
func Equal(t *testing.T, name string, b *foreign.Bloom, err error, want string, keys ...string) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for _, key := range keys {
		b.Add([]byte(key))
	}
	data, err := b.MarshalBinary()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(data); got != want && hex.EncodeToString(sum[:]) != want {
		t.Errorf("%s: %d bytes, %.200s, want %s", name, len(data), got, want)
	}
}

// Unhex returns the bytes of a text in hexadecimal.
func Unhex(t testing.TB, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
