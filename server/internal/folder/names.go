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

// CopyStart is where the log of a copy of a cluster begins. It is not 0, so that its files without the
// manifest are never taken for a whole log, and no log of a server begins there: records are longer.
const CopyStart = 1

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
