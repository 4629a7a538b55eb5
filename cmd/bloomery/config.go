// The command config: checks and shows the settings of a server.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery/internal/regular"
	"github.com/bloomery/bloomery/server"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config COMMAND",
		Short: "Check and show the settings of a server",
		Long: `config checks a configuration file before a server is started with it, and shows
the settings that a server would have.`,
		Example: `  bloomery config check bloomery.toml
  bloomery config show bloomery.toml`,
		SuggestionsMinimumDistance: 2,

		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigCheck(), newConfigShow())
	return cmd
}

func newConfigCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file of a server",
		Long: `check reads a configuration file of bloomery serve and lists everything that is
wrong with it, with file, line and key: keys that are not settings, values of
the wrong type or out of range, addresses, files and folders that are not there,
and files of certificates, keys and users that cannot be used. Relative names
are taken from the current folder, as serve does. The environment is not looked
at, nothing is opened for writing, and no address is bound. Values of secrets
are never printed.

A password in a file that other users can read is a warning, not an error.

Exit codes: 0 a server starts with these settings, 2 something is wrong.`,
		Example: `  bloomery config check bloomery.toml
  bloomery config check --json bloomery.toml`,
		Args: between(1, 1, "a configuration file"),
	}
	newShell(cmd, func(_ context.Context, s *shell, args []string) error { return runConfigCheck(s, args[0]) })
	return cmd
}

// problemJSON is what config check prints for each problem with --json.
type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Key     string `json:"key,omitempty"`
	Problem string `json:"problem"`
	Warning bool   `json:"warning,omitempty"`
}

func runConfigCheck(s *shell, file string) error {
	problems, warnings, err := checkConfig(file)
	if err != nil {
		return about("", err)
	}
	for _, w := range warnings {
		s.warn("%s", w)
	}
	if s.asJSON {
		return errors.Join(printProblems(s, problems, false), printProblems(s, warnings, true), failed(file, problems))
	}
	for _, p := range problems {
		fmt.Fprintln(s.errOut, p)
	}
	if len(problems) == 0 {
		s.say("%s: ok", file)
	}
	return failed(file, problems)
}

// failed is the error for a file that has problems.
func failed(file string, problems []*fileError) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", file, plural(uint64(len(problems)), "problem"))
}

func printProblems(s *shell, problems []*fileError, warning bool) error {
	for _, p := range problems {
		if err := s.print(problemJSON{p.file, p.line, p.key, p.err.Error(), warning}); err != nil {
			return err
		}
	}
	return nil
}

// checkConfig returns what is wrong with a configuration file, and what is unwise.
// An error means that it cannot be read.
func checkConfig(file string) (problems, warnings []*fileError, err error) {
	isSecret := secretFlag(newServeSettings().flags)
	all, err := readAssignments(file, isSecret)
	if bad, ok := errors.AsType[*fileError](err); ok {
		return []*fileError{bad}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	add := func(a assignment, err error) {
		problems = append(problems, &fileError{file, a.line, a.key, worded{err, withoutKey(err, a.key)}})
	}
	var good []assignment
	for _, a := range all {
		s := newServeSettings()
		err := assign(s.flags, a, notSettings)
		if err == nil {
			err = s.checkPath(a.key)
		}
		if err != nil {
			add(a, err)
			continue
		}
		good = append(good, a)
		if isSecret(a.key) && s.flags.Lookup(a.key).Value.String() != "" && readByOthers(file) {
			warnings = append(warnings, &fileError{file, a.line, a.key, errors.New("other users can read the file: chmod 600 " + file)})
		}
	}
	// What is wrong with values together is found one by one: each is reported
	// for a key without which it would not be wrong, and then that is left out.
	for err := checkTogether(good); err != nil; err = checkTogether(good) {
		i := culprit(good, err)
		if i < 0 {
			add(assignment{}, err)
			break
		}
		add(good[i], err)
		good = slices.Delete(good, i, i+1)
	}
	slices.SortStableFunc(problems, func(a, b *fileError) int { return cmp.Compare(a.line, b.line) })
	return problems, warnings, nil
}

// checkTogether reports what is wrong with settings that are right one by one.
func checkTogether(all []assignment) error {
	s := newServeSettings()
	for _, a := range all {
		if err := assign(s.flags, a, notSettings); err != nil {
			return err
		}
	}
	if err := s.check(); err != nil {
		return err
	}
	return s.config.CheckFiles()
}

// culprit returns the setting that an error is about: one without which there would
// not be this error, best of all one that the error names; -1 if there is none.
func culprit(all []assignment, err error) int {
	found := -1
	for i, a := range all {
		without := checkTogether(slices.Delete(slices.Clone(all), i, i+1))
		if without != nil && without.Error() == err.Error() {
			continue
		}
		if strings.Contains(err.Error(), a.key) {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// withoutKey returns the text of an error without the package that it is from and
// the key that it is about, which the reader sees in front of it.
func withoutKey(err error, key string) string {
	text := err.Error()
	for _, p := range []string{"server: ", "datadir: ", "local: ", "folder: ", "engine: "} {
		text = strings.TrimPrefix(text, p)
	}
	if rest, ok := strings.CutPrefix(text, key); ok && key != "" {
		text = strings.TrimLeft(rest, ": ")
	}
	return text
}

// readByOthers reports whether the mode of a file lets other users read it.
func readByOthers(file string) bool {
	info, err := os.Stat(file)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// serveSettings are the settings of bloomery serve, as flags that were not given.
type serveSettings struct {
	flags  *pflag.FlagSet
	config server.Config
	serveOptions
}

func newServeSettings() *serveSettings {
	s := &serveSettings{flags: pflag.NewFlagSet("serve", pflag.ContinueOnError)}
	serveFlags(s.flags, &s.config, &s.serveOptions)
	return s
}

// check reports what is wrong with the settings together.
func (s *serveSettings) check() error {
	if err := s.config.Check(); err != nil {
		return err
	}
	var level slog.LevelVar
	if err := setLevel(&level, s.logLevel); err != nil {
		return err
	}
	_, err := newLog(io.Discard, &level, s.logFormat)
	return err
}

// checkPath reports whether what a setting names in the file system can be used.
func (s *serveSettings) checkPath(name string) error {
	if name == "dir" {
		return checkDataFolder(s.config.Dir)
	}
	for _, setting := range server.Settings() {
		if setting.Name == name && setting.File {
			return checkFile(setting.Get(&s.config))
		}
	}
	return nil
}

// checkFile reports whether a file can be read; "" is none.
func checkFile(name string) error {
	if name == "" {
		return nil
	}
	f, err := regular.Open(name)
	if errors.Is(err, regular.Err) {
		return fmt.Errorf("%s is %w", name, regular.Err)
	}
	if err != nil {
		return pathless(name, err)
	}
	return f.Close()
}

// checkDataFolder reports whether a folder is there or can be made: "" is none.
func checkDataFolder(dir string) error {
	if dir == "" {
		return nil
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		switch info, err := os.Stat(at); {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is not a folder", at)
		case err == nil:
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			return pathless(at, err)
		case at == filepath.Dir(at):
			return fmt.Errorf("%s does not exist", at)
		}
	}
}

func newConfigShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show the settings that a server would have",
		Long: `show prints all settings in force in the form of a configuration file: those of
the environment, then those of FILE, then the defaults. It is serve
--print-config without flags. Values of secrets are never printed.`,
		Example: `  bloomery config show
  BLOOMERY_MAX_CLIENTS=100 bloomery config show bloomery.toml`,
		Args: between(0, 1, "at most one configuration file"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s := newServeSettings()
		s.file = strings.Join(args, "")
		if err := s.load(os.LookupEnv); err != nil {
			return fmt.Errorf("config show: %w", err)
		}
		return printSettings(cmd.OutOrStdout(), s.flags, notSettings...)
	}
	return cmd
}

// load fills in what was not given, and checks it.
func (s *serveSettings) load(lookup func(string) (string, bool)) error {
	if file, ok := lookup(envName("config")); ok && s.file == "" {
		s.file = file
	}
	if err := loadSettings(s.flags, s.file, lookup, notSettings...); err != nil {
		return err
	}
	return s.check()
}
