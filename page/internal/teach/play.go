package teach

// Playing a script, step by step.

import (
	"slices"
	"strconv"
)

// Play does what the script says and returns every step. The error is a *FieldError.
func (s Script) Play() (Scene, error) {
	v, _, err := s.play()
	return v, err
}

// play is Play that also returns the filter as it is at the end.
func (s Script) play() (Scene, *run, error) {
	v, m, actions, err := s.scene()
	if err != nil {
		return Scene{}, nil, err
	}
	v.Actions = abilities(m)
	r := &run{scene: &v, machine: m, values: make([]int, len(m.values()))}
	v.Panels = m.panels()
	v.Steps = make([]Step, 0, len(actions))
	for _, a := range actions {
		r.step(a)
	}
	return v, r, nil
}

// run is a script that is being played.
type run struct {
	scene *Scene
	machine
	values  []int // after the last step
	entries []entry
	owners  [][]string // of each cell
	filled  int        // keys that fill has made
}

// entry is a key that was inserted and neither deleted nor forgotten.
type entry struct {
	key string
	place
	panel int // of a window, the generation that it was added to
}

// step does one action and records it.
func (r *run) step(a Action) {
	v := Step{Do: a.Do, Key: a.Key, N: a.N, Cells: []int{}}
	var p place
	if a.Key != "" {
		p = r.place(a.Key)
		v.Cells, v.Mark = p.cells, p.mark
	}
	old := r.values
	switch a.Do {
	case "add":
		v.Verdict = r.insert(a.Key)
		switch n := len(r.entries); {
		case n > 0 && r.entries[n-1].key == a.Key:
			p = r.entries[n-1].place // in one of several panels
		case v.Verdict == Unchanged:
			p.cells = r.found(p, old) // in the panel that has them all
		}
		v.Cells = p.cells
	case "fill":
		v.Verdict = r.fill(a.N)
	case "ask":
		v.Verdict = r.ask(a.Key)
	case "report":
		v.Verdict = r.report(a.Key)
	case "delete":
		v.Verdict = r.delete(a.Key)
	case "advance":
		v.Verdict = r.advance(&v)
	}
	v.Changes = r.changes()
	if a.Do == "add" && v.Verdict == Inserted && len(v.Changes) == 0 && !r.takesBack(a.Key) {
		v.Verdict = Unchanged
	}
	v.Text = r.text(v, a, p, old)
	v.Owners = r.owned()
	if c, ok := r.machine.(*corrections); ok {
		v.Reports = c.held()
	}
	stats := r.stats()
	v.Keys, v.Fill, v.Predicted = len(r.entries), stats.Saturation, stats.Predicted
	for _, value := range r.values {
		if value != 0 {
			v.Set++
		}
	}
	r.scene.Steps = append(r.scene.Steps, v)
}

// insert adds a key and writes down where it is.
func (r *run) insert(key string) Verdict {
	var before []int // for kinds in which a key is in one of several panels
	if _, ok := r.machine.(*layers); ok {
		before = r.machine.values()
	}
	if r.add(key) != nil {
		return Full
	}
	if s, ok := r.machine.(*sums); ok && s.outside(key) {
		return Listed
	}
	e := entry{key: key, place: r.place(key), panel: -1}
	switch m := r.machine.(type) {
	case ager:
		e.panel = m.present()
		e.cells = r.panels()[e.panel].within(e.cells)
		// A key that is added again moves to the present generation.
		r.entries = slices.DeleteFunc(r.entries, func(o entry) bool { return o.key == key && o.panel == e.panel })
	case *layers:
		changed := changedIn(m.panels(), before, m.values())
		if changed < 0 {
			return Unchanged // another key, or the same one, has all of its bits
		}
		e.cells = m.panels()[changed].within(e.cells)
	}
	if _, counts := r.machine.(remover); !counts && r.holds(key, e.panel) {
		return Inserted // an idempotent filter holds a key once
	}
	r.entries = append(r.entries, e)
	return Inserted
}

// holds reports whether a key is written down already.
func (r *run) holds(key string, panel int) bool {
	return slices.ContainsFunc(r.entries, func(e entry) bool { return e.key == key && e.panel == panel })
}

// changedIn returns the panel in which a value has changed, -1 if in none. What
// before does not have was 0.
func changedIn(panels []Panel, before, after []int) int {
	for i, p := range slices.Backward(panels) {
		for c := p.First; c < p.First+p.Cells; c++ {
			if after[c] != 0 && (c >= len(before) || before[c] != after[c]) {
				return i
			}
		}
	}
	return -1
}

// fill adds so many keys that nobody has named.
func (r *run) fill(n int) Verdict {
	for range n {
		r.filled++
		if r.insert("key "+strconv.Itoa(r.filled)) == Full {
			return Full
		}
	}
	return Filled
}

// ask asks for a key, and knows whether the answer is right.
func (r *run) ask(key string) Verdict {
	v := judge(r.has(key), r.inserted(key))
	if c, ok := r.machine.(*corrections); ok {
		c.asked(key, v)
	}
	return v
}

// judge compares the answer of a filter with the truth.
func judge(has, inserted bool) Verdict {
	switch {
	case has && inserted:
		return Present
	case has:
		return FalsePositive
	case inserted:
		return FalseNegative
	}
	return Absent
}

// inserted reports whether a key is in the filter by right.
func (r *run) inserted(key string) bool {
	return slices.ContainsFunc(r.entries, func(e entry) bool { return e.key == key })
}

func (r *run) delete(key string) Verdict {
	m, ok := r.machine.(remover)
	if !ok || !m.remove(key) {
		return NotThere
	}
	if i := slices.IndexFunc(r.entries, func(e entry) bool { return e.key == key }); i >= 0 {
		r.entries = slices.Delete(r.entries, i, i+1)
	}
	return Deleted
}

// advance lets time pass: the keys of the generation that is dropped are
// forgotten.
func (r *run) advance(v *Step) Verdict {
	m, ok := r.machine.(ager)
	if !ok {
		return Unchanged
	}
	m.advance()
	now := m.present()
	r.entries = slices.DeleteFunc(r.entries, func(e entry) bool { return e.panel == now })
	v.Labels = m.labels()
	return Advanced
}

// changes returns the cells that have changed since the last step, and puts new
// panels on the stage.
func (r *run) changes() []Change {
	for _, p := range r.panels()[len(r.scene.Panels):] {
		p.Since = len(r.scene.Steps) + 1
		r.scene.Panels = append(r.scene.Panels, p)
	}
	now, all := r.machine.values(), []Change{}
	for i, v := range now {
		if i < len(r.values) && r.values[i] == v || i >= len(r.values) && v == 0 {
			continue
		}
		all = append(all, Change{i, v})
	}
	r.values = now
	return all
}

// owned returns the cells that other keys have set than before this step.
func (r *run) owned() []Owner {
	now := make([][]string, len(r.values))
	for _, e := range r.entries {
		for _, i := range e.cells {
			if v := r.values[i]; v != 0 && (e.mark == 0 || e.mark == v) && !slices.Contains(now[i], e.key) {
				now[i] = append(now[i], e.key)
			}
		}
	}
	all := []Owner{}
	for i := range r.values {
		if i >= len(r.owners) && now[i] != nil || i < len(r.owners) && !slices.Equal(now[i], r.owners[i]) {
			all = append(all, Owner{i, append([]string{}, now[i]...)})
		}
	}
	r.owners = now
	return all
}

// ownersOf returns the keys that had set a cell before this step.
func (r *run) ownersOf(cell int) []string {
	if cell >= len(r.owners) {
		return nil
	}
	return r.owners[cell]
}
