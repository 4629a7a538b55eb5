package local

import "github.com/bloomery/bloomery/server/internal/folder"

// Manual makes a door that does nothing in the background.
func (c Config) Manual() Config {
	c.manual = true
	return c
}

// Small makes log files end at n bytes, and parts large from small bytes on.
func (c Config) Small(n, small int64) Config {
	c.fileAt, c.small = n, small
	return c
}

// Skip leaves out a sync point.
func (c Config) Skip(point int) Config {
	c.skip = folder.Point(point)
	return c
}

// SyncPoints names all sync points by their number.
var SyncPoints = map[int]string{
	int(folder.SyncLog): "log", int(folder.SyncLogFolder): "log-folder", int(folder.SyncRotated): "rotated", int(folder.SyncCut): "cut",
	int(folder.SyncRecovered): "recovered", int(folder.SyncPart): "part", int(folder.SyncPartNames): "part-names", int(folder.SyncBarrier): "barrier",
	int(folder.SyncManifest): "manifest", int(folder.SyncRenamed): "renamed",
}

// LastSyncPoint is how many there are.
const LastSyncPoint = int(folder.SyncPoints) - 1

// Step does what is due.
func (d *Door) Step() error { return d.log.step() }

// Position returns the position of the next record.
func (d *Door) Position() uint64 { return d.log.position() }

// SyncTo makes everything before a position durable.
func (d *Door) SyncTo(position uint64) error { return d.log.syncTo(position, folder.SyncLog) }

// Look looks at the folder, and reports whether a snapshot is needed.
func (d *Door) Look() bool { return d.look() }

// SealLog makes a frame of a log.
func SealLog(body []byte, position, durable uint64) []byte {
	b := append(make([]byte, folder.FrameHeader), body...)
	folder.SealFrame(b, folder.LogFrame, position, durable)
	return b
}
