package contents

// Windows, and the time that passes for them.

import (
	composed "github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
)

// hasherOwner is every filter of ours.
type hasherOwner interface{ Hasher() hashing.Hasher }

// Due returns the generation that a window should have at a time, in milliseconds
// since 1970. It reports false if it has that, or a later one, or is no window. The
// caller holds a lock of p.
func (p *Part) Due(now int64) (generation uint64, due bool) {
	c, ok := p.contents.(*Filter)
	if d, is := p.contents.(*Draft); is && d.inner != nil {
		c, ok = d.inner, true
	}
	if !ok || c.plan.Load().Generation == 0 || now < 0 {
		return 0, false
	}
	w, ok := c.f.(*composed.Window)
	if !ok {
		return 0, false
	}
	generation = uint64(now / c.plan.Load().Generation)
	return generation, generation > w.Generation()
}

// IsWindow reports whether contents are a window, or a shadow that is one.
func IsWindow(c Contents) bool {
	w, _ := windowOf(c)
	return w != nil
}

// Advance makes a generation of a window, or of a shadow that is one, the present one. It reports false, and
// changes nothing, if it is not a later one. Of a large window Sweep clears what was dropped.
func Advance(c Contents, generation uint64) bool {
	w, f := windowOf(c)
	switch {
	case generation <= w.Generation():
		return false
	case f.own == nil || f.own.bytes < piecesFrom:
		w.Advance(generation)
	default:
		w.AdvanceLater(generation)
		f.own.sweeps(w.Sweeping())
	}
	return true
}

// sweepPiece is how many bytes of a window are cleared at a time. Whoever copies it puts them aside first.
const sweepPiece = 1 << 20

// Sweep clears what a window has dropped, in pieces between which others have their turn. Who reads the window
// finds nothing of that before. The caller holds no lock.
func (p *Part) Sweep() {
	for more := true; more; {
		p.Lock()
		_, f := windowOf(p.contents)
		more = f != nil && !p.Gone() && f.sweep(sweepPiece)
		p.Unlock()
	}
}

// sweep clears so many bytes of what a window has dropped, and reports whether there is more.
func (c *Filter) sweep(bytes uint64) (more bool) {
	w, ok := c.f.(*composed.Window)
	if !ok || c.own == nil {
		return false
	}
	more = w.Sweep(int(bytes/8), c.own.beforeWords)
	c.own.sweeps(w.Sweeping())
	return more
}

// sweeps notes how many bytes are needed to know what is to be cleared.
func (a *arrays) sweeps(bytes int) {
	a.memory.Keep(bytes - a.sweeping)
	a.sweeping = bytes
}

// windowOf returns the window that contents are, or a shadow is, nil if it is none, and the filter.
func windowOf(c Contents) (*composed.Window, *Filter) {
	f, _ := c.(*Filter)
	if d, ok := c.(*Draft); ok {
		f = d.inner
	}
	if f == nil {
		return nil, nil
	}
	w, _ := f.f.(*composed.Window)
	return w, f
}
