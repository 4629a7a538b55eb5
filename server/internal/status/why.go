package status

// A key as a machine of a cluster sees it.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Key is where the contents of a key lie in a cluster.
type Key struct {
	Kind    string // as FILTER.INFO names a filter, and TYPE all else
	ID      uint64
	Rebuild string // how far its rebuild is, "" if there is none
	Parts   []KeyPart
}

// KeyPart is a part of a key's contents.
type KeyPart struct {
	Index int
	Shard int
	Lane  int  // the stream of its writes
	Here  bool // this machine answers for it
	// Holds, Learns and Retires are the machines that have something of it; none are named if all
	// machines hold it.
	Holds, Learns, Retires []uint32
}

// Waits returns what commands on a key wait for, and what its contents wait for, a sentence each.
func (c *Cluster) Waits(k *Key) (list []string) {
	if c.Err != nil {
		list = append(list, "writes are refused: "+strings.Join(strings.Fields(c.Err.Error()), " "))
	}
	list = append(list, c.waitsInLanes(k)...)
	said := map[string][]int{} // parts by sentence
	var order []string
	for i := range k.Parts {
		for _, text := range c.waitsOf(&k.Parts[i]) {
			if said[text] == nil {
				order = append(order, text)
			}
			said[text] = append(said[text], k.Parts[i].Index)
		}
	}
	for _, text := range order {
		list = append(list, parts(said[text])+": "+text)
	}
	if c.Shards.Paused && len(order) > 0 {
		list = append(list, "no move begins: cluster pause-moves was run")
	}
	return list
}

// waitsInLanes returns what the streams of names and of a key wait for.
func (c *Cluster) waitsInLanes(k *Key) (list []string) {
	lanes := []int{0}
	for i := range k.Parts {
		if !slices.Contains(lanes, k.Parts[i].Lane) {
			lanes = append(lanes, k.Parts[i].Lane)
		}
	}
	for _, number := range lanes {
		if number >= len(c.Lanes) {
			continue
		}
		l := &c.Lanes[number]
		if l.Down != nil {
			list = append(list, fmt.Sprintf("lane %s takes no writes: %s", l.Name, strings.Join(strings.Fields(l.Down.Error()), " ")))
		}
		if l.Head > l.Applied {
			list = append(list, fmt.Sprintf("node %d waits for %s of lane %s that other nodes have applied", c.Node, messages(l.Head-l.Applied), l.Name))
		}
		if l.Flight > 0 || l.Waiting > 0 {
			list = append(list, fmt.Sprintf("a majority has not taken %s of node %d in lane %s yet, and %d bytes wait to be sent", messages(uint64(l.Flight)), c.Node, l.Name, l.Waiting))
		}
	}
	return list
}

// waitsOf returns what a part waits for.
func (c *Cluster) waitsOf(p *KeyPart) (list []string) {
	if c.Shards.Copies == 0 || len(p.Holds)+len(p.Learns)+len(p.Retires) == 0 {
		return nil
	}
	up, down := c.split(p.Holds)
	switch {
	case len(up) == 0 && len(down) == 0:
		list = append(list, "no node holds it")
	case len(up) == 0:
		list = append(list, "commands fail until "+named(down, "or")+" is up")
	case len(down) == 1:
		list = append(list, named(down, "and")+" holds it and is down")
	case len(down) > 1:
		list = append(list, named(down, "and")+" hold it and are down")
	}
	if len(up) < min(c.Shards.Copies, c.Members()) && len(p.Learns) == 0 {
		list = append(list, fmt.Sprintf("it has fewer than %d copies, and no node gets one yet", c.Shards.Copies))
	}
	for _, node := range p.Learns {
		text := fmt.Sprintf("node %d learns it, and answers for it when it holds it", node)
		if node == c.Node && c.Shards.Failed != "" {
			text = fmt.Sprintf("node %d cannot receive it: %s", node, c.Shards.Failed)
		}
		list = append(list, text)
	}
	for _, node := range p.Retires {
		list = append(list, fmt.Sprintf("node %d gives it up when its last writes have arrived", node))
	}
	return list
}

// split tells machines that are live from others.
func (c *Cluster) split(nodes []uint32) (up, down []uint32) {
	for _, n := range nodes {
		if i := slices.IndexFunc(c.Nodes, func(v Node) bool { return v.Number == n }); i >= 0 && c.Nodes[i].Live {
			up = append(up, n)
		} else {
			down = append(down, n)
		}
	}
	return up, down
}

// named names machines in a sentence.
func named(nodes []uint32, join string) string {
	word := "node "
	if len(nodes) > 1 && join == "and" {
		word = "nodes "
	}
	list := strings.Fields(Numbers(nodes))
	if last := len(list) - 1; last > 0 {
		return word + strings.Join(list[:last], ", ") + " " + join + " " + list[last]
	}
	return word + list[0]
}

// messages counts messages.
func messages(n uint64) string {
	if n == 1 {
		return "1 message"
	}
	return strconv.FormatUint(n, 10) + " messages"
}

// Numbers returns numbers of machines as a list.
func Numbers(nodes []uint32) string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = strconv.Itoa(int(n))
	}
	return strings.Join(list, " ")
}

// parts names parts in few words.
func parts(list []int) string {
	switch n := len(list); n {
	case 1:
		return fmt.Sprintf("part %d", list[0])
	case 2:
		return fmt.Sprintf("parts %d and %d", list[0], list[1])
	default:
		more := ""
		if n > 3 {
			more = ", …"
		}
		return fmt.Sprintf("%d parts (%d, %d, %d%s)", n, list[0], list[1], list[2], more)
	}
}
