package store

// Strings, and the records that change them.

import (
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Long is from how many bytes on a string is made before any lock is taken, and is
// not copied into the log: see String.Made.
const Long = 64 << 10

// String is what the records share that make a string of a value: Set, Append and
// SetRange.
type String struct {
	Name, Value []byte

	// Made, if it is not "", is the string that the record makes of Base, which is
	// nil for none. It was made before any lock was taken, see MakeString, and nobody
	// changes it; Value is a part of it. Neither of them is encoded.
	Made string
	Base *catalog.Entry
}

// Text returns the string of a record that makes one.
func (o *String) Text() *String   { return o }
func (o *String) newName() []byte { return o.Name }
func (o *String) length() int     { return len(o.Value) }

func (o *String) weight() int {
	if o.Made != "" {
		return 0
	}
	return len(o.Value) >> 10
}

// Texter is the body of a record that makes a string of a value.
type Texter interface {
	Body
	Text() *String
	// compose returns the string that the record makes of an old one.
	compose(old string, value []byte) (string, error)
	// own returns where the value stands in the string made, if that is not all of it.
	own(old string) (at int, part bool)
	// ending returns the record with the rest of its value: what stands before that
	// was in records of Piece.
	ending(rest []byte) Body
}

// Set stores a string.
type Set struct {
	String
	Deadline int64 // milliseconds since 1970, 0 for none
	If       uint8
}

func (*Set) op() Op                         { return OpSet }
func (*Set) own(string) (at int, part bool) { return 0, false }
func (o *Set) fields(c coder, r *Record) coder {
	return c.byte(&o.If).at(r).varint(&o.Deadline).bytes(&o.Name).bytes(&o.Value)
}

func (*Set) compose(_ string, value []byte) (string, error) {
	if len(value) > MaxString {
		return "", ErrLength
	}
	return string(value), nil
}

func (o *Set) apply(s *State, r *Record, res *Result) {
	value, pieced := s.joined(o.Value)
	e := s.live(o.Name, r.At, res)
	if o.If&IfString != 0 && e != nil && e.Kind != catalog.String {
		res.Err = contents.ErrType
		return
	}
	deadline := res.had(e)
	var text string
	switch {
	case o.If&IfAbsent != 0 && e != nil || o.If&IfPresent != 0 && e == nil:
		res.Err = ErrCondition
	case o.Made != "":
		text = o.Made
	case pieced:
		text = unsafe.String(unsafe.SliceData(value), len(value))
	default:
		text, res.Err = o.compose("", value)
	}
	if o.If&KeepTTL == 0 {
		deadline = o.Deadline
	}
	s.stored(e, o.Name, deadline, text, res)
}

// Append adds to the end of a string.
type Append struct{ String }

func (*Append) op() Op                                   { return OpAppend }
func (o *Append) fields(c coder, r *Record) coder        { return c.at(r).bytes(&o.Name).bytes(&o.Value) }
func (o *Append) apply(s *State, r *Record, res *Result) { s.alter(o, r, res) }
func (*Append) own(old string) (at int, part bool)       { return len(old), true }

func (*Append) compose(old string, value []byte) (string, error) {
	if len(old)+len(value) > MaxString {
		return "", ErrLength
	}
	b := make([]byte, len(old)+len(value))
	copy(b[copy(b, old):], value)
	return unsafe.String(unsafe.SliceData(b), len(b)), nil
}

// SetRange overwrites a part of a string.
type SetRange struct {
	String
	Offset int64
}

func (*SetRange) op() Op                           { return OpSetRange }
func (o *SetRange) own(string) (at int, part bool) { return int(o.Offset), true }
func (o *SetRange) fields(c coder, r *Record) coder {
	return c.at(r).bytes(&o.Name).bytes(&o.Value).varint(&o.Offset)
}

func (o *SetRange) compose(old string, value []byte) (string, error) {
	if o.Offset < 0 || o.Offset > MaxString-int64(len(value)) {
		return "", ErrLength
	}
	b := make([]byte, max(len(old), int(o.Offset)+len(value)))
	copy(b, old)
	copy(b[o.Offset:], value)
	return unsafe.String(unsafe.SliceData(b), len(b)), nil
}

func (o *SetRange) apply(s *State, r *Record, res *Result) { s.alter(o, r, res) }

// alter makes a string of the one that is there.
func (s *State) alter(o Texter, r *Record, res *Result) {
	t := o.Text()
	value, _ := s.joined(t.Value)
	e := s.live(t.Name, r.At, res)
	if e != nil && e.Kind != catalog.String {
		res.Err = contents.ErrType
		return
	}
	deadline := res.had(e)
	if _, over := o.(*SetRange); over && len(value) == 0 {
		res.N = int64(len(res.Old))
		return
	}
	var text string
	switch {
	case t.Made != "" && e == t.Base:
		text = t.Made
	case t.Made != "" && e != nil:
		res.Err = contents.ErrRetry // it was made of another string
	default:
		text, res.Err = o.compose(res.Old, value)
	}
	s.stored(e, t.Name, deadline, text, res)
}

// joined returns a value behind the pieces of it that have come before, and whether
// there were any: then nobody else has it.
func (s *State) joined(value []byte) (_ []byte, pieced bool) {
	if len(s.pieces) > 0 {
		value, s.pieces, pieced = append(s.pieces, value...), nil, true
	}
	return value, pieced
}

// had notes the string that a record meets and returns the deadline of the entry.
func (res *Result) had(e *catalog.Entry) (deadline int64) {
	if e == nil {
		return 0
	}
	if e.Kind == catalog.String {
		res.Old, res.Had = Text(e), true
	}
	return e.When()
}

// stored puts a string in the place of e, unless there was an error. A string never
// changes: it is replaced, entry and all, so readers need no lock.
func (s *State) stored(e *catalog.Entry, name []byte, deadline int64, text string, res *Result) {
	if res.Err != nil {
		return
	}
	res.N = int64(len(text))
	res.Entry = s.putString(e, name, deadline, text)
	res.Changed = true
}

// MakeString sets Made of o to the string that it makes of base, which is nil for none,
// and Value to its part of it. It leaves them if there is no such string: Apply says
// why. It may take long and needs no lock.
func MakeString(o Texter, base *catalog.Entry) {
	t := o.Text()
	old, n := "", len(t.Value)
	if base != nil {
		old = Text(base)
	}
	if n == 0 || base != nil && base.Kind != catalog.String {
		return
	}
	text, err := o.compose(old, t.Value)
	if err != nil {
		return
	}
	t.Keep(text, base)
	if at, part := o.own(old); part {
		t.Value = t.Value[at:][:n]
	}
}

// Keep makes text, which is the string that the record makes of base, its Value too.
func (o *String) Keep(text string, base *catalog.Entry) {
	o.Made, o.Base = text, base
	o.Value = unsafe.Slice(unsafe.StringData(text), len(text))
}

func (o *Set) effect(f *Effect, r *Record, _ *Result)      { f.text(r, o) }
func (o *Append) effect(f *Effect, r *Record, _ *Result)   { f.text(r, o) }
func (o *SetRange) effect(f *Effect, r *Record, _ *Result) { f.text(r, o) }

func (o *Set) ending(rest []byte) Body {
	return &Set{String{Name: o.Name, Value: rest}, o.Deadline, o.If}
}
func (o *Append) ending(rest []byte) Body { return &Append{String{Name: o.Name, Value: rest}} }
func (o *SetRange) ending(rest []byte) Body {
	return &SetRange{String{Name: o.Name, Value: rest}, o.Offset}
}

// text notes a record of a string. All of the value but its end, if it is long, goes
// into records of its own.
func (f *Effect) text(r *Record, o Texter) {
	t := o.Text()
	if t.Made != "" && len(t.Value) >= Long {
		f.spread(r, o)
		return
	}
	if len(t.Value) <= maxText {
		f.put(r, o)
		return
	}
	rest := t.Value
	for ; len(rest) > maxText; rest = rest[maxText:] {
		f.put(r, &Piece{rest[:maxText]})
	}
	f.put(r, o.ending(rest))
}

// spread does what text does without a copy of the string: the value of each
// record is a part of it, with what stands before it in front.
func (f *Effect) spread(r *Record, o Texter) {
	for rest := o.Text().Value; len(rest) > 0; {
		n := min(len(rest), maxPiece)
		head := AppendRecord(nil, &Record{Origin: r.Origin, Body: &Piece{}}) // it ends with the length of nothing
		head = binary.AppendUvarint(head[:len(head)-1], uint64(n))
		f.long = append(f.long, head, rest[:n])
		rest = rest[n:]
	}
	f.long = append(f.long, AppendRecord(nil, &Record{At: r.At, Origin: r.Origin, Body: o.ending(nil)}))
}

// Piece has bytes that come before the value of the next record of a string.
type Piece struct{ Value []byte }

func (*Piece) op() Op                            { return OpPiece }
func (o *Piece) fields(c coder, _ *Record) coder { return c.bytes(&o.Value) }

func (o *Piece) apply(s *State, _ *Record, res *Result) {
	if len(s.pieces)+len(o.Value) > MaxString {
		res.Err = ErrLength
		return
	}
	s.pieces = append(s.pieces, o.Value...)
	res.Changed = true
}

// Increment adds to a string that is a number.
type Increment struct {
	Name []byte
	By   int64
}

func (*Increment) op() Op                            { return OpIncrement }
func (o *Increment) fields(c coder, r *Record) coder { return c.at(r).bytes(&o.Name).varint(&o.By) }
func (o *Increment) newName() []byte                 { return o.Name }

func (o *Increment) apply(s *State, r *Record, res *Result) {
	e := s.live(o.Name, r.At, res)
	if e != nil && e.Kind != catalog.String {
		res.Err = contents.ErrType
		return
	}
	deadline := res.had(e)
	text, n, err := increment(res.Old, res.Had, o.By)
	res.Err = err
	if s.stored(e, o.Name, deadline, text, res); err == nil {
		res.N = n
	}
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

// SetMany stores strings under their names, all or none.
type SetMany struct{ Pairs [][]byte } // names and values by turns

func (*SetMany) op() Op { return OpSetMany }

func (o *SetMany) fields(c coder, r *Record) coder {
	c = c.at(r).names(&o.Pairs)
	c.bad = c.bad || c.does == reads && len(o.Pairs)%2 != 0
	return c
}

func (o *SetMany) weight() int { return len(o.Pairs) }

func (o *SetMany) length() (n int) {
	for _, v := range o.Pairs {
		n += len(v)
	}
	return n
}

func (o *SetMany) apply(s *State, _ *Record, res *Result) {
	for i := 0; i < len(o.Pairs); i += 2 {
		if len(o.Pairs[i]) > MaxName {
			res.Err = ErrLength
			return
		}
	}
	for i := 0; i+1 < len(o.Pairs); i += 2 {
		s.putString(s.Names.Get(o.Pairs[i]), o.Pairs[i], 0, string(o.Pairs[i+1]))
		res.Changed = true
	}
}

// Take removes a string and answers it.
type Take struct{ Name []byte }

func (*Take) op() Op                            { return OpTake }
func (o *Take) fields(c coder, r *Record) coder { return c.at(r).bytes(&o.Name) }

func (o *Take) apply(s *State, r *Record, res *Result) {
	if e := s.liveString(o.Name, r, res); e != nil {
		s.drop(e)
		res.Changed = true
	}
}

// Touch answers a string and sets its deadline. One that has passed removes it.
type Touch struct {
	Name     []byte
	Deadline int64 // milliseconds since 1970, 0 takes it away
}

func (*Touch) op() Op                            { return OpTouch }
func (o *Touch) fields(c coder, r *Record) coder { return c.at(r).varint(&o.Deadline).bytes(&o.Name) }

func (o *Touch) apply(s *State, r *Record, res *Result) {
	e := s.liveString(o.Name, r, res)
	if e == nil || e.When() == o.Deadline {
		return
	}
	res.Changed = true
	if o.Deadline != 0 && o.Deadline <= r.At {
		s.drop(e)
		return
	}
	s.Names.SetDeadline(e, o.Deadline)
}

// liveString returns the string of a name and notes it in res, nil and an error if
// there is none.
func (s *State) liveString(name []byte, r *Record, res *Result) *catalog.Entry {
	e := s.live(name, r.At, res)
	switch {
	case e == nil:
		res.Err = ErrMissing
		return nil
	case e.Kind != catalog.String:
		res.Err = contents.ErrType
		return nil
	}
	res.had(e)
	return e
}

// Derives returns the name of the string that a record makes another one of. It reports
// false if it does not.
func Derives(b Body) (name []byte, ok bool) {
	switch o := b.(type) {
	case *Append:
		return o.Name, true
	case *SetRange:
		return o.Name, true
	case *Increment:
		return o.Name, true
	}
	return nil, false
}
