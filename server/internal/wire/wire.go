// Package wire reads and writes the values of which records, files and messages of the server
// consist: varints, bytes, and byte strings with their length in front.
package wire

import "encoding/binary"

// Reader reads values until one is cut short; from then on all are zero.
type Reader struct {
	Rest []byte
	Bad  bool
}

// Uvarint reads a number without a sign.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.Rest)
	if r.skip(n, n > 0) == nil {
		return 0
	}
	return v
}

// Varint reads a number.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.Rest)
	if r.skip(n, n > 0) == nil {
		return 0
	}
	return v
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint64 reads eight bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Bytes reads what AppendBytes wrote. It is a slice of what is read.
func (r *Reader) Bytes() []byte { return r.Take(r.Uvarint()) }

// Take reads n bytes. They are a slice of those that are read; nil if they are not there.
func (r *Reader) Take(n uint64) []byte { return r.skip(int(n), n <= uint64(len(r.Rest))) }

func (r *Reader) skip(n int, ok bool) []byte {
	if r.Bad || !ok {
		r.Bad, r.Rest = true, nil
		return nil
	}
	v := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return v
}

// AppendBytes appends bytes, or a string, with their length in front.
func AppendBytes[T []byte | string](b []byte, v T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}
