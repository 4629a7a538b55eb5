// The command follow: a copy of a filter that is published elsewhere.

package main

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/follow"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/server"
)

// followOptions are the flags of follow.
type followOptions struct {
	keyFlags
	output    string
	filter    string
	verifyKey string
	caCert    string
	once      bool
	older     bool
	name      string
	every     time.Duration
	maxMemory number[int64]
	server    bool // SOURCE is one
}

func newFollow() *cobra.Command {
	o := &followOptions{maxMemory: sizeFlag("")}
	cmd := &cobra.Command{
		Use:   "follow [--once] -o FILE SOURCE [KEY]",
		Short: "Keep a copy of a filter that is published, or that a server has",
		Long: `follow keeps FILE a copy of a filter that is published at SOURCE: the address of
the folder on a web server, https://… or http://…, or a folder of this machine.
Or SOURCE is a server, redis://HOST:PORT, or rediss:// with TLS (--cacert), of
which KEY is a filter: then changes come as soon as they are made. Several hosts
have commas between them. The password is in BLOOMERY_PASSWORD, the name of the
user in BLOOMERY_USER. A BF or CF is copied as DUMP answers it, for RESTORE and
package foreign/redisbloom; other commands do not read that.

It downloads what has changed, verifies its SHA-256, and puts the new version in
the old one's place at once: FILE is always a whole filter.

It goes on until Ctrl-C or SIGTERM, and asks once per --every. With --once it
asks once and ends, for cron. The exit code is then 0 if FILE is up to date. It
is 4 if what is published is damaged, not signed by --verify-key, or older than
FILE, or if FILE is not a copy of this filter; and 2 if the source cannot be
reached, has no such filter, or one that changes faster than it can be copied:
FILE stays as it was. Once FILE is there, follow without --once starts without
its source.

FILE.follow, beside FILE, records its version.`,
		Example: `  bloomery follow --once -o blocked.bf https://example.org/filters
  bloomery follow --verify-key verify.pem -o b.bf https://example.org/filters
  bloomery follow --every 10s --json -o blocked.bf /srv/www/filters
  bloomery follow -o seen.bf redis://127.0.0.1:6379 seen`,
		Args: between(1, 2, "the address of a folder, or of a server and a key"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args) })
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "`FILE` of the copy")
	f.StringVar(&o.filter, "filter", "", "`NAME` of the filter, if the folder has several")
	f.BoolVar(&o.once, "once", false, "ask once and end")
	durationVar(f, &o.every, "every", time.Minute, "how often to ask")
	f.StringVar(&o.verifyKey, "verify-key", "", "`FILE` of the public key that versions must be signed with: Ed25519, PEM")
	f.StringVar(&o.caCert, "cacert", "", "`FILE` of the authorities that sign the certificate of a server, PEM; default those of the system")
	f.StringVar(&o.name, "name", "", "`NAME` by which the server shows this follower, with the age of its copy")
	f.Var(&o.maxMemory, "max-memory", "most memory for the filter (default a quarter of the memory); a change takes up to three times as much")
	f.BoolVar(&o.older, "older", false, "take a version that is older than the copy, too")
	o.bind(f)
	return cmd
}

// followedJSON is what follow writes with --json: a line for every new version, and with
// --once one line.
type followedJSON struct {
	File    string    `json:"file"`
	Version uint64    `json:"version"`
	Made    time.Time `json:"made"`
	Sum     string    `json:"sum"`
	Bytes   uint64    `json:"bytes"`
	Changed bool      `json:"changed"`
}

func (o *followOptions) run(ctx context.Context, s *shell, args []string) error {
	switch {
	case o.output == "" || o.output == "-":
		return errors.New("-o FILE is needed: where the copy is kept")
	case o.every <= 0:
		return errors.New("--every: want a time above 0")
	}
	key, err := verifyKey(o.verifyKey)
	if err != nil {
		return err
	}
	h, err := o.hasher()
	if err != nil {
		return err
	}
	unlock, err := s.lockFile(ctx, o.output)
	if err != nil {
		return err
	}
	defer unlock()
	limits := codec.Limits{Bytes: memory.Limit() / 4}
	if o.maxMemory.value > 0 {
		limits.Bytes = uint64(o.maxMemory.value)
	}
	c := follow.Config{Address: args[0], Filter: o.filter, File: o.output, Every: -1, Key: key, Older: o.older, Hasher: h, Limits: limits, Name: o.name}
	changed := false
	c.Changed = func(follow.Version) { changed = true }
	if o.server = strings.HasPrefix(args[0], "redis://") || strings.HasPrefix(args[0], "rediss://"); o.server {
		if err := o.fromServer(s, &c, args[1:]); err != nil {
			return err
		}
		if !o.once {
			return o.hint(o.listen(ctx, s, c))
		}
	} else if len(args) > 1 || o.caCert != "" || o.name != "" {
		return errors.New("KEY, --cacert and --name are for a server, redis://HOST:PORT: the filter of a folder is --filter NAME")
	}
	f, err := follow.Open(ctx, c)
	if err != nil {
		return o.hint(err)
	}
	err = f.Err()
	switch {
	case o.once && err != nil:
	case o.once:
		err = o.report(s, f, changed)
	default:
		err = o.watch(ctx, s, f)
	}
	return o.hint(errors.Join(err, f.Close()))
}

// fromServer completes the configuration for a server.
func (o *followOptions) fromServer(s *shell, c *follow.Config, key []string) error {
	if len(key) == 0 || o.filter != "" {
		return errors.New("give the KEY of the filter behind the address of the server")
	}
	c.Filter = key[0]
	scheme, hosts, _ := strings.Cut(c.Address, "://")
	auth := connectFlags{caCert: o.caCert}
	if words := auth.auth(s.lookup); words != nil && !strings.Contains(hosts, "@") {
		who := url.UserPassword("", words[len(words)-1])
		if len(words) == 3 {
			who = url.UserPassword(words[1], words[2])
		}
		c.Address = scheme + "://" + who.String() + "@" + hosts
	}
	if o.caCert == "" {
		return nil
	}
	var err error
	c.TLS, err = auth.tlsConfig(server.Endpoint{TLS: true})
	return err
}

// listen follows a server until it is interrupted. It looks now and then whether it can.
func (o *followOptions) listen(ctx context.Context, s *shell, c follow.Config) error {
	const look = time.Second
	changes := make(chan struct{}, 1)
	c.Every = min(o.every, look*10)
	c.Changed = func(follow.Version) {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
	f, err := follow.Open(ctx, c)
	if err != nil {
		return err
	}
	said := ""
	for ctx.Err() == nil {
		if err := f.Err(); err != nil && err.Error() != said {
			said = err.Error()
			s.warn("%s: %v; version %d stays", o.output, unpackaged(err), f.Version().Number)
		} else if err == nil {
			said = ""
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		case <-changes:
			if err := o.report(s, f, true); err != nil {
				return errors.Join(err, f.Close())
			}
		}
	}
	return f.Close()
}

// watch follows until it is interrupted.
func (o *followOptions) watch(ctx context.Context, s *shell, f *follow.Filter) error {
	err := f.Err()
	if err == nil {
		if err := o.report(s, f, true); err != nil {
			return err
		}
	}
	said := ""
	for {
		if err != nil && err.Error() != said { // once for each reason
			said = err.Error()
			s.warn("%s: %v; version %d stays", o.output, unpackaged(err), f.Version().Number)
		}
		if err == nil {
			said = ""
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.every):
		}
		var changed bool
		if changed, err = f.Update(ctx); ctx.Err() != nil {
			return nil
		}
		if changed {
			if err := o.report(s, f, true); err != nil {
				return err
			}
		}
	}
}

// report says which version the copy is.
func (o *followOptions) report(s *shell, f *follow.Filter, changed bool) error {
	v, n := f.Version(), f.Stats().Bytes
	if s.asJSON {
		return s.print(followedJSON{o.output, v.Number, v.Made, v.Sum, n, changed})
	}
	if changed {
		s.say("%s: version %d, published %s, %s", o.output, v.Number, v.Made.Format(time.DateTime+" MST"), bytesText(n))
	} else {
		s.say("%s: version %d, published %s, is up to date", o.output, v.Number, v.Made.Format(time.DateTime+" MST"))
	}
	return nil
}

// hint adds what helps against an error.
func (o *followOptions) hint(err error) error {
	switch err := unpackaged(err); {
	case errors.Is(err, follow.ErrOlder):
		return hinted{err, "if the older one is wanted, add --older"}
	case errors.Is(err, follow.ErrName) && o.server:
		return hinted{err, "FILTER.LIST lists the filters of a server"}
	case errors.Is(err, follow.ErrName):
		return hinted{err, "choose one with --filter NAME"}
	case errors.Is(err, follow.ErrOther):
		return hinted{err, "remove it, or choose another file"}
	case errors.Is(err, bloomery.ErrTooLarge):
		return hinted{err, "if you trust the source, give more with --max-memory"}
	default:
		return err
	}
}
