// The command serve: the server.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
)

// serveOptions are the flags of serve that are not settings of the server.
type serveOptions struct {
	file        string
	printConfig bool
	logLevel    string
	logFormat   string
}

// notSettings are flags of serve that the environment and the file do not have.
var notSettings = []string{"config", "print-config", "help"}

func newServe() *cobra.Command {
	var c server.Config
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve filters on the Redis protocol, as RedisBloom does",
		Long: `serve answers Redis clients: BF.*, CF.*, CMS.*, TOPK.* and TDIGEST.* as
RedisBloom does, to the byte, and FILTER.* for filters of every kind. Its page,
the HTTP API and /metrics are at the address --http, http://127.0.0.1:8379 by
default. If that port is taken and --http is not given, HTTP gets another port,
and the log says which.

Every setting is a flag, an environment variable (--max-memory is
BLOOMERY_MAX_MEMORY) or a line of a TOML file (max-memory = "2GiB"); the first
of these that is given counts. --print-config shows the result in the form of
such a file, and bloomery config check checks one.

Data is kept in the folder --dir: a log of all writes, and snapshots that are
taken when the log outgrows the data, or on SAVE and BGSAVE. --dir "" keeps it
in memory only. --fsync decides what a power cut can cost: nothing that was
answered (always), at most one second (everysec), or what the system had not
written (no).

With --tls-cert and --tls-key there is TLS on every HOST:PORT; plain:HOST:PORT
and unix sockets have none.

On SIGHUP the server reads its configuration file, certificates, secret keys and
users again: all of them or, if one file is wrong, none. The log names the file,
the settings that have changed, and those that need a restart: all but those
that CONFIG SET can change, and --log-level.

With --cluster the server is a node of a cluster: several servers with one set
of keys, each of which takes any client. --join lists the three or five nodes
that keep the log; bloomery cluster --help has the commands that start one.

SIGTERM and SIGINT (Ctrl-C) end the server: clients get the replies to what they
sent, the data is closed, and the exit code is 0. A second signal ends it at
once.`,
		Example: `  bloomery serve
  bloomery serve --addr 127.0.0.1:6380 --max-memory 2GiB
  bloomery serve --addr 127.0.0.1:6379,unix:/run/bloomery.sock
  bloomery serve --dir /var/lib/bloomery --fsync always
  bloomery serve --tls-cert server.crt --tls-key server.key --addr 0.0.0.0:6379
  BLOOMERY_PASSWORD=secret bloomery serve --addr 0.0.0.0:6379`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), cmd.Flags(), &c, &o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	serveFlags(cmd.Flags(), &c, &o)
	completeSettings(cmd)
	return cmd
}

// serveFlags makes the flags of serve: one for each setting of the server, and
// those of the program itself.
func serveFlags(f *pflag.FlagSet, c *server.Config, o *serveOptions) {
	f.SortFlags = false
	for _, s := range server.Settings() {
		settingFlag(f, c, s)
	}
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.StringVar(&o.file, "config", "", "TOML `FILE` with settings")
	f.BoolVar(&o.printConfig, "print-config", false, "print the settings in force and exit")
}

// completeSettings makes shells offer values of the settings that have few, and
// files and folders where they are wanted.
func completeSettings(cmd *cobra.Command) {
	for _, s := range server.Settings() {
		if len(s.Values) > 0 {
			completeWords(cmd, s.Name, s.Values...)
		}
		if s.File {
			_ = cmd.MarkFlagFilename(s.Name) // it is there
		}
	}
	completeWords(cmd, "log-level", "debug", "info", "warn", "error")
	completeWords(cmd, "log-format", "text", "json")
	// These flags are there.
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagFilename("config", "toml")
}

func runServe(ctx context.Context, flags *pflag.FlagSet, c *server.Config, o *serveOptions, out, errOut io.Writer) error {
	if file, ok := os.LookupEnv(envName("config")); ok && o.file == "" {
		o.file = file
	}
	typed := flagValues(flags)
	if err := loadSettings(flags, o.file, os.LookupEnv, notSettings...); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	var level slog.LevelVar
	if err := setLevel(&level, o.logLevel); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	log, err := newLog(errOut, &level, o.logFormat)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	c.Log, c.Version, c.File, c.Now = log, thisBuild().Version, o.file, clock
	c.HTTPMayMove = !flags.Changed("http")
	// Without a limit the heap could grow to twice its data before it is
	// collected.
	c.OnHeapLimit = func(bytes int64) { limitHeap(bytes) }
	if o.printConfig {
		if err := c.Check(); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		return printSettings(out, flags, notSettings...)
	}
	if err := notWhole(c.Dir); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	hangups := make(chan os.Signal, 1) // caught from now on: it would end the process
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	reload := func(s *server.Server) error { return reloadSettings(s, typed, o, c, &level) }
	if err := serveAgain(ctx, log, func() error { return serveOnce(ctx, *c, hangups, reload, log) }); err != nil {
		return serveError(c.Dir, err)
	}
	return nil
}

// serveAgain serves until that ends for good. A node that was away from its cluster for so
// long that the log was purged meanwhile only has to start again: it fetches what it lacks.
func serveAgain(ctx context.Context, log *slog.Logger, serve func() error) error {
	for {
		err := serve()
		if !errors.Is(err, server.ErrPurged) || ctx.Err() != nil {
			return err
		}
		log.Warn("this node starts again, to fetch what the log of the cluster no longer has", "error", err)
		debug.FreeOSMemory() // what the node had is read again
	}
}

// serveOnce starts a server and serves until it ends.
func serveOnce(ctx context.Context, c server.Config, hangups <-chan os.Signal, reload func(*server.Server) error, log *slog.Logger) error {
	s, err := startServer(ctx, c, server.New)
	if s == nil && ctx.Err() != nil {
		log.Info("stopped before the data was read")
		return nil
	}
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	var reloading sync.WaitGroup
	defer reloading.Wait()
	defer close(ended)
	reloading.Go(func() { reloads(s, hangups, ended, reload, log) })
	go giveBack(ended, heapFigures, debug.FreeOSMemory)
	defer notifyManager(ctx, log)()
	return s.Serve(ctx)
}

// flagValues returns the flags that were given, with their values.
func flagValues(flags *pflag.FlagSet) map[string]string {
	all := map[string]string{}
	flags.Visit(func(f *pflag.Flag) { all[f.Name] = f.Value.String() })
	return all
}

// reloadSettings reads the settings again, from the same flags, the environment and the file,
// and puts those in force that can change. c becomes what was read.
func reloadSettings(s *server.Server, typed map[string]string, o *serveOptions, c *server.Config, level *slog.LevelVar) error {
	var next server.Config
	var options serveOptions
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	serveFlags(flags, &next, &options)
	for name, value := range typed {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	if info, err := os.Stat(o.file); o.file != "" && err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: reading it again might never end", o.file)
	}
	if err := loadSettings(flags, o.file, os.LookupEnv, notSettings...); err != nil {
		return err
	}
	var changed slog.LevelVar
	if err := setLevel(&changed, options.logLevel); err != nil {
		return err
	}
	next.Log, next.Version, next.File, next.Now, next.HTTPMayMove, next.OnHeapLimit = c.Log, c.Version, c.File, c.Now, c.HTTPMayMove, c.OnHeapLimit
	if _, err := s.ReloadConfig(next); err != nil {
		return err
	}
	level.Set(changed.Level())
	*c = next
	return nil
}

// reloads has the server read its files again whenever it is asked to.
func reloads(s *server.Server, hangups <-chan os.Signal, ended <-chan struct{}, reload func(*server.Server) error, log *slog.Logger) {
	for {
		select {
		case <-ended:
			return
		case <-hangups:
			if err := reload(s); err != nil {
				log.Error("nothing was reloaded, the old state stays in force", "error", err)
			}
		}
	}
}

// notifyManager reports to the service manager that the server is ready, and when
// ctx ends that it stops. It returns what ends that, and waits for a report that has begun: the process may end right
// after it.
func notifyManager(ctx context.Context, log *slog.Logger) (stop func()) {
	report := func(state string) {
		if err := notify(os.LookupEnv, state); err != nil {
			log.Warn("the service manager cannot be reached", "error", err)
		}
	}
	report(notifyReady)
	reported := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(reported)
		report(notifyStopping)
	})
	return func() {
		if !forget() {
			<-reported
		}
	}
}

// startServer returns a server that has read its data. When ctx ends meanwhile that
// may take as long as a shutdown, and then both are nil: a read from a disk that
// does not answer cannot be ended, and the process goes without it.
func startServer(ctx context.Context, c server.Config, start func(context.Context, server.Config) (*server.Server, error)) (s *server.Server, err error) {
	started := make(chan struct{})
	var made *server.Server
	var failed error
	go func() {
		made, failed = start(ctx, c)
		close(started)
	}()
	select {
	case <-started:
		return made, failed
	case <-ctx.Done():
	}
	select {
	case <-started:
		return made, failed
	case <-time.After(c.ShutdownTimeout):
		return nil, nil
	}
}

// serveError adds what to do about a folder or an address that cannot be used.
func serveError(dir string, err error) error {
	said := about("", err)
	wrapped := fmt.Errorf("serve: %w", worded{said, strings.TrimPrefix(said.Error(), "server: ")})
	if p, ok := errors.AsType[*server.PortError](err); ok {
		return hinted{wrapped, p.Hint}
	}
	switch {
	case errors.Is(err, server.ErrLocked):
		return hinted{fmt.Errorf("serve: %w", folderInUse(dir, err)), "another server uses " + dir + ": stop it, or choose another folder with --dir"}
	case errors.Is(err, server.ErrRemoved):
		return hinted{fmt.Errorf("serve: %w", worded{err, "this node was removed from its cluster"}), "an empty folder (--dir) makes it a new node; " + dir + " cannot be used again"}
	case errors.Is(err, bloomery.ErrVersion):
		return hinted{wrapped, "start the release that wrote " + dir + ", or a later one"}
	case errors.Is(err, bloomery.ErrCorrupt):
		return hinted{wrapped, "see what is wrong with: bloomery doctor " + dir}
	}
	return wrapped
}

// setLevel sets a level of the log by its word.
func setLevel(level *slog.LevelVar, word string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(word)); err != nil {
		return fmt.Errorf("log level %q: want debug, info, warn or error", word)
	}
	level.Set(l)
	return nil
}

func newLog(w io.Writer, level slog.Leveler, format string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, fmt.Errorf("log format %q: want text or json", format)
	}
}
