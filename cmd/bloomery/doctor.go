package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
)

func newDoctor() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "doctor DIR",
		Short: "Check a data folder: what is in it, every checksum, damage by file and offset",
		Long: `doctor reads every byte of a data folder and says what is in it. It needs as much
memory as the data. The server must not be running.

--repair does what is safe: it cuts off the torn end of the log, as a start would, and
removes files that nothing needs. Damage is never repaired: restore a backup.

Exit codes: 0 all is well (or was repaired), 2 the folder cannot be read, 4 damaged.`,
		Example: `  bloomery doctor bloomery-data
  bloomery doctor bloomery-data --repair`,
		Args: between(1, 1, "a data folder"),
	}
	newShell(cmd, func(_ context.Context, s *shell, args []string) error { return runDoctor(s, args[0], repair) })
	cmd.Flags().BoolVar(&repair, "repair", false, "cut a torn end of the log and remove files that nothing needs")
	return cmd
}

func runDoctor(s *shell, dir string, repair bool) error {
	r, err := server.Inspect(dir)
	if err != nil {
		return err
	}
	if s.asJSON {
		err = doctorJSON(s, r)
	} else {
		err = doctorText(s.out, dir, r)
	}
	if err != nil {
		return err
	}
	if r.Damaged() {
		return hinted{fmt.Errorf("%s: %w", dir, firstDamage(r)), "restore a backup; see docs/operations.md"}
	}
	if !repair || !r.Repairable() {
		return nil
	}
	if err := server.Repair(dir, r); err != nil {
		return err
	}
	s.say("repaired")
	return nil
}

func firstDamage(r *server.Report) error {
	for _, f := range r.Files {
		if f.Err != nil {
			return fmt.Errorf("%s: %w", f.Name, f.Err)
		}
	}
	return bloomery.ErrCorrupt
}

func doctorText(out io.Writer, dir string, r *server.Report) error {
	saved := "no snapshot"
	if r.Saved > 0 {
		saved = "snapshot of " + time.UnixMilli(r.Saved).UTC().Format(time.RFC3339)
	}
	_, err := fmt.Fprintf(out, "%s: %s, %d names in it, log from position %d to %d, %d records replayed\n", dir, saved, r.Names, r.From, r.End, r.Records)
	for _, f := range r.Files {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "  %-9s %-24s %12d bytes  %s  %s\n", verdict(&f), f.Name, f.Size, f.Kind, f.Detail)
		if err == nil && f.Err != nil {
			_, err = fmt.Fprintf(out, "            %v\n", f.Err)
		}
	}
	return err
}

// verdict is one word on a file.
func verdict(f *server.FileReport) string {
	switch {
	case f.Err != nil:
		return "DAMAGED"
	case f.Orphan:
		return "unneeded"
	case f.Torn >= 0:
		return "torn"
	case f.Kind == "unknown":
		return "unknown"
	}
	return "ok"
}

// doctorLineJSON is a file with --json.
type doctorLineJSON struct {
	File    string `json:"file"`
	Kind    string `json:"kind"`
	Bytes   int64  `json:"bytes"`
	Verdict string `json:"verdict"`
	Detail  string `json:"detail,omitempty"`
	Error   string `json:"error,omitempty"`
}

func doctorJSON(s *shell, r *server.Report) error {
	for _, f := range r.Files {
		l := doctorLineJSON{File: f.Name, Kind: f.Kind, Bytes: f.Size, Verdict: verdict(&f), Detail: f.Detail}
		if f.Err != nil {
			l.Error = f.Err.Error()
		}
		if err := s.print(l); err != nil {
			return err
		}
	}
	return nil
}
