package roster

// What the catalogue of a cluster says of filters that are rebuilt.

import "slices"

// Rebuild is what the catalogue of a cluster says of a shadow.
type Rebuild struct {
	ID       uint64 // of the shadow
	Main     uint64 // the filter whose place it takes, 0 if there is none
	Name     string
	Ready    bool // every add to the filter knows of it
	Broken   bool
	Attempts uint64 // commits of a static kind that were begun
	Attempt  uint64 // the one that is under way, 0 for none
	By       uint64 // the session of the node that commits
}

// Ended returns the number of the last attempt that is known to have ended.
func (v *Rebuild) Ended() uint64 {
	if v.Attempt != 0 {
		return v.Attempt - 1
	}
	return v.Attempts
}

// Rebuild returns what is said of a shadow, nil if there is none of that id.
func (r *Roster) Rebuild(id uint64) *Rebuild {
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Rebuilds, func(v Rebuild) bool { return v.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Rebuilds[i]
}

// Current reports whether a session is the last one of a node that belongs to the cluster.
func (r *Roster) Current(session uint64) bool {
	return slices.ContainsFunc(r.Members, func(m Member) bool { return !m.Left && m.Session == session })
}

// Attempt is a commit of a static kind that is under way, and the node that runs it.
type Attempt struct {
	ID, Number uint64
	Node       uint32
}

// Attempts returns the commits of static kinds that are under way.
func (r *Roster) Attempts() (list []Attempt) {
	if r == nil {
		return nil
	}
	for _, v := range r.Rebuilds {
		if v.Attempt == 0 {
			continue
		}
		a := Attempt{ID: v.ID, Number: v.Attempt}
		for i := range r.Members {
			if m := &r.Members[i]; m.Session == v.By {
				a.Node = m.Number
			}
		}
		list = append(list, a)
	}
	return list
}

// Keeps reports whether a filter without a name is a shadow that outlives the session
// that has opened it.
func (r *Roster) Keeps(id uint64) bool {
	v := r.Rebuild(id)
	return v != nil && v.Ready
}
