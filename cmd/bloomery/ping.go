// The command ping: whether a server answers.

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server"
)

// pingOptions are the flags of ping.
type pingOptions struct {
	connectFlags
	timeout time.Duration
	file    string
	users   bool // the server has users of its own, whose passwords are not in its settings
}

func newPing() *cobra.Command {
	o := &pingOptions{}
	cmd := &cobra.Command{
		Use:   "ping [--addr HOST:PORT] [--timeout D]",
		Short: "Ask whether a server answers: exit code 0 if it does",
		Long: `ping connects to a server, sends PING and waits for the answer. The exit code
is 0 if it came in time and 2 if it did not, so that it serves as a health
check. It is 1 if the server asks for a password that was not given; but 0 if
the settings that ping reads name a file of users (acl-file): their passwords
are in no setting.

Without --addr it asks the server of this machine, by the settings that bloomery
serve would have: those of the environment (BLOOMERY_ADDR, BLOOMERY_PASSWORD,
BLOOMERY_TLS_CERT and so on) and of the file --config or BLOOMERY_CONFIG. Of
several addresses it takes a unix socket first, then one without TLS. The
certificate of this machine's own server is not verified; ping presents the same
one if the server asks clients for one. A server that is starting takes no
clients: ping asks it over HTTP, prints why it is not ready yet, and has exit
code 2.

With --addr the certificate is verified: --cacert, --cert and --key are the
files.`,
		Example: `  bloomery ping
  bloomery ping --addr db.example.com:6379 --tls --cacert ca.crt --timeout 2s
  bloomery ping --addr unix:/run/bloomery.sock`,
		Args: noArguments,
	}
	newShell(cmd, func(ctx context.Context, s *shell, _ []string) error { return o.run(ctx, s) })
	f := cmd.Flags()
	o.bind(f, "", "`ADDRESS` of the server: HOST:PORT, tls:HOST:PORT or unix:PATH; default by the settings of serve")
	durationVar(f, &o.timeout, "timeout", 5*time.Second, "how long the answer may take in all")
	f.StringVar(&o.file, "config", "", "TOML `FILE` with the settings of serve, where --addr is not given")
	return cmd
}

// pingJSON is what ping prints with --json.
type pingJSON struct {
	Address string  `json:"address"`
	Answer  string  `json:"answer"`
	Seconds float64 `json:"seconds"`
}

func (o *pingOptions) run(ctx context.Context, s *shell) error {
	if o.timeout <= 0 {
		return fmt.Errorf("--timeout %v is not more than 0", o.timeout)
	}
	connect := o.dial
	if o.addr == "" {
		own, err := o.own(s.lookup)
		if err != nil {
			return err
		}
		o.addr, connect = own.e.Address, own.dial
	}
	limit, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	began := time.Now()
	answer, err := o.ping(limit, connect, o.auth(s.lookup))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && overdue(limit):
		return fmt.Errorf("%s: no answer within %v", o.addr, o.timeout)
	case err != nil:
		return err
	}
	took := time.Since(began)
	denied := strings.HasPrefix(answer, "NOAUTH ") && !o.users
	switch {
	case s.asJSON:
		err = s.print(pingJSON{o.addr, answer, took.Seconds()})
	case !s.quiet:
		hint := ""
		if denied {
			hint = ": it wants a password, by --password or BLOOMERY_PASSWORD"
		}
		_, err = fmt.Fprintf(s.out, "%s: %s in %.1f ms%s\n", o.addr, answer, float64(took)/float64(time.Millisecond), hint)
	}
	if err == nil && denied {
		err = errNo
	}
	return err
}

// ping returns the answer of a server.
func (o *pingOptions) ping(ctx context.Context, connect func(context.Context) (net.Conn, error), auth []string) (string, error) {
	nc, err := connect(ctx)
	if err != nil {
		return "", err
	}
	defer nc.Close() //nolint:errcheck // the answer is there, or an error
	// A read that waits ends when its connection does.
	defer context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })()
	r := bufio.NewReader(nc)
	var reply resp.Reply
	for _, command := range [][]string{auth, {"PING"}} {
		if command == nil {
			continue
		}
		if err := ask(nc, r, &reply, command...); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the server closed the connection")
			}
			return "", about(o.addr, networkCause(err))
		}
		text := string(reply.Text)
		// A server that refuses the user answers all the same.
		answers := strings.HasPrefix(text, "NOPERM ") || len(auth) == 0 && strings.HasPrefix(text, "NOAUTH ")
		if reply.Type == '-' && !answers {
			return "", fmt.Errorf("%s: %s: the server replied: %s", o.addr, command[0], text)
		}
	}
	return string(reply.Text), nil
}

// ownServer is the server of this machine: where to connect to, and how.
type ownServer struct {
	e      server.Endpoint
	config *tls.Config
	http   []server.Endpoint
	secure *tls.Config // for those of http that have TLS
}

func (s ownServer) dial(ctx context.Context) (net.Conn, error) {
	nc, err := dialEndpoint(ctx, s.e, s.config)
	if err != nil {
		if why := s.starts(ctx); why != "" {
			err = about(s.e.Address, errors.New("not yet: "+why))
		}
	}
	return nc, err
}

// starts returns why a server that is starting takes no clients, as it says over HTTP; "" if there is none.
func (s ownServer) starts(ctx context.Context) string {
	for _, e := range s.http {
		config := s.secure
		if !e.TLS {
			config = nil
		}
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialEndpoint(ctx, e, config) }}
		defer transport.CloseIdleConnections()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz", http.NoBody)
		if err != nil {
			return ""
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			continue
		}
		var v struct {
			Error struct{ Code, Message string }
		}
		err = json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&v)
		_ = response.Body.Close()
		if err == nil && v.Error.Code == "starting" {
			return v.Error.Message
		}
	}
	return ""
}

// own finds the server of this machine by the settings that serve would have.
func (o *pingOptions) own(lookup func(string) (string, bool)) (ownServer, error) {
	var c server.Config
	var so serveOptions
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	serveFlags(flags, &c, &so)
	file := o.file
	if name, ok := lookup(envName("config")); ok && file == "" {
		file = name
	}
	if err := loadSettings(flags, file, lookup, notSettings...); err != nil {
		return ownServer{}, err
	}
	if o.password == "" {
		o.password = c.Password
	}
	o.users = c.ACLFile != ""
	all, err := ownAddresses(c.Addr, c.TLSCert != "" || o.wantsTLS())
	if err != nil {
		return ownServer{}, err
	}
	if len(all) == 0 {
		return ownServer{}, errors.New("the settings have no address")
	}
	// Where there is a choice, the one that needs least.
	effort := func(e server.Endpoint) int {
		switch {
		case e.Network == "unix":
			return 0
		case !e.TLS:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b server.Endpoint) int { return effort(a) - effort(b) })
	own := ownServer{e: all[0]}
	if own.http, err = ownAddresses(c.HTTP, c.TLSCert != ""); err != nil {
		return ownServer{}, err
	}
	// Its certificate is for the name that others know it by.
	own.secure = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // it is this machine
	if pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err == nil && c.TLSAuthClients != tls.NoClientCert {
		own.secure.Certificates = []tls.Certificate{pair}
	}
	switch {
	case !own.e.TLS:
	case o.wantsTLS():
		own.config, err = o.tlsConfig(own.e)
	default:
		own.config = own.secure
	}
	return own, err
}

// ownAddresses reads addresses of a server of this machine.
func ownAddresses(addrs []string, certificate bool) (all []server.Endpoint, err error) {
	for _, addr := range addrs {
		e, err := server.ParseAddr(addr, certificate)
		if err != nil {
			return nil, worded{err, strings.TrimPrefix(err.Error(), "server: ")}
		}
		e.Address = thisMachine(e)
		all = append(all, e)
	}
	return all, nil
}

// thisMachine returns an address of this machine at which a server answers that
// listens on all of them.
func thisMachine(e server.Endpoint) string {
	host, port, err := net.SplitHostPort(e.Address)
	if e.Network != "tcp" || err != nil {
		return e.Address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
