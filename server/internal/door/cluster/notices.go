package cluster

// What the log of this node says of problems: each of them once when it begins, and once when it is over.

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/bloomery/bloomery/server/internal/status"
)

const (
	// lookEvery is how often a node looks for problems.
	lookEvery = time.Second
	// beginsAfter is how many looks in a row find a problem before it is logged, and endsAfter how many
	// miss it before it is over: one that comes and goes is one problem.
	beginsAfter = 2
	endsAfter   = 10
)

// notice is a problem that one of the last looks has found.
type notice struct {
	status.Problem
	since         time.Duration // as Door.tick counts
	found, missed int           // looks in a row
}

func (n *notice) logged() bool { return n.found >= beginsAfter }

// notices are problems by what they are about.
type notices map[string]*notice

// look takes the problems of a look, and logs those that begin and those that are over.
func (all notices) look(now time.Duration, problems []status.Problem, log *slog.Logger) {
	for _, n := range all {
		n.missed++
	}
	for _, p := range problems {
		n := all[p.About]
		if n == nil {
			n = &notice{since: now}
			all[p.About] = n
		}
		n.missed = 0
		if n.logged() && (n.Refuses || !p.Refuses) {
			continue // it is no worse
		}
		n.Problem = p
		switch n.found++; {
		case !n.logged():
		case p.Refuses:
			log.Error("cluster problem: " + p.Text)
		default:
			log.Warn("cluster problem: " + p.Text)
		}
	}
	for _, about := range slices.Sorted(maps.Keys(all)) {
		switch n := all[about]; {
		case n.missed > 0 && !n.logged():
			delete(all, about)
		case n.missed >= endsAfter:
			delete(all, about)
			log.Info("cluster problem is over: "+n.Text, "seconds", int((now - n.since).Seconds()))
		}
	}
}

// notify logs problems until the door is closed, or has failed: it says that itself.
func (d *Door) notify() {
	all := notices{}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-d.closed:
			return
		case <-d.broken:
			return
		case <-ticker.C:
			c := d.Cluster()
			all.look(d.tick(), c.Problems, d.config.Slog)
		}
	}
}
