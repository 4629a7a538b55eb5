package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/server"
)

func newBackup() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "backup DIR -o FILE",
		Short: "Copy a data folder to one file, also while the server runs",
		Long: `backup writes everything that a start needs to one tar file: the last snapshot and the
log behind it. The server may be running; what is written meanwhile is in the copy or
not, and a log that ends in the middle of a record is cut off there at the next start.

To restore, unpack the file into an empty folder and start a server on it:

  mkdir restored && tar -xf backup.tar -C restored
  bloomery doctor restored --repair && bloomery serve --dir restored`,
		Example: `  bloomery backup bloomery-data -o backup.tar
  bloomery backup bloomery-data -o - | zstd > backup.tar.zst`,
		Args: between(1, 1, "a data folder"),
	}
	newShell(cmd, func(_ context.Context, s *shell, args []string) error { return runBackup(s, args[0], to) })
	cmd.Flags().StringVarP(&to, "output", "o", "", "`FILE` to write; - is standard output")
	requireOutput(cmd)
	return cmd
}

// backupJSON is what backup tells with --json.
type backupJSON struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

func runBackup(s *shell, dir, to string) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	if to == "-" {
		_, err := writeBackup(dir, s.out)
		return err
	}
	// Beside its place, so that a backup is there whole or not at all.
	target := followed(to)
	f, err := os.CreateTemp(filepath.Dir(target), ".bloomery-backup-*")
	if err != nil {
		return err
	}
	bytes, err := writeBackup(dir, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if s.asJSON {
		return s.print(backupJSON{to, bytes})
	}
	s.say("%s: %s", to, plural(uint64(bytes), "byte"))
	return nil
}

// writeBackup writes the files of a folder to w as a tar file.
func writeBackup(dir string, w io.Writer) (bytes int64, err error) {
	counted := &countingWriter{w: w}
	err = server.Backup(dir, counted)
	return counted.n, err
}

// countingWriter counts what is written through it.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
