//go:build linux

package main

// Disks: the folder of each node is a file system of its own.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// disk is a file system in a file: it can be full, hang, and lose what was not synced.
type disk struct {
	image, at string
}

const diskBytes = 1 << 30 // sparse

// newDisk makes a file system and mounts it.
func newDisk(image, at string) (*disk, error) {
	d := &disk{image, at}
	f, err := os.Create(image)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(diskBytes), f.Close(), os.MkdirAll(at, 0o700)); err != nil {
		return nil, err
	}
	// Nothing is reserved for root, which the nodes run as.
	if err := tool("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=1", image); err != nil {
		return nil, err
	}
	return d, d.mount()
}

func (d *disk) mount() error { return tool("mount", "-o", "loop", d.image, d.at) }

func (d *disk) unmount() error { return tool("umount", d.at) }

func tool(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Codes of the kernel for file systems.
const (
	ioctlFreeze   = 0xc0045877
	ioctlThaw     = 0xc0045878
	ioctlShutdown = 0x8004587d
	noFlush       = 2 // a shutdown that writes nothing more, not even the journal
)

// freeze makes every write wait until thaw.
func (d *disk) freeze() error { return d.ioctl(ioctlFreeze, 0) }
func (d *disk) thaw() error   { return d.ioctl(ioctlThaw, 0) }

// cut is what a power cut does: what was not synced is lost. The file system gives
// errors until it is mounted again by restore.
func (d *disk) cut() error { return d.ioctl(ioctlShutdown, noFlush) }

func (d *disk) ioctl(code uint, value int) error {
	f, err := os.Open(d.at)
	if err != nil {
		return err
	}
	if code == ioctlShutdown {
		err = unix.IoctlSetPointerInt(int(f.Fd()), code, value)
	} else {
		err = unix.IoctlSetInt(int(f.Fd()), code, value)
	}
	return errors.Join(err, f.Close())
}

// restore mounts the disk again after a cut: its journal is replayed. Nobody may have
// a file of it open.
func (d *disk) restore() error { return errors.Join(d.unmount(), d.mount()) }

const filler = "filler"

// fill leaves no room on the disk but a number of bytes.
func (d *disk) fill(leave int64) error {
	f, err := os.Create(filepath.Join(d.at, filler))
	if err != nil {
		return err
	}
	room, err := d.room()
	if room -= leave; err == nil && room > 0 {
		err = unix.Fallocate(int(f.Fd()), 0, 0, room)
	}
	if errors.Is(err, unix.ENOSPC) { // others were quicker: it is full
		err = nil
	}
	return errors.Join(err, f.Close())
}

// room returns how many bytes are free.
func (d *disk) room() (int64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(d.at, &s)
	return int64(s.Bavail) * s.Bsize, err
}

// free undoes fill.
func (d *disk) free() error {
	err := os.Remove(filepath.Join(d.at, filler))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
