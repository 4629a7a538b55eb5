// The flags and the connection of commands that talk to a server.

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server"
)

// dialTimeout is how long a server may take to answer at all.
const dialTimeout = 10 * time.Second

// connectFlags say which server to connect to, how, and as whom. The names are those
// of redis-cli.
type connectFlags struct {
	addr     string
	user     string
	password string

	tls      bool
	caCert   string
	cert     string
	key      string
	sni      string
	insecure bool
}

// bind makes the flags. addr is the default address.
func (c *connectFlags) bind(f *pflag.FlagSet, addr, help string) {
	f.StringVar(&c.addr, "addr", addr, help)
	f.StringVar(&c.user, "user", "", "`NAME` to give with the password; also BLOOMERY_USER")
	f.StringVar(&c.password, "password", "", "password of the server; better in BLOOMERY_PASSWORD")
	f.BoolVar(&c.tls, "tls", false, "connect with TLS; tls:HOST:PORT does so too")
	f.StringVar(&c.caCert, "cacert", "", "`FILE` of the authorities that sign the server's certificate, PEM; default those of the system")
	f.StringVar(&c.cert, "cert", "", "`FILE` of a certificate to show to the server, PEM")
	f.StringVar(&c.key, "key", "", "`FILE` of its private key, PEM")
	f.StringVar(&c.sni, "sni", "", "`HOST` that the server's certificate is for; default that of the address")
	f.BoolVar(&c.insecure, "insecure", false, "do not verify the server's certificate")
}

// wantsTLS reports whether a flag asks for TLS.
func (c *connectFlags) wantsTLS() bool {
	return c.tls || c.caCert != "" || c.cert != "" || c.key != "" || c.sni != "" || c.insecure
}

// dial connects to the server of the flags. The error names the address.
func (c *connectFlags) dial(ctx context.Context) (net.Conn, error) {
	e, err := server.ParseAddr(c.addr, c.wantsTLS())
	if err != nil {
		return nil, worded{err, strings.TrimPrefix(err.Error(), "server: ")}
	}
	if !e.TLS && c.wantsTLS() {
		return nil, fmt.Errorf("addr %q has no TLS: leave out --tls and its flags", c.addr)
	}
	config, err := c.tlsConfig(e)
	if err != nil {
		return nil, err
	}
	return dialEndpoint(ctx, e, config)
}

// tlsConfig makes the client's side of TLS.
func (c *connectFlags) tlsConfig(e server.Endpoint) (*tls.Config, error) {
	if !e.TLS {
		return nil, nil
	}
	host, _, _ := net.SplitHostPort(e.Address)
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, InsecureSkipVerify: c.insecure} //nolint:gosec // only by --insecure
	if c.sni != "" {
		config.ServerName = c.sni
	}
	if c.caCert != "" {
		data, err := os.ReadFile(c.caCert)
		if err != nil {
			return nil, fmt.Errorf("--cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("--cacert: %s: there is no certificate in PEM form", c.caCert)
		}
	}
	switch {
	case c.cert == "" && c.key == "":
	case c.cert == "" || c.key == "":
		return nil, errors.New("--cert and --key go together")
	default:
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, fmt.Errorf("--cert %s, --key %s: %w", c.cert, c.key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// dialEndpoint connects to an address, with TLS if there is a configuration for it.
func dialEndpoint(ctx context.Context, e server.Endpoint, config *tls.Config) (net.Conn, error) {
	nc, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, e.Network, e.Address)
	if err != nil {
		return nil, hinted{about(e.Address, networkCause(err)), "is the server running? bloomery serve starts one"}
	}
	if config == nil {
		return nc, nil
	}
	secure := tls.Client(nc, config)
	limit, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := secure.HandshakeContext(limit); err != nil {
		_ = nc.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, hinted{about(e.Address, networkCause(err)), tlsHint(err)}
	}
	return secure, nil
}

// tlsHint is what to do about a handshake that failed.
func tlsHint(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "does this address of the server have TLS?"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "--cacert names the authorities that sign its certificate, --sni the host that it is for"
	}
	return "--cacert, --cert and --key are the files that TLS needs"
}

// auth is the command that gives user and password, nil if there is no password. What
// flags do not have comes from the environment.
func (c *connectFlags) auth(lookup func(string) (string, bool)) []string {
	password, user := c.password, c.user
	if password == "" {
		password, _ = lookup(envPrefix + "PASSWORD")
	}
	if user == "" {
		user, _ = lookup(envPrefix + "USER")
	}
	switch {
	case password == "":
		return nil
	case user != "":
		return []string{"AUTH", user, password}
	}
	return []string{"AUTH", password}
}

// ask sends a command and reads its reply.
func ask(nc net.Conn, r *bufio.Reader, reply *resp.Reply, command ...string) error {
	if _, err := nc.Write(resp.AppendCommand(nil, command...)); err != nil {
		return err
	}
	return reply.Read(r)
}

// overdue reports whether the time of a context is over. A connection may end for it before
// the context says so.
func overdue(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && !time.Now().Before(end)
}

// networkCause takes operation and addresses out of an error of the network.
func networkCause(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok && !errors.Is(err, errServer) {
		err = e.Err
	}
	if e, ok := errors.AsType[*os.SyscallError](err); ok && !errors.Is(err, errServer) {
		return e.Err
	}
	return err
}
