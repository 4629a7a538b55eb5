// The command doctor: a data folder checked and repaired.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/datadir"
)

// doctorOptions is what doctor may do.
type doctorOptions struct{ repair, drop bool }

func newDoctor() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor DIR",
		Short: "Check a data folder: what is in it, and what is damaged",
		Long: `doctor reads every byte of a data folder and prints what is in it. It needs as
much memory as the data. The server must not be running. Without --repair it
changes nothing.

--repair does what is safe: it cuts off the torn end of the log, as a start
would, and removes files that nothing needs. It prints what it has done, file by
file.

A log that a crash cut short and a log that was copied in part look the same:
both are torn. If the folder is a copy, make sure that it was copied whole.

If the contents of some names are damaged or missing, doctor lists those names.
Restore a backup to get them back. --repair --drop removes them instead and
keeps all others; the damaged files stay in the folder, with names that end in
".damaged". Damage of the manifest or of the log cannot be dropped: restore a
backup.

Exit codes: 0 all is well (or is now; a torn end is not damage), 2 the folder
cannot be read or is not a data folder, 4 damaged.`,
		Example: `  bloomery doctor bloomery-data
  bloomery doctor bloomery-data --repair
  bloomery doctor bloomery-data --repair --drop`,
		Args: between(1, 1, "a data folder"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return runDoctor(ctx, s, args[0], o) })
	cmd.Flags().BoolVar(&o.repair, "repair", false, "cut a torn end of the log and remove files that nothing needs")
	cmd.Flags().BoolVar(&o.drop, "drop", false, "with --repair: remove the names whose contents are damaged, keep all others")
	return cmd
}

func runDoctor(ctx context.Context, s *shell, dir string, o doctorOptions) error {
	if o.drop && !o.repair {
		return hinted{errors.New("doctor: --drop needs --repair"), "without --repair nothing is changed"}
	}
	if err := notWhole(dir); err != nil {
		return err
	}
	r, err := abandon(ctx, func() (*datadir.Report, error) { return datadir.Inspect(dir) })
	if errors.Is(err, datadir.ErrNoData) {
		return notData(dir, err)
	}
	if errors.Is(err, datadir.ErrLocked) {
		return hinted{folderInUse(dir, err), "stop the server first; or check a copy: bloomery backup " + dir + " -o backup.tar"}
	}
	if err != nil {
		return pathless(dir, err)
	}
	if s.asJSON {
		err = doctorJSON(s, r)
	} else {
		err = doctorText(s.out, dir, r)
	}
	if err != nil {
		return err
	}
	switch {
	case r.Damaged() && o.drop && r.Droppable():
		return dropLost(s, dir, r)
	case r.Damaged():
		return hinted{fmt.Errorf("%s: %w", dir, firstDamage(r)), damageHint(dir, r)}
	case !o.repair || !r.Repairable():
		return nil
	}
	if err := datadir.Repair(dir, r); err != nil {
		return err
	}
	for _, f := range r.Files {
		switch {
		case f.Orphan:
			s.say("removed %s: nothing needs it", f.Name)
		case f.Torn >= 0:
			s.say("cut %s off the end of %s: it was being written when the server ended", plural(uint64(f.Size-f.Torn), "byte"), f.Name)
		}
	}
	return nil
}

// dropLost removes the names that r lists, which were printed.
func dropLost(s *shell, dir string, r *datadir.Report) error {
	names, err := datadir.Drop(dir, nil)
	if err != nil {
		return err
	}
	for _, name := range names {
		s.say("dropped %q", name)
	}
	aside := ""
	for _, l := range r.Lost {
		if _, err := os.Stat(filepath.Join(dir, l.File+".damaged")); err == nil { // not of a file that is missing
			aside = "; damaged files are left as *.damaged"
		}
	}
	s.say("dropped %s, kept all others%s", plural(uint64(len(names)), "name"), aside)
	return nil
}

// notData is the error for a folder that is not one of a server.
func notData(dir string, err error) error {
	return hinted{worded{err, dir + ": " + strings.TrimPrefix(datadir.ErrNoData.Error(), "local: ")}, "name the folder that --dir of the server names"}
}

// folderInUse is the error for a data folder that a server uses.
func folderInUse(dir string, err error) error {
	return worded{err, dir + ": the folder is in use by another process"}
}

// pathless names a folder that cannot be read once, and without the system call.
func pathless(dir string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && p.Path == dir {
		return worded{err, dir + ": " + p.Err.Error()}
	}
	return err
}

func damageHint(dir string, r *datadir.Report) string {
	if r.Newer() {
		return "start that release again, or a later one; nothing here is damaged"
	}
	for i := range r.Files {
		if f := &r.Files[i]; f.Remedy != "" {
			return f.Remedy
		}
	}
	if r.Droppable() {
		return "restore a backup; or remove the names that are lost and keep all others: bloomery doctor " + dir + " --repair --drop"
	}
	return "restore a backup, or copy the folder again; see docs/operations.md"
}

func firstDamage(r *datadir.Report) error {
	if r.Newer() {
		return fmt.Errorf("a later release wrote this: %w", bloomery.ErrVersion)
	}
	for _, f := range r.Files {
		if f.Err != nil {
			return fmt.Errorf("%s: %w", f.Name, f.Err)
		}
	}
	return bloomery.ErrCorrupt
}

func doctorText(out io.Writer, dir string, r *datadir.Report) error {
	saved := "no snapshot yet"
	if !r.Saved.IsZero() {
		saved = "snapshot of " + r.Saved.UTC().Format(time.RFC3339) + ", " + plural(uint64(r.Names), "name") + " in it"
	}
	_, err := fmt.Fprintf(out, "%s: %s, log from position %d to %d, %s replayed\n", dir, saved,
		r.From, r.End, plural(uint64(r.Records), "record"))
	for _, f := range r.Files {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "  %-9s %-24s %12d bytes  %s  %s\n", verdict(&f), f.Name, f.Size, f.Kind, f.Detail)
		if err == nil && f.Err != nil {
			_, err = fmt.Fprintf(out, "            %v\n", f.Err)
		}
		if err == nil && f.Remedy != "" {
			_, err = fmt.Fprintf(out, "            what to do: %s\n", f.Remedy)
		}
		if err == nil && f.Err == nil && f.Torn >= 0 {
			_, err = fmt.Fprintf(out, "            ends in the middle of a write: a start cuts off the last %s; if the folder is a copy, copy it again\n",
				plural(uint64(f.Size-f.Torn), "byte"))
		}
	}
	for _, l := range r.Lost {
		if err == nil {
			_, err = fmt.Fprintf(out, "  LOST      %q  %s  %s\n", l.Name, l.Kind, l.File)
		}
	}
	return err
}

// verdict is one word on a file.
func verdict(f *datadir.FileReport) string {
	switch {
	case errors.Is(f.Err, bloomery.ErrVersion):
		return "NEWER"
	case f.Err != nil:
		return "DAMAGED"
	case f.Unchecked:
		return "unchecked"
	case f.Orphan:
		return "unneeded"
	case f.Torn >= 0:
		return "torn"
	case f.Kind == datadir.Unknown, f.Kind == datadir.SetAside:
		return string(f.Kind)
	}
	return "ok"
}

// doctorLineJSON is a file with --json.
type doctorLineJSON struct {
	File    string   `json:"file"`
	Kind    string   `json:"kind"`
	Bytes   int64    `json:"bytes"`
	Verdict string   `json:"verdict"`
	Detail  string   `json:"detail,omitempty"`
	Error   string   `json:"error,omitempty"`
	Remedy  string   `json:"remedy,omitempty"`
	Lost    []string `json:"lost,omitempty"`
}

func doctorJSON(s *shell, r *datadir.Report) error {
	for _, f := range r.Files {
		l := doctorLineJSON{File: f.Name, Kind: string(f.Kind), Bytes: f.Size, Verdict: verdict(&f), Detail: f.Detail, Remedy: f.Remedy}
		if f.Err != nil {
			l.Error = f.Err.Error()
		}
		for _, lost := range r.Lost {
			if lost.File == f.Name {
				l.Lost = append(l.Lost, lost.Name)
			}
		}
		if err := s.print(l); err != nil {
			return err
		}
	}
	return nil
}
