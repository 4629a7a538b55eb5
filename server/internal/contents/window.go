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

// Window returns the window that contents are, or a shadow is, nil if it is none.
func Window(c Contents) *composed.Window {
	f, _ := c.(*Filter)
	if d, ok := c.(*Draft); ok {
		f = d.inner
	}
	if f == nil {
		return nil
	}
	w, _ := f.f.(*composed.Window)
	return w
}
