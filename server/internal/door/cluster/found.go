package cluster

// How a cluster begins with data: that of a single server, or of a copy.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Found writes a snapshot that belongs to no node yet. The node that is started on it
// sends OpFound as the first record of all, and loads it. Nodes that find this record
// in front fetch the data from another one: it is in no message.
//
// Where contents are spread from the beginning, there is a folder for each of several nodes,
// with its number and what it holds. The roster has all of them; each sends Join
// with the nonce that is there, which adds its name and address.

// Errors of a cluster that begins with data.
var (
	// ErrNotEmpty means that a folder has files already.
	ErrNotEmpty = errors.New("cluster: the folder is not empty")
	// ErrNotNew means that the cluster has begun without the data of the folder.
	ErrNotNew = errors.New("cluster: the cluster is not new: the data that was restored into this folder cannot be put into it")
	// ErrUnfinished means that data was to be restored into the folder, and that it
	// is not all there.
	ErrUnfinished = errors.New("cluster: the data was not restored into this folder completely: empty the folder and restore again")
	// ErrNotFirst means that data was restored into the folder of a node that does
	// not begin the cluster.
	ErrNotFirst = errors.New("cluster: data was restored into the folder of this node, and another node starts the cluster: restore it into the folder of the first node of join")

	errFounded = errors.New("cluster: the cluster has just started with data that this node has to fetch: start this node again")
)

// Founding is a cluster that is to begin with data.
type Founding struct{ roster *roster.Roster }

// Bounds of a cluster whose contents are spread from the beginning.
const (
	MinNodes = 3
	MaxNodes = 100
)

// NewFounding returns a cluster with so many data lanes, 0 for 8, that begins with one node, which has
// everything; or if nodes is not 0, with so many, of which copies hold each shard.
func NewFounding(lanes, nodes, copies int) (*Founding, error) {
	if lanes == 0 {
		lanes = defaultLanes
	}
	switch {
	case lanes < 1 || lanes > roster.MaxLanes:
		return nil, fmt.Errorf("cluster: found: %d lanes: there can be 1 to %d", lanes, roster.MaxLanes)
	case nodes != 0 && (nodes < MinNodes || nodes > MaxNodes):
		return nil, fmt.Errorf("cluster: found: %d nodes: there can be %d to %d", nodes, MinNodes, MaxNodes)
	case nodes != 0 && (copies < placement.MinCopies || copies > min(placement.MaxCopies, nodes)):
		return nil, fmt.Errorf("cluster: found: %d copies: there can be %d to %d", copies, placement.MinCopies, min(placement.MaxCopies, nodes))
	}
	r := &roster.Roster{ID: random() | 1, Lanes: lanes, Level: foundLevel, Holders: make([][]uint32, lanes+2)}
	if nodes > 0 {
		seat(r, nodes, copies)
	}
	return &Founding{r}, nil
}

// seat gives a roster its members, and each of them its shards. Weights are equal until nodes say theirs.
func seat(r *roster.Roster, nodes, copies int) {
	const first = 1 // change of the table
	r.Level = Level
	list := make([]placement.Node, nodes)
	for i := range list {
		list[i] = placement.Node{Number: uint32(i + 1), Weight: 1}
		r.Members = append(r.Members, roster.Member{Number: list[i].Number, Joined: int64(random()), Weight: list[i].Weight})
	}
	r.Shards = &roster.Shards{Copies: copies, Changes: first, Places: make([]roster.Place, placement.Shards)}
	for shard, holders := range placement.Target(r.ID, list, copies) {
		p := &r.Shards.Places[shard]
		p.Version = first
		for _, node := range slices.Sorted(slices.Values(holders)) {
			p.Copies = append(p.Copies, roster.Copy{Node: node, Phase: roster.Holds, Since: first})
		}
	}
}

// Cluster returns the id of the cluster, and Lanes how many lanes it has.
func (f *Founding) Cluster() uint64 { return f.roster.ID }

// Lanes returns how many data lanes the cluster has.
func (f *Founding) Lanes() int { return f.roster.Lanes }

// Divide has a state, which is empty, take of what it is filled with what a node is to hold.
func (f *Founding) Divide(state *store.State, node uint32) { state.Divide(node, f.roster.Shards) }

// Found makes a folder, which must be empty, the beginning of the cluster: that of a node by its
// number, 0 if there is only one. Its data is state. If it fails the
// folder is empty again, unless that fails too: then Open refuses it.
func (f *Founding) Found(files folder.Files, state *store.State, node uint32, clock func() time.Time) (err error) {
	lock, err := files.Lock()
	if err != nil {
		return fmt.Errorf("cluster: found: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	names, err := files.List()
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%w: there is %s", ErrNotEmpty, names[0])
	}
	if err != nil {
		return fmt.Errorf("cluster: found: %w", err)
	}
	if node != 0 {
		state.SetRoster(f.roster)
	}
	if err = found(files, founder{f.roster, node, state}, clock); err != nil {
		return fmt.Errorf("cluster: found: %w", errors.Join(err, empty(files)))
	}
	return nil
}

// found writes what stands for an unfinished folder, and then the snapshot.
func found(files folder.Files, f founder, clock func() time.Time) error {
	first := snapshot.Empty()
	first.Version, first.Cluster = snapshot.Version2, f.roster.ID
	if err := first.Install(files); err != nil {
		return err
	}
	began := clock()
	saver := snapshot.NewSaver(snapshot.Config{
		Files: files, State: f.state, Clock: clock, Tick: func() time.Duration { return clock().Sub(began) }, Log: slog.New(slog.DiscardHandler),
	})
	if err := saver.Claim(); err != nil {
		return err
	}
	return saver.Take(f)
}

// empty removes all files. The manifest, which says that the folder is not finished, is
// the last.
func empty(files folder.Files) error {
	names, err := files.List()
	for _, name := range names {
		if name != folder.Manifest && err == nil {
			err = files.Remove(name)
		}
	}
	if err == nil && len(names) > 0 {
		err = files.Remove(folder.Manifest)
	}
	return err
}

// foundLevel is the level of a cluster that begins with the data of one node: what its snapshot is written for.
const foundLevel = 2

// founder is a state that no door changes, as a snapshot sees it: all lanes are at
// their beginning.
type founder struct {
	roster *roster.Roster
	node   uint32 // 0 for none
	state  *store.State
}

// Cut implements snapshot.Source.
func (s founder) Cut(m *snapshot.Manifest, copy func()) error {
	nobody := messages.Senders{}.Append(nil)
	m.Version, m.Cluster, m.Lanes = snapshot.Version2, s.roster.ID, make([]snapshot.Lane, s.roster.Lanes+2)
	if s.node != 0 {
		m.Version, m.Node, m.Held = snapshot.Version3, s.node, roster.Everything(s.node, s.roster.Shards)
	}
	for i := range m.Lanes {
		m.Lanes[i].State = nobody
	}
	m.Lanes[0].State = appendCatalogue(nil, s.roster, nobody)
	s.state.Names.Lock()
	defer s.state.Names.Unlock()
	copy()
	return nil
}

// Freeze implements snapshot.Source.
func (s founder) Freeze(e *catalog.Entry, index int, p *contents.Part, fn func(lane int, position uint64)) {
	p.Lock()
	defer p.Unlock()
	fn(laneNumber(s.roster.Lanes, e.ID, uint32(index), contents.Everywhere(e)), 0)
}

// Settle implements snapshot.Source.
func (founder) Settle(*snapshot.Manifest) error { return nil }

// Taken implements snapshot.Source.
func (founder) Taken(*snapshot.Manifest, []string) {}

// isFound reports whether the manifest of a folder is what Found has written, and nobody has begun a
// session with it: a snapshot before all messages.
func isFound(files folder.Folder, m *snapshot.Manifest) bool {
	if !isSnapshot(m) {
		return false
	}
	for i := range m.Lanes {
		if m.Lanes[i].High != 0 {
			return false
		}
	}
	begun, err := claims.ReadSessions(files)
	return begun == nil && err == nil
}

// Kept reports whether a folder has data of a cluster whose log exists: a log that is
// missing is then an alarm. A folder that cannot be read counts.
func Kept(files folder.Folder) bool {
	m, err := snapshot.Read(files)
	return err != nil || m != nil && !isFound(files, m)
}

// beginning is the record that began the cluster.
type beginning struct {
	op     store.Op // OpBirth or OpFound; 0 if there is none
	id     uint64   // of the cluster
	purged bool     // the log does not have it any more
}

// firstRecord returns how the log begins. If nothing has begun it, and another node is
// to do that, it waits.
func (d *Door) firstRecord(ctx context.Context) (beginning, error) {
	for told := d.tick(); ; {
		b, err := d.readFirst(ctx)
		if err != nil || b.purged || b.op != 0 || !d.config.Follows {
			return b, err
		}
		if now := d.tick(); now-told > 5*time.Second {
			told = now
			d.config.Slog.Info("waiting for the first node of join, which starts the cluster")
		}
		if err := d.pause(ctx, askEvery/4); err != nil {
			return beginning{}, err
		}
	}
}

// readFirst reads the catalogue up to the record that began the cluster. That is the
// first, but for what no node has sent.
func (d *Door) readFirst(ctx context.Context) (beginning, error) {
	cat := d.catalogue()
	first, last, err := d.head(ctx, cat)
	if err != nil || first > 1 {
		return beginning{purged: first > 1}, err
	}
	for seq := uint64(1); seq <= last; seq++ {
		msg, err := d.read(ctx, cat, seq)
		if err != nil || msg == nil {
			return beginning{purged: err == nil}, err
		}
		b, err := parseBeginning(msg)
		if b.op != 0 || err != nil && !errors.Is(err, messages.ErrStray) {
			return b, err
		}
	}
	return beginning{}, nil
}

// parseBeginning returns the record of a message that begins a cluster, if it has one.
func parseBeginning(msg []byte) (beginning, error) {
	var h messages.Header
	b, err := messages.Parse(&h, msg)
	if err != nil {
		return beginning{}, err
	}
	records, err := messages.Records(nil, b)
	if err != nil || h.Node != 0 {
		return beginning{}, err
	}
	for i := range records {
		switch o := records[i].Body.(type) {
		case *store.Birth:
			return beginning{op: records[i].Op(), id: o.ID}, nil
		case *store.Found:
			return beginning{op: records[i].Op(), id: o.ID}, nil
		}
	}
	return beginning{}, nil
}

// found sends the first record of a cluster whose data is in the folder of this node,
// unless it is there already.
func (d *Door) found(ctx context.Context) error {
	id, seated := d.keep.found.Cluster, d.keep.found.Node != 0
	first := d.readFirst
	if seated { // another node may begin the cluster
		first = d.firstRecord
	}
	for {
		b, err := first(ctx)
		switch {
		case err != nil:
			return err
		case b.op == store.OpFound && b.id == id, b.purged && seated: // others may have gone on without this one
			return nil
		case b.purged || b.op != 0:
			return ErrNotNew
		case d.config.Follows:
			return ErrNotFirst
		}
		r := store.Record{At: d.config.Clock().UnixMilli(), Body: &store.Found{ID: id}}
		msg := messages.AppendSum(store.AppendRecord(messages.AppendHeader(nil, &messages.Header{Cluster: id}), &r))
		kept := make(chan error, 1)
		d.begun.Store(true)
		d.config.Log.Publish(0, msg, func(err error) { kept <- err })
		select {
		case err = <-kept:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			if err := d.pause(ctx, askEvery); err != nil {
				return err
			}
		}
	}
}
