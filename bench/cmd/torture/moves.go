//go:build linux

package main

// Contents that are spread over nodes, and faults while they move.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// spread has so many nodes hold the contents of each filter as was asked for.
func (c *cluster) spread(ctx context.Context) error {
	if c.copies == 0 {
		return nil
	}
	began := time.Now()
	if err := c.nodes[0].insist(ctx, "has not been heard from yet", "cluster", "upgrade"); err != nil {
		return err
	}
	if err := c.setCopies(ctx, c.copies); err != nil {
		return err
	}
	if err := c.moved(ctx); err != nil {
		return err
	}
	say("contents are spread after %s", seconds(time.Since(began)))
	return nil
}

// insist is command that tries again while it fails for a reason that goes by.
func (n *node) insist(ctx context.Context, reason string, args ...string) error {
	for end := time.Now().Add(settleWithin); ; pause(ctx, time.Second) {
		err := n.command(ctx, args...)
		if err == nil || !strings.Contains(err.Error(), reason) || time.Now().After(end) {
			return err
		}
	}
}

func (c *cluster) setCopies(ctx context.Context, n int) error {
	c.copies = n
	return c.nodes[0].command(ctx, "cluster", "copies", strconv.Itoa(n), "--yes")
}

// moving returns how many copies of shards are on their way, or have to be, as a node says.
func moving(ctx context.Context, n *node) (count int, err error) {
	c, err := connect(ctx, n)
	if err != nil {
		return 0, err
	}
	defer c.close()
	reply, err := c.ask(patience, "INFO cluster")
	found := 0
	for line := range strings.Lines(reply) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains([]string{"cluster_shards_below", "cluster_shards_learning", "cluster_shards_retiring"}, name) {
			v, _ := strconv.Atoi(value)
			count += v
			found++
		}
	}
	if err == nil && found != 3 {
		err = fmt.Errorf("%s: INFO cluster says nothing of shards: %s", n.name, reply)
	}
	return count, err
}

// rebalance begins what has to move, without half a minute of calm. It reports whether that is nothing.
func rebalance(ctx context.Context, n *node) (done bool, err error) {
	c, err := connect(ctx, n)
	if err != nil {
		return false, err
	}
	defer c.close()
	reply, err := c.ask(patience, "CLUSTER REBALANCE")
	return reply == "*", err
}

// moved returns when each node holds what it is to hold.
func (c *cluster) moved(ctx context.Context) error {
	for end := time.Now().Add(settleWithin); ; pause(ctx, time.Second) {
		n := c.up()[0]
		done, err := rebalance(ctx, n)
		left, also := moving(ctx, n)
		switch {
		case err == nil && also == nil && done && left == 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("moves do not end within %v: %d copies are on their way: %w", settleWithin, left, errors.Join(err, also))
		}
	}
}

// turn has contents begin to move: one copy more, or one less.
func (t *trial) turn(ctx context.Context) error {
	if err := t.setCopies(ctx, 5-t.copies); err != nil { // 2 and 3 in turn
		return err
	}
	t.begun(ctx, t.nodes[0])
	return nil
}

// begun returns some time after contents have begun to move, and while they do.
func (t *trial) begun(ctx context.Context, n *node) {
	for end, begun := time.Now().Add(settleWithin), false; time.Now().Before(end) && ctx.Err() == nil; pause(ctx, 200*time.Millisecond) {
		_, _ = rebalance(ctx, n) // a move that ends is followed by the next one
		count, err := moving(ctx, n)
		if err == nil && count > 0 && !begun {
			begun, end = true, time.Now().Add(t.seconds(0, 6))
		}
	}
}

func moveKill(ctx context.Context, t *trial) error {
	if err := t.turn(ctx); err != nil {
		return err
	}
	if err := t.killMoving(ctx, t.victim()); err != nil {
		return err
	}
	return t.moved(ctx)
}

// moveCut cuts the power of two nodes: what one of them has just learned from the other must be on disk.
func moveCut(ctx context.Context, t *trial) error {
	if err := t.turn(ctx); err != nil {
		return err
	}
	if err := t.cutPower(ctx, 2); err != nil {
		return err
	}
	return t.moved(ctx)
}

// killMoving kills a node, and starts it again when others go on.
func (t *trial) killMoving(ctx context.Context, n *node) error {
	count, err := moving(ctx, n)
	if err != nil {
		return err
	}
	n.kill()
	t.note("%s with %d copies to move", n.name, count)
	if err := t.writes(ctx); err != nil {
		return err
	}
	return t.start(ctx, n)
}

func movePause(ctx context.Context, t *trial) error {
	if err := t.turn(ctx); err != nil {
		return err
	}
	if err := pauseNode(ctx, t); err != nil {
		return err
	}
	n := t.victim()
	if err := n.command(ctx, "cluster", "pause-moves"); err != nil {
		return err
	}
	pause(ctx, t.seconds(0, 5))
	if err := n.command(ctx, "cluster", "resume-moves"); err != nil {
		return err
	}
	return t.moved(ctx)
}

// moveJoin has a node join and leave, and kills any node, it too, while contents move.
func moveJoin(ctx context.Context, t *trial) error {
	if err := join(ctx, t); err != nil {
		return err
	}
	spare := t.spare()
	number, err := spare.number(ctx)
	if err != nil {
		return err
	}
	t.begun(ctx, spare)
	if err := t.killMoving(ctx, t.nodes[t.rng.IntN(t.size+1)]); err != nil {
		return err
	}
	if err := t.moved(ctx); err != nil {
		return err
	}
	left := make(chan error, 1) // a log without a leader refuses it for a while
	began := time.Now()
	spare.leave()
	go func() { left <- t.nodes[0].insist(ctx, "no leader", "cluster", "leave", strconv.Itoa(number), "--yes") }()
	t.begun(ctx, t.nodes[0])
	if err := t.killMoving(ctx, t.nodes[1+t.rng.IntN(t.size-1)]); err != nil {
		return err
	}
	if err := <-left; err != nil {
		return err
	}
	t.note("it left after %s", seconds(time.Since(began)))
	spare.signal(syscall.SIGTERM) // it ends by itself too
	<-spare.ended()
	return t.moved(ctx)
}
