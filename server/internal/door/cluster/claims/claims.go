// Package claims decides whether a process may run as the node that its folder names.
//
// A folder can be copied, and a copy started while the node runs, or long after it was
// made. Either copy would have a later session, and so end the process of the true node; and
// it would vote in the log about messages that its folder does not have. So a process that
// has its number from a folder asks the others first: whether a node of that number is
// running, and whether they know more of it than its folder does.
package claims

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/heartbeat"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Ask is the first byte of a question:
//
//	question: Ask, claim   answer: verdict, age of the last beat of that node in milliseconds
const Ask = 4

// Verdicts on a claim.
const (
	Fine  = 0
	Taken = 1 // the process that answers is that node
	Older = 2
)

// given is the first byte of an answer that is not an error.
const given = 0

// In is for how long a number that was just heard of may be silent before another
// process has it: three beats. One that was killed does not delay its next start by more.
const In = 3 * heartbeat.Every

// Errors of a process that may not be the node that its folder says.
var (
	// ErrTaken means that another process runs as this node.
	ErrTaken = errors.New("cluster: another process is running as this node: stop it first, or use an empty folder to add a node")
	// ErrOlder means that the folder is not the one that this node used last.
	ErrOlder = errors.New("cluster: this folder is older than what the cluster knows of this node: it is an old copy, or another copy was used since. " +
		"Start the node with the folder that it used last; if that is lost, use an empty one and remove the old node (cluster leave, or replace-log)")

	errClaim = fmt.Errorf("cluster: claim: %w", bloomery.ErrCorrupt)
)

// SessionsName is the file that keeps which sessions the folder has asked for.
const SessionsName = "SESSION"

// SessionsKept is how many of them stay there when the node has a session. A node that is
// asked about a claim may not have read of the last ones yet: the one that it knows must be
// among those of the folder that began them all.
const SessionsKept = 16

// Claim is what a process says of itself before it has a session.
type Claim struct {
	Cluster uint64
	Number  uint32
	Nonces  []int64  // of the sessions that its folder may have begun last; nil if that is not known
	Kept    []uint64 // by lane: all up to here is in its snapshot
}

// Read returns what the folder of a node says of it, nil if it is of none.
func Read(files folder.Folder) (*Claim, error) {
	m, err := snapshot.Read(files)
	if err != nil || m == nil || m.Node == 0 {
		return nil, err
	}
	c := &Claim{Cluster: m.Cluster, Number: m.Node}
	for i := range m.Lanes {
		kept := m.Lanes[i].Seq
		if m.Fetched {
			kept = math.MaxUint64 // it may be older than what the node had before, and is meant to be
		}
		c.Kept = append(c.Kept, kept)
	}
	c.Nonces, err = ReadSessions(files)
	return c, err
}

// Append appends the claim as it is sent.
func (c *Claim) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, c.Cluster)
	b = binary.AppendUvarint(b, uint64(c.Number))
	b = binary.AppendUvarint(b, uint64(len(c.Nonces)))
	for _, n := range c.Nonces {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	b = binary.AppendUvarint(b, uint64(len(c.Kept)))
	for _, n := range c.Kept {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// Parse reads what Append wrote. The error wraps bloomery.ErrCorrupt.
func Parse(b []byte) (c Claim, err error) {
	r := wire.Reader{Rest: b}
	c.Cluster = r.Uint64()
	number, nonces := r.Uvarint(), r.Uvarint()
	if number > roster.MaxMembers || nonces > uint64(len(r.Rest)/8) {
		return c, errClaim
	}
	c.Number = uint32(number)
	for ; nonces > 0; nonces-- {
		c.Nonces = append(c.Nonces, int64(r.Uint64()))
	}
	lanes := r.Uvarint()
	if lanes > roster.MaxLanes+2 {
		return c, errClaim
	}
	for ; lanes > 0; lanes-- {
		c.Kept = append(c.Kept, r.Uvarint())
	}
	if r.Bad {
		return c, errClaim
	}
	return c, nil
}

// Begun reports whether the last session of the node is one that the folder has asked for,
// or that is not known.
func (c *Claim) Begun(m *roster.Member) bool {
	return m == nil || m.Session == 0 || c.Nonces == nil || slices.Contains(c.Nonces, m.Nonce)
}

// Has reports whether the folder has what the node was heard to have in its snapshot.
func (c *Claim) Has(kept []uint64) bool {
	for i, n := range kept {
		if n > 0 && (i >= len(c.Kept) || c.Kept[i] < n) {
			return false
		}
	}
	return true
}

// Settle returns nil when nobody has anything against a claim. ask sends it to other nodes
// and returns what they answer.
func (c *Claim) Settle(ctx context.Context, ask func(ctx context.Context, question []byte) [][]byte) error {
	began := time.Now()
	within, cancel := context.WithDeadline(ctx, began.Add(In))
	defer cancel()
	for question := c.Append([]byte{Ask}); within.Err() == nil; {
		recent := false
		for _, b := range ask(within, question) {
			verdict, age, known := ParseVerdict(b)
			switch {
			case !known:
			case verdict == Older:
				return ErrOlder
			case verdict == Taken || age < time.Since(began)-heartbeat.Every: // a beat that was on its way counts for nobody
				return ErrTaken
			case age < In:
				recent = true
			}
		}
		if !recent {
			break
		}
		select {
		case <-time.After(heartbeat.Every / 4):
		case <-within.Done():
		}
	}
	return ctx.Err()
}

// Answer returns the answer to a claim.
func Answer(verdict byte, age uint64) []byte {
	return binary.AppendUvarint([]byte{given, verdict}, age)
}

// ParseVerdict reads what Answer wrote. Releases that do not know the question know nothing.
func ParseVerdict(b []byte) (verdict byte, age time.Duration, known bool) {
	if len(b) < 3 || b[0] != given {
		return 0, 0, false
	}
	ms, size := binary.Uvarint(b[2:])
	return b[1], time.Duration(min(ms, math.MaxUint32)) * time.Millisecond, size > 0
}

// Of returns what checks, before the server of a node votes, that no other process is the
// node whose folder this is. ask sends a question to all other nodes. A folder that is of no
// node, or cannot be read, claims nothing: opening the door says what is wrong with it.
func Of(files folder.Folder) func(ctx context.Context, ask func(ctx context.Context, question []byte) [][]byte) error {
	c, err := Read(files)
	if c == nil || err != nil {
		return nil
	}
	return c.Settle
}

// ReadSessions returns what KeepSessions wrote, nil if there is nothing.
func ReadSessions(files folder.Folder) ([]int64, error) {
	b, err := folder.ReadFile(files, SessionsName, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(b) < 4 || len(b)%8 != 4 || !bytes.Equal(messages.AppendSum(slices.Clone(b[:len(b)-4])), b) {
		return nil, &folder.Damage{File: SessionsName, Err: fmt.Errorf("%w: remove this file", bloomery.ErrCorrupt)}
	}
	nonces := []int64{}
	for b = b[:len(b)-4]; len(b) > 0; b = b[8:] {
		nonces = append(nonces, int64(binary.LittleEndian.Uint64(b)))
	}
	return nonces, nil
}

// KeepSessions keeps which sessions a folder may have begun, before one is asked for: it
// may be given to a process that has died meanwhile.
func KeepSessions(files folder.Files, nonces []int64) error {
	var b []byte
	for _, n := range nonces {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return folder.Replace(files, SessionsName, messages.AppendSum(b))
}
