// Package powercut is a folder for tests that loses power. Until it does it is
// a folder in memory; at a chosen operation everything fails, and what is left
// then is what a disk may hold: all that was made durable, and pieces of the
// rest.
//
//	d := powercut.New(seed)
//	d.CutAfter(100)      // operations that change something
//	…                    // errors wrap ErrPower from then on
//	d = d.Restart()      // what the disk holds
//
// Bytes that were not synced are there, or not, or zero, block by block, and a
// file may be as long as it was or as it became. Names that were not synced
// with the folder are there or not, one by one. That is more than real disks
// and file systems lose.
package powercut

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/bloomery/bloomery/server/internal/folder"
)

var _ folder.Files = (*Disk)(nil)

// ErrPower is what every operation answers when the power is gone.
var ErrPower = errors.New("powercut: the power is gone")

// Disk is a folder that loses power. Make it with New.
//
// Safe for concurrent use.
type Disk struct {
	// Fail, if not nil, is asked before every operation that changes something
	// (create, append, write, truncate, sync, rename, remove, sync folder)
	// and may refuse it. It may do something else meanwhile.
	Fail func(op, name string) error

	// mu guards what follows, and the files.
	mu      sync.Mutex
	rng     *rand.Rand
	left    int // operations until the power is cut; negative for never
	dead    bool
	locked  bool
	names   map[string]*inode
	durable map[string]*inode
	changes []change // of names, not yet durable
}

// inode is a file without its name.
type inode struct {
	data    []byte
	durable []byte
	floor   int // up to where data and durable are known to be equal
}

// change is one of names: to was made to stand for an inode, from was taken
// away.
type change struct {
	from, to string
	file     *inode
}

// New returns an empty folder.
func New(seed uint64) *Disk {
	return &Disk{rng: rand.New(rand.NewPCG(seed, 0)), left: -1, names: map[string]*inode{}, durable: map[string]*inode{}}
}

// CutAfter cuts the power at the operation that follows n others.
func (d *Disk) CutAfter(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = n
}

// Dead reports whether the power is gone.
func (d *Disk) Dead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// Kill ends the process that uses the folder, but not the power: nothing is
// lost.
func (d *Disk) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.locked = false
}

// Restart cuts the power, if it is not gone, and returns what is left.
func (d *Disk) Restart() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
	n := New(d.rng.Uint64())
	names := maps.Clone(d.durable)
	mode := d.rng.IntN(4)
	for _, c := range d.changes {
		if mode == 0 || mode > 1 && d.rng.IntN(2) == 0 {
			continue // 0: none, 1: all, else some
		}
		if c.from != "" {
			delete(names, c.from)
		}
		if c.to != "" {
			names[c.to] = c.file
		}
	}
	left := map[*inode]*inode{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := names[name]
		if left[f] == nil {
			data := d.remains(f)
			left[f] = &inode{data: data, durable: bytes.Clone(data), floor: len(data)}
		}
		n.names[name] = left[f]
	}
	n.durable = maps.Clone(n.names)
	return n
}

// remains returns what is left of a file.
func (d *Disk) remains(f *inode) []byte {
	floor := min(f.floor, len(f.data), len(f.durable))
	if floor == len(f.data) && floor == len(f.durable) {
		return bytes.Clone(f.data)
	}
	switch d.rng.IntN(4) {
	case 0:
		return bytes.Clone(f.durable)
	case 1: // written in order, up to somewhere
		if len(f.durable) == floor {
			return bytes.Clone(f.data[:floor+d.rng.IntN(len(f.data)-floor+1)])
		}
		return bytes.Clone(f.data)
	}
	sizes := []int{len(f.data), len(f.data), len(f.durable), max(len(f.data), len(f.durable))}
	out := make([]byte, sizes[d.rng.IntN(len(sizes))])
	copy(out, f.durable[:floor])
	for at := min(floor, len(out)); at < len(out); {
		end := min(at+1+d.rng.IntN(96), len(out))
		switch d.rng.IntN(4) {
		case 0:
			copy(out[at:end], tail(f.durable, at))
		case 1: // never written: zero
		default:
			copy(out[at:end], tail(f.data, at))
		}
		at = end
	}
	return out
}

func tail(b []byte, at int) []byte { return b[min(at, len(b)):] }

// ask lets Fail refuse an operation.
func (d *Disk) ask(op, name string) error {
	if d.Fail == nil {
		return nil
	}
	if err := d.Fail(op, name); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// enter counts an operation. It reports cut if the power goes while it is done.
func (d *Disk) enter() (cut bool, err error) {
	if d.dead {
		return false, ErrPower
	}
	if d.left == 0 {
		d.dead = true
		return true, nil
	}
	d.left--
	return false, nil
}

// do runs an operation that is done whole or not at all.
func (d *Disk) do(op, name string, f func() error) error {
	if err := d.ask(op, name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	cut, err := d.enter()
	if err != nil {
		return err
	}
	if cut {
		if d.rng.IntN(2) == 0 {
			_ = f()
		}
		return ErrPower
	}
	return f()
}

// Create implements folder.Files.
func (d *Disk) Create(name string) (folder.File, error) {
	var f *inode
	err := d.do("create", name, func() error {
		if f = d.names[name]; f != nil {
			f.data, f.floor = nil, 0
			return nil
		}
		f = &inode{}
		d.names[name] = f
		d.changes = append(d.changes, change{to: name, file: f})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &file{d, f, name}, nil
}

// Append implements folder.Files.
func (d *Disk) Append(name string) (folder.File, error) {
	var f *inode
	err := d.do("append", name, func() error {
		if f = d.names[name]; f == nil {
			return &fs.PathError{Op: "append", Path: name, Err: fs.ErrNotExist}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &file{d, f, name}, nil
}

// Open implements folder.Files.
func (d *Disk) Open(name string) (folder.Reader, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, ErrPower
	}
	f := d.names[name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	data := bytes.Clone(f.data)
	return reader{bytes.NewReader(data), int64(len(data))}, nil
}

// List implements folder.Files.
func (d *Disk) List() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, ErrPower
	}
	return slices.Sorted(maps.Keys(d.names)), nil
}

// Rename implements folder.Files.
func (d *Disk) Rename(from, to string) error {
	return d.do("rename", from, func() error {
		f := d.names[from]
		if f == nil {
			return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
		}
		delete(d.names, from)
		d.names[to] = f
		d.changes = append(d.changes, change{from: from, to: to, file: f})
		return nil
	})
}

// Remove implements folder.Files.
func (d *Disk) Remove(name string) error {
	return d.do("remove", name, func() error {
		if d.names[name] == nil {
			return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
		}
		delete(d.names, name)
		d.changes = append(d.changes, change{from: name})
		return nil
	})
}

// Sync implements folder.Files.
func (d *Disk) Sync() error {
	return d.do("sync folder", "", func() error {
		d.durable, d.changes = maps.Clone(d.names), nil
		return nil
	})
}

// Lock implements folder.Files.
func (d *Disk) Lock() (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, folder.ErrLocked
	}
	d.locked = true
	return unlock{d}, nil
}

type unlock struct{ d *Disk }

func (u unlock) Close() error {
	u.d.Kill()
	return nil
}

// file is a file that is open for writing.
type file struct {
	d    *Disk
	f    *inode
	name string
}

func (f *file) Write(p []byte) (int, error) {
	refused := f.d.ask("write", f.name)
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if errors.Is(refused, ErrShort) { // some of it is written
		n := f.d.rng.IntN(len(p))
		f.f.data = append(f.f.data, p[:n]...)
		return n, refused
	}
	if refused != nil {
		return 0, refused
	}
	cut, err := f.d.enter()
	if err != nil {
		return 0, err
	}
	if cut {
		f.f.data = append(f.f.data, p[:f.d.rng.IntN(len(p)+1)]...)
		return 0, ErrPower
	}
	f.f.data = append(f.f.data, p...)
	return len(p), nil
}

func (f *file) Truncate(size int64) error {
	return f.d.do("truncate", f.name, func() error {
		f.f.data = f.f.data[:min(int(size), len(f.f.data))]
		f.f.floor = min(f.f.floor, len(f.f.data))
		return nil
	})
}

func (f *file) Sync() error {
	return f.d.do("sync", f.name, func() error {
		f.f.durable = bytes.Clone(f.f.data)
		f.f.floor = len(f.f.data)
		return nil
	})
}

func (f *file) Close() error { return nil }

// ErrShort lets a piece of a write through, when Disk.Fail returns it: the disk
// became full in the middle. It counts as no space left.
var ErrShort error = shortError{}

type reader struct {
	*bytes.Reader
	size int64
}

func (r reader) Size() int64 { return r.size }
func (reader) Close() error  { return nil }
