package cluster

// Claims: whether a process may be the node that its folder says.

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
)

// judge answers another process that claims to be a node.
func (d *Door) judge(b []byte) ([]byte, error) {
	c, err := claims.Parse(b)
	if err != nil {
		return nil, err
	}
	verdict, age := byte(claims.Fine), uint64(math.MaxUint32)
	switch {
	case c.Cluster != d.id.Load() || d.Current() != nil:
	case c.Number == d.number.Load():
		verdict = claims.Taken
	default:
		d.beats.mu.Lock()
		v, heard := d.beats.heard[c.Number]
		d.beats.mu.Unlock()
		if heard {
			age = uint64((d.tick() - v.seen).Milliseconds())
		}
		if !c.Begun(d.state.Roster().Member(c.Number)) || !c.Has(v.Kept) {
			verdict = claims.Older
		}
	}
	return claims.Answer(verdict, age), nil
}

// claimNumber checks, before this process begins a session, that it may be the node that
// its folder says.
func (d *Door) claimNumber(ctx context.Context) error {
	c, err := claims.Read(d.config.Files)
	if err != nil || c == nil {
		return err
	}
	if d.keep.claimed != nil { // what was fetched since may be older
		c.Kept = d.keep.claimed
	}
	if !c.Begun(d.state.Roster().Member(c.Number)) {
		return fmt.Errorf("%w (if a release that does not know the file %s was used since, remove that file)", claims.ErrOlder, claims.SessionsName)
	}
	if d.config.Peers == nil {
		return nil
	}
	return c.Settle(ctx, d.askAll)
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
