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
// changes nothing, if it is not a later one.
func Advance(c Contents, generation uint64) bool {
	w, own := windowOf(c)
	if generation <= w.Generation() {
		return false
	}
	own.detach()
	w.Advance(generation)
	return true
}

// windowOf returns the window that contents are, or a shadow is, nil if it is none, and its arrays.
func windowOf(c Contents) (*composed.Window, *arrays) {
	f, _ := c.(*Filter)
	if d, ok := c.(*Draft); ok {
		f = d.inner
	}
	if f == nil {
		return nil, nil
	}
	w, _ := f.f.(*composed.Window)
	return w, f.own
}
