package datadir

// Report: what Inspect finds in a data folder.

import (
	"errors"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/local"
)

// Report is what Inspect finds in a data folder.
//
// Safe for concurrent use.
type Report struct {
	// Files are those of the folder, in the order of their names.
	Files []FileReport
	// Lost are the names whose contents are damaged or missing. Damage of the
	// manifest or of the log hides them.
	Lost []LostName
	// Names is the number of names in the last snapshot, Saved when it was
	// written; zero if there is none.
	Names int
	Saved time.Time
	// From and End are the positions of the log between which a start replays
	// it, and Records is how many records that are.
	From, End uint64
	Records   int

	found *local.Report
}

// FileReport is what Inspect finds in one file.
type FileReport struct {
	Name string
	Size int64
	Kind FileKind
	// Detail describes the contents in a line.
	Detail string
	// Err is what is wrong with the file, nil if nothing is. It wraps
	// bloomery.ErrCorrupt and names the offset of the damage.
	Err error
	// Remedy is what to do about Err, if that is known. Of the folder of a single server
	// it is to restore a backup, or Drop.
	Remedy string
	// Torn is where the file has to be cut: the end of the log, which was being
	// written when the power went. It is -1 for a file that is whole.
	Torn int64
	// Orphan means that no start needs the file.
	Orphan bool
	// Unchecked means that the file was not checked, since another one, which
	// describes what is in it, is damaged or missing, or since only a start does that.
	Unchecked bool
}

// FileKind is what a file of a data folder is.
type FileKind string

// The kinds of files.
const (
	Manifest FileKind = "manifest"  // the list of what the last snapshot holds
	Part     FileKind = "part"      // contents
	Log      FileKind = "log"       // writes after the snapshot
	SetAside FileKind = "set aside" // by Drop
	Sessions FileKind = "sessions"  // of a node of a cluster, with its folder
	Node     FileKind = "node"      // what a node of a cluster is in the log
	Streams  FileKind = "streams"   // the log of a cluster
	Unknown  FileKind = "unknown"   // not a file of a server
)

// LostName is a name whose contents cannot be read.
type LostName struct {
	Name string
	// Kind is the type of the key, as the command TYPE returns it.
	Kind string
	// File is where the contents were.
	File string
}

// reportOf returns a report in the words of this package.
func reportOf(found *local.Report, remedies map[FileKind]string) *Report {
	r := &Report{Names: found.Names, From: found.From, End: found.End, Records: found.Records, found: found}
	if found.Saved > 0 {
		r.Saved = time.UnixMilli(found.Saved)
	}
	for _, f := range found.Files {
		remedy := ""
		if f.Err != nil {
			remedy = remedies[FileKind(f.Kind)]
		}
		r.Files = append(r.Files, FileReport{
			Remedy: remedy, Name: f.Name, Size: f.Size, Kind: FileKind(f.Kind), Detail: f.Detail, Err: f.Err,
			Torn: f.Torn, Orphan: f.Orphan, Unchecked: f.Unchecked,
		})
	}
	for _, l := range found.Lost {
		r.Lost = append(r.Lost, LostName(l))
	}
	return r
}

// Damaged reports whether a start would be refused.
func (r *Report) Damaged() bool { return r.found != nil && r.found.Damaged() }

// Newer reports whether a later release wrote what cannot be read, and nothing is damaged.
func (r *Report) Newer() bool {
	newer := false
	for _, f := range r.Files {
		if f.Err != nil && !errors.Is(f.Err, bloomery.ErrVersion) {
			return false
		}
		newer = newer || f.Err != nil
	}
	return newer
}

// Droppable reports whether all damage is in the contents of names, so that Drop
// can remove those in Lost and keep the rest.
func (r *Report) Droppable() bool { return r.found != nil && r.found.Droppable() }

// Repairable reports whether there is something that Repair would do.
func (r *Report) Repairable() bool { return r.found != nil && r.found.Repairable() }
