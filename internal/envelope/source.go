package envelope

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/memory"
)

// Source is one encoding: in data, or to be read.
type Source struct {
	// InPlace says that the payload is used where it lies, not looked at yet.
	InPlace bool
	// Sealed is the encoding in data, after Words.
	Sealed Sealed

	data  []byte
	r     io.Reader
	n     int64
	alloc memory.Alloc
}

// Words returns header and payload. accept sees the header first and may
// refuse it. Unless the source is in place, the payload is checked and the
// words are a copy.
func (s *Source) Words(accept func(Header) error) (h Header, words []uint64, err error) {
	if s.r != nil {
		h, words, s.n, err = ReadIn(s.r, s.alloc, accept)
		return h, words, err
	}
	s.Sealed, err = Open(s.data)
	h = s.Sealed.Header
	if err == nil {
		err = accept(h)
	}
	if err == nil && s.InPlace {
		return h, WordsOf(s.Sealed.Payload), nil
	}
	if err == nil {
		err = s.Sealed.Verify()
	}
	if err == nil {
		words, err = s.Sealed.WordsIn(s.alloc)
	}
	return h, words, err
}

// Opening is what a family's Config says of opening filters.
type Opening struct {
	Package string // prefix of errors
	Config  any    // of which nothing else may be set than
	Hasher  hashing.Hasher
	Alloc   memory.Alloc
	OnHeap  bool // Alloc is not used, and must not be set either
}

// Decode returns the filter that data encodes; load makes it from a source,
// and name is that of the caller's method.
func Decode[F any](o Opening, name string, data []byte, load func(*F, hashing.Hasher, *Source) error) (*F, error) {
	return open(o, "decode", name, &Source{data: data, alloc: o.Alloc}, load)
}

// ReadFilter is Decode for a reader.
func ReadFilter[F any](o Opening, name string, r io.Reader, load func(*F, hashing.Hasher, *Source) error) (*F, error) {
	return open(o, "read", name, &Source{r: r, alloc: o.Alloc}, load)
}

// View is Decode for a filter that stays where it lies in data: there is no array
// for Alloc to place.
func View[F any](o Opening, name string, data []byte, load func(*F, hashing.Hasher, *Source) error) (*F, error) {
	return open(o, "view", name, &Source{data: data, InPlace: true}, load)
}

func open[F any](o Opening, verb, name string, from *Source, load func(*F, hashing.Hasher, *Source) error) (*F, error) {
	f := new(F)
	used := []string{"Hasher", "Alloc"}
	if o.OnHeap || from.InPlace {
		used = used[:1]
	}
	err := fields.Only(o.Config, name, used...)
	if err == nil {
		err = load(f, o.Hasher, from)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", o.Package, verb, err)
	}
	return f, nil
}

// Unmarshal replaces a filter of a package by what data encodes, see
// encoding.BinaryUnmarshaler.
func Unmarshal(pkg string, data []byte, given hashing.Hasher, load func(hashing.Hasher, *Source) error) error {
	if err := load(given, &Source{data: data}); err != nil {
		return fmt.Errorf("%s: unmarshal: %w", pkg, err)
	}
	return nil
}

// ReadFrom replaces a filter of a package by what r holds, see io.ReaderFrom.
func ReadFrom(pkg string, r io.Reader, given hashing.Hasher, load func(hashing.Hasher, *Source) error) (int64, error) {
	from := &Source{r: r}
	if err := load(given, from); err != nil {
		return from.n, fmt.Errorf("%s: read: %w", pkg, err)
	}
	return from.n, nil
}
