package envelope

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
)

// Viewed is the encoding that a view reads, and what every view does with it. A view
// is a struct of it and of what its family reads with, and has no method that
// changes anything: what it reads may be a file that is mapped for reading only.
type Viewed struct {
	Sealed Sealed
	pkg    string
}

// Hold returns what a view of a package keeps of an encoding.
func Hold(s Sealed, pkg string) Viewed { return Viewed{s, pkg} }

func (v *Viewed) keep(held Viewed) { *v = held }

// Verify checks the payload.
func (v *Viewed) Verify() error { return v.VerifyAnd(func() error { return nil }) }

// VerifyAnd checks the payload, and after its checksums what only the family knows.
func (v *Viewed) VerifyAnd(check func() error) error {
	err := v.Sealed.Verify()
	if err == nil {
		err = check()
	}
	if err != nil {
		return fmt.Errorf("%s: verify: %w", v.pkg, err)
	}
	return nil
}

// AppendBinary appends the encoding as it lies. Checksums are not made anew: those of
// a damaged payload must go on to show the damage.
func (v *Viewed) AppendBinary(dst []byte) ([]byte, error) { return append(dst, v.Sealed.data...), nil }

// MarshalBinary returns what AppendBinary appends.
func (v *Viewed) MarshalBinary() ([]byte, error) { return v.AppendBinary(nil) }

// WriteTo writes what AppendBinary appends.
func (v *Viewed) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(v.Sealed.data)
	if err == nil && n < len(v.Sealed.data) {
		err = io.ErrShortWrite
	}
	return int64(n), err
}

// Cloned returns the clone of a view whose payload is sound.
func Cloned[F bloomery.Hashed](v bloomery.View, clone func() F) (bloomery.Hashed, error) {
	if err := v.Verify(); err != nil {
		return nil, err
	}
	return clone(), nil
}

// View returns a view of a filter that stays where it lies in data: there is no array
// for Alloc to place. load makes what the family reads with from a source.
func View[F any, P interface {
	*F
	bloomery.View
	keep(Viewed)
}](o Opening, data []byte, load func(*F, hashing.Hasher, *Source) error,
) (bloomery.View, error) {
	v, err := InPlace[F, P](o, "View", data, load)
	if err != nil {
		return nil, err
	}
	return P(v), nil
}

// InPlace is View for what is not one filter. name is that of the caller's method.
func InPlace[F any, P interface {
	*F
	keep(Viewed)
}](o Opening, name string, data []byte, load func(*F, hashing.Hasher, *Source) error,
) (*F, error) {
	from := &Source{data: data, InPlace: true}
	v, err := open(o, "view", name, from, load)
	if err != nil {
		return nil, err
	}
	P(v).keep(Hold(from.Sealed, o.Package))
	return v, nil
}

// KindIn returns the kind of the filter whose encoding begins with data, 0 if it does
// not begin with a header, which opening it will show.
func KindIn(data []byte) uint16 {
	h, err := ParseHeader(data)
	if err != nil {
		return 0
	}
	return h.Kind
}
