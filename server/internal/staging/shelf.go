package staging

// What a client has staged, and will load more of.

// What a staged filter takes besides its data and its name, and for each of its parts.
const (
	shelfBytes = 288
	sumBytes   = 8
)

func sizeOf(name string, t *Staged) int { return len(name) + shelfBytes + t.Parts()*sumBytes }

// Shelf is what a client has staged, by the names that it will have.
//
// Not safe for concurrent use: it belongs to the session.
type Shelf struct {
	kept map[string]*Staged
	hold func(n int) bool
}

// NewShelf returns an empty shelf. hold counts memory, and reports whether there is so much.
func NewShelf(hold func(n int) bool) *Shelf {
	return &Shelf{map[string]*Staged{}, hold}
}

// Get returns what is kept for a name, nil if that is nothing.
func (s *Shelf) Get(name string) *Staged { return s.kept[name] }

// Keep keeps a staged filter until it is taken, or the client goes. It reports false, and
// keeps nothing, if there is no room for the name.
func (s *Shelf) Keep(name string, t *Staged) bool {
	if s.kept[name] == t {
		return true
	}
	if size := sizeOf(name, t); !s.hold(size) {
		s.hold(-size)
		return false
	}
	s.kept[name] = t
	return true
}

// Take is Get, and what it returns is kept no more.
func (s *Shelf) Take(name string) *Staged {
	t := s.kept[name]
	if t != nil {
		delete(s.kept, name)
		s.hold(-sizeOf(name, t))
	}
	return t
}

// Clear takes everything, and calls f with it.
func (s *Shelf) Clear(f func(t *Staged)) {
	for name := range s.kept {
		f(s.Take(name))
	}
}
