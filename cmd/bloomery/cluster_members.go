// The commands cluster leave, replace-log and upgrade: which nodes a cluster has.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/internal/resp"
)

// changeTimeout bounds how long a node may take for a change that others have to
// answer.
const changeTimeout = time.Minute

// pace is how often a node is asked whether a long change goes on, and how long a step
// may have to wait before that is worth a line: in each, nodes catch up with others, or
// elect leaders.
type pace struct{ every, usual time.Duration }

var usualPace = pace{500 * time.Millisecond, 10 * time.Second}

func newClusterLeave() *cobra.Command {
	var o connectFlags
	yes := false
	cmd := &cobra.Command{
		Use:   "leave NODE --yes [--addr HOST:PORT]",
		Short: "Remove a node from a cluster for good",
		Long: `leave removes a node, by its number or its address, as cluster status shows
them. The node may be up or lost; if it is up it stops. It cannot come back: its
folder cannot be used again. The same machine with an empty folder joins under a
new number.

A log node cannot leave, since the log would have one copy less: cluster
replace-log puts another node in its place. Send the command to a node that
stays (--addr).

Where contents are spread over nodes (cluster copies), a node that is up is
removed when others hold what it holds: the command waits for that. If it is
interrupted, run it again. A node that is down is removed at once if others hold
what it held; they then copy it to further nodes.`,
		Example: `  bloomery cluster leave 4 --yes
  bloomery cluster leave 10.0.0.4:6379 --yes --addr 10.0.0.1:6379`,
		Args: between(1, 1, "one node"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error {
		n, c, err := dialCluster(ctx, s, &o)
		if err != nil {
			return err
		}
		defer n.close()
		node, err := c.find(args[0])
		if number, wrong := strconv.Atoi(args[0]); err != nil && wrong == nil && yes { // one that has left is not listed
			if leave(ctx, s, n, number, usualPace) == nil {
				return s.said(fmt.Sprintf("node %d has left; its folder cannot be used again", number))
			}
		}
		if err != nil {
			return err
		}
		if !yes {
			return unconfirmed(fmt.Sprintf("node %d (%s) would be removed for good", node.Number, node.Addr))
		}
		if err := leave(ctx, s, n, node.Number, usualPace); err != nil {
			return err
		}
		return s.said(fmt.Sprintf("node %d (%s) was removed; its folder cannot be used again", node.Number, node.Addr))
	})
	o.bind(cmd.Flags(), "127.0.0.1:6379", "`ADDRESS` of a node that stays: HOST:PORT, tls:HOST:PORT or unix:PATH")
	cmd.Flags().BoolVar(&yes, "yes", false, "remove it; without this nothing is done")
	return cmd
}

// leave has a node be removed, and waits while others take over what it holds.
func leave(ctx context.Context, s *shell, n *nodeConn, node int, p pace) error {
	r := replacing{shell: s, pace: p}
	defer r.erase()
	for {
		reply, err := n.ask("CLUSTER", "FORGET", strconv.Itoa(node), "WAIT")
		why, waits := "", false
		if err == nil {
			why, waits = strings.CutPrefix(string(reply.Text), "WAIT ")
		}
		if waits {
			r.begun = true
			err = r.waits(reason(why))
		} else if ctx.Err() == nil {
			return err
		}
		if err != nil {
			return r.ended(err)
		}
		select {
		case <-ctx.Done():
			return r.ended(ctx.Err())
		case <-time.After(p.every):
		}
	}
}

func newClusterReplaceLog() *cobra.Command {
	var o connectFlags
	yes, timeout := false, 10*time.Minute
	cmd := &cobra.Command{
		Use:   "replace-log OLD NEW --yes [--addr HOST:PORT]",
		Short: "Replace a log node by a node that keeps no log",
		Long: `replace-log makes the node NEW a log node in the place of OLD, and removes OLD
from the cluster. OLD may be up or lost. NEW is a node that is up and keeps no
log: a fourth node, or the machine of OLD with an empty folder, which has joined
under a new number.

Nothing is changed before all other log nodes report that they are well and have
the whole log: until then the command waits, and shows for what, on a line that
begins with "waiting". If OLD is up, NEW has all of the log before OLD is
removed, and where contents are spread over nodes (cluster copies), others have
taken over what OLD holds. The command prints each step and checks it before the
next one; later waits are shown if they take more than ten seconds, at a
terminal always. Ctrl-C and the end of --timeout do no harm: every step is
complete. Run the command again, at any node but OLD: it continues where it was.

Afterwards write the --cluster-addr of NEW in the place of OLD's in the --join
of all nodes; they use it at their next start.`,
		Example: `  bloomery cluster replace-log 2 4 --yes
  bloomery cluster replace-log 2 4 --yes --addr 10.0.0.1:6379`,
		Args: between(2, 2, "the node that goes and the one that takes its place"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error {
		n, c, err := dialCluster(ctx, s, &o)
		if err != nil {
			return err
		}
		defer n.close()
		numbers := [2]int{}
		for i, arg := range args {
			node, err := c.find(arg)
			// A node that was removed before is no longer listed: its number is enough to go on.
			if number, wrong := strconv.Atoi(arg); err != nil && i == 0 && wrong == nil {
				node, err = &clusterNodeJSON{Number: number}, nil
			}
			if err != nil {
				return err
			}
			numbers[i] = node.Number
		}
		if !yes {
			return unconfirmed(fmt.Sprintf("node %d would be removed for good, and node %d would keep the log", numbers[0], numbers[1]))
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return replaceLog(ctx, s, n, numbers[0], numbers[1], usualPace)
	})
	o.bind(cmd.Flags(), "127.0.0.1:6379", "`ADDRESS` of a node that stays: HOST:PORT, tls:HOST:PORT or unix:PATH")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without this nothing is done")
	durationVar(cmd.Flags(), &timeout, "timeout", timeout, "give up after so long; running the command again continues")
	return cmd
}

// replaceLog asks for one step after the other, and prints what is new. Where it has to
// wait it does, and shows for what. Another failure is an error before the first step, and
// later it may be an election, and is tried again.
func replaceLog(ctx context.Context, s *shell, n *nodeConn, old, with int, p pace) error {
	r := replacing{shell: s, pace: p}
	defer r.erase()
	for {
		state, step, err := n.replaceStep(old, with)
		switch {
		case err == nil && state < 0:
			err = r.waits(reason(step))
		case err == nil:
			err = r.made(step)
		case r.begun && errors.Is(err, errServerSays):
			err = r.waits(replied(err))
		case ctx.Err() != nil: // the connection was closed for it
			return r.ended(ctx.Err())
		}
		if err != nil || state > 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return r.ended(ctx.Err())
		case <-time.After(p.every):
		}
	}
}

// replaceStep has a node do the next step of a replacement. state is 1 after the last one, and -1 if step
// is what it waits for.
func (n *nodeConn) replaceStep(old, with int) (state int64, step string, err error) {
	reply, err := n.ask("CLUSTER", "REPLACE-LOG", strconv.Itoa(old), strconv.Itoa(with))
	if err == nil && (len(reply.Array) != 2 || reply.Array[0].Type != ':') {
		err = fmt.Errorf("%s: the reply is not a step of replace-log", n.addr)
	}
	if err != nil {
		return 0, "", err
	}
	return reply.Array[0].Int, string(reply.Array[1].Text), nil
}

// replacing is a replacement as its operator sees it: a line for each step, and what it
// waits for: a line that is written over at a terminal, elsewhere a line for each reason.
type replacing struct {
	*shell
	pace  pace
	begun bool      // a step was made
	last  string    // what was printed
	since time.Time // it has waited
	why   string    // it waits
	shown bool      // the line of a terminal
}

// made prints a step.
func (r *replacing) made(step string) error {
	r.begun, r.why, r.since = true, "", time.Time{}
	return r.line("done", step)
}

// waits shows what a step waits for. That is usual in the middle, while nodes elect leaders,
// so elsewhere than at a terminal it is printed only if it takes longer than usual.
func (r *replacing) waits(why string) error {
	if r.why = why; r.since.IsZero() {
		r.since = time.Now()
	}
	waited := time.Since(r.since)
	if r.progresses(false) {
		text := fmt.Sprintf("waiting for %v: %s", waited.Round(time.Second), why)
		_, _ = io.WriteString(r.errOut, eraseLine+longest(r.width(r.errOut)-1, text))
		r.shown = true
		return nil
	}
	if r.begun && waited < r.pace.usual {
		return nil
	}
	return r.line("waiting", "waiting: "+why)
}

// line prints a line, unless it was the last one.
func (r *replacing) line(kind, text string) error {
	if text == r.last {
		return nil
	}
	r.erase()
	r.last = text
	if r.asJSON {
		return r.print(map[string]string{kind: text})
	}
	_, err := fmt.Fprintln(r.out, text)
	return err
}

// erase removes the line of a terminal.
func (r *replacing) erase() {
	if r.shown {
		_, _ = io.WriteString(r.errOut, eraseLine)
		r.shown = false
	}
}

// ended is the error of a command whose time is over, or that was interrupted: every step is
// whole, and the nodes remember where they are.
func (r *replacing) ended(err error) error {
	text, hint := "nothing was changed", "run the command again when the nodes are well"
	if r.begun {
		text, hint = "it is not finished yet", "run the command again: it continues where it is"
	}
	if r.why != "" {
		text += ": " + r.why
	}
	if errors.Is(err, context.Canceled) {
		return hinted{err, text + "; " + hint}
	}
	return hinted{errors.New(text), hint}
}

// replied returns what a server has replied, without the words around it.
func replied(err error) string {
	text := err.Error()
	if _, reply, ok := strings.Cut(text, errServerSays.Error()+": "); ok {
		text = reason(strings.TrimPrefix(reply, "ERR "))
	}
	return text
}

// reason returns a reason without the name of what it is about.
func reason(why string) string { return strings.TrimPrefix(why, "replace-log: ") }

func newClusterUpgrade() *cobra.Command {
	var o connectFlags
	cmd := &cobra.Command{
		Use:   "upgrade [--addr HOST:PORT]",
		Short: "End a rolling upgrade of all nodes",
		Long: `upgrade ends a rolling upgrade. Until then nodes of a new release send only what
the release before can read, so nodes can be restarted with the new release one
by one, and with the old one again. Afterwards they cannot go back.

A cluster has a level, which is the newest form of messages that all its nodes
can read; upgrade raises it. It fails if a node is down, or runs an older
release than the others, and names that node. A new cluster starts at
the level of its release: nodes of an older release cannot join it.`,
		Example: `  bloomery cluster upgrade
  bloomery cluster upgrade --addr 10.0.0.1:6379`,
		Args: noArguments,
	}
	newShell(cmd, func(ctx context.Context, s *shell, _ []string) error {
		n, _, err := dialCluster(ctx, s, &o)
		if err != nil {
			return err
		}
		defer n.close()
		reply, err := n.ask("CLUSTER", "UPGRADE")
		if err != nil {
			return err
		}
		return s.said(fmt.Sprintf("the cluster is at level %d, the highest that all its nodes support", reply.Int))
	})
	o.bind(cmd.Flags(), "127.0.0.1:6379", "`ADDRESS` of a node: HOST:PORT, tls:HOST:PORT or unix:PATH")
	return cmd
}

// said prints a line about what was done: as it is, or as JSON.
func (s *shell) said(text string) error {
	if s.asJSON {
		return s.print(map[string]string{"done": text})
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

func unconfirmed(what string) error {
	return hinted{errors.New("nothing was done: " + what), "add --yes to do it"}
}

// errServerSays marks errors that a server has replied.
var errServerSays = errors.New("the server replied")

// nodeConn is a connection to a node of a cluster.
type nodeConn struct {
	nc   net.Conn
	r    *bufio.Reader
	addr string
	stop func() bool
}

// dialCluster connects to a node and asks it for its cluster.
func dialCluster(ctx context.Context, s *shell, o *connectFlags) (*nodeConn, *clusterJSON, error) {
	nc, err := o.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	n := &nodeConn{nc: nc, r: bufio.NewReader(nc), addr: o.addr, stop: context.AfterFunc(ctx, func() { _ = nc.Close() })}
	if auth := o.auth(s.lookup); auth != nil {
		if _, err := n.ask(auth...); err != nil {
			n.close()
			return nil, nil, err
		}
	}
	reply, err := n.ask("INFO", "cluster")
	if err != nil {
		n.close()
		return nil, nil, err
	}
	c := parseClusterInfo(string(reply.Text))
	if c.Name == "" {
		n.close()
		return nil, nil, notInCluster(o.addr)
	}
	return n, &c, nil
}

func (n *nodeConn) close() {
	n.stop()
	_ = n.nc.Close()
}

// ask sends a command. An error that the server replies is an error.
func (n *nodeConn) ask(command ...string) (*resp.Reply, error) {
	if err := n.nc.SetDeadline(time.Now().Add(changeTimeout)); err != nil {
		return nil, about(n.addr, networkCause(err))
	}
	reply := new(resp.Reply)
	if err := ask(n.nc, n.r, reply, command...); err != nil {
		return nil, about(n.addr, networkCause(err))
	}
	if reply.Type == '-' {
		return nil, ofNode(n.addr, fmt.Errorf("%w: %s", errServerSays, reply.Text))
	}
	return reply, nil
}

// find returns the node with a number or an address.
func (c *clusterJSON) find(node string) (*clusterNodeJSON, error) {
	var found *clusterNodeJSON
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if strconv.Itoa(n.Number) == node {
			return n, nil
		}
		if n.Addr != node {
			continue
		}
		if found != nil {
			return nil, hinted{fmt.Errorf("nodes %d and %d are both at %s", found.Number, n.Number, node), "name the one you mean by its number"}
		}
		found = n
	}
	if found == nil {
		return nil, hinted{fmt.Errorf("there is no node %s", node), "bloomery cluster status lists the nodes"}
	}
	return found, nil
}
