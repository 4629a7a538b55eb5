// The command cluster restore: a data folder as the start of a cluster.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/server/datadir"
)

func newClusterRestore() *cobra.Command {
	var r datadir.Restore
	cmd := &cobra.Command{
		Use:   "restore FROM --dir DIR",
		Short: "Start a new cluster with a backup or a single server's data",
		Long: `restore makes DIR the data folder of the first node of a new cluster that
starts with the data of FROM. FROM is a folder that bloomery cluster backup has
written, the data folder of a single server that is stopped, or a tar file that
bloomery backup has written. FROM is not changed.

Run it on the machine of the first node that --join names, then start all nodes
of the cluster as usual, the others with empty folders:

  bloomery cluster restore backup --dir data
  bloomery serve --dir data --cluster NAME --join A:6380,B:6380,C:6380 ...

The first node starts the cluster, and the others fetch the data from it. No
node serves before it has all of it. A cluster that exists already is never
changed: a node with a restored folder does not start if the cluster of its name
was started without the data.

With --nodes the contents are spread over that many nodes, and --copies of them
hold each filter. So the data may be larger than what one machine can hold. DIR
must not exist. It gets a folder for each node: 1, 2 and so on. Copy each to a
machine of its own, one of them to the first node of --join, and start all
nodes. Contents do not move between nodes until all have started.

  bloomery cluster restore backup --dir nodes --nodes 4 --copies 2

Names, contents, strings, deadlines and windows are as they were. Users,
passwords, settings and certificates are not in FROM: bring those files along.

restore needs as much memory as the data takes, and about 100 MiB more. With
--nodes it makes one node after the other and reads FROM for each: it needs as
much as the fullest node takes, and room for the largest BF, CF or sketch, which
is loaded even for nodes that do not keep it.

If restore fails or is interrupted, nothing is left. If it is killed, no server
starts on DIR: empty the folder and run it again. With --nodes there is no DIR
then: remove the folder that ends in .unfinished and run it again.`,
		Example: `  bloomery cluster restore backup-monday --dir /var/lib/bloomery
  bloomery cluster restore backup-monday --dir nodes --nodes 6 --copies 2
  bloomery cluster restore old-server-data --dir n1 --lanes 16`,
		Args: between(1, 1, "a data folder or a backup"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error {
		if r.From = args[0]; r.Nodes != 0 && r.Copies == 0 {
			r.Copies = 2
		}
		return runClusterRestore(ctx, s, &r)
	}).bindSummary(cmd)
	cmd.Flags().StringVar(&r.Dir, "dir", "", "`FOLDER` of the first node, empty or not there; with --nodes, for the folders of all nodes, not there")
	cmd.Flags().IntVar(&r.Nodes, "nodes", 0, "how many nodes contents are spread over, 3 to 100; 0 for a cluster in which every node holds everything")
	cmd.Flags().IntVar(&r.Copies, "copies", 0, "how many of the --nodes hold each filter, 2 to 5 (default 2)")
	cmd.Flags().IntVar(&r.Lanes, "lanes", 8, "how many streams carry the contents of filters, 1 to 64; it cannot be changed later")
	return cmd
}

// clusterRestoreJSON is what cluster restore prints with --json.
type clusterRestoreJSON struct {
	Folder  string `json:"folder"`
	Cluster string `json:"cluster"`
	Names   int    `json:"names"`
	Bytes   int64  `json:"bytes"`
	Lanes   int    `json:"lanes"`
	Nodes   int    `json:"nodes,omitempty"`
	Copies  int    `json:"copies,omitempty"`
}

func runClusterRestore(ctx context.Context, s *shell, r *datadir.Restore) error {
	if r.Dir == "" {
		return hinted{errors.New("give the folder of the first node with --dir"), "see bloomery cluster restore --help"}
	}
	if r.Lanes < 1 || r.Lanes > 64 {
		return fmt.Errorf("--lanes %d: want 1 to 64", r.Lanes)
	}
	if r.Nodes != 0 && (r.Nodes < 3 || r.Nodes > 100) {
		return fmt.Errorf("--nodes %d: want 3 to 100", r.Nodes)
	}
	if r.Copies != 0 && r.Nodes == 0 {
		return errors.New("--copies needs --nodes: without it every node holds everything")
	}
	if most := min(5, r.Nodes); r.Copies != 0 && (r.Copies < 2 || r.Copies > most) {
		return fmt.Errorf("--copies %d: want 2 to 5, and no more than --nodes %d", r.Copies, r.Nodes)
	}
	job := &restoring{Restore: r, total: folderSize(r.From) * int64(max(1, r.Nodes))}
	stop := s.progress("restore", job, false)
	done, err := r.Run(ctx)
	stop()
	if err != nil {
		return restoreError(r, err)
	}
	if s.asJSON {
		return s.print(clusterRestoreJSON{r.Dir, fmt.Sprintf("%016x", done.Cluster), done.Names, done.Bytes, done.Lanes, r.Nodes, r.Copies})
	}
	if r.Nodes > 0 {
		s.say("%s: %s, folders 1 to %d, the start of cluster %016x with %s. A node takes %s at most", r.Dir, plural(uint64(done.Names), "name"), r.Nodes,
			done.Cluster, plural(uint64(done.Lanes), "lane"), bytesText(uint64(done.Bytes)))
		s.say("copy each folder to a machine of its own, one of them to the first node of --join, and start all nodes")
		return nil
	}
	s.say("%s: %s, %s, the start of cluster %016x with %s", r.Dir, plural(uint64(done.Names), "name"), bytesText(uint64(done.Bytes)),
		done.Cluster, plural(uint64(done.Lanes), "lane"))
	s.say("start the first node of --join on it, and the others on empty folders")
	return nil
}

// restoring is a restore as a job with progress.
type restoring struct {
	*datadir.Restore
	total int64
}

// Total returns how many bytes there are to read, about.
func (r *restoring) Total() int64 { return r.total }

// folderSize returns the bytes of a file, or of the files of a folder; 0 if that is not
// known.
func folderSize(name string) (total int64) {
	_ = filepath.WalkDir(name, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}

// restoreError says what to do about an error.
func restoreError(r *datadir.Restore, err error) error {
	switch {
	case errors.Is(err, datadir.ErrUnfinished):
		left := filepath.Clean(r.Dir) + ".unfinished"
		return hinted{worded{err, left + ": the unfinished folder of a restore that was killed or is still running"}, "if none is running, remove it and run the command again"}
	case errors.Is(err, datadir.ErrInside):
		return hinted{worded{err, r.Dir + ": inside of the folder that is read"}, "name a folder outside of " + r.From}
	case errors.Is(err, datadir.ErrNotEmpty) && r.Nodes > 0:
		return hinted{worded{err, r.Dir + ": there is such a folder already"}, "with --nodes name one that does not exist"}
	case errors.Is(err, datadir.ErrNotEmpty):
		return hinted{worded{err, strings.TrimPrefix(err.Error(), "cluster: ")}, "restore only starts a new cluster: name a folder that is empty or does not exist"}
	case errors.Is(err, datadir.ErrLocked):
		return hinted{folderInUse(r.From, err), "stop the server first; or restore a copy: bloomery backup " + r.From + " -o backup.tar"}
	case errors.Is(err, datadir.ErrNoData):
		return hinted{worded{err, r.From + ": not a data folder, and not a backup"}, "name what bloomery cluster backup has written, or the folder that --dir of a single server names"}
	case errors.Is(err, datadir.ErrCluster):
		return hinted{worded{err, r.From + ": the folder of a node of a cluster: its log is elsewhere"}, "bloomery cluster backup copies a running cluster"}
	case errors.Is(err, fs.ErrNotExist):
		if _, missing := os.Stat(r.From); missing != nil {
			return pathless(r.From, missing)
		}
	}
	return err
}
