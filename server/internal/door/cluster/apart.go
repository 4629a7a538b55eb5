package cluster

// Nodes that were paused or cut off: what they have may be older than what the log has.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/heartbeat"
)

// Other nodes count one that is silent for liveFor as down, and may then purge what it
// lacks. A process that was stopped for so long cannot know what it has missed: it answers
// nothing before it has found out, as at its start (I5). One that was cut off goes on
// reading meanwhile, as without a majority, and looks when it hears others again.

// turnEvery is how often a node notes that it runs.
const turnEvery = liveFor / 2

// presence is what a node knows of its own absence.
type presence struct {
	turn    atomic.Int64  // when it last noted that it runs, as Door.tick counts; 0 if it does not look
	pauses  atomic.Int64  // how often it was paused for too long
	known   atomic.Int64  // of those, after how many it knows that it is current
	asking  atomic.Bool   // it asks whether the log still has what it lacks
	suspect chan struct{} // has it ask
}

var errApart = errors.New("cluster: this node was paused, and answers nothing before it knows what it has missed")

// Current implements door.Shared.
func (d *Door) Current() error {
	if d.serving.Load() && !d.over.Load() && !d.paused() {
		return nil
	}
	if err := d.Serving(); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w: %w", door.ErrDown, door.ErrBehind, errApart)
}

// paused reports whether this process was stopped, and does not know yet what it has
// missed. The first one to run after a pause may be a reader, so the time counts too.
func (d *Door) paused() bool {
	p := &d.presence
	turn := p.turn.Load()
	return p.known.Load() != p.pauses.Load() || turn != 0 && d.tick()-time.Duration(turn) > liveFor
}

// attend notes that this node runs, and finds out what it has missed when it did not,
// until the door is closed.
func (d *Door) attend() {
	p := &d.presence
	ticker := time.NewTicker(turnEvery)
	defer ticker.Stop()
	for {
		select {
		case <-d.closed:
			return
		case <-p.suspect:
			if !p.asking.Swap(true) {
				d.tasks.Go(d.lookForPurge)
			}
			continue
		case <-ticker.C:
		}
		now := d.tick()
		if away := now - time.Duration(p.turn.Load()); away > liveFor {
			d.config.Slog.Warn("this node was paused: it serves again when it knows what it has missed", "seconds", float64(away.Milliseconds())/1000)
			if p.pauses.Add(1) == p.known.Load()+1 {
				d.tasks.Go(d.catchUp)
			}
		}
		p.turn.Store(int64(now))
	}
}

// catchUp makes a node that was paused current: it has what every lane had when it came
// back, and a round trip of its own is behind everything that was acknowledged before. If
// the log has it no more, the node ends, and fetches a snapshot at its next start.
func (d *Door) catchUp() {
	p := &d.presence
	ctx := context.Background() // it ends with the door: until then there is nothing to serve
	for {
		pauses := p.pauses.Load()
		for _, l := range d.all() {
			if err := d.current(ctx, l); err != nil {
				d.endIfPurged(err)
				return
			}
		}
		if err := d.hello(ctx); err != nil {
			return
		}
		if p.known.Store(pauses); p.pauses.Load() == pauses {
			d.config.Slog.Info("this node is current again")
			return
		}
	}
}

func (d *Door) endIfPurged(err error) {
	if errors.Is(err, ErrPurged) {
		d.fail(err)
	}
}

// suspects has this node look at the log if another one has put into a snapshot what was
// not applied here yet: only then can it have been purged.
func (d *Door) suspects(v *heartbeat.Beat) {
	for i, l := range d.all() {
		if i < len(v.Kept) && v.Kept[i] > l.seq.Load() {
			select {
			case d.presence.suspect <- struct{}{}:
			default:
			}
			return
		}
	}
}

// lookForPurge ends the node if the log has no more what it lacks. The tail of a lane would
// find that out by itself, some seconds later.
func (d *Door) lookForPurge() {
	defer d.presence.asking.Store(false)
	for _, l := range d.all() {
		first, _, err := d.config.Log.Head(l.number)
		if err != nil {
			return // the next beat asks again
		}
		d.endIfPurged(l.lacks(first))
	}
}

// lacks returns an error if the lane was purged up to a sequence that this node has not
// reached.
func (l *lane) lacks(first uint64) error {
	if own := l.seq.Load(); first > own+1 {
		return fmt.Errorf("lane %s: %w: it begins at %d, and this node has all up to %d", l.name(), ErrPurged, first, own)
	}
	return nil
}
