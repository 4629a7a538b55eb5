package exact

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/ribbon"
	"github.com/bloomery/bloomery/sizing"
)

// Config describes a filter to build. It is for values that come from users,
// files or networks, and for options that the function Build does not have.
//
// A field that a method does not use must be zero: the error wraps ErrParameter if
// it is set.
type Config struct {
	_ struct{}

	// ErrorRate is the highest rate at which keys that are neither in nor out may
	// be taken for in: less than 1, and at least 2^-32. 0 stands for the rate at
	// which the filter is smallest, which Stats shows. Then a group of which no
	// key is out takes all keys for in.
	ErrorRate float64
	// Overlap says that keys may come among those that are in and among those
	// that are out, and are in: as if the second set were all keys there are.
	// Else that is an error. With it, a key that is out and has the hash of one
	// that is in cannot be noticed: n keys that are in and m that are out have
	// such a pair with probability n·m/2^64, 5e-4 for 11.7 million and 804
	// million.
	Overlap bool
	// Width is the number of coefficients in a key's row, see package ribbon:
	// 128, which 0 stands for, or 64, with which lookups take two thirds of the
	// time and the filter is 1% larger.
	Width int
	// Shards is the number of shards of each stage, a power of two, see package
	// ribbon. 0 stands for as many as keep shards below 4 million keys.
	Shards int
	// Hasher hashes the keys that the filter is asked for; the hashes that it
	// is built from must be its own. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher

	// Alloc returns memory for the array: at least the given number of bytes,
	// all zero, starting at a multiple of 8, better of 64. Nil means the Go
	// heap. The memory must stay as long as the filter is used; UnmarshalBinary
	// uses the Go heap.
	Alloc func(bytes int) ([]byte, error)

	// Workers is the number of goroutines that build shards; 0 stands for
	// GOMAXPROCS. The filter does not depend on it.
	Workers int
	// Progress, if not nil, is called now and then with the number of hashes
	// that were read and of those that are in the filter. At the end they are
	// equal.
	Progress func(read, built uint64)

	// Scratch is where BuildFrom keeps what does not fit into memory: the Scratch
	// of package codec/file, which leaves nothing behind, or an *os.File. It needs
	// room for 16 bytes for each key that is in and for each that passes the first
	// stage, some 40 for each key that is in.
	Scratch interface {
		io.ReaderAt
		io.WriterAt
	}
	// Memory is how many bytes the buffers of BuildFrom may take beside the filter
	// itself, at least 1 MiB; 0 stands for 1 GiB.
	Memory int
}

// What a group does with a key; numbers below are those of filters. They are part
// of the file format.
const (
	byBit   = 0xfd // there is no filter: the bit alone says whether a key is in
	allIn   = 0xfe // there is no key that is out
	noneIn  = 0xff // there is no key that is in
	noRate  = 1    // of a filter that is not there
	maxBits = sizing.MaxRibbonColumns
)

// check returns an error if a field that it is built by is out of its range.
func (c Config) check() error {
	if p := c.ErrorRate; p != 0 && !(p > 0 && p < 1 && p >= sizing.MinRibbonRate) {
		return fmt.Errorf("%w: error rate %v is not between 2^-%d and 1", bloomery.ErrParameter, p, maxBits)
	}
	_, err := sizing.RibbonSize(0.5, c.width())
	if err != nil {
		return fmt.Errorf("%w: rows of %d coefficients, not 64 or 128", bloomery.ErrParameter, c.Width)
	}
	return nil
}

func (c Config) width() int {
	if c.Width == 0 {
		return 128
	}
	return c.Width
}

// stage returns the Config of a ribbon of this rate. It is asked by hashes: its
// own hasher is not used.
func (c Config) stage(rate float64) ribbon.Config {
	return ribbon.Config{ErrorRate: rate, Width: c.width(), Shards: c.Shards, Workers: c.Workers, Scratch: c.Scratch, Memory: c.Memory}
}

// opening returns the part of c that opens filters.
func (c Config) opening() envelope.Opening {
	return envelope.Opening{Package: "exact", Config: c, Hasher: c.Hasher, Alloc: c.Alloc}
}

// Decode returns the Filter that data encodes. Of c only Hasher and Alloc may
// be set: Hasher is needed for a filter that was made with a secret key or a
// function, Alloc places the array. The error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible for another kind of filter, ErrKey or ErrParameter, or is
// that of Alloc.
func (c Config) Decode(data []byte) (*Filter, error) {
	return envelope.Decode(c.opening(), "Decode", data, (*Filter).load)
}

// Read is Decode for a reader: it reads one filter, and no byte more. Memory
// grows with the bytes that have arrived, but Alloc is asked for all of it at
// once. Errors are those of Decode, ErrTooLarge, or those of r.
func (c Config) Read(r io.Reader) (*Filter, error) {
	return envelope.ReadFilter(c.opening(), "Read", r, (*Filter).load)
}

// View returns a view of data, the encoding of a Filter. It checks header, lengths
// and the directories, not the arrays. Where data does not start at a multiple of
// 8 bytes, or the machine is big-endian, the array is copied. Of c only Hasher may
// be set. Errors are those of Decode.
func (c Config) View(data []byte) (bloomery.View, error) {
	return envelope.View(c.opening(), data, (*view).load)
}
