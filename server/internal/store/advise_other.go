//go:build !linux

package store

// advise does nothing here: see the form for Linux.
func (p *Part) advise() {}
