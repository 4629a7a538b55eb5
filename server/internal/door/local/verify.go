package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Report is what Inspect finds in a folder.
type Report struct {
	Files   []FileReport
	Names   int    // in the manifest
	Saved   int64  // when the manifest was written, milliseconds since 1970; 0 if there is none
	From    uint64 // position from which on the log is replayed
	End     uint64 // position of its end
	Records int    // replayed
}

// FileReport is what Inspect finds in one file.
type FileReport struct {
	Name   string
	Size   int64
	Kind   string // manifest, part, log or unknown
	Detail string
	// Err is what is wrong with it; it wraps bloomery.ErrCorrupt and tells the
	// offset.
	Err error
	// Torn is where the file has to be cut: the end of the log, which was being
	// written when the power went. -1 if it is whole.
	Torn int64
	// Orphan tells that no recovery needs the file.
	Orphan bool
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

// Inspect reads every byte of a folder and checks it. It changes nothing. The
// error is that of the file system; damage is in the report.
func Inspect(files Files) (*Report, error) {
	names, err := files.List()
	if err != nil {
		return nil, fmt.Errorf("local: inspect: %w", err)
	}
	r := &Report{}
	for _, name := range names {
		f := FileReport{Name: name, Kind: "unknown", Torn: -1}
		reader, err := files.Open(name)
		if err != nil {
			return nil, fmt.Errorf("local: inspect: %w", err)
		}
		f.Size = reader.Size()
		if err := reader.Close(); err != nil {
			return nil, fmt.Errorf("local: inspect: %w", err)
		}
		r.Files = append(r.Files, f)
	}
	m, err := readManifest(files)
	if m == nil {
		m = &manifest{}
	}
	if f := r.file(manifestName); f != nil {
		f.Kind, f.Err = "manifest", err
		f.Detail = fmt.Sprintf("snapshot %d, %d names", m.number, len(m.items))
	}
	r.Names, r.Saved, r.From = len(m.items), m.saved, m.position
	whole := err == nil
	needed, values := r.parts(files, m)
	var state *store.State // without all parts nothing can be replayed
	if !r.Damaged() {
		state = store.New()
		if err := fill(m, values, state); err != nil {
			r.file(manifestName).Err, state = err, nil
		}
	}
	if whole { // else nobody knows where the log has to begin
		r.log(files, names, m, state)
		for _, name := range unneeded(names, m, needed) {
			if f := r.file(name); f != nil {
				f.Orphan = true
			}
		}
	}
	return r, nil
}

func (r *Report) file(name string) *FileReport {
	for i := range r.Files {
		if r.Files[i].Name == name {
			return &r.Files[i]
		}
	}
	return nil
}

// parts checks the part files and returns which of them m needs, and what they
// hold.
func (r *Report) parts(files Files, m *manifest) (map[uint64]bool, []any) {
	needed := map[uint64]bool{}
	values := make([]any, len(m.items))
	count := map[uint64]int{}
	for i := range m.items {
		if it := &m.items[i]; it.gone {
			values[i] = new(store.Part)
		} else {
			needed[it.file] = true
			count[it.file]++
		}
	}
	for i := range r.Files {
		f := &r.Files[i]
		number, ok := parsePartName(f.Name)
		if !ok {
			continue
		}
		f.Kind, f.Detail = "part", fmt.Sprintf("contents of %d names", count[number])
		if needed[number] {
			_, f.Err = loadParts(files, number, m, values)
		}
	}
	for i := range m.items {
		it := &m.items[i]
		if values[i] != nil {
			continue
		}
		f := r.file(partName(it.file))
		if f == nil {
			r.Files = append(r.Files, FileReport{Name: partName(it.file), Kind: "part", Torn: -1, Err: fmt.Errorf("%w: missing", bloomery.ErrCorrupt)})
			continue
		}
		if f.Err == nil {
			f.Err = fmt.Errorf("offset %d: %w: contents of id %d are missing", f.Size, bloomery.ErrCorrupt, it.id)
		}
	}
	return needed, values
}

// log checks the log files, replaying them into state if it is not nil.
func (r *Report) log(files Files, names []string, m *manifest, state *store.State) {
	for i := range r.Files {
		if start, ok := parseLogName(r.Files[i].Name); ok {
			r.Files[i].Kind, r.Files[i].Detail = "log", fmt.Sprintf("from position %d", start)
		}
	}
	check := func(_ uint64, body []byte) error {
		var rec store.Record
		for len(body) > 0 {
			n, err := rec.Decode(body)
			if err != nil {
				return err
			}
			r.Records++
			body = body[n:]
		}
		return nil
	}
	rp := replayer{state: state, m: m}
	if state != nil {
		check = func(position uint64, body []byte) error {
			err := rp.frame(position, body)
			r.Records = rp.applied
			return err
		}
	}
	tail, err := scanLog(files, names, m, check)
	if err == nil && state != nil {
		err = rp.finish(tail.end)
	}
	r.End = tail.end
	if err != nil {
		r.blame(err)
		return
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
}

// blame attaches an error of the log to the file that it names.
func (r *Report) blame(err error) {
	name := ""
	if d, ok := errors.AsType[*damage](err); ok {
		name, err = d.file, d.err
	}
	f := r.file(name)
	if f == nil {
		r.Files = append(r.Files, FileReport{Name: logName(r.From), Kind: "log", Torn: -1})
		f = &r.Files[len(r.Files)-1]
	}
	f.Err = err
}

// Repair does what is safe: it cuts off a torn end of the log and removes files
// that nobody needs. It does nothing to a damaged folder. The caller holds the
// lock of the folder.
func Repair(files Files, r *Report) error {
	if r.Damaged() {
		return fmt.Errorf("local: repair: %w: restore a backup", bloomery.ErrCorrupt)
	}
	for i := range r.Files {
		f := &r.Files[i]
		var err error
		switch {
		case f.Orphan:
			err = files.Remove(f.Name)
		case f.Torn >= 0:
			err = cutFile(files, f.Name, f.Torn)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("local: repair: %w", err)
		}
	}
	if err := files.Sync(); err != nil {
		return fmt.Errorf("local: repair: %w", err)
	}
	return nil
}

func cutFile(files Files, name string, at int64) error {
	f, err := files.Append(name)
	if err != nil {
		return err
	}
	err = f.Truncate(at)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Verify implements door.Keeper: it reads the snapshot back.
func (d *Door) Verify() error {
	if d.log == nil {
		return nil
	}
	d.save.mu.Lock() // no snapshot removes files meanwhile
	defer d.save.mu.Unlock()
	files := d.config.Files
	m, err := readManifest(files)
	if err == nil && m != nil {
		for number := range d.save.packs {
			if err = verifyParts(files, number); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("local: verify: %w", err)
	}
	return nil
}

func verifyParts(files Files, number uint64) error {
	r, err := files.Open(partName(number))
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	f := frameReader{r: r, kind: partFrame, number: number}
	for {
		if _, err := f.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", partName(number), err)
		}
	}
}
