package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
)

// serveOptions are the flags of serve that are not fields of server.Config.
type serveOptions struct {
	file        string
	printConfig bool
	logLevel    string
	logFormat   string
	maxMemory   bytesValue
	maxQuery    bytesValue
}

// Flags of serve that are no settings, and those that are secret.
var (
	notSettings = []string{"config", "print-config", "help"}
	secrets     = []string{"password"}
)

func newServe() *cobra.Command {
	var c server.Config
	o := serveOptions{
		maxMemory: bytesValue{server.DefaultMaxMemory(), server.ParseBytes},
		maxQuery:  bytesValue{512 << 20, server.ParseBytes},
	}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve filters on the Redis protocol: BF.* and CF.* as RedisBloom",
		Long: `serve answers Redis clients: BF.* and CF.* as RedisBloom does, to the byte.

Every setting is a flag, an environment variable (--max-memory is BLOOMERY_MAX_MEMORY)
or a line of a TOML file (max-memory = "2GiB"), in this order; --print-config shows
the result in the form of such a file.

Data is kept in the folder --dir: a log of all writes, and snapshots that are taken
when the log outgrows the data, or on SAVE and BGSAVE. --dir "" keeps it in memory
only. --fsync says what a power cut can cost: nothing that was answered (always), at
most one second (everysec), or what the system had not written (no).`,
		Example: `  bloomery serve
  bloomery serve --addr 127.0.0.1:6380 --max-memory 2GiB
  bloomery serve --dir /var/lib/bloomery --fsync always
  BLOOMERY_PASSWORD=secret bloomery serve --addr 0.0.0.0:6379`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), cmd.Flags(), &c, &o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	serveFlags(cmd.Flags(), &c, &o)
	return cmd
}

func serveFlags(f *pflag.FlagSet, c *server.Config, o *serveOptions) {
	f.SortFlags = false
	f.StringVar(&c.Addr, "addr", "127.0.0.1:6379", "where clients connect")
	f.StringVar(&c.Password, "password", "", "what clients must give with AUTH; better in BLOOMERY_PASSWORD or the file")
	f.BoolVar(&c.ProtectedMode, "protected-mode", true, "without a password, refuse clients of other machines")
	f.StringVar(&c.Dir, "dir", "bloomery-data", "folder for data, made if it is not there; \"\" keeps data in memory only")
	f.StringVar(&c.Fsync, "fsync", "everysec", "when writes are on disk: always, everysec or no")
	f.Var(&o.maxMemory, "max-memory", "memory for data; commands that need more are refused")
	f.IntVar(&c.MaxClients, "max-clients", 10_000, "connections at once")
	f.Var(&o.maxQuery, "max-query", "size of one command")
	f.DurationVar(&c.IdleTimeout, "idle-timeout", 0, "close clients that send nothing for so long; 0 for never")
	f.DurationVar(&c.WriteTimeout, "write-timeout", time.Minute, "close clients that do not take their replies for so long")
	f.DurationVar(&c.DrainTimeout, "drain-timeout", 10*time.Second, "wait so long for clients at shutdown")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")

	d := server.RedisBloomDefaults()
	c.Defaults = d
	f.Float64Var(&c.Defaults.BloomError, "bf-error-rate", d.BloomError, "error rate of a BF made without saying")
	f.Int64Var(&c.Defaults.BloomCapacity, "bf-initial-size", d.BloomCapacity, "capacity of a BF made without saying")
	f.Int64Var(&c.Defaults.BloomExpansion, "bf-expansion-factor", d.BloomExpansion, "growth of a BF made without saying; 0 for none")
	f.Int64Var(&c.Defaults.CuckooBucket, "cf-bucket-size", d.CuckooBucket, "bucket size of a CF made without saying")
	f.Int64Var(&c.Defaults.CuckooCapacity, "cf-initial-size", d.CuckooCapacity, "capacity of a CF made without saying")
	f.Int64Var(&c.Defaults.CuckooKicks, "cf-max-iterations", d.CuckooKicks, "kicks before a CF grows")
	f.Int64Var(&c.Defaults.CuckooExpansion, "cf-expansion-factor", d.CuckooExpansion, "growth of a CF made without saying; 0 for none")
	f.Int64Var(&c.Defaults.CuckooMost, "cf-max-expansions", d.CuckooMost, "sub-filters from which on a CF takes no more items")

	f.StringVar(&o.file, "config", "", "TOML file with settings")
	f.BoolVar(&o.printConfig, "print-config", false, "print the settings in force and exit")
}

func runServe(ctx context.Context, flags *pflag.FlagSet, c *server.Config, o *serveOptions, out, errOut io.Writer) error {
	if file, ok := os.LookupEnv(envName("config")); ok && o.file == "" {
		o.file = file
	}
	if err := loadSettings(flags, o.file, os.LookupEnv, notSettings...); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if err := notNegative(flags); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	log, err := newLog(errOut, o.logLevel, o.logFormat)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	c.MaxMemory, c.MaxQuery = o.maxMemory.n, int(o.maxQuery.n)
	c.Log, c.Version, c.File = log, thisBuild().Version, o.file
	if o.printConfig {
		if err := c.Check(); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		return printSettings(out, flags, secrets, notSettings...)
	}
	s, err := server.New(*c)
	if err != nil {
		return serveError(c.Dir, err)
	}
	l, err := s.Listen(ctx)
	if err != nil {
		_ = s.Close() // nothing was changed
		if p, ok := errors.AsType[*server.PortError](err); ok {
			return hinted{fmt.Errorf("serve: %w", err), p.Hint}
		}
		return fmt.Errorf("serve: %w", err)
	}
	if err := s.Serve(ctx, l); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// notNegative names the first setting that is below 0, which none may be.
func notNegative(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		text := f.Value.String()
		if err == nil && f.Value.Type() != "string" && strings.HasPrefix(text, "-") {
			err = fmt.Errorf("--%s %s is negative", f.Name, text)
		}
	})
	return err
}

// serveError adds what to do about a folder that cannot be used.
func serveError(dir string, err error) error {
	wrapped := fmt.Errorf("serve: %w", err)
	switch {
	case errors.Is(err, server.ErrLocked):
		return hinted{wrapped, "another server uses " + dir + ": stop it, or choose another folder with --dir"}
	case errors.Is(err, bloomery.ErrCorrupt), errors.Is(err, bloomery.ErrVersion):
		return hinted{wrapped, "see what is wrong with: bloomery doctor " + dir}
	}
	return wrapped
}

func newLog(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q: want debug, info, warn or error", level)
	}
	options := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, fmt.Errorf("log format %q: want text or json", format)
	}
}
