//go:build linux

package main

// The faults.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fault is something that happens to a cluster under load. make returns when it is
// over and every node serves that should.
type fault struct {
	name  string
	needs string // "wires", "disks", "copies", several of them, or nothing
	about string
	make  func(ctx context.Context, t *trial) error
}

// trial is what a fault works with.
type trial struct {
	*cluster
	rng    *rand.Rand
	writes func(context.Context) error // returns when every client that moves has had another acknowledgement
	note   func(format string, args ...any)
}

// faults are all there are. A round takes the next one of those that were asked for.
var faults = []fault{
	{"kill", "", "kill -9 of a node", func(ctx context.Context, t *trial) error { return t.killSome(ctx, 1) }},
	{"pause", "", "a node stops for 1 to 20 s (SIGSTOP)", pauseNode},
	{"kill-two", "", "kill -9 of two nodes of three", func(ctx context.Context, t *trial) error { return t.killSome(ctx, 2) }},
	{"kill-all", "", "kill -9 of all nodes", func(ctx context.Context, t *trial) error { return t.killSome(ctx, 3) }},
	{"partition", "wires", "a node reaches no other and no other reaches it", func(ctx context.Context, t *trial) error {
		return t.sever(ctx, func(from, to, victim int) bool { return from == victim || to == victim })
	}},
	{"deaf", "wires", "nothing reaches a node; others get what it sends", func(ctx context.Context, t *trial) error {
		return t.sever(ctx, func(_, to, victim int) bool { return to == victim })
	}},
	{"mute", "wires", "nothing that a node sends arrives; it gets what others send", func(ctx context.Context, t *trial) error {
		return t.sever(ctx, func(from, _, victim int) bool { return from == victim })
	}},
	{"pair", "wires", "two nodes do not reach each other; both reach the third", func(ctx context.Context, t *trial) error {
		return t.sever(ctx, func(from, to, victim int) bool { return from != victim && to != victim })
	}},
	{"scatter", "wires", "no node reaches any other", func(ctx context.Context, t *trial) error {
		return t.sever(ctx, func(_, _, _ int) bool { return true })
	}},
	{"flap", "wires", "a node is cut off and connected again, many times", flap},
	{"slow-net", "wires", "packets of a node, or of all, take 10 to 200 ms longer", func(ctx context.Context, t *trial) error {
		return t.disturb(ctx, wire{Delay: time.Duration(10+t.rng.IntN(90)) * time.Millisecond})
	}},
	{"lossy-net", "wires", "2 to 20% of the packets of a node, or of all, are lost", func(ctx context.Context, t *trial) error {
		return t.disturb(ctx, wire{Loss: 0.02 + 0.18*t.rng.Float64()})
	}},
	{"slow-disk", "disks", "the disk of a node hangs for 20 to 500 ms, again and again", slowDisk},
	{"stuck-disk", "disks", "the disk of a node hangs for 3 to 20 s", stuckDisk},
	{"full-disk", "disks", "the disk of a node is full, then has room again; the node is restarted", fullDisk},
	{"power-cut", "disks", "a node is killed and its disk loses what was not synced", func(ctx context.Context, t *trial) error { return t.cutPower(ctx, 1) }},
	{"power-cut-all", "disks", "the same for all nodes at once", func(ctx context.Context, t *trial) error { return t.cutPower(ctx, 3) }},
	{"clock", "", "the clock of a node jumps: by a second, a minute or two days, ahead or back", clock},
	{"rolling", "", "every node is restarted, one after the other (SIGTERM): no read may fail", rolling},
	{"join", "", "a fourth node joins with an empty folder", join},
	{"replace-log", "", "a fourth node takes the place of a log node, which then takes its place again with an empty folder", replaceLog},
	{"lose-log", "", "a node loses all it has, and takes its own place under a new number", loseLog},
	{"crash-loop", "", "a node is killed while it starts, several times", crashLoop},
	{"old-data", "", "a node gets its data of some time ago back, not its log, as from a copy", oldData},
	{"move-kill", "copies", "kill -9 of a node while contents move", moveKill},
	{"move-cut", "copies, disks", "power cut of two nodes at once while contents move", moveCut},
	{"move-pause", "copies", "a node stops for 1 to 20 s (SIGSTOP) while contents move, and moves are paused and resumed", movePause},
	{"move-join", "copies", "a node joins, gets its share, and leaves again; a node is killed during both", moveJoin},
	{"wipe", "", "a node loses its data, not its log: it returns under a new number", wipe},
}

// choose returns faults by their names; "all" are all of them. Those that the machine
// does not allow are left out.
func choose(names string, c *cluster) (list []fault, skipped []string, err error) {
	wanted := strings.Split(names, ",")
	if names == "all" {
		wanted = nil
		for _, f := range faults {
			wanted = append(wanted, f.name)
		}
	}
	for _, name := range wanted {
		at := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
		if at < 0 {
			return nil, nil, fmt.Errorf("no fault is called %q", name)
		}
		f := faults[at]
		needs := func(what string) bool { return strings.Contains(f.needs, what) }
		switch {
		case needs("wires") && c.wires == nil, needs("disks") && !c.disks, needs("copies") && c.copies == 0:
			skipped = append(skipped, name)
		default:
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return nil, skipped, errors.New("none of these faults can be made here")
	}
	return list, skipped, nil
}

// victim returns one of the nodes.
func (t *trial) victim() *node { return t.members()[t.rng.IntN(t.size)] }

// seconds returns a time between two numbers of seconds.
func (t *trial) seconds(least, most float64) time.Duration {
	return time.Duration((least + (most-least)*t.rng.Float64()) * float64(time.Second))
}

func (t *trial) killSome(ctx context.Context, count int) error {
	var victims []*node
	for _, i := range t.rng.Perm(t.size)[:count] {
		victims = append(victims, t.nodes[i])
	}
	for _, n := range victims {
		n.kill()
	}
	if count == 1 { // the others go on
		if err := t.writes(ctx); err != nil {
			return err
		}
	} else {
		pause(ctx, t.seconds(0, 3))
	}
	began := time.Now()
	if err := t.start(ctx, victims...); err != nil {
		return err
	}
	t.note("%d of %d served again after %v", count, t.size, time.Since(began).Round(100*time.Millisecond))
	return nil
}

func pauseNode(ctx context.Context, t *trial) error {
	n := t.victim()
	n.leave()
	n.signal(syscall.SIGSTOP)
	for_ := t.seconds(1, 20)
	pause(ctx, for_)
	n.signal(syscall.SIGCONT)
	began := time.Now()
	if err := n.answers(ctx); err != nil {
		return err
	}
	t.note("%s, %v, answers again after %v", n.name, for_.Round(100*time.Millisecond), time.Since(began).Round(100*time.Millisecond))
	n.back()
	return nil
}

// sever cuts wires for a while: those that cuts names, for a node that is picked.
func (t *trial) sever(ctx context.Context, cuts func(from, to, victim int) bool) error {
	victim := t.rng.IntN(t.size)
	for from := range t.size {
		for to := range t.size {
			if from != to && cuts(from, to, victim) {
				t.wires.set(from, to, wire{Cut: true})
			}
		}
	}
	for_ := t.seconds(2, 30)
	pause(ctx, for_)
	t.wires.mend()
	t.note("n%d, %v", victim+1, for_.Round(100*time.Millisecond))
	return nil
}

func flap(ctx context.Context, t *trial) error {
	victim := t.rng.IntN(t.size)
	cut := false
	for end := time.Now().Add(t.seconds(10, 25)); time.Now().Before(end) && ctx.Err() == nil; {
		cut = !cut
		for other := range t.size {
			if other != victim {
				t.wires.set(victim, other, wire{Cut: cut})
				t.wires.set(other, victim, wire{Cut: cut})
			}
		}
		pause(ctx, t.seconds(0.1, 3))
	}
	t.wires.mend()
	return nil
}

// disturb makes the wires of one node bad for a while, or those of all.
func (t *trial) disturb(ctx context.Context, rule wire) error {
	victim := t.rng.IntN(t.size + 1) // the last means all
	for from := range t.size {
		for to := range t.size {
			if from != to && (victim == t.size || from == victim || to == victim) {
				t.wires.set(from, to, rule)
			}
		}
	}
	pause(ctx, t.seconds(5, 20))
	t.wires.mend()
	return nil
}

func slowDisk(ctx context.Context, t *trial) error {
	n := t.victim()
	for end := time.Now().Add(t.seconds(8, 20)); time.Now().Before(end) && ctx.Err() == nil; {
		if err := t.hang(ctx, n, t.seconds(0.02, 0.5)); err != nil {
			return err
		}
		pause(ctx, t.seconds(0.01, 0.2))
	}
	return nil
}

func stuckDisk(ctx context.Context, t *trial) error {
	return t.hang(ctx, t.victim(), t.seconds(3, 20))
}

// hang lets all writes of a node to its disk wait.
func (t *trial) hang(ctx context.Context, n *node, d time.Duration) error {
	if err := n.disk.freeze(); err != nil {
		return err
	}
	pause(ctx, d)
	return n.disk.thaw()
}

func fullDisk(ctx context.Context, t *trial) error {
	n := t.victim()
	if err := n.disk.fill(int64(t.rng.IntN(64 << 10))); err != nil {
		return err
	}
	pause(ctx, t.seconds(5, 20))
	if err := t.writes(ctx); err != nil { // the other two have room
		return err
	}
	left, err := n.disk.room()
	if err != nil {
		return err
	}
	t.note("%s with %d KiB left", n.name, left>>10)
	if err := n.disk.free(); err != nil {
		return err
	}
	pause(ctx, t.seconds(0, 3))
	if n.running() {
		if err := n.stop(); err != nil {
			return err
		}
	} else {
		t.note("%s has ended by itself", n.name)
		n.leave()
	}
	return t.start(ctx, n)
}

// cutPower stops processes, lets their disks lose what was not synced, and starts them
// again.
func (t *trial) cutPower(ctx context.Context, count int) error {
	var victims []*node
	for _, i := range t.rng.Perm(t.size)[:count] {
		victims = append(victims, t.nodes[i])
	}
	for _, n := range victims {
		n.leave()
		n.signal(syscall.SIGSTOP) // nothing is written between this
	}
	var errs []error
	for _, n := range victims {
		errs = append(errs, n.disk.cut()) // and this
	}
	for _, n := range victims {
		n.kill()
		errs = append(errs, n.disk.restore())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	pause(ctx, t.seconds(0, 3))
	return t.start(ctx, victims...)
}

func clock(ctx context.Context, t *trial) error {
	n := t.victim()
	ahead := []time.Duration{time.Second, time.Minute, 48 * time.Hour}[t.rng.IntN(3)]
	if t.rng.IntN(2) == 0 {
		ahead = -ahead
	}
	if err := n.setClock(ahead); err != nil {
		return err
	}
	pause(ctx, t.seconds(5, 20))
	t.note("%s by %v", n.name, ahead)
	return n.setClock(0)
}

func rolling(ctx context.Context, t *trial) error {
	for _, i := range t.rng.Perm(t.size) {
		n := t.nodes[i]
		if err := n.stop(); err != nil {
			return err
		}
		if err := t.start(ctx, n); err != nil {
			return err
		}
		if err := t.writes(ctx); err != nil {
			return err
		}
	}
	return nil
}

// join lets the spare node join. It stays until the round was checked.
func join(ctx context.Context, t *trial) error {
	n := t.spare()
	if err := n.erase(true); err != nil {
		return err
	}
	began := time.Now()
	if err := t.start(ctx, n); err != nil {
		return err
	}
	t.note("it served after %v", time.Since(began).Round(100*time.Millisecond))
	return nil
}

// replaceLog changes twice who keeps the log.
func replaceLog(ctx context.Context, t *trial) error {
	if err := join(ctx, t); err != nil {
		return err
	}
	n, spare := t.victim(), t.spare()
	if err := t.replace(ctx, n, spare); err != nil {
		return err
	}
	pause(ctx, t.seconds(0, 3))
	if err := n.erase(true); err != nil {
		return err
	}
	if err := t.start(ctx, n); err != nil {
		return err
	}
	return t.replace(ctx, spare, n)
}

// replace has a node keep the log in the place of another, which ends.
func (t *trial) replace(ctx context.Context, old, by *node) error {
	from, err := old.number(ctx)
	if err != nil {
		return err
	}
	old.leave()
	if err := t.replaceNumber(ctx, from, by); err != nil {
		return err
	}
	select {
	case <-old.ended():
		return nil
	case <-time.After(stopWithin):
		return fmt.Errorf("%s still runs %v after it was replaced; its log is %s", old.name, stopWithin, old.logFile())
	}
}

// replaceNumber asks the new node for the change.
func (t *trial) replaceNumber(ctx context.Context, old int, by *node) error {
	to, err := by.number(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for end := began.Add(settleWithin); ; pause(ctx, time.Second) {
		err := by.command(ctx, "cluster", "replace-log", strconv.Itoa(old), strconv.Itoa(to), "--yes")
		if err == nil {
			break
		}
		// A copy of the log that is still behind is a reason to wait, no other.
		if !strings.Contains(err.Error(), "is not well") || time.Now().After(end) {
			return err
		}
	}
	t.note("node %d in the place of %d after %v", to, old, time.Since(began).Round(100*time.Millisecond))
	return nil
}

func loseLog(ctx context.Context, t *trial) error {
	n := t.victim()
	old, err := n.number(ctx)
	if err != nil {
		return err
	}
	n.kill()
	if err := n.erase(true); err != nil {
		return err
	}
	if err := t.start(ctx, n); err != nil {
		return err
	}
	return t.replaceNumber(ctx, old, n)
}

// crashLoop kills a node at moments of its start. It has to serve in the end.
func crashLoop(ctx context.Context, t *trial) error {
	n := t.victim()
	n.kill()
	for range 2 + t.rng.IntN(4) {
		early, end := context.WithTimeout(ctx, t.seconds(0.1, 6))
		_ = n.start(early) // it is killed, wherever it is
		end()
		n.kill()
	}
	return t.start(ctx, n)
}

// oldData copies the data of a node, lets others write on and take snapshots, behind
// which the log may be purged, and gives the node its old data back.
func oldData(ctx context.Context, t *trial) error {
	n := t.victim()
	old := filepath.Join(n.base, "old")
	n.kill()
	if err := n.copyData(old); err != nil {
		return err
	}
	if err := t.start(ctx, n); err != nil {
		return err
	}
	for range 2 {
		pause(ctx, t.seconds(1, 4))
		for _, other := range t.members() {
			if err := snapshot(ctx, other); err != nil {
				return err
			}
		}
	}
	pause(ctx, t.seconds(1, 4))
	n.kill()
	if err := n.erase(false); err != nil {
		return err
	}
	if err := os.CopyFS(n.folder, os.DirFS(old)); err != nil {
		return err
	}
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	return t.start(ctx, n)
}

// wipe lets a node lose its data. The number that it had is removed: the log would be
// kept for it.
func wipe(ctx context.Context, t *trial) error {
	n := t.victim()
	old, err := n.number(ctx)
	if err != nil {
		return err
	}
	n.kill()
	if err := n.erase(false); err != nil {
		return err
	}
	if err := t.start(ctx, n); err != nil {
		return err
	}
	return t.members()[(n.i+1)%t.size].command(ctx, "cluster", "leave", strconv.Itoa(old), "--yes")
}
