package local

import "github.com/bloomery/bloomery/server/internal/folder"

// Step does what is due.
func (d *Door) Step() error { return d.log.step() }

// Position returns the position of the next record.
func (d *Door) Position() uint64 { return d.log.position() }

// SyncTo makes everything before a position durable.
func (d *Door) SyncTo(position uint64) error { return d.log.syncTo(position) }

// Look looks at the folder, and reports whether a snapshot is needed.
func (d *Door) Look() bool { return d.look() }

// SealLog makes a frame of a log.
func SealLog(body []byte, position, durable uint64) []byte {
	b := append(make([]byte, folder.FrameHeader), body...)
	folder.SealFrame(b, folder.LogFrame, position, durable)
	return b
}
