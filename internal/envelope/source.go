package envelope

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
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
	alloc memory.Alloc
}

// Words returns header and payload. accept sees the header first and may
// refuse it. Unless the source is in place, the payload is checked and the
// words are a copy.
func (s *Source) Words(accept func(Header) error) (h Header, words []uint64, err error) {
	if s.r != nil {
		h, words, _, err = ReadIn(s.r, s.alloc, accept)
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

// Blank returns the encoding if it is not to be read.
func (s *Source) Blank() (b *Blank, ok bool) {
	b, ok = s.r.(*Blank)
	return b, ok
}

// Zero reports whether all words of the payload from one on are known to be zero: then nobody has to look at them.
func (s *Source) Zero(from uint64) bool {
	b, ok := s.Blank()
	return ok && (len(b.Words) == 0 || b.Words[len(b.Words)-1].Index < from)
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

// KindOf returns the kind of the filter that r holds, and a reader that has all of it
// again. The kind is 0 if r does not begin with a header, which reading it will show.
func KindOf(r io.Reader) (uint16, io.Reader) {
	if b, ok := r.(*Blank); ok {
		return b.Header.Kind, r
	}
	head := make([]byte, HeaderSize)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		r = failed{err}
	}
	return KindIn(head[:n]), io.MultiReader(bytes.NewReader(head[:n]), r)
}

// failed is a reader that has failed.
type failed struct{ error }

func (f failed) Read([]byte) (int, error) { return 0, f.error }

// Hashed returns f, or nil beside an error: a pointer that is nil would not be a nil
// interface.
func Hashed[F bloomery.Hashed](f F, err error) (bloomery.Hashed, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
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
