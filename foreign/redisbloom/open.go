package redisbloom

import (
	"encoding"
	"errors"
	"fmt"
	"iter"

	"github.com/bloomery/bloomery"
	machine "github.com/bloomery/bloomery/internal/redisbloom"
)

// Value is what a dump holds: a *Bloom, *Cuckoo, *CountMin, *TopK or *TDigest.
type Value interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Open returns what an answer of DUMP holds. The error wraps bloomery.ErrCorrupt,
// bloomery.ErrVersion (not a value of RedisBloom, or of a version that is not known
// here) or bloomery.ErrTooLarge. It allocates no more than the value needs, after all
// lengths are checked.
func Open(dump []byte) (Value, error) {
	v, err := machine.OpenPayload(dump)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *machine.Bloom:
		return &Bloom{m: v}, nil
	case *machine.Cuckoo:
		return &Cuckoo{m: v}, nil
	case *machine.CountMin:
		return &CountMin{m: v}, nil
	case *machine.TopK:
		return &TopK{m: v}, nil
	default:
		return &TDigest{m: v.(*machine.TDigest)}, nil
	}
}

// open returns the machine of a dump of one kind.
func open[M any](dump []byte, kind string) (*M, error) {
	v, err := machine.OpenPayload(dump)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*M)
	if !ok {
		return nil, fmt.Errorf("redisbloom: unmarshal: %w: the dump is not that of a %s", bloomery.ErrIncompatible, kind)
	}
	return m, nil
}

// load puts chunks together: the first of them is the header.
func load[M interface{ LoadChunk(int64, []byte) error }](chunks iter.Seq2[int64, []byte], parse func(header []byte) (M, error)) (m M, err error) {
	first := true
	for at, data := range chunks {
		switch {
		case err != nil:
			return m, err
		case first:
			m, err = parse(data)
			first = false
		default:
			err = m.LoadChunk(at, data)
		}
	}
	if first {
		err = fmt.Errorf("redisbloom: load: %w: no chunk", bloomery.ErrCorrupt)
	}
	return m, err
}

// marshal returns payload of something that was made.
func marshal(made bool, kind string, payload func() []byte) ([]byte, error) {
	if !made {
		return nil, errZero("marshal", kind)
	}
	return payload(), nil
}

// errZero is the error of an operation on a zero value.
func errZero(operation, kind string) error {
	return fmt.Errorf("redisbloom: %s: %w: zero %s", operation, bloomery.ErrParameter, kind)
}

// zeroOr returns m, or an empty one.
func zeroOr[M any](m *M) *M {
	if m == nil {
		return new(M)
	}
	return m
}

// noJSON says where the bytes are: JSON of unexported fields would be {}, and no item
// would come back.
type noJSON struct{}

var errJSON = errors.New("redisbloom: there is no JSON form: take the bytes of MarshalBinary, which JSON holds as base64")

// MarshalJSON returns an error that names MarshalBinary: there is no JSON form.
func (noJSON) MarshalJSON() ([]byte, error) { return nil, errJSON }

// UnmarshalJSON returns an error that names MarshalBinary, see MarshalJSON.
func (*noJSON) UnmarshalJSON([]byte) error { return errJSON }
