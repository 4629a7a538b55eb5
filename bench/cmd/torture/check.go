//go:build linux

package main

// What has to be true when nobody writes.

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// findings are what a check has found.
type findings struct {
	lost, twice int // acknowledged and missing; more often than sent
	list        []string
}

func (f *findings) add(format string, args ...any) {
	if len(f.list) < mostTrouble {
		f.list = append(f.list, fmt.Sprintf(format, args...))
	}
}

// settleWithin bounds how long nodes may take to be equal when nobody writes.
const settleWithin = 3 * time.Minute

// check asks every node that runs for everything that must be there. Items that were
// checked by earlier rounds are left out, unless all is set.
func check(ctx context.Context, c *cluster, writers []*writer, all bool) (f findings, err error) {
	nodes := c.up()
	if err := sameEverywhere(ctx, nodes, writers, &f); err != nil {
		return f, err
	}
	for _, n := range nodes {
		conn, err := connect(ctx, n)
		if err != nil {
			return f, err
		}
		for _, w := range writers {
			if err = w.check(conn, &f, all); err != nil {
				break
			}
		}
		conn.close()
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// picture is the state of a node: how far its lanes are, and the contents of keys.
type picture struct {
	lanes string
	keys  []string // digests
}

// sameEverywhere waits until all nodes have applied the same messages. They must then
// hold the same, byte for byte.
func sameEverywhere(ctx context.Context, nodes []*node, writers []*writer, f *findings) error {
	var names []string
	for _, w := range writers {
		names = append(names, w.keys()...)
	}
	for end := time.Now().Add(settleWithin); ; pause(ctx, 50*time.Millisecond) {
		pictures := make([]picture, len(nodes))
		steady := true
		for i, n := range nodes {
			p, still, err := takePicture(ctx, n, names)
			if err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
			pictures[i] = p
			steady = steady && still && p.lanes == pictures[0].lanes
		}
		if steady {
			for i, p := range pictures {
				for k := range names {
					if p.keys[k] != pictures[0].keys[k] {
						f.add("%s of %s differs from that of %s at equal sequences (%s)", names[k], nodes[i].name, nodes[0].name, p.lanes)
					}
				}
			}
			return nil
		}
		if time.Now().After(end) {
			for i, p := range pictures {
				f.add("%s has applied %s, and stays there", nodes[i].name, p.lanes)
			}
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// takePicture reads the state of a node. steady is false if messages were applied
// meanwhile, or a key could not be read: a node that has just started reaches no other yet.
func takePicture(ctx context.Context, n *node, names []string) (p picture, steady bool, err error) {
	c, err := connect(ctx, n)
	if err != nil {
		return p, false, err
	}
	defer c.close()
	if p.lanes, err = lanes(c); err != nil {
		return p, false, err
	}
	read := true
	for some := range slices.Chunk(names, 16) {
		commands := make([]string, len(some))
		for i, name := range some {
			commands[i] = "DUMP " + name
		}
		replies, err := c.talk(patience, commands)
		if err != nil {
			return p, false, err
		}
		for _, reply := range replies {
			read = read && judge(reply) == acknowledged
			sum := sha256.Sum256([]byte(reply))
			p.keys = append(p.keys, string(sum[:]))
		}
	}
	after, err := lanes(c)
	return p, read && after == p.lanes, err
}

// lanes returns how far each lane is.
func lanes(c *conn) (string, error) {
	reply, err := c.ask(patience, "INFO cluster")
	if err != nil {
		return "", err
	}
	var list []string
	for line := range strings.Lines(reply) {
		name, value, _ := strings.Cut(line, ":")
		if lane, ok := strings.CutPrefix(name, "cluster_lane_"); ok {
			applied, _, _ := strings.Cut(value, ",")
			list = append(list, lane+" "+strings.TrimPrefix(applied, "applied="))
		}
	}
	if len(list) == 0 {
		return "", errors.New("INFO cluster names no lanes")
	}
	return strings.Join(list, ", "), nil
}

// checked is how many of the latest items each round looks for.
const checked = 3000

// check looks for everything that the writer was told is kept.
func (w *writer) check(c *conn, f *findings, all bool) error {
	recent := func(items []int) []int {
		if all {
			return items
		}
		return items[max(0, len(items)-checked):]
	}
	for _, look := range []struct {
		command string
		items   []int
	}{
		{"BF.EXISTS " + w.key("bf") + " item%d", recent(w.added)},
		{"FILTER.HAS " + w.key("wide") + " item%d", recent(w.wide)},
		{"FILTER.HAS " + w.key("many") + " item%d", recent(w.many)},
		{"CF.EXISTS " + w.key("cf") + " item%d", recent(w.there)},
		{fmt.Sprintf("EXISTS lasting%d-%%d", w.id), recent(w.lasting)},
	} {
		missing, err := absent(c, look.command, look.items)
		if err != nil {
			return err
		}
		if missing > 0 {
			f.lost += missing
			f.add("%s: %d of %d acknowledged writes are lost: %s", c.node.name, missing, len(look.items), look.command)
		}
	}
	return w.checkCounts(c, f)
}

// absent returns how many of the items a node does not have.
func absent(c *conn, command string, items []int) (missing int, err error) {
	for some := range slices.Chunk(items, 500) {
		commands := make([]string, len(some))
		for i, n := range some {
			commands[i] = fmt.Sprintf(command, n)
		}
		replies, err := c.talk(patience, commands)
		for end := time.Now().Add(settleWithin); err == nil && time.Now().Before(end); time.Sleep(time.Second) {
			if !slices.ContainsFunc(replies, func(r string) bool { return judge(r) == refused }) {
				break // other nodes that hold them have answered
			}
			replies, err = c.talk(patience, commands)
		}
		if err != nil {
			return missing, err
		}
		for i, reply := range replies {
			switch strings.TrimPrefix(reply, "*") {
			case ":1":
			case ":0":
				missing++
			default:
				return missing, fmt.Errorf("%s: %s", commands[i], reply)
			}
		}
	}
	return missing, nil
}

// checkCounts asks that every counted write that was acknowledged was made once, and
// every unknown one at most once.
func (w *writer) checkCounts(c *conn, f *findings) error {
	replies, err := c.talk(patience, []string{
		"CF.INFO " + w.key("cf"), "CMS.INFO " + w.key("cms"), "GET " + w.key("number"), "GET " + w.key("left"), "GET " + w.key("right"),
	})
	if err != nil {
		return err
	}
	cuckoo, sketch := fields(replies[0]), fields(replies[1])
	judge := func(what string, n int, b bounds) {
		switch {
		case n < b.sure:
			f.lost += b.sure - n
		case n > b.sure+b.perhaps:
			f.twice += n - b.sure - b.perhaps
		default:
			return
		}
		f.add("%s: %s of client %d: %d, want %d and at most %d more", c.node.name, what, w.id, n, b.sure, b.perhaps)
	}
	items, deletions := cuckoo["Number of items inserted"], cuckoo["Number of items deleted"]
	judge("items of the cuckoo filter", items, bounds{w.inserted.sure - w.deleted.sure - w.deleted.perhaps, w.inserted.perhaps + w.deleted.perhaps})
	if cuckoo["Number of filters"] == 1 { // one of several layers is compacted, and forgets what it counted
		judge("deletions", deletions, w.deleted)
		judge("insertions", items+deletions, w.inserted)
	}
	judge("count of the sketch", sketch["count"], w.counted)
	judge("INCR", value(replies[2]), w.numbered)
	judge("INCR in transactions", value(replies[3]), w.paired)
	if replies[3] != replies[4] {
		f.add("%s: a transaction of client %d was done by half: %s and %s", c.node.name, w.id, replies[3], replies[4])
	}
	return nil
}

// fields reads a reply of names and numbers, as show has written it.
func fields(reply string) map[string]int {
	m := map[string]int{}
	words := strings.Fields(strings.TrimPrefix(reply, "*"))
	var name []string
	for _, word := range words {
		if text, ok := strings.CutPrefix(word, ":"); ok {
			n, _ := strconv.Atoi(text)
			m[strings.TrimLeft(strings.Join(name, " "), "+$")] = n
			name = nil
			continue
		}
		name = append(name, word)
	}
	return m
}

// value reads a number that GET has returned; an absent one is 0.
func value(reply string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(reply, "$"))
	return n
}
