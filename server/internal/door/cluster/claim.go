package cluster

// Claims: whether a process may be the node that its folder says.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// A folder can be copied, and a copy started while the node runs, or long after it was
// made. Either would end the process that is right, by its later session, and the copy of
// the log in the folder would vote for what it has never had. So a process that has its
// number from a folder asks the others first: whether that number is heard of, and whether
// they know more of it than its folder does.
//
//	question: askClaim, claim   answer: verdict, age of the last beat of that node in milliseconds
const askClaim = 4

// Verdicts on a claim.
const (
	claimFine  = 0
	claimTaken = 1 // the process that answers is that node
	claimOlder = 2
)

// claimIn is for how long a number that was just heard of may be silent before another
// process has it: three beats. One that was killed does not delay its next start by more.
const claimIn = 3 * beatEvery

// Errors of a process that may not be the node that its folder says.
var (
	// ErrTaken means that another process runs as this node.
	ErrTaken = errors.New("cluster: another process is running as this node: stop it first, or use an empty folder to add a node")
	// ErrOlder means that the folder is not the one that this node used last.
	ErrOlder = errors.New("cluster: this folder is older than what the cluster knows of this node: it is an old copy, or another copy was used since. " +
		"Start the node with the folder that it used last; if that is lost, use an empty one and remove the old node (cluster leave, or replace-log)")

	errClaim = fmt.Errorf("cluster: claim: %w", bloomery.ErrCorrupt)
)

// sessionsName is the file that keeps which sessions the folder has asked for.
const sessionsName = "SESSION"

// sessionsKept is how many of them stay there when the node has a session. A node that is
// asked about a claim may not have read of the last ones yet: the one that it knows must be
// among those of the folder that began them all.
const sessionsKept = 16

// claim is what a process says of itself before it has a session.
type claim struct {
	cluster uint64
	number  uint32
	nonces  []int64  // of the sessions that its folder may have begun last; nil if that is not known
	kept    []uint64 // by lane: all up to here is in its snapshot
}

// readClaim returns what the folder of a node says of it, nil if it is of none.
func readClaim(files folder.Folder) (*claim, error) {
	m, err := snapshot.Read(files)
	if err != nil || m == nil || m.Node == 0 {
		return nil, err
	}
	c := &claim{cluster: m.Cluster, number: m.Node}
	for i := range m.Lanes {
		kept := m.Lanes[i].Seq
		if m.Fetched {
			kept = math.MaxUint64 // it may be older than what the node had before, and is meant to be
		}
		c.kept = append(c.kept, kept)
	}
	c.nonces, err = readSessions(files)
	return c, err
}

func (c *claim) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, c.cluster)
	b = binary.AppendUvarint(b, uint64(c.number))
	b = binary.AppendUvarint(b, uint64(len(c.nonces)))
	for _, n := range c.nonces {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	b = binary.AppendUvarint(b, uint64(len(c.kept)))
	for _, n := range c.kept {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func parseClaim(b []byte) (c claim, err error) {
	r := wire.Reader{Rest: b}
	c.cluster = r.Uint64()
	number, nonces := r.Uvarint(), r.Uvarint()
	if number > roster.MaxMembers || nonces > uint64(len(r.Rest)/8) {
		return c, errClaim
	}
	c.number = uint32(number)
	for ; nonces > 0; nonces-- {
		c.nonces = append(c.nonces, int64(r.Uint64()))
	}
	lanes := r.Uvarint()
	if lanes > roster.MaxLanes+2 {
		return c, errClaim
	}
	for ; lanes > 0; lanes-- {
		c.kept = append(c.kept, r.Uvarint())
	}
	if r.Bad {
		return c, errClaim
	}
	return c, nil
}

// begun reports whether the last session of the node is one that the folder has asked for,
// or that is not known.
func (c *claim) begun(m *roster.Member) bool {
	return m == nil || m.Session == 0 || c.nonces == nil || slices.Contains(c.nonces, m.Nonce)
}

// has reports whether the folder has what the node was heard to have in its snapshot.
func (c *claim) has(kept []uint64) bool {
	for i, n := range kept {
		if n > 0 && (i >= len(c.kept) || c.kept[i] < n) {
			return false
		}
	}
	return true
}

// judge answers another process that claims to be a node.
func (d *Door) judge(b []byte) ([]byte, error) {
	c, err := parseClaim(b)
	if err != nil {
		return nil, err
	}
	verdict, age := byte(claimFine), uint64(math.MaxUint32)
	switch {
	case c.cluster != d.id.Load() || d.Current() != nil:
	case c.number == d.number.Load():
		verdict = claimTaken
	default:
		d.beats.mu.Lock()
		v, heard := d.beats.heard[c.number]
		d.beats.mu.Unlock()
		if heard {
			age = uint64((d.tick() - v.seen).Milliseconds())
		}
		if !c.begun(d.state.Roster().Member(c.number)) || !c.has(v.Kept) {
			verdict = claimOlder
		}
	}
	return binary.AppendUvarint([]byte{answerGiven, verdict}, age), nil
}

// settle returns nil when nobody has anything against a claim. ask sends it to other nodes
// and returns what they answer.
func (c *claim) settle(ctx context.Context, ask func(ctx context.Context, question []byte) [][]byte) error {
	began := time.Now()
	within, cancel := context.WithDeadline(ctx, began.Add(claimIn))
	defer cancel()
	for question := c.append([]byte{askClaim}); within.Err() == nil; {
		recent := false
		for _, b := range ask(within, question) {
			verdict, age, known := parseVerdict(b)
			switch {
			case !known:
			case verdict == claimOlder:
				return ErrOlder
			case verdict == claimTaken || age < time.Since(began)-beatEvery: // a beat that was on its way counts for nobody
				return ErrTaken
			case age < claimIn:
				recent = true
			}
		}
		if !recent {
			break
		}
		select {
		case <-time.After(beatEvery / 4):
		case <-within.Done():
		}
	}
	return ctx.Err()
}

// parseVerdict reads an answer of judge. Releases that do not know the question know nothing.
func parseVerdict(b []byte) (verdict byte, age time.Duration, known bool) {
	if len(b) < 3 || b[0] != answerGiven {
		return 0, 0, false
	}
	ms, size := binary.Uvarint(b[2:])
	return b[1], time.Duration(min(ms, math.MaxUint32)) * time.Millisecond, size > 0
}

// Claim returns what checks, before the server of a node votes, that no other process is the
// node whose folder this is. ask sends a question to all other nodes. A folder that is of no
// node, or cannot be read, claims nothing: Open says what is wrong with it.
func Claim(files folder.Folder) func(ctx context.Context, ask func(ctx context.Context, question []byte) [][]byte) error {
	c, err := readClaim(files)
	if c == nil || err != nil {
		return nil
	}
	return c.settle
}

// claimNumber checks, before this process begins a session, that it may be the node that
// its folder says.
func (d *Door) claimNumber(ctx context.Context) error {
	c, err := readClaim(d.config.Files)
	if err != nil || c == nil {
		return err
	}
	if d.keep.claimed != nil { // what was fetched since may be older
		c.kept = d.keep.claimed
	}
	if !c.begun(d.state.Roster().Member(c.number)) {
		return fmt.Errorf("%w (if a release that does not know the file %s was used since, remove that file)", ErrOlder, sessionsName)
	}
	if d.config.Peers == nil {
		return nil
	}
	return c.settle(ctx, d.askAll)
}

// askAll sends a question to all nodes, and to whoever has the number of this one, and
// returns the answers that come.
func (d *Door) askAll(ctx context.Context, question []byte) (answers [][]byte) {
	ctx, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	r := d.state.Roster()
	for i := range r.Members {
		if m := &r.Members[i]; !m.Left {
			asked.Go(func() {
				if b, err := d.askNode(ctx, m.Number, question, 0); err == nil {
					mu.Lock()
					answers = append(answers, b)
					mu.Unlock()
				}
			})
		}
	}
	asked.Wait()
	return answers
}

// readSessions returns what keepSessions wrote, nil if there is nothing.
func readSessions(files folder.Folder) ([]int64, error) {
	b, err := folder.ReadFile(files, sessionsName, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(b) < 4 || len(b)%8 != 4 || !bytes.Equal(messages.AppendSum(slices.Clone(b[:len(b)-4])), b) {
		return nil, &folder.Damage{File: sessionsName, Err: fmt.Errorf("%w: remove this file", bloomery.ErrCorrupt)}
	}
	nonces := []int64{}
	for b = b[:len(b)-4]; len(b) > 0; b = b[8:] {
		nonces = append(nonces, int64(binary.LittleEndian.Uint64(b)))
	}
	return nonces, nil
}

// keepSessions keeps which sessions this folder may have begun, before one is asked for: it
// may be given to a process that has died meanwhile.
func (d *Door) keepSessions(nonces []int64) error {
	var b []byte
	for _, n := range nonces {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return folder.Replace(d.config.Files, sessionsName, messages.AppendSum(b))
}
