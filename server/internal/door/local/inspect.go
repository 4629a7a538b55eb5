package local

// Inspect: every byte of a folder, with a verdict on each file.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Report is what Inspect finds in a folder.
type Report struct {
	Files   []FileReport
	Lost    []LostName // whose contents are damaged or missing; damage of the manifest or the log hides them
	Names   int        // in the manifest
	Saved   int64      // when the manifest was written, milliseconds since 1970; 0 if there is none
	From    uint64     // position from which on the log is replayed
	End     uint64     // position of its end
	Records int        // replayed

	cutOff bool // contents without manifest and log
}

// FileReport is what Inspect finds in one file.
type FileReport struct {
	Name   string
	Size   int64
	Kind   string // manifest, part, log, set aside or unknown
	Detail string
	// Err is what is wrong with it; it wraps bloomery.ErrCorrupt and has the
	// offset.
	Err error
	// Torn is where the file has to be cut: the end of the log, which was being
	// written when the power went. -1 if it is whole.
	Torn int64
	// Orphan means that no recovery needs the file.
	Orphan bool
	// Unchecked means that the file was not checked, since another one, which
	// says what is in it, is damaged or missing.
	Unchecked bool
}

// LostName is a name whose contents cannot be read.
type LostName struct {
	Name string
	Kind string // as TYPE spells it
	File string // where the contents were
}

// Data reports whether the folder is one of a server: it has a manifest, a log or
// a part file.
func (r *Report) Data() bool {
	for i := range r.Files {
		if k := r.Files[i].Kind; k != kindUnknown && k != kindAside {
			return true
		}
	}
	return false
}

// Droppable reports whether all damage is in the contents of names, so that Drop
// can remove those in Lost and keep the rest.
func (r *Report) Droppable() bool {
	for i := range r.Files {
		if f := &r.Files[i]; f.Err != nil && f.Kind != kindPart {
			return false
		}
	}
	return r.Damaged() && !r.cutOff
}

// Damaged reports whether a start would be refused.
func (r *Report) Damaged() bool {
	for i := range r.Files {
		if r.Files[i].Err != nil {
			return true
		}
	}
	return false
}

// Repairable reports whether there is something that Repair would do.
func (r *Report) Repairable() bool {
	for i := range r.Files {
		if r.Files[i].Orphan || r.Files[i].Torn >= 0 {
			return true
		}
	}
	return false
}

// The kinds of files.
const (
	kindManifest = "manifest"
	kindPart     = "part"
	kindLog      = "log"
	kindAside    = "set aside" // by Drop
	kindUnknown  = "unknown"
)

// Inspect reads every byte of a folder and checks it. It changes nothing. The
// error is that of the file system; damage is in the report.
func Inspect(files folder.Folder) (*Report, error) {
	names, err := files.List()
	if err != nil {
		return nil, fmt.Errorf("local: inspect: %w", err)
	}
	r := &Report{}
	for _, name := range names {
		f, err := describe(files, name)
		if err != nil {
			return nil, fmt.Errorf("local: inspect: %w", err)
		}
		r.Files = append(r.Files, f)
	}
	if err := cutOff(names); err != nil {
		r.cutOff = true
		r.blame(err)
		r.unchecked(kindPart)
		return r, nil
	}
	m, err := snapshot.Read(files)
	whole := err == nil
	if m == nil {
		m = snapshot.Empty()
	}
	if f := r.file(folder.Manifest); f != nil {
		f.Err = bare(err)
		f.Detail = fmt.Sprintf("snapshot %d, %s", m.Number, nameCount(m.Names()))
	}
	r.Names, r.Saved, r.From = m.Names(), m.Saved, m.Position()
	if !whole { // it is not known which parts are needed, or where the log has to start
		r.unchecked(kindPart, kindLog)
		return r, nil
	}
	rp := &replayer{state: store.New(), m: m}
	l := snapshot.Load(files, m, rp.state)
	defer rp.state.Discard()
	if l.Failed != nil {
		return nil, fmt.Errorf("local: inspect: %w", l.Failed)
	}
	r.parts(m, l)
	if rp.lost, err = l.Fill(m, rp.state); err != nil {
		r.blame(err)
		return r, nil
	}
	if m.Cluster == 0 && !r.log(files, names, rp) {
		r.unchecked(kindPart)
		return r, nil
	}
	for _, name := range append(oldLogs(names, m), snapshot.Unneeded(names, m)...) {
		if f := r.file(name); f != nil {
			f.Orphan = true
		}
	}
	return r, nil
}

// describe says what kind of file one is.
func describe(files folder.Folder, name string) (FileReport, error) {
	f := FileReport{Name: name, Kind: kindUnknown, Torn: -1}
	reader, err := files.Open(name)
	if err != nil {
		return f, err
	}
	f.Size = reader.Size()
	start, isLog := folder.ParseLogName(name)
	_, isPart := folder.ParsePartName(name)
	switch {
	case isLog:
		f.Kind, f.Detail = kindLog, fmt.Sprintf("from position %d", start)
	case isPart:
		f.Kind = kindPart
	case name == folder.Manifest:
		f.Kind = kindManifest
	case name == folder.ManifestTemp:
		f.Kind, f.Detail = kindManifest, "of a snapshot that was not finished"
	case strings.HasSuffix(name, asideSuffix):
		f.Kind, f.Detail = kindAside, "contents that were dropped; nothing reads it"
	}
	return f, reader.Close()
}

// bare returns an error without the name of its file.
func bare(err error) error {
	if d, ok := errors.AsType[*folder.Damage](err); ok {
		return d.Err
	}
	return err
}

func (r *Report) file(name string) *FileReport {
	for i := range r.Files {
		if r.Files[i].Name == name {
			return &r.Files[i]
		}
	}
	return nil
}

// parts reports on the part files.
func (r *Report) parts(m *snapshot.Manifest, l *snapshot.Loaded) {
	count := map[uint64]int{}
	for i := range m.Items {
		if it := &m.Items[i]; it.InFile() {
			count[it.File]++
		}
	}
	for _, number := range slices.Sorted(maps.Keys(l.Sizes)) {
		f := r.file(folder.PartName(number))
		if f == nil {
			r.Files = append(r.Files, FileReport{Name: folder.PartName(number), Kind: kindPart, Torn: -1})
			f = &r.Files[len(r.Files)-1]
		}
		f.Detail, f.Err = fmt.Sprintf("contents of %s", nameCount(count[number])), l.Damaged[number]
	}
}

// unchecked marks files of some kinds that damage elsewhere keeps from being
// checked.
func (r *Report) unchecked(kinds ...string) {
	for i := range r.Files {
		if f := &r.Files[i]; f.Err == nil && (f.Kind == kindLog || f.Detail == "") && slices.Contains(kinds, f.Kind) {
			f.Unchecked = true
		}
	}
}

// nameCount is a number of names in words.
func nameCount(n int) string {
	if n == 1 {
		return "1 name"
	}
	return fmt.Sprintf("%d names", n)
}

// log checks the log files by replaying them, and reports whether they are whole.
func (r *Report) log(files folder.Folder, names []string, rp *replayer) bool {
	tail, err := scanLog(files, names, rp.m, rp.frame)
	if err == nil {
		err = rp.finish(tail.end)
	}
	r.End, r.Records = tail.end, rp.applied
	if err != nil {
		r.blame(err)
		return false
	}
	if f := r.file(tail.file); f != nil && tail.cut {
		f.Torn = tail.at
		f.Detail += fmt.Sprintf(", torn at offset %d", tail.at)
	}
	for _, name := range tail.rest {
		if f := r.file(name); f != nil {
			f.Orphan = true
		}
	}
	for _, e := range rp.stillLost() {
		lost := LostName{Name: e.Name(), Kind: contents.TypeName(e.Kind)}
		if it := rp.m.Find(e.ID); it != nil {
			lost.File = folder.PartName(it.File)
		}
		r.Lost = append(r.Lost, lost)
	}
	return true
}

// blame attaches an error to the file that it names.
func (r *Report) blame(err error) {
	name, kind := folder.LogName(r.From), kindLog
	if d, ok := errors.AsType[*folder.Damage](err); ok {
		name, err = d.File, d.Err
	}
	f := r.file(name)
	if f == nil {
		r.Files = append(r.Files, FileReport{Name: name, Kind: kind, Torn: -1})
		f = &r.Files[len(r.Files)-1]
	}
	f.Err = err
}
