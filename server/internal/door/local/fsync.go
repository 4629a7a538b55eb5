package local

import "fmt"

// Fsync says when a write is durable.
type Fsync uint8

// The modes.
const (
	// EverySecond makes writes durable within a second.
	EverySecond Fsync = iota
	// Always makes writes durable before they are answered.
	Always
	// Never leaves it to the operating system.
	Never
)

var fsyncNames = []string{"everysec", "always", "no"}

// ParseFsync returns the mode of a name: always, everysec or no.
func ParseFsync(name string) (Fsync, error) {
	for i, n := range fsyncNames {
		if n == name {
			return Fsync(i), nil
		}
	}
	return 0, fmt.Errorf("local: fsync %q: want always, everysec or no", name)
}

// String returns the name of the mode.
func (f Fsync) String() string { return fsyncNames[f] }

// syncPoint is a place in the code that makes something durable. Tests leave
// out one at a time to see that each is needed.
type syncPoint uint8

const (
	syncLog       syncPoint = iota + 1 // records, as the mode asks
	syncLogFolder                      // the name of a new log file
	syncRotated                        // the end of a log file, before the next is begun
	syncCut                            // a torn end that was cut off
	syncRecovered                      // what was replayed, before more is written behind it
	syncPart                           // a file of a snapshot
	syncPartNames                      // the names of such files, before the manifest names them
	syncBarrier                        // the log up to a snapshot, before the manifest is in place
	syncManifest                       // the manifest, before it is renamed
	syncRenamed                        // the name of the manifest, before anything older is removed
	syncPoints
)
