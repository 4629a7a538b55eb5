package cluster

// How a node that keeps the log is replaced: the one change of who votes.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Questions about the log. The answers have no more than their first byte.
const (
	askHealth  = 24 // whether the node keeps the log, and all of it
	askPromote = 25 // to keep it from now on
)

// notYet is why a replacement has to wait: the nodes mend that themselves, or an operator
// does. It is a door.ErrNotYet.
type notYet struct{ error }

// Is implements what errors.Is asks for.
func (notYet) Is(target error) bool { return target == door.ErrNotYet }

// Unwrap returns the reason.
func (e notYet) Unwrap() error { return e.error }

// errNoVoters is why nodes of some logs cannot be replaced.
var errNoVoters = errors.New("cluster: the nodes of this cluster do not keep the log: it is on a separate NATS cluster")

// asVoter answers a question about the log, or has this node keep it.
func (d *Door) asVoter(do func(Voters) error) ([]byte, error) {
	v := d.voters()
	if v == nil {
		return nil, errNoVoters
	}
	err := d.Serving()
	if err == nil {
		err = do(v)
	}
	return []byte{answerGiven}, err
}

// asked sends a question to a node, which may be this one, and returns why it was
// refused.
func (d *Door) asked(ctx context.Context, node uint32, question byte) error {
	var answer []byte
	var err error
	if node == d.number.Load() {
		answer = d.question([]byte{question})
	} else {
		answer, err = d.askNode(ctx, node, []byte{question}, 0)
	}
	switch {
	case err != nil:
		return notYet{errors.New(strings.TrimPrefix(err.Error(), "cluster: "))}
	case len(answer) == 0 || answer[0] != answerGiven:
		return fmt.Errorf("node %d: %s", node, answer[min(1, len(answer)):])
	}
	return nil
}

// replacement is a log node that another node takes the place of.
type replacement struct {
	d         *Door
	log       Voters
	old, with *roster.Member
	servers   []Voter
}

// Replace implements door.Members. Where it is follows from who votes and who has
// copies of the streams, so it can be begun again on any node, at any time:
//
//	with begins to vote ── one stream after the other leaves old ── others hold its shards ──
//	old is removed ── old votes no more
//
// No step is made while a stream has no leader or lacks a copy: a group whose members
// change twice at once may have no majority left that is up.
func (d *Door) Replace(old, with uint32) (step string, done bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), changeIn)
	defer cancel()
	r := replacement{d: d, log: d.voters(), old: d.state.Roster().Member(old), with: d.state.Roster().Member(with)}
	switch {
	case r.log == nil || d.config.Peers == nil:
		return "", false, errNoVoters
	case r.old == nil || r.with == nil:
		return "", false, errNobody
	case old == with:
		return "", false, errors.New("cluster: a node does not replace itself")
	case old == d.number.Load():
		return "", false, errSelf
	case r.with.Left:
		return "", false, fmt.Errorf("cluster: node %d was removed", with)
	}
	if r.servers, err = r.log.Servers(ctx); err != nil {
		return "", false, notYet{err}
	}
	return r.next(ctx)
}

// next does the next step.
func (r *replacement) next(ctx context.Context) (step string, done bool, err error) {
	old, with := r.vote(r.old), r.vote(r.with)
	switch {
	case old == nil && with == nil:
		return "", false, fmt.Errorf("cluster: node %[1]d keeps no log: remove it with bloomery cluster leave %[1]d --yes instead", r.old.Number)
	case old == nil && !r.old.Left:
		return "", false, fmt.Errorf("cluster: node %d keeps no log, and node %d does: there is nothing to replace", r.old.Number, r.with.Number)
	}
	if err := r.healthy(ctx); err != nil {
		return "", false, err
	}
	copies, err := r.log.Copies(ctx, r.old.Name)
	switch {
	case err != nil:
		return "", false, notYet{err}
	case with == nil && copies.Moving > 0:
		return "", false, notYet{fmt.Errorf("cluster: replace-log: %d of %d streams have no leader, or their copies are being moved", copies.Moving, copies.Streams)}
	case with == nil:
		if err := r.d.asked(ctx, r.with.Number, askPromote); err != nil {
			return "", false, fmt.Errorf("cluster: replace-log: %w", err)
		}
		return fmt.Sprintf("node %d begins to keep the log", r.with.Number), false, nil
	case !with.Current:
		return fmt.Sprintf("node %d fetches what the others know of the streams", r.with.Number), false, nil
	case copies.Of > 0 || copies.Moving > 0:
		return r.move(ctx, copies)
	case copies.Whole < copies.Streams:
		return fmt.Sprintf("copies are made: %d of %d streams have all of theirs", copies.Whole, copies.Streams), false, nil
	case !r.old.Left:
		if err := r.d.drain(r.old); err != nil {
			return "", false, err
		}
		if err := r.d.change(store.Record{Body: &store.Leave{Node: uint64(r.old.Number)}}); err != nil {
			return "", false, err
		}
		return fmt.Sprintf("node %d was removed from the cluster", r.old.Number), false, nil
	case old != nil:
		if err := r.log.Dismiss(ctx, r.old.Name); err != nil {
			return "", false, err
		}
		return fmt.Sprintf("the server of node %d no longer votes", r.old.Number), false, nil
	}
	return fmt.Sprintf("node %d keeps the log in the place of node %d", r.with.Number, r.old.Number), true, nil
}

// move has the next stream leave the old node, when all others are where they should
// be: if one does not come to rest, it is one.
func (r *replacement) move(ctx context.Context, c Copies) (step string, done bool, err error) {
	step = fmt.Sprintf("streams move from node %d to node %d: %d of %d have moved", r.old.Number, r.with.Number, c.Streams-c.Of-c.Moving, c.Streams)
	if c.Moving > 0 || c.Whole < c.Streams-c.Of {
		return step, false, nil
	}
	if err := r.log.Move(ctx, r.old.Name, r.lives()); err != nil {
		// The new node may be unknown to the one that places streams yet.
		return fmt.Sprintf("streams do not leave node %d yet: %v", r.old.Number, err), false, nil
	}
	return step, false, nil
}

// vote returns the voter that is the server of a node, nil if it does not vote.
func (r *replacement) vote(m *roster.Member) *Voter { return votes(r.log, r.servers, m.Name) }

// healthy asks the log nodes that stay how they are, and believes nobody else. While
// one is not well nothing is changed: with the old node the log could lose its majority.
func (r *replacement) healthy(ctx context.Context) error {
	others := 0
	for i := range r.servers {
		v := &r.servers[i]
		if r.log.Votes(*v, r.old.Name) || r.log.Votes(*v, r.with.Name) {
			continue
		}
		others++
		m := r.member(v)
		if m == nil {
			return fmt.Errorf("cluster: replace-log: the server %s keeps the log but belongs to no node of the cluster: finish its replacement first", cmp.Or(v.Server, "with the id "+v.ID))
		}
		if err := r.d.asked(ctx, m.Number, askHealth); err != nil {
			return notYet{fmt.Errorf("cluster: replace-log: another node that keeps the log is not well: %w", err)}
		}
	}
	if others%2 != 0 {
		return fmt.Errorf("cluster: replace-log: %d other nodes keep the log, which is one too many: another replacement is not finished", others)
	}
	return nil
}

// member returns the node of a voter, nil if there is none.
func (r *replacement) member(v *Voter) *roster.Member {
	all := r.d.state.Roster()
	for i := range all.Members {
		if m := &all.Members[len(all.Members)-1-i]; !m.Left && r.log.Votes(*v, m.Name) {
			return m // the one that has the server now
		}
	}
	return nil
}

// lives reports whether the old node is heard of.
func (r *replacement) lives() bool {
	for _, v := range r.d.live() {
		if v.Node == r.old.Number {
			return true
		}
	}
	return false
}
