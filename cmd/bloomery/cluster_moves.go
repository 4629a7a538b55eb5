// The commands cluster copies, rebalance, pause-moves and resume-moves: which nodes hold what.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/internal/resp"
)

func newClusterCopies() *cobra.Command {
	yes, force := false, false
	cmd := newClusterChange("copies", "number of copies", func(n *nodeConn, c *clusterJSON, s *shell, args []string) error {
		first := c.Copies == 0
		if first && !yes {
			return unconfirmed("contents would be spread over the nodes, which cannot be undone: no cluster goes back to every node holding everything")
		}
		command := []string{"CLUSTER", "COPIES", args[0]}
		if force {
			command = append(command, "FORCE")
		}
		if _, err := n.ask(command...); err != nil {
			if strings.Contains(err.Error(), "rebuilds are open") {
				return hinted{err, "--force ends them"}
			}
			return err
		}
		final := ""
		if first {
			final = " for good: the number can be changed, but no cluster goes back to every node holding everything"
		}
		return s.said(fmt.Sprintf("%s nodes are to hold the contents of each filter%s. Contents begin to move in half a minute, or later if a node comes or goes; cluster status shows how far they are", args[0], final))
	})
	cmd.Use, cmd.Short = "copies NUMBER --yes [--force] [--addr HOST:PORT]", "Set how many nodes hold the contents of each filter"
	cmd.Long = `copies sets how many nodes hold the contents of each filter: 2 to 5, and no more
than there are nodes. With fewer copies than nodes the cluster holds more than
one machine does: each node gets its share by its --max-memory. The names of
filters, strings, and filters with REPLICAS ALL stay on all nodes.

Contents move in the background, at --cluster-move-rate, and clients notice
nothing of it. Moves begin when nodes and copies have not changed for half a
minute. Up to copies - 1 nodes can be lost at the same time without losing data.
All nodes must support it: see cluster upgrade.

The first time, open rebuilds (FILTER.REBUILD) would end. If there are any, the
error names them and nothing is done, unless --force is given.

Until copies is set every node holds everything. The number can be changed
later, without --yes, but no cluster goes back to that.`
	cmd.Example = `  bloomery cluster copies 2 --yes`
	cmd.Flags().BoolVar(&yes, "yes", false, "spread contents for good; without this nothing is done the first time")
	cmd.Flags().BoolVar(&force, "force", false, "end open rebuilds")
	return cmd
}

func newClusterPause() *cobra.Command {
	cmd := newClusterChange("pause-moves", "", func(n *nodeConn, _ *clusterJSON, s *shell, _ []string) error {
		if _, err := n.ask("CLUSTER", "PAUSE-MOVES"); err != nil {
			return err
		}
		return s.said("no move begins until cluster resume-moves; those that have begun go on")
	})
	cmd.Use, cmd.Short = "pause-moves [--addr HOST:PORT]", "Let no contents begin to move between nodes"
	cmd.Long = `pause-moves lets no contents begin to move between nodes; moves that have begun
go on. What a lost node held is not copied to others either, so resume moves
soon: bloomery cluster resume-moves.`
	cmd.Example = `  bloomery cluster pause-moves`
	return cmd
}

func newClusterResume() *cobra.Command {
	cmd := newClusterChange("resume-moves", "", func(n *nodeConn, _ *clusterJSON, s *shell, _ []string) error {
		if _, err := n.ask("CLUSTER", "RESUME-MOVES"); err != nil {
			return err
		}
		return s.said("contents move again")
	})
	cmd.Use, cmd.Short = "resume-moves [--addr HOST:PORT]", "Let contents move between nodes again"
	cmd.Long = `resume-moves ends what cluster pause-moves has begun.`
	cmd.Example = `  bloomery cluster resume-moves`
	return cmd
}

// newClusterChange returns a command that a node of a cluster carries out, with one argument or
// none.
func newClusterChange(name, argument string, run func(n *nodeConn, c *clusterJSON, s *shell, args []string) error) *cobra.Command {
	var o connectFlags
	cmd := &cobra.Command{Use: name, Args: noArguments}
	if argument != "" {
		cmd.Args = between(1, 1, "a "+argument)
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error {
		n, c, err := dialCluster(ctx, s, &o)
		if err != nil {
			return err
		}
		defer n.close()
		return run(n, c, s, args)
	})
	o.bind(cmd.Flags(), "127.0.0.1:6379", "`ADDRESS` of a node: HOST:PORT, tls:HOST:PORT or unix:PATH")
	return cmd
}

// moveJSON is a row of what cluster rebalance prints with --json.
type moveJSON struct {
	Node    int   `json:"node"`
	Learns  int   `json:"learns"`
	Bytes   int64 `json:"bytes"`
	Seconds int   `json:"seconds"`
	Retires int   `json:"retires"`
}

func newClusterRebalance() *cobra.Command {
	dry := false
	cmd := newClusterChange("rebalance", "", func(n *nodeConn, _ *clusterJSON, s *shell, _ []string) error {
		command := []string{"CLUSTER", "REBALANCE"}
		if dry {
			command = append(command, "DRYRUN")
		}
		reply, err := n.ask(command...)
		if err != nil {
			return err
		}
		moves, err := parseMoves(reply)
		if err != nil {
			return about(n.addr, err)
		}
		if s.asJSON {
			return s.print(moves)
		}
		return writeMoves(s, moves, dry)
	})
	cmd.Use, cmd.Short = "rebalance [--dry-run] [--addr HOST:PORT]", "Begin to move contents so that each node holds its share"
	cmd.Long = `rebalance begins to move contents so that each node holds its share, and prints
what has to move. That happens by itself too, when no node has joined, left or
restarted for half a minute; rebalance does not wait for that.

RECEIVES is how many of the 1,024 shards of all contents a node has to get from
others, BYTES how large they are, TIME how long that takes at least at the
--cluster-move-rate of the node that was asked, and RELEASES how many shards
others hold in its place. cluster status shows how far the moves are.`
	cmd.Example = `  bloomery cluster rebalance --dry-run
  bloomery cluster rebalance`
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what has to move, and begin nothing")
	return cmd
}

// parseMoves reads the reply to CLUSTER REBALANCE.
func parseMoves(reply *resp.Reply) ([]moveJSON, error) {
	moves := []moveJSON{}
	for i := range reply.Array {
		row := reply.Array[i].Array
		if len(row) != 5 {
			return nil, errors.New("the reply is not a list of moves")
		}
		moves = append(moves, moveJSON{int(row[0].Int), int(row[1].Int), row[2].Int, int(row[3].Int), int(row[4].Int)})
	}
	return moves, nil
}

func writeMoves(s *shell, moves []moveJSON, dry bool) error {
	if len(moves) == 0 {
		return s.said("nothing has to move: every node, up or down, has its share")
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprint(w, "NODE\tRECEIVES\tBYTES\tTIME\tRELEASES\n")
	for _, m := range moves {
		_, next := fmt.Fprintf(w, "%d\t%d\t%s\t%v\t%d\n", m.Node, m.Learns, bytesText(uint64(m.Bytes)), time.Duration(m.Seconds)*time.Second, m.Retires)
		err = errors.Join(err, next)
	}
	if err = errors.Join(err, w.Flush()); err == nil && !dry {
		_, err = fmt.Fprintln(s.out, "\nthe moves have begun")
	}
	return err
}
