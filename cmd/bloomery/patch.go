// The command patch: a filter brought up to date by its changes.

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/memory"
)

// patchOptions are the flags of patch.
type patchOptions struct{ outputFlags }

func newPatch() *cobra.Command {
	o := &patchOptions{}
	cmd := &cobra.Command{
		Use:   "patch [-o F] A PATCH",
		Short: "Update a filter with a patch that diff made",
		Long: `patch turns the filter in the file A into the one that bloomery diff --patch
made the patch for, and writes it to F, or replaces A, atomically. A patch holds
only what changed: clients of a filter can download it each day instead of the
filter.

A patch fits one filter, the one that it was made from: for any other, and if
anything is damaged, the exit code is 4 and nothing is written. The result is
checked by its checksums.`,
		Example: `  bloomery diff --patch day.patch monday.bf tuesday.bf
  bloomery patch -o new.bf monday.bf day.patch
  bloomery patch monday.bf day.patch`,
		Args: between(2, 2, "a filter and a patch"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0], args[1]) }).bindSummary(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write instead of A; - is standard output")
	bindOverwrite(cmd.Flags(), &o.overwrite)
	return cmd
}

// patchedJSON is what patch and diff --patch write with --json.
type patchedJSON struct {
	File  string `json:"file"`
	Bytes uint64 `json:"bytes"`
}

func (o *patchOptions) run(ctx context.Context, s *shell, name, patch string) error {
	to := o.outputFlags
	var err error
	if to.output != "" {
		if name, err = s.located(ctx, name); err != nil {
			return err
		}
	}
	if patch, err = s.located(ctx, patch); err != nil {
		return err
	}
	if err := checkMagic(patch, patchMagic, "bloomery patch"); err != nil {
		return err
	}
	if to.output == "" {
		unlock, err := s.lockExisting(ctx, name)
		if err != nil {
			return err
		}
		defer unlock()
		to = outputFlags{name, true}
	}
	if to.output == "-" && s.jsonToStdout() {
		return errJSONOutput
	}
	if err := s.checkOutput(to.output, to.overwrite); err != nil {
		return err
	}
	result, err := abandon(ctx, func() ([]byte, error) {
		before, form, err := readPlain(name)
		if err != nil {
			return nil, err
		}
		changes, err := readWhole(patch)
		if err != nil {
			return nil, err
		}
		after, err := codec.Patch(before, changes)
		if err != nil || form != codec.FormTransport {
			return after, about(patch, err)
		}
		return codec.Compress(nil, after)
	})
	if err != nil {
		return err
	}
	return s.saveBytes(ctx, to, result)
}

// lockExisting locks a file that must be there.
func (s *shell) lockExisting(ctx context.Context, name string) (unlock func(), err error) {
	if err := notPiped(name); err != nil {
		return nil, err
	}
	if _, err := os.Stat(name); err != nil { // before a lock is made beside it
		return nil, about(name, cause(err))
	}
	return s.lockFile(ctx, name)
}

// writeBytes writes bytes to a file.
func (s *shell) writeBytes(ctx context.Context, to outputFlags, data []byte) error {
	return s.save(ctx, to, codec.FormPlain, writerTo(func(w io.Writer) error {
		const part = 1 << 20 // so that a signal ends it
		for rest := data; len(rest) > 0; {
			n, err := w.Write(rest[:min(part, len(rest))])
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	}))
}

// saveBytes writes bytes to a file and reports it.
func (s *shell) saveBytes(ctx context.Context, to outputFlags, data []byte) error {
	if err := s.writeBytes(ctx, to, data); err != nil {
		return err
	}
	if s.asJSON {
		return s.print(patchedJSON{to.output, uint64(len(data))})
	}
	s.say("%s: %s", to.output, plural(uint64(len(data)), "byte"))
	return nil
}

// makePatch writes what makes the first filter into the second.
func makePatch(ctx context.Context, s *shell, to outputFlags, nameA, nameB string) error {
	if to.output == "-" && s.jsonToStdout() {
		return errJSONOutput
	}
	if err := s.checkOutput(to.output, to.overwrite); err != nil {
		return err
	}
	patch, err := abandon(ctx, func() ([]byte, error) {
		before, _, err := readPlain(nameA)
		if err != nil {
			return nil, err
		}
		after, _, err := readPlain(nameB)
		if err != nil {
			return nil, err
		}
		patch, err := codec.Diff(before, after)
		return patch, about(nameA+" and "+nameB, err)
	})
	if err != nil {
		return err
	}
	return s.saveBytes(ctx, to, patch)
}

// readPlain reads a filter file in its plain form.
func readPlain(name string) (data []byte, form codec.Form, err error) {
	if form, err = formOf(name); err != nil {
		return nil, 0, err
	}
	if data, err = readWhole(name); err == nil && form == codec.FormTransport {
		data, err = codec.Decompress(nil, data)
	}
	return data, form, about(name, err)
}

// readWhole reads a file that fits into memory.
func readWhole(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, about(name, cause(err))
	}
	if err := memory.Fits(uint64(info.Size())); err != nil {
		return nil, about(name, err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause(err))
	}
	return data, nil
}
