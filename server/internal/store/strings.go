package store

import "github.com/bloomery/bloomery/server/internal/catalog"

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
