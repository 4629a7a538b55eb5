package folder

import (
	"fmt"
	"strconv"
	"strings"
)

// The manifest is renamed into place when everything it names is durable.
const (
	Manifest     = "MANIFEST"
	ManifestTemp = "MANIFEST.tmp"
)

// LogName returns the name of the log file that begins at a position.
func LogName(position uint64) string { return fmt.Sprintf("%020d.log", position) }

// ParseLogName returns the position that a log file begins at.
func ParseLogName(name string) (uint64, bool) { return parseName(name, 20, ".log") }

// PartName returns the name of a part file.
func PartName(number uint64) string { return fmt.Sprintf("%016d.part", number) }

// ParsePartName returns the number of a part file.
func ParsePartName(name string) (uint64, bool) { return parseName(name, 16, ".part") }

// parseName returns the number that a name of so many digits and a suffix has.
func parseName(name string, length int, suffix string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != length {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}

// Damage is an error in a file of the folder.
type Damage struct {
	File string
	Err  error
}

func (d *Damage) Error() string { return d.File + ": " + d.Err.Error() }

// Unwrap returns Err.
func (d *Damage) Unwrap() error { return d.Err }

// Point is a place in the code that makes something durable. Tests leave out one
// at a time to see that each is needed.
type Point uint8

// The points.
const (
	SyncLog       Point = iota + 1 // records, as the mode asks
	SyncLogFolder                  // the name of a new log file
	SyncRotated                    // the end of a log file, before the next is begun
	SyncCut                        // a torn end that was cut off
	SyncRecovered                  // what was replayed, before more is written behind it
	SyncPart                       // a file of a snapshot
	SyncPartNames                  // the names of such files, before the manifest names them
	SyncBarrier                    // the log up to a snapshot, before the manifest is in place
	SyncManifest                   // the manifest, before it is renamed
	SyncRenamed                    // the name of the manifest, before anything older is removed
	SyncPoints
)
