package following

// Who follows a filter.

import (
	"cmp"
	"slices"
	"sync"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Follower is who has asked for news of a filter, as it says of itself.
type Follower struct {
	Name    string
	Version int64 // of its copy, -1 if it has not said so
	Age     int64 // of its copy, in milliseconds, -1 if it has not said so
	Asked   int64 // when it asked last, in milliseconds since 1970
}

const (
	// MaxFollowers is how many followers of a filter are remembered.
	MaxFollowers = 64
	// MaxFollowerName is how long a name may be.
	MaxFollowerName = 64
)

// followers are the last followers of a filter.
type followers struct {
	// mu guards list.
	mu   sync.Mutex
	list []Follower
}

// Note notes who has asked. If there are too many, who has not asked for the longest time is
// forgotten.
func (n *News) Note(f Follower) {
	n.who.mu.Lock()
	defer n.who.mu.Unlock()
	list := n.who.list
	at := slices.IndexFunc(list, func(old Follower) bool { return old.Name == f.Name })
	if at < 0 && len(list) < MaxFollowers {
		n.who.list = append(list, f)
		return
	}
	if at < 0 {
		at = slices.Index(list, slices.MinFunc(list, func(a, b Follower) int { return cmp.Compare(a.Asked, b.Asked) }))
	}
	list[at] = f
}

// Followers returns who has asked, by name.
func (n *News) Followers() []Follower {
	n.who.mu.Lock()
	list := slices.Clone(n.who.list)
	n.who.mu.Unlock()
	slices.SortFunc(list, func(a, b Follower) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Followers returns who has asked for news of the filter of an entry, by name.
func (t *Rings) Followers(e *catalog.Entry) []Follower {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range contents.Parts(e) {
		if r := t.Ring(p); r != nil {
			return r.of.Followers()
		}
	}
	return nil
}
