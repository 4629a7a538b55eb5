// Package control is what operators do to the disk and to the cluster of a server. It turns
// what doors say of that into answers; commands never see a door.
package control

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/status"
)

// Disk is what keeps data on the disk of this machine.
type Disk struct {
	keep  door.Keeper
	waits func(what string)
}

// NewDisk returns the disk of a keeper, nil if there is none. waits is called before
// something that takes long.
func NewDisk(keep door.Keeper, waits func(what string)) Disk { return Disk{keep, waits} }

// Status returns how data is kept.
func (d Disk) Status() (s status.Disk) {
	if d.keep != nil {
		s = d.keep.Status()
	}
	return s
}

// SetFsync changes when writes are durable, as CONFIG SET appendfsync names it.
func (d Disk) SetFsync(mode string) error { return d.keep.SetFsync(mode) }

// Save writes all data to disk and returns the answer. It takes long.
func (d Disk) Save() answer.Reply {
	d.waits("snapshot")
	return saved(d.keep.Snapshot(), answer.OK())
}

// SaveSoon is Save in the background.
func (d Disk) SaveSoon() answer.Reply {
	return saved(d.keep.StartSnapshot(), answer.Word("Background saving started"))
}

// Verify is Save that then reads everything back and checks it.
func (d Disk) Verify() answer.Reply {
	d.waits("verify")
	err := d.keep.Snapshot()
	if err == nil {
		err = d.keep.Verify()
	}
	return saved(err, answer.OK())
}

func saved(err error, ok answer.Reply) answer.Reply {
	switch {
	case err == nil:
		return ok
	case errors.Is(err, status.ErrSaving):
		return answer.Fail("ERR Background save already in progress")
	}
	return answer.Fail("ERR " + answer.OneLine(err))
}
