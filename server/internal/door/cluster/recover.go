package cluster

// How a node reads its folder at the start.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Errors of a folder.
var (
	// ErrSingle means that the folder is that of a server that was alone.
	ErrSingle = errors.New("cluster: the folder holds the data of a single server: a cluster needs a folder of its own")
	// ErrOther means that the folder is that of a node of another cluster.
	ErrOther = errors.New("cluster: the folder belongs to another cluster")
	// ErrLost means that the log lacks what this node has had from it: it was
	// made again, or has lost its end. A person has to look.
	ErrLost = errors.New("cluster: the log lacks what this node has had from it (if the other nodes are right, " + FetchAgain + ")")

	// errUnusable means that a snapshot is damaged, and nothing of it in the state.
	errUnusable = errors.New("cluster: the snapshot cannot be used")
)

// LogFolder is the folder of the log in that of a node.
const LogFolder = "log"

// FetchAgain is how a person has a node take its data from the others.
const FetchAgain = "move the file " + folder.Manifest + " out of its folder: it then fetches their data, as a node with a new number"

// openFolder reads what the folder knows of this node. Contents are read by recover,
// when it is known whether the log still goes on where they end.
func (d *Door) openFolder() error {
	k, c := &d.keep, &d.config
	lock, err := c.Files.Lock()
	if err != nil {
		return err
	}
	k.lock = lock
	k.save = snapshot.NewSaver(snapshot.Config{
		Files: c.Files, State: d.state, Clock: c.Clock, Tick: d.tick, Log: c.Slog, Sums: true, ReadBack: d.stopped,
	})
	m, err := snapshot.Read(c.Files)
	if errors.Is(err, bloomery.ErrCorrupt) {
		err = fmt.Errorf("%w (other nodes have what this one had: %s)", err, FetchAgain)
	}
	if err == nil {
		err = ofCluster(c.Files, m)
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	if m != nil && !isSnapshot(m) && m.Node == 0 {
		return errors.Join(ErrUnfinished, lock.Close())
	}
	if err := d.removeCopies(); err != nil {
		return errors.Join(err, lock.Close())
	}
	if m != nil {
		k.found = m
		d.id.Store(m.Cluster)
		if m.Node != 0 {
			d.number.Store(m.Node)
			d.state.SetNode(m.Node)
			if claim, err := claims.Read(c.Files); err == nil && claim != nil {
				k.claimed = claim.Kept
			}
		}
	}
	return nil
}

// ofCluster refuses the folder of a single server.
func ofCluster(files folder.Folder, m *snapshot.Manifest) error {
	if m != nil && m.Cluster == 0 {
		return ErrSingle
	}
	names, err := files.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := folder.ParseLogName(name); ok {
			return ErrSingle
		}
	}
	return nil
}

// keepNumber keeps the number of this node. The manifest is where it is: a folder that
// was wiped has none, and its node joins under another number.
func (d *Door) keepNumber(cluster uint64, number uint32) error {
	m := d.keep.found
	if m == nil {
		m = snapshot.Empty()
	}
	m.Version, m.Cluster, m.Node = max(m.Version, snapshot.Version2), cluster, number
	d.keep.found = m
	return m.Install(d.config.Files)
}

// isSnapshot reports whether m is a snapshot: one lane alone keeps a number.
func isSnapshot(m *snapshot.Manifest) bool { return m != nil && len(m.Lanes) > 2 }

// recover fills the state from the folder, if the log goes on where that ends, and
// otherwise from that of another node.
func (d *Door) recover(ctx context.Context) error {
	began := d.config.Clock()
	usable, err := d.reaches(ctx)
	if err != nil {
		return err
	}
	if usable {
		if !isSnapshot(d.keep.found) {
			return nil // nothing but the log is needed
		}
		if err = d.load(d.keep.found); err == nil {
			d.recovered(began)
			return nil
		}
		if !errors.Is(err, errUnusable) {
			return err
		}
		d.config.Slog.Warn("the snapshot of this node is damaged; it is fetched from another one", "error", err)
	}
	if err := d.fetch(ctx); err != nil {
		return err
	}
	d.recovered(began)
	return nil
}

func (d *Door) recovered(began time.Time) {
	d.config.Slog.Info("data recovered", "names", d.state.Names.Len(), "bytes", d.state.Bytes(),
		"seconds", float64(d.config.Clock().Sub(began).Milliseconds())/1000)
}

// reaches reports whether the log has all that is needed behind the snapshot of this
// node. Whoever purges begins with the catalogue, so without a snapshot that alone is
// looked at: the lanes of parts are not known yet.
func (d *Door) reaches(ctx context.Context) (bool, error) {
	m := d.keep.found
	if !isSnapshot(m) {
		b, err := d.firstRecord(ctx)
		return !b.purged && b.op != store.OpFound, err
	}
	begins := isFound(d.config.Files, m)
	if begins {
		if err := d.found(ctx); err != nil {
			return false, err
		}
	}
	if err := d.config.Log.Lanes(len(m.Lanes)-2, begins); err != nil {
		return false, err
	}
	d.keep.opened = true
	_, _, sums, err := laneStates(m)
	if err != nil {
		return true, nil // load says what is wrong
	}
	for i := range m.Lanes {
		l := &lane{d: d, number: i}
		first, last, err := d.head(ctx, l)
		if err != nil {
			return false, err
		}
		if last < m.Lanes[i].High {
			return false, fmt.Errorf("%w: lane %d ends at %d, and was applied up to %d", ErrLost, i, last, m.Lanes[i].High)
		}
		if err := d.hadBefore(ctx, l, m.Lanes[i].High, sums[i]); err != nil {
			return false, err
		}
		if first > m.Lanes[i].Seq+1 {
			d.config.Slog.Warn("this node was away for so long that it needs a snapshot of another one", "lane", i, "has", m.Lanes[i].Seq, "first", first)
			return false, nil
		}
	}
	return true, nil
}

// hadBefore checks that a lane has the message at the end of a snapshot that this node
// has had there. If log nodes were set back to an old state of their folders, others may
// be in its place, and nodes would differ for good. A message that was purged, and a sum
// that is not known, say nothing.
func (d *Door) hadBefore(ctx context.Context, l *lane, seq uint64, sum uint32) error {
	if seq == 0 || sum == 0 {
		return nil
	}
	msg, err := d.read(ctx, l, seq)
	if err != nil || msg == nil || messages.SumOf(msg) == sum {
		return err
	}
	return fmt.Errorf("%w: message %d of lane %d is another one than this node has applied", ErrLost, seq, l.number)
}

// load fills the state, which is empty, and the lanes.
func (d *Door) load(m *snapshot.Manifest) error {
	r, tables, sums, err := laneStates(m)
	if err != nil {
		return unusable(&folder.Damage{File: folder.Manifest, Err: err})
	}
	l := snapshot.Load(folder.Stoppable(d.config.Files, d.stopped), m, d.state)
	if l.Failed != nil {
		l.Discard()
		return l.Failed
	}
	if err := l.First(); err != nil {
		l.Discard()
		return unusable(err)
	}
	if _, err := l.Fill(m, d.state); err != nil {
		return err
	}
	d.state.SetRoster(r)
	if err := d.state.Resume(d.number.Load(), m.Held); err != nil {
		return unusable(&folder.Damage{File: folder.Manifest, Err: err})
	}
	d.widen(r)
	for i, lane := range d.all() {
		lane.senders = tables[i]
		sum := uint32(0)
		if m.Lanes[i].Seq == m.Lanes[i].High {
			sum = sums[i]
		}
		lane.resume(m.Lanes[i].Seq, sum)
	}
	for i := range m.Items {
		if it := &m.Items[i]; it.Position > m.Lanes[it.Lane].Seq {
			d.all()[it.Lane].skipTo(it.ID, it.Position)
		}
	}
	d.keep.save.Adopt(m, l.Sizes)
	d.tookSnapshot(m)
	return nil
}

// stopped returns why there is no use in reading on, nil if there is.
func (d *Door) stopped() error {
	if d.over.Load() {
		return errClosed
	}
	return nil
}

func unusable(err error) error {
	if errors.Is(err, bloomery.ErrVersion) {
		return err // a later release can use it
	}
	return fmt.Errorf("%w: %w", errUnusable, err)
}

// laneStates decodes what a manifest keeps of the lanes: who belongs to the cluster, and
// of each lane the table of senders and the checksum of the message at High, 0 if it is
// not known.
func laneStates(m *snapshot.Manifest) (r *roster.Roster, tables []messages.Senders, sums []uint32, err error) {
	for i := range m.Lanes {
		var t messages.Senders
		rest := m.Lanes[i].State
		if i == 0 {
			var table []byte
			if r, table, rest, err = parseCatalogue(rest); err == nil {
				t, err = messages.WholeSenders(table)
			}
		} else {
			t, rest, err = messages.ParseSenders(rest)
		}
		if err != nil {
			return nil, nil, nil, err
		}
		if len(rest) != 0 && len(rest) != 4 {
			return nil, nil, nil, fmt.Errorf("%w: state of lane %d", bloomery.ErrCorrupt, i)
		}
		tables, sums = append(tables, t), append(sums, messages.SumOf(rest))
	}
	if r.ID != m.Cluster || len(m.Lanes) != r.Lanes+2 {
		return nil, nil, nil, fmt.Errorf("%w: %d lanes in a cluster of %d", bloomery.ErrCorrupt, len(m.Lanes), r.Lanes+2)
	}
	return r, tables, sums, nil
}

// appendCatalogue appends what the lane of the catalogue keeps besides names: who
// belongs to the cluster, and the table of senders.
func appendCatalogue(b []byte, r *roster.Roster, senders []byte) []byte {
	b = wire.AppendBytes(b, senders)
	return roster.Append(b, r)
}

func parseCatalogue(b []byte) (r *roster.Roster, senders, rest []byte, err error) {
	c := wire.Reader{Rest: b}
	senders = c.Bytes()
	if c.Bad {
		return nil, nil, nil, fmt.Errorf("%w: state of the catalogue", bloomery.ErrCorrupt)
	}
	r, rest, err = roster.Parse(c.Rest)
	return r, senders, rest, err
}

// complete checks, when the node is current, that nothing is missing that a snapshot
// left to the log.
func (d *Door) complete() error {
	m := d.keep.found
	if m == nil {
		return nil
	}
	if m.Cluster != d.state.Roster().ID {
		return ErrOther
	}
	for i := range m.Items {
		it := &m.Items[i]
		if e := d.state.Names.ByID(it.ID); it.Gone && e != nil && !e.Staged() {
			return fmt.Errorf("%w: id %d was removed, and the catalogue does not say so", ErrLost, it.ID)
		}
	}
	return nil
}

// keepOn begins what a node that is current does for its folder and the log.
func (d *Door) keepOn() {
	d.releaseFetched()
	d.keep.found = nil // the snapshot has its own list
	d.tasks.Go(d.keepUp)
}
