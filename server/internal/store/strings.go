package store

// Strings.

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/bloomery/bloomery/server/internal/catalog"
)

// Long is from how many bytes on a string is made before any lock is taken, and is
// not copied into the log: see Record.Made.
const Long = 64 << 10

// setMany stores strings under their names, all or none.
func (s *State) setMany(r *Record, res *Result) {
	for i := 0; i < len(r.Names); i += 2 {
		if len(r.Names[i]) > MaxName {
			res.Err = ErrLength
			return
		}
	}
	for i := 0; i+1 < len(r.Names); i += 2 {
		s.putString(s.Names.Get(r.Names[i]), r.Names[i], 0, string(r.Names[i+1]))
		res.Changed = true
	}
}

// liveString returns the string of a record's name and notes it in res, nil and
// an error if there is none.
func (s *State) liveString(r *Record, res *Result) *catalog.Entry {
	e := s.live(r.Name, r.At, res)
	switch {
	case e == nil:
		res.Err = ErrMissing
		return nil
	case e.Kind != catalog.String:
		res.Err = ErrType
		return nil
	}
	res.Old, res.Had = Text(e), true
	return e
}

// touch sets the deadline of a string. One that has passed removes it.
func (s *State) touch(r *Record, res *Result) {
	e := s.liveString(r, res)
	if e == nil || e.When() == r.Deadline {
		return
	}
	res.Changed = true
	if r.Deadline != 0 && r.Deadline <= r.At {
		s.drop(e)
		return
	}
	s.Names.SetDeadline(e, r.Deadline)
}

// applyString applies a record that makes a string. A string never changes: it
// is replaced, entry and all, so readers need no lock.
func (s *State) applyString(r *Record, res *Result) {
	value, own := r.Value, false
	if len(s.pieces) > 0 {
		value, s.pieces, own = append(s.pieces, value...), nil, true
	}
	e := s.live(r.Name, r.At, res)
	if (r.Op != OpSet || r.Flags&IfString != 0) && e != nil && e.Kind != catalog.String {
		res.Err = ErrType
		return
	}
	if e != nil && e.Kind == catalog.String {
		res.Old, res.Had = Text(e), true
	}
	deadline := int64(0)
	if e != nil {
		deadline = e.When()
	}
	var text string
	switch {
	case r.Op == OpIncrement:
		text, res.N, res.Err = increment(res.Old, res.Had, r.Position)
	case r.Op == OpSet && (r.Flags&IfAbsent != 0 && e != nil || r.Flags&IfPresent != 0 && e == nil):
		res.Err = ErrCondition
	case r.Op == OpSetRange && len(value) == 0:
		res.N = int64(len(res.Old))
		return
	case r.Made != "" && (r.Op == OpSet || e == r.Base):
		text = r.Made
	case r.Made != "" && e != nil:
		res.Err = ErrRetry // it was made of another string
	case r.Op == OpSet && own:
		text = unsafe.String(unsafe.SliceData(value), len(value))
	default:
		text, res.Err = compose(r.Op, res.Old, r.Position, value)
	}
	if res.Err != nil {
		return
	}
	if r.Op == OpSet && r.Flags&KeepTTL == 0 {
		deadline = r.Deadline
	}
	if r.Op != OpIncrement {
		res.N = int64(len(text))
	}
	res.Entry = s.putString(e, r.Name, deadline, text)
	res.Changed = true
}

// Make sets Made to the string that r makes of base, which is nil for none, and
// Value to its part of it. It leaves them if there is no such string: Apply says
// why. It may take long and needs no lock.
func (r *Record) Make(base *catalog.Entry) {
	old, n := "", len(r.Value)
	if base != nil {
		old = Text(base)
	}
	if n == 0 || base != nil && base.Kind != catalog.String {
		return
	}
	text, err := compose(r.Op, old, r.Position, r.Value)
	if err != nil {
		return
	}
	r.Keep(text, base)
	switch r.Op {
	case OpAppend:
		r.Value = r.Value[len(old):]
	case OpSetRange:
		r.Value = r.Value[r.Position:][:n]
	default:
	}
}

// Keep makes text, which is the string that r makes of base, its Value too.
func (r *Record) Keep(text string, base *catalog.Entry) {
	r.Made, r.Base = text, base
	r.Value = unsafe.Slice(unsafe.StringData(text), len(text))
}

// compose returns the string that an operation makes of an old one.
func compose(op Op, old string, at int64, value []byte) (string, error) {
	switch {
	case op == OpAppend && len(old)+len(value) > MaxString, op == OpSetRange && (at < 0 || at > MaxString-int64(len(value))), len(value) > MaxString:
		return "", ErrLength
	case op == OpAppend:
		b := make([]byte, len(old)+len(value))
		copy(b[copy(b, old):], value)
		return unsafe.String(unsafe.SliceData(b), len(b)), nil
	case op == OpSetRange:
		b := make([]byte, max(len(old), int(at)+len(value)))
		copy(b, old)
		copy(b[at:], value)
		return unsafe.String(unsafe.SliceData(b), len(b)), nil
	}
	return string(value), nil
}

func increment(old string, had bool, by int64) (string, int64, error) {
	v := int64(0)
	if had {
		if len(old) > len("-9223372036854775808") { // an error of ParseInt has a copy of it
			return "", 0, ErrNumber
		}
		var err error
		v, err = strconv.ParseInt(old, 10, 64)
		if err != nil || strconv.FormatInt(v, 10) != old {
			return "", 0, ErrNumber
		}
	}
	if by > 0 && v > math.MaxInt64-by || by < 0 && v < math.MinInt64-by {
		return "", 0, ErrOverflow
	}
	return strconv.FormatInt(v+by, 10), v + by, nil
}
