package store

// Groups, of which all or none of the records take effect, and their conditions.

import "github.com/bloomery/bloomery/server/internal/contents"

// Expect is a condition: a name stands for what it stood for. If it does not hold,
// nothing of the group is applied.
type Expect struct {
	Name     []byte
	ID       uint64 // 0 if there was no such name
	Deadline int64
}

func (*Expect) op() Op { return OpExpect }
func (o *Expect) fields(c coder, r *Record) coder {
	return c.id(&o.ID).at(r).varint(&o.Deadline).bytes(&o.Name)
}

func (o *Expect) apply(s *State, r *Record, res *Result) {
	var id uint64
	var deadline int64
	if e := s.Names.Get(o.Name); e != nil && !e.Expired(r.At) {
		id, deadline = e.ID, e.When()
	}
	if id != o.ID || deadline != o.Deadline {
		res.Err = ErrCondition
	}
}

// ExpectPart is a condition: a part has the version that it had.
type ExpectPart struct{ Version uint64 }

func (*ExpectPart) op() Op                            { return OpExpectPart }
func (o *ExpectPart) fields(c coder, r *Record) coder { return c.target(r).uvarint(&o.Version) }

func (o *ExpectPart) change(_ *State, p *contents.Part, _ *Record, res *Result) int64 {
	if p.Changes() != o.Version {
		res.Err = ErrCondition
	}
	return 0
}

// Begin begins a group.
type Begin struct{}

func (*Begin) op() Op                                 { return OpBegin }
func (*Begin) fields(c coder, _ *Record) coder        { return c }
func (*Begin) apply(_ *State, _ *Record, res *Result) { res.Changed = true }

// Commit ends a group: it takes effect.
type Commit struct{}

func (*Commit) op() Op                                 { return OpCommit }
func (*Commit) fields(c coder, _ *Record) coder        { return c }
func (*Commit) apply(_ *State, _ *Record, res *Result) { res.Changed = true }

// Rollback says that recovery has dropped the group that is open.
type Rollback struct{}

func (*Rollback) op() Op                                 { return OpRollback }
func (*Rollback) fields(c coder, _ *Record) coder        { return c }
func (*Rollback) apply(_ *State, _ *Record, res *Result) { res.Changed = true }
