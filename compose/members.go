package compose

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// noJSON refuses JSON, and is no field that can be seen.
type noJSON = envelope.NoJSON

// What Quorum and Striped have in common: members, and an encoding that holds
// theirs.

// opener returns the filter that data encodes.
type opener = func(data []byte) (bloomery.Hashed, error)

// put adds or inserts a key, whatever the member can do.
func put(m bloomery.Hashed, h uint64) error {
	if a, ok := m.(bloomery.Adder); ok {
		a.AddHash(h)
		return nil
	}
	return m.(bloomery.Inserter).InsertHash(h)
}

// writable returns an error unless keys can be put into a member.
func writable(i int, m bloomery.Hashed) error {
	if m == nil {
		return fmt.Errorf("%w: member %d is nil", bloomery.ErrParameter, i)
	}
	_, adds := m.(bloomery.Adder)
	_, inserts := m.(bloomery.Inserter)
	if !adds && !inserts {
		return fmt.Errorf("%w: member %d, a %T, takes no keys", bloomery.ErrParameter, i, m)
	}
	return nil
}

// checkMembers returns an error if a member has another hash than the first, or is the
// same filter as another: it would get every key several times and agree with itself.
func checkMembers(members []bloomery.Hashed) error {
	probe := []byte("bloomery members")
	seen := make(map[bloomery.Hashed]int, len(members))
	for i, m := range members {
		if m.Hash(probe) != members[0].Hash(probe) {
			return fmt.Errorf("%w: member %d has another hash than member 0", bloomery.ErrIncompatible, i)
		}
		if !reflect.ValueOf(m).Comparable() {
			continue
		}
		if other, twice := seen[m]; twice {
			return fmt.Errorf("%w: member %d is the same filter as member %d", bloomery.ErrParameter, i, other)
		}
		seen[m] = i
	}
	return nil
}

// The payload of an encoding of members: a line with the length of each in words,
// rounded up to whole lines, then their encodings, each from a line on and filled
// up with zeros.
const lineBytes = 64

func lines(n int) int { return (n + lineBytes - 1) / lineBytes * lineBytes }

// appendMembers appends the payload to dst.
func appendMembers(dst []byte, members []bloomery.Hashed) ([]byte, error) {
	table := len(dst)
	dst = append(dst, make([]byte, lines(8*len(members)))...)
	for i, m := range members {
		if nested(m) {
			return nil, fmt.Errorf("%w: member %d has members itself: encode those one by one", bloomery.ErrIncompatible, i)
		}
		a, ok := m.(encoding.BinaryAppender)
		if !ok {
			return nil, fmt.Errorf("%w: member %d, a %T, has no encoding", bloomery.ErrIncompatible, i, m)
		}
		start := len(dst)
		var err error
		if dst, err = a.AppendBinary(dst); err != nil {
			return nil, err
		}
		n := len(dst) - start
		binary.LittleEndian.PutUint64(dst[table+8*i:], uint64(n))
		dst = append(dst, make([]byte, lines(n)-n)...)
	}
	return dst, nil
}

// nested reports whether a member is made of members. Such an encoding could not
// be opened: one within the other without end is what an adversary would send.
func nested(m bloomery.Hashed) bool {
	if l, ok := m.(lockedStripe); ok {
		m = l.Hashed
	}
	switch m.(type) {
	case *Quorum, *quorumView, *Striped, *Corrected, *correctedView, *Layers, *layersView:
		return true
	}
	return false
}

// openMembers returns the members of a payload that was verified.
func openMembers(payload []byte, n int, open opener) ([]bloomery.Hashed, error) {
	if len(payload) < lines(8*n) {
		return nil, fmt.Errorf("%w: payload of %d bytes for %d members", bloomery.ErrCorrupt, len(payload), n)
	}
	table, rest := payload[:lines(8*n)], payload[lines(8*n):]
	members := make([]bloomery.Hashed, n)
	for i := range members {
		size := binary.LittleEndian.Uint64(table[8*i:])
		if size > uint64(len(rest)) || lines(int(size)) > len(rest) {
			return nil, fmt.Errorf("%w: member %d of %d bytes, %d are left", bloomery.ErrCorrupt, i, size, len(rest))
		}
		m, err := open(rest[:size:size])
		if err != nil {
			return nil, fmt.Errorf("member %d: %w", i, err)
		}
		for _, b := range rest[size:lines(int(size))] {
			if b != 0 {
				return nil, fmt.Errorf("%w: bytes behind member %d are not zero", bloomery.ErrCorrupt, i)
			}
		}
		members[i], rest = m, rest[lines(int(size)):]
	}
	for _, b := range table[8*n:] {
		if b != 0 {
			return nil, fmt.Errorf("%w: reserved bytes are not zero", bloomery.ErrCorrupt)
		}
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%w: %d bytes behind the last member", bloomery.ErrCorrupt, len(rest))
	}
	return members, nil
}

// makeMembers is openMembers of what is not read.
func makeMembers(b *envelope.Blank, open func(*envelope.Blank) (bloomery.Hashed, error)) ([]bloomery.Hashed, error) {
	n, at := uint64(b.Header.Extra), uint64(lines(8*int(b.Header.Extra)))
	if n < 1 || n > MaxMembers {
		return nil, fmt.Errorf("%w: %d members", bloomery.ErrCorrupt, n)
	}
	members := make([]bloomery.Hashed, n)
	for i := range members {
		size := b.At(uint64(i))
		inner, err := b.Within(at/8, size)
		if err == nil {
			members[i], err = open(inner)
		}
		if err != nil {
			return nil, fmt.Errorf("member %d: %w", i, err)
		}
		at += uint64(lines(int(size)))
	}
	if at != b.Header.Payload {
		return nil, fmt.Errorf("%w: %d bytes of members in a payload of %d", bloomery.ErrCorrupt, at, b.Header.Payload)
	}
	return members, nil
}

// encodeMembers appends a whole encoding to dst. Members write theirs where it stays,
// in room for all if they are as large as the first.
func encodeMembers(dst []byte, h envelope.Header, members []bloomery.Hashed) ([]byte, error) {
	at := len(dst)
	h.Payload = uint64(lines(8*len(members)) + len(members)*lines(sizeOf(members[0])))
	dst = slices.Grow(dst, int(h.EncodedSize()))
	out, err := appendMembers(append(dst, make([]byte, envelope.HeaderSize)...), members)
	if err != nil {
		return dst, err
	}
	return envelope.Seal(out, at, h), nil
}

// sizeOf returns the length of the encoding of a member, 0 if it cannot be had without
// making it.
func sizeOf(m bloomery.Hashed) int {
	if l, ok := m.(lockedStripe); ok {
		l.stripe.mu.RLock()
		defer l.stripe.mu.RUnlock()
		m = l.Hashed
	}
	from, ok := m.(io.WriterTo)
	if !ok || nested(m) {
		return 0
	}
	n, _ := from.WriteTo(io.Discard) // an error comes again when it is encoded
	return int(n)
}

// writeMembers writes a whole encoding to w, member by member. They must not change
// meanwhile: the first pass is for their sizes.
func writeMembers(w io.Writer, h envelope.Header, members []bloomery.Hashed) (int64, error) {
	table := make([]byte, lines(8*len(members)))
	h.Payload = uint64(len(table))
	from := make([]io.WriterTo, len(members))
	for i, m := range members {
		var ok bool
		if from[i], ok = m.(io.WriterTo); nested(m) || !ok {
			return 0, fmt.Errorf("%w: member %d, a %T, has no encoding that can be in another", bloomery.ErrIncompatible, i, m)
		}
		n, err := from[i].WriteTo(io.Discard)
		if err != nil {
			return 0, err
		}
		binary.LittleEndian.PutUint64(table[8*i:], uint64(n))
		h.Payload += uint64(lines(int(n)))
	}
	return writePayload(w, h, table, from)
}

// writePayload writes a whole encoding to w: the table of lengths, and the members.
func writePayload(w io.Writer, h envelope.Header, table []byte, members []io.WriterTo) (int64, error) {
	out := envelope.NewWriter(w, h)
	if _, err := out.Write(table); err != nil {
		return out.Written(), err
	}
	var zeros [lineBytes]byte
	for _, m := range members {
		n, err := m.WriteTo(out)
		if err == nil {
			_, err = out.Write(zeros[:lines(int(n))-int(n)])
		}
		if err != nil {
			return out.Written(), err
		}
	}
	return out.End()
}

// writeTo writes what marshal returns.
func writeTo(w io.Writer, marshal func() ([]byte, error)) (int64, error) {
	data, err := marshal()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return int64(n), err
}

// decodeMembers returns the members of an encoding of a kind. verify checks its
// payload first.
func decodeMembers(data []byte, kind uint16, most int, open opener, verify bool) (envelope.Sealed, []bloomery.Hashed, error) {
	if open == nil {
		return envelope.Sealed{}, nil, fmt.Errorf("%w: Open is nil, and members cannot be opened", bloomery.ErrParameter)
	}
	sealed, err := envelope.Open(data)
	if err != nil {
		return sealed, nil, err
	}
	h := sealed.Header
	if err := h.CheckKind(kind); err != nil {
		return sealed, nil, err
	}
	if h.Extra < 1 || h.Extra > uint32(most) {
		return sealed, nil, fmt.Errorf("%w: %d members", bloomery.ErrCorrupt, h.Extra)
	}
	if verify {
		if err := sealed.Verify(); err != nil {
			return sealed, nil, err
		}
	}
	members, err := openMembers(sealed.Payload, int(h.Extra), open)
	if err != nil {
		return sealed, nil, err
	}
	if err := checkMembers(members); err != nil {
		return sealed, nil, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	return sealed, members, nil
}

// verifyMembers checks the payload of members that are views.
func verifyMembers(members []bloomery.Hashed) error {
	for i, m := range members {
		if v, ok := m.(bloomery.View); ok {
			if err := v.Verify(); err != nil {
				return fmt.Errorf("member %d: %w", i, err)
			}
		}
	}
	return nil
}

// cloneMembers returns clones of members that are views.
func cloneMembers(members []bloomery.Hashed) ([]bloomery.Hashed, error) {
	clones := make([]bloomery.Hashed, len(members))
	for i, m := range members {
		v, ok := m.(bloomery.View)
		if !ok {
			return nil, fmt.Errorf("%w: member %d is a %T, not a view", bloomery.ErrIncompatible, i, m)
		}
		var err error
		if clones[i], err = v.Clone(); err != nil {
			return nil, fmt.Errorf("member %d: %w", i, err)
		}
	}
	return clones, nil
}

// hasherOf returns the hasher of a member, which all families show.
func hasherOf(m bloomery.Hashed) (hashing.Hasher, error) {
	o, ok := m.(interface{ Hasher() hashing.Hasher })
	if !ok {
		return hashing.Hasher{}, fmt.Errorf("%w: a %T does not show its hasher", bloomery.ErrIncompatible, m)
	}
	return o.Hasher(), nil
}

// sum adds up the sizes and items of members.
func sum(st *bloomery.Stats, members []bloomery.Stats) {
	st.Exact = true
	var items float64
	for _, m := range members {
		st.Bits += m.Bits
		st.Bytes += m.Bytes
		st.Saturation += m.Saturation / float64(len(members))
		st.Overflow += m.Overflow / float64(len(members))
		st.Exact = st.Exact && m.Exact
		items += float64(m.Items)
	}
	st.Items = math.MaxUint64
	if items < math.MaxUint64 {
		st.Items = uint64(items)
	}
}

// errZero is the error of encoding what no constructor made.
var errZero = fmt.Errorf("%w: a zero value has no encoding", bloomery.ErrParameter)
