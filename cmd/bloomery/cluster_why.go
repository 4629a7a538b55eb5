// cluster status --why: where a key lies in a cluster, and what it waits for.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/bloomery/bloomery/internal/resp"
)

// keyJSON is what cluster status --why prints with --json.
type keyJSON struct {
	Key     string     `json:"key"`
	Node    int        `json:"node"`
	Kind    string     `json:"kind"`
	ID      uint64     `json:"id"`
	Rebuild string     `json:"rebuild,omitempty"`
	Parts   []partJSON `json:"parts,omitempty"`
	Waits   []string   `json:"waits,omitempty"`
}

// partJSON is a part of a key's contents.
type partJSON struct {
	Part    int    `json:"part"`
	Shard   int    `json:"shard"`
	Lane    string `json:"lane"`
	Applied uint64 `json:"applied"`
	Head    uint64 `json:"head"`
	Here    bool   `json:"here"`
	// The nodes that have something of it; none are named if every node holds it.
	Holds   []int `json:"holds,omitempty"`
	Learns  []int `json:"learns,omitempty"`
	Retires []int `json:"retires,omitempty"`
}

func runClusterWhy(ctx context.Context, s *shell, o *connectFlags, key string) error {
	n, c, err := dialCluster(ctx, s, o)
	if err != nil {
		return err
	}
	defer n.close()
	reply, err := n.ask("CLUSTER", "WHY", key)
	if err != nil {
		return err
	}
	k, err := parseKey(string(reply.Text))
	if err != nil {
		return about(n.addr, err)
	}
	k.Key = key
	if s.asJSON {
		err = s.print(k)
	} else {
		err = k.write(s.out, c)
	}
	if err == nil && len(k.Waits) > 0 {
		err = errNo
	}
	return err
}

// parseKey reads the reply to CLUSTER WHY.
func parseKey(text string) (*keyJSON, error) {
	k := &keyJSON{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		part, isPart := strings.CutPrefix(name, "part_")
		switch {
		case isPart:
			p := partJSON{}
			p.Part, _ = strconv.Atoi(part)
			for field := range strings.SplitSeq(value, ",") {
				p.set(strings.Cut(field, "="))
			}
			k.Parts = append(k.Parts, p)
		case strings.HasPrefix(name, "wait_"):
			k.Waits = append(k.Waits, value)
		case name == "node":
			k.Node, _ = strconv.Atoi(value)
		case name == "kind":
			k.Kind = value
		case name == "id":
			k.ID, _ = strconv.ParseUint(value, 10, 64)
		case name == "rebuild":
			k.Rebuild = value
		}
	}
	if k.Kind == "" {
		return nil, fmt.Errorf("CLUSTER WHY: %w", resp.ErrReply)
	}
	return k, nil
}

// set sets a field of a part.
func (p *partJSON) set(name, value string, _ bool) {
	switch name {
	case "shard":
		p.Shard, _ = strconv.Atoi(value)
	case "lane":
		p.Lane = value
	case "applied":
		p.Applied, _ = strconv.ParseUint(value, 10, 64)
	case "head":
		p.Head, _ = strconv.ParseUint(value, 10, 64)
	case "here":
		p.Here = value == "1"
	case "holds":
		p.Holds = nodeNumbers(value)
	case "learns":
		p.Learns = nodeNumbers(value)
	case "retires":
		p.Retires = nodeNumbers(value)
	}
}

func nodeNumbers(text string) (list []int) {
	for word := range strings.FieldsSeq(text) {
		if n, err := strconv.Atoi(word); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// write prints it for people: parts that lie on the same nodes and come in the same lane share a
// line.
func (k *keyJSON) write(out io.Writer, c *clusterJSON) error {
	rebuild := ""
	if k.Rebuild != "" {
		rebuild = ", rebuild " + k.Rebuild
	}
	_, err := fmt.Fprintf(out, "%s: %s, id %d, %s; asked at node %d%s\n", k.Key, k.Kind, k.ID, plural(uint64(len(k.Parts)), "part"), k.Node, rebuild)
	errs := []error{err}
	if len(k.Parts) == 0 {
		_, err = fmt.Fprintln(out, "names and strings are on every node")
		errs = append(errs, err)
	} else {
		errs = append(errs, k.writeParts(out, c))
	}
	for _, text := range k.Waits {
		_, err = fmt.Fprintf(out, "waits: %s\n", text)
		errs = append(errs, err)
	}
	if len(k.Waits) == 0 {
		_, err = fmt.Fprintln(out, "it waits for nothing")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// writeParts prints the table.
func (k *keyJSON) writeParts(out io.Writer, c *clusterJSON) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprint(w, "\nPARTS\tSHARDS\tLANE\tAPPLIED\tHEAD\tHOLD IT\tLEARN IT\tLET GO\n")
	errs := []error{err}
	rows := map[string][]partJSON{}
	var order []string
	for _, p := range k.Parts {
		holds := c.named(p.Holds)
		if len(p.Holds)+len(p.Learns)+len(p.Retires) == 0 {
			holds = "every node"
		}
		row := fmt.Sprintf("%s\t%d\t%d\t%s\t%s\t%s", p.Lane, p.Applied, p.Head, holds, c.named(p.Learns), c.named(p.Retires))
		if rows[row] == nil {
			order = append(order, row)
		}
		rows[row] = append(rows[row], p)
	}
	for _, row := range order {
		parts, shards := make([]int, 0, len(rows[row])), make([]int, 0, len(rows[row]))
		for _, p := range rows[row] {
			parts, shards = append(parts, p.Part), append(shards, p.Shard)
		}
		_, err = fmt.Fprintf(w, "%s\t%s\t%s\n", some(parts), some(shards), row)
		errs = append(errs, err)
	}
	errs = append(errs, w.Flush())
	_, err = fmt.Fprintln(out)
	return errors.Join(append(errs, err)...)
}

// some names the first of many numbers.
func some(list []int) string {
	const most = 4
	words := make([]string, 0, most)
	for _, n := range list[:min(len(list), most)] {
		words = append(words, strconv.Itoa(n))
	}
	text := strings.Join(words, ",")
	if len(list) > most {
		text += fmt.Sprintf(",… (%d)", len(list))
	}
	return text
}

// named returns nodes by their numbers, with those that are not up marked.
func (c *clusterJSON) named(nodes []int) string {
	if len(nodes) == 0 {
		return "-"
	}
	words := make([]string, len(nodes))
	for i, number := range nodes {
		words[i] = strconv.Itoa(number)
		at := slices.IndexFunc(c.Nodes, func(n clusterNodeJSON) bool { return n.Number == number })
		if at < 0 || !c.Nodes[at].Live {
			words[i] += " (down)"
		}
	}
	return strings.Join(words, ", ")
}
