package shadow

// The shadows that are open.

import (
	"maps"
	"slices"
	"sync/atomic"
)

// Table is the shadows that are open.
//
// Safe for concurrent use; Publish needs exclusion.
type Table struct {
	open atomic.Pointer[shadows] // nil if there are none
}

// shadows are never changed, but replaced.
type shadows struct {
	byMain map[uint64]*Shadow
	byID   map[uint64]*Shadow
	byName map[string]*Shadow // those of no filter
}

func (t *shadows) clone() *shadows {
	if t == nil {
		t = &shadows{map[uint64]*Shadow{}, map[uint64]*Shadow{}, map[string]*Shadow{}}
	}
	return &shadows{maps.Clone(t.byMain), maps.Clone(t.byID), maps.Clone(t.byName)}
}

// Shadowed reports whether an id is that of a filter that has a shadow, or of a shadow.
func (t *Table) Shadowed(id uint64) bool {
	v := t.open.Load()
	return v != nil && (v.byMain[id] != nil || v.byID[id] != nil)
}

// ShadowOf returns the shadow of a filter, nil if it has none.
func (t *Table) ShadowOf(id uint64) *Shadow {
	v := t.open.Load()
	if v == nil {
		return nil
	}
	return v.byMain[id]
}

// ShadowNamed returns the shadow that will make a name, nil if there is none.
func (t *Table) ShadowNamed(name []byte) *Shadow {
	v := t.open.Load()
	if v == nil {
		return nil
	}
	return v.byName[string(name)]
}

// ShadowByID returns the shadow whose own id this is, nil if there is none.
func (t *Table) ShadowByID(id uint64) *Shadow {
	v := t.open.Load()
	if v == nil {
		return nil
	}
	return v.byID[id]
}

// Shadows returns all of them.
func (t *Table) Shadows() []*Shadow {
	v := t.open.Load()
	if v == nil {
		return nil
	}
	return slices.Collect(maps.Values(v.byID))
}

// Publish makes known that a shadow is open, or no longer.
func (t *Table) Publish(sh *Shadow, open bool) {
	v := t.open.Load().clone()
	if open {
		v.byID[sh.ID] = sh
		if sh.Main != 0 {
			v.byMain[sh.Main] = sh
		} else {
			v.byName[sh.Name] = sh
		}
	} else {
		delete(v.byID, sh.ID)
		if sh.Main != 0 {
			delete(v.byMain, sh.Main)
		} else {
			delete(v.byName, sh.Name)
		}
	}
	if len(v.byID) == 0 {
		v = nil
	}
	t.open.Store(v)
}
