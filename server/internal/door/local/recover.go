package local

// Recovery: manifest, part files and log make the state.

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// recover fills the state from the folder and begins a new log file behind what
// there is.
func (d *Door) recover() error {
	began := d.config.Clock()
	files := d.config.Files
	if err := d.fits(); err != nil {
		return err
	}
	f, err := fill(files, d.state, d.config.Stop, d.config.drop)
	if err != nil {
		return err
	}
	m, l, r, tail, names := f.m, f.loaded, &f.replayer, f.tail, f.names
	d.log = &log{files: files, tick: d.config.Tick, limit: d.config.LogFile}
	d.log.fsync.Store(uint32(d.config.Fsync))
	if err := d.mend(tail); err != nil {
		return err
	}
	for _, name := range names {
		if start, ok := folder.ParseLogName(name); ok && start < tail.end && !slices.Contains(tail.rest, name) {
			d.log.started = append(d.log.started, start)
		}
	}
	if err := d.log.begin(tail.end); err != nil {
		return err
	}
	if !d.state.Seeded() { // a new folder, or one of before there were seeds
		seed := d.state.Names.Seed()
		d.state.SetSeed(seed)
		d.log.append(store.AppendRecord(nil, &store.Record{Body: &store.Seed{Seed: seed}}), nil)
	}
	if r.group {
		d.config.Log.Warn("a transaction that was cut short is left out", "records", len(r.held))
		d.log.append(store.AppendRecord(nil, &store.Record{Body: &store.Rollback{}}), nil)
		if err := d.log.syncTo(d.log.position()); err != nil {
			return err
		}
	}
	d.save.Adopt(m, l.Sizes)
	if d.config.drop {
		return d.dropLost(r, l)
	}
	d.removeOld(m)
	if len(names) > 0 {
		d.config.Log.Info("data recovered", "names", d.state.Names.Len(), "bytes", d.state.Bytes(), "replayed", r.applied,
			"seconds", float64(d.config.Clock().Sub(began).Milliseconds())/1000)
	}
	return nil
}

// ErrLarger means that a copy of a cluster has more contents than the server may hold.
var ErrLarger = errors.New("local: the copy of a cluster does not fit into this server")

// fits refuses a copy of a cluster that is larger than it may be, before anything is read or changed.
func (d *Door) fits() error {
	names, err := d.config.Files.List()
	if err != nil || d.config.Most == 0 || !slices.Contains(names, folder.LogName(folder.CopyStart)) {
		return err
	}
	m, err := snapshot.Read(d.config.Files)
	if err != nil || m == nil {
		return err
	}
	sum := int64(0)
	for _, size := range m.Files() {
		sum += int64(size)
	}
	if sum > d.config.Most {
		return fmt.Errorf("%w: its contents take %d bytes, and max-memory is %d: raise that, or spread them over several nodes with bloomery cluster restore --nodes", ErrLarger, sum, d.config.Most)
	}
	return nil
}

// filled is what fill has read.
type filled struct {
	names    []string // of all files
	m        *snapshot.Manifest
	first    bool // there was no manifest
	loaded   *snapshot.Loaded
	replayer replayer
	tail     logTail
}

// fill fills a state from a folder, which it only reads. stop is asked again and again.
// With drop, contents that are lost are no error.
func fill(files folder.Folder, state *store.State, stop func() error, drop bool) (f filled, err error) {
	reading := folder.Stoppable(files, stop)
	if f.m, err = snapshot.Read(reading); err != nil {
		return f, err
	}
	if f.m != nil && f.m.Cluster != 0 {
		return f, fmt.Errorf("%w, as that of node %d", ErrCluster, f.m.Node)
	}
	if f.first = f.m == nil; f.first {
		f.m = snapshot.Empty()
	}
	if f.names, err = files.List(); err != nil {
		return f, err
	}
	if err := cutOff(f.names); err != nil {
		return f, err
	}
	f.loaded = snapshot.Load(reading, f.m, state)
	if err := f.loaded.Failed; err != nil {
		return f, err
	}
	if err := f.loaded.First(); err != nil && !drop {
		return f, err
	}
	f.replayer = replayer{state: state, m: f.m}
	if f.replayer.lost, err = f.loaded.Fill(f.m, state); err != nil {
		return f, err
	}
	f.tail, err = scanLog(reading, f.names, f.m, func(position uint64, body []byte) error {
		if err := stop(); err != nil {
			return err
		}
		return f.replayer.frame(position, body)
	})
	if err == nil {
		err = f.replayer.finish(f.tail.end)
	}
	if err != nil {
		return f, err
	}
	state.Names.Lock()
	state.DropStaged() // those who filled them are gone
	state.Names.Unlock()
	return f, nil
}

// Load fills a state, which must be empty, and may be divided, with what a folder holds. It changes nothing
// there: the torn end of a log is left out. stop is asked again and again; an error ends
// the reading. A folder without data is ErrNoData.
func Load(files folder.Folder, state *store.State, stop func() error) error {
	f, err := fill(files, state, stop, false)
	if err == nil && f.first && f.tail.file == "" {
		err = ErrNoData
	}
	if err != nil {
		return fmt.Errorf("local: load: %w", err)
	}
	return nil
}

// ErrCluster means that a folder is that of a cluster's node: its log is elsewhere.
var ErrCluster = errors.New("local: the folder belongs to a cluster")

// cutOff refuses a folder that has contents and neither a manifest nor a log. A
// start makes the log first, so such a folder is a copy that was cut off, or
// somebody has removed files.
func cutOff(names []string) error {
	left := ""
	for _, name := range names {
		if _, ok := folder.ParseLogName(name); ok || name == folder.Manifest {
			return nil
		}
		if _, ok := folder.ParsePartName(name); left == "" && (ok || name == folder.ManifestTemp) {
			left = name
		}
	}
	if left == "" {
		return nil
	}
	return &folder.Damage{File: left, Err: fmt.Errorf("%w: there is neither a %s nor a log beside it: the folder is a part of a copy; nothing was changed", bloomery.ErrCorrupt, folder.Manifest)}
}

// logTail is where a log ends.
type logTail struct {
	end  uint64 // position
	file string // the last file with frames, or that has to be cut
	cut  bool
	at   int64    // where file has to be cut
	size int64    // of file, as it is
	rest []string // files that have to be removed
}

// mend cuts off what is behind the end of the log, and makes durable what is
// before it: it may never have been, if only the process has ended.
func (d *Door) mend(t logTail) error {
	for _, name := range t.rest {
		d.config.Log.Warn("a file behind the end of the log is removed", "file", name)
		if err := d.config.Files.Remove(name); err != nil {
			return err
		}
	}
	if t.file == "" {
		return nil
	}
	f, err := d.config.Files.Append(t.file)
	if err != nil {
		return err
	}
	if t.cut {
		d.config.Log.Warn("the end of the log is torn and cut off", "file", t.file, "offset", t.at, "bytes", t.size-t.at)
		err = f.Truncate(t.at)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// logFile is a log file of a folder.
type logFile struct {
	name  string
	start uint64
}

// logFiles returns the log files among names that a recovery from m reads.
func logFiles(names []string, m *snapshot.Manifest) ([]logFile, error) {
	var all []logFile
	for _, name := range names {
		if start, ok := folder.ParseLogName(name); ok {
			all = append(all, logFile{name, start})
		}
	}
	slices.SortFunc(all, func(a, b logFile) int { return cmp.Compare(a.start, b.start) })
	if len(all) == 0 {
		if m.Number == 0 {
			return nil, nil
		}
		return nil, &folder.Damage{File: folder.LogName(m.Position()), Err: fmt.Errorf("%w: missing; the snapshot needs the log from position %d", bloomery.ErrCorrupt, m.Position())}
	}
	if all[0].start > m.Position() {
		return nil, &folder.Damage{File: all[0].name, Err: fmt.Errorf("offset 0: %w: the log begins at position %d, needed is %d (is %s missing?)",
			bloomery.ErrCorrupt, all[0].start, m.Position(), missing(m))}
	}
	for len(all) > 1 && all[1].start <= m.Position() {
		all = all[1:]
	}
	return all, nil
}

// missing names the file without which a log cannot be read.
func missing(m *snapshot.Manifest) string {
	if m.Number == 0 {
		return folder.Manifest
	}
	return folder.LogName(m.Position())
}

// scanLog passes every intact frame of the log to visit, in order, and returns
// where the log ends. A bad frame is the torn end of the log unless a later one
// says that it was durable, or m needs it: then the error names file and offset.
func scanLog(files folder.Folder, names []string, m *snapshot.Manifest, visit func(position uint64, body []byte) error) (logTail, error) {
	logs, err := logFiles(names, m)
	if err != nil || len(logs) == 0 {
		return logTail{}, err
	}
	t := logTail{end: logs[0].start}
	var data []byte
	for i, f := range logs {
		if data, err = folder.ReadFile(files, f.name, data); err != nil {
			return t, err
		}
		if len(data) == 0 && (f.start < t.end || i+1 < len(logs)) {
			t.rest = append(t.rest, f.name) // begun, and then not needed
			continue
		}
		at, bad, err := scanFile(data, f, &t, visit)
		if err != nil {
			return t, &folder.Damage{File: f.name, Err: fmt.Errorf("offset %d: %w", at, err)}
		}
		if bad == nil {
			t.file, t.at, t.size = f.name, at, int64(len(data))
			continue
		}
		drop := logs[i:]
		if f.start == t.end || at > 0 {
			t.file, t.at, t.size, t.cut = f.name, at, int64(len(data)), true
			drop = logs[i+1:]
		}
		for _, f := range drop {
			t.rest = append(t.rest, f.name)
		}
		after, err := durableAfter(files, data[min(at+1, int64(len(data))):], logs[i+1:])
		if err != nil {
			return t, err
		}
		if need := max(after, m.High()); need > t.end {
			return t, &folder.Damage{File: f.name, Err: fmt.Errorf("offset %d: %w (position %d; the log is known to go on to %d)", at, bad, t.end, need)}
		}
		return t, nil
	}
	if t.end < m.High() {
		return t, &folder.Damage{File: t.file, Err: fmt.Errorf("offset %d: %w: the log ends at position %d, the snapshot needs it up to %d", t.size, bloomery.ErrCorrupt, t.end, m.High())}
	}
	return t, nil
}

// scanFile visits the frames of one file and moves the end of t. bad is why it
// stopped at an offset before the end of the file; err is what visit returned,
// or a version that is not known.
func scanFile(data []byte, f logFile, t *logTail, visit func(uint64, []byte) error) (at int64, bad, err error) {
	if f.start != t.end {
		return 0, fmt.Errorf("%w: the log has a gap", bloomery.ErrCorrupt), nil
	}
	for at < int64(len(data)) {
		fr, err := folder.ParseFrame(data[at:], folder.LogFrame)
		if errors.Is(err, bloomery.ErrVersion) {
			return at, nil, err
		}
		if err == nil && fr.A != t.end {
			err = fmt.Errorf("%w: frame of position %d, want %d", bloomery.ErrCorrupt, fr.A, t.end)
		}
		if err != nil {
			return at, err, nil
		}
		if err := visit(fr.A, fr.Body); err != nil {
			return at, nil, err
		}
		at += int64(folder.FrameHeader + len(fr.Body))
		t.end += uint64(len(fr.Body))
	}
	return at, nil, nil
}

// durableAfter returns the highest position that intact frames in the rest of a
// file and in the files behind it know to have been durable.
func durableAfter(files folder.Folder, rest []byte, logs []logFile) (uint64, error) {
	var most uint64
	for i := 0; ; i++ {
		for at := folder.FindFrame(rest, folder.LogFrame); at >= 0; at = folder.FindFrame(rest, folder.LogFrame) {
			fr, err := folder.ParseFrame(rest[at:], folder.LogFrame)
			if err != nil {
				break
			}
			most = max(most, fr.B)
			rest = rest[at+folder.FrameHeader+len(fr.Body):]
		}
		if i == len(logs) {
			return most, nil
		}
		var err error
		if rest, err = folder.ReadFile(files, logs[i].name, nil); err != nil {
			return 0, err
		}
	}
}

// replayer applies the records of frames to a state that a manifest has filled.
type replayer struct {
	state   *store.State
	m       *snapshot.Manifest
	record  store.Record
	result  store.Result
	id      uint64 // whose part is part
	index   uint32
	part    *contents.Part
	from    uint64 // position from which on part takes records
	applied int
	lost    map[uint64]bool // ids whose contents could not be read

	group bool // between Begin and Commit
	held  []heldRecord
}

type heldRecord struct {
	position uint64
	data     []byte
}

// frame applies the records of a frame. Those of a group wait for its end.
func (r *replayer) frame(position uint64, body []byte) error {
	for len(body) > 0 {
		n, err := r.record.Decode(body)
		if err != nil {
			return err
		}
		switch r.record.Body.(type) {
		case *store.Begin:
			r.group, r.held = true, r.held[:0]
		case *store.Rollback:
			r.group, r.held = false, r.held[:0]
		case *store.Commit:
			if err := r.commit(); err != nil {
				return err
			}
		default:
			if r.group {
				r.held = append(r.held, heldRecord{position, slices.Clone(body[:n])})
			} else if err := r.apply(position); err != nil {
				return err
			}
		}
		body = body[n:]
		position += uint64(n)
	}
	return nil
}

func (r *replayer) commit() error {
	r.group = false
	for _, h := range r.held {
		if _, err := r.record.Decode(h.data); err != nil {
			return err
		}
		if err := r.apply(h.position); err != nil {
			return err
		}
	}
	r.held = r.held[:0]
	return nil
}

// apply applies the record at a position, unless the snapshot has it.
func (r *replayer) apply(position uint64) error {
	rec := &r.record
	if !rec.Part() {
		if position < r.m.Position() {
			return nil
		}
		r.part = nil // it may be gone
		r.applied++
		r.state.Names.Lock()
		defer r.state.Names.Unlock()
		derived := r.derived(rec)
		store.Apply(r.state, rec, nil, &r.result)
		r.result.Release()
		if derived {
			r.lost[r.result.Entry.ID] = true
		}
		opens := false // what it needs was opened or built when it was written
		switch rec.Body.(type) {
		case *store.ShadowSwap, *store.Reveal:
			opens = true
		}
		switch err := r.result.Err; {
		case errors.Is(err, bloomery.ErrVersion): // it was applied when it was written, and ids follow from that
			return fmt.Errorf("record at position %d: %w: a later one is needed", position, err)
		case errors.Is(err, contents.ErrMemory) || opens && errors.Is(err, bloomery.ErrCorrupt):
			return fmt.Errorf("record at position %d: %w", position, err)
		}
		return nil
	}
	if r.part == nil || r.id != rec.ID || r.index != rec.Index {
		if !r.target(rec.ID, rec.Index) {
			return nil
		}
	}
	if position < r.from {
		return nil
	}
	r.applied++
	r.part.Lock()
	store.Apply(r.state, rec, r.part, &r.result)
	r.part.Unlock()
	switch err := r.result.Err; {
	case errors.Is(err, bloomery.ErrVersion):
		return fmt.Errorf("record at position %d for id %d: %w: a later one is needed", position, rec.ID, err)
	case errors.Is(err, contents.ErrMemory):
		return fmt.Errorf("record at position %d for id %d: %w", position, rec.ID, err)
	case err != nil && !errors.Is(err, contents.ErrElsewhere): // the state is that of one of several nodes
		return fmt.Errorf("%w: record at position %d for id %d: %w", bloomery.ErrCorrupt, position, rec.ID, err)
	}
	return nil
}

// derived reports whether a record makes a string of one that is lost. It turns
// the record into one that takes the same id and is lost too.
func (r *replayer) derived(rec *store.Record) bool {
	name, ok := store.Derives(rec.Body)
	if !ok || len(r.lost) == 0 {
		return false
	}
	e := r.state.Names.Get(name)
	if e == nil || !r.lost[e.ID] || e.Expired(rec.At) || e.Kind != catalog.String {
		return false
	}
	rec.Body = &store.Set{String: store.String{Name: name}, If: store.KeepTTL}
	return true
}

// stillLost returns the entries that are lost at the end of the log.
func (r *replayer) stillLost() []*catalog.Entry {
	var lost []*catalog.Entry
	for _, id := range slices.Sorted(maps.Keys(r.lost)) {
		if e := r.state.Names.ByID(id); e != nil && !e.Staged() {
			lost = append(lost, e)
		}
	}
	return lost
}

// target finds a part of an id. It reports false if there is none that takes
// records.
func (r *replayer) target(id uint64, index uint32) bool {
	r.part = nil
	e := r.state.Names.ByID(id)
	if e == nil {
		return false
	}
	p := contents.PartAt(e, index)
	if p == nil || p.Void() {
		return false
	}
	r.id, r.index, r.part, r.from = id, index, p, 0
	if it := r.m.Find(id + uint64(index)); it != nil {
		r.from = it.Position
	}
	return true
}

// finish checks that nothing is missing at the end of the log.
func (r *replayer) finish(end uint64) error {
	for i := range r.m.Items {
		it := &r.m.Items[i]
		if !it.Gone {
			continue
		}
		// A shadow goes with its filter: without contents nobody knows whose it was,
		// and it is dropped with all that have no name.
		if e := r.state.Names.ByID(it.ID); e != nil && !e.Staged() {
			return fmt.Errorf("%w: id %d was removed, and the log up to position %d does not say so", bloomery.ErrCorrupt, it.ID, end)
		}
	}
	return nil
}
