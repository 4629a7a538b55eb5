package engine

// Contents that other machines hold.

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// What an answer would need that is not here. Nobody is told that an item is absent because
// its filter is elsewhere.
const (
	// TextElsewhere is the error of a command on a key whose contents other nodes hold.
	TextElsewhere = "CLUSTERDOWN other nodes hold contents of this key, and this one does not: ask one that does"
	textInPart    = "CLUSTERDOWN this node does not hold all contents, and the answer needs them"
)

// LooksInside reports whether a command looks at what is in filters and sketches, not at
// names alone.
func (c *Command) LooksInside() bool {
	switch c.Group {
	case traits.GroupBloom, traits.GroupCuckoo, traits.GroupFilter, traits.GroupCountMin, traits.GroupTopK, traits.GroupTDigest:
		return len(c.Keys) > 0 || c.Flags&traits.Contents != 0
	}
	return c.Flags&traits.Contents != 0
}

// lacks returns the error of a call that needs contents which this machine does not hold, ""
// if it has what it needs.
func (e *Engine) lacks(s *Session, c *Call) (text string) {
	if e.state.Holdings() == nil || !c.cmd.inside {
		return ""
	}
	if len(c.cmd.Keys) == 0 {
		return textInPart
	}
	c.cmd.Keys.Each(c.Args, func(i int, _ traits.Key) {
		if entry := e.state.Names.Lookup(c.Args[i], s.ms); entry != nil && !e.answers(entry) {
			text = TextElsewhere
		}
	})
	return text
}

// answers reports whether this machine answers for all contents of an entry.
func (e *Engine) answers(entry *catalog.Entry) bool {
	for _, p := range store.Parts(entry) {
		if !e.state.Answers(p) {
			return false
		}
	}
	return true
}
