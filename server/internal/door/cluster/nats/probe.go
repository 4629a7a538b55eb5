package nats

// Why the log nodes do not let this one in.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Embedded servers connect to each other again and again, and report what goes wrong
// to the log of one side only: a node whose certificate is refused hears nothing. So a
// node that waits for others tries for itself what they say to it.

// probeIn bounds an attempt to reach a log node.
const probeIn = 5 * time.Second

// errRefused marks that a log node answers, and does not let this one in: waiting does
// not mend that.
var errRefused = errors.New("cluster: this node is not let in")

// probe tries to reach all other log nodes. It returns an error that wraps errRefused
// if most of the log nodes refuse this one, and otherwise only logs who does.
func (l *Log) probe(ctx context.Context) error {
	if l.config.URL != "" {
		return nil
	}
	errs, err := l.config.reach(ctx)
	if err != nil {
		return err
	}
	refusals := slices.DeleteFunc(errs, func(err error) bool { return !errors.Is(err, errRefused) })
	if 2*len(refusals) > len(l.config.Join) {
		return refusals[0]
	}
	for _, err := range refusals {
		l.config.Log.Warn("cluster: a log node refuses this one", "error", err)
	}
	return nil
}

// Reach tries to reach the log nodes of a cluster as a node of it would. It returns what
// came of each attempt, nil if the node would be let in. It starts nothing.
func Reach(ctx context.Context, c Config) ([]error, error) {
	if err := c.checkSecret(); err != nil {
		return nil, err
	}
	if err := c.checkCertificate(time.Now()); err != nil {
		return nil, err
	}
	return c.reach(ctx)
}

// reach tries to reach all log nodes but this one.
func (c *Config) reach(ctx context.Context) ([]error, error) {
	security, err := c.Security()
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(c.Join))
	var wg sync.WaitGroup
	for i, addr := range c.Join {
		if addr != c.Addr {
			wg.Go(func() { errs[i] = c.tryRoute(ctx, addr, security) })
		}
	}
	wg.Wait()
	return errs, nil
}

// tryRoute connects to a log node as its servers do, up to the point at which it says
// whether this node is let in.
func (c *Config) tryRoute(ctx context.Context, addr string, security *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, probeIn)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	defer context.AfterFunc(ctx, func() { _ = nc.Close() })()
	own := security.Clone()
	if own == nil {
		if err := c.greet(nc, addr, time.Now().Add(probeIn/5)); err == nil || errors.Is(err, errRefused) {
			return err
		}
		if err := nc.SetDeadline(time.Time{}); err != nil {
			return fmt.Errorf("%s: %w", addr, err)
		}
		own = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // does it talk TLS at all? nothing is sent to it
	}
	if own.ServerName == "" {
		own.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secured := tls.Client(nc, own)
	err = secured.HandshakeContext(ctx)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case plain && security != nil:
		return fmt.Errorf("%w: %s has no secret, and this node has one (cluster-secret-file)", errRefused, addr)
	case err == nil && security == nil:
		return fmt.Errorf("%w: %s wants TLS and the secret of the cluster, and this node has no secret (cluster-secret-file)", errRefused, addr)
	case err != nil:
		return c.tlsCause(addr, err)
	}
	return c.greet(secured, addr, time.Now().Add(probeIn))
}

// greet says who this node is and returns what the log node thinks of that.
func (c *Config) greet(nc net.Conn, addr string, until time.Time) error {
	if err := nc.SetDeadline(until); err != nil {
		return fmt.Errorf("%s: %w", addr, err)
	}
	lines := bufio.NewReader(nc)
	if line, err := lines.ReadSlice('\n'); err != nil {
		return c.tlsCause(addr, err)
	} else if !bytes.HasPrefix(line, []byte("INFO ")) {
		return fmt.Errorf("%w: what listens at %s is no node of a cluster", errRefused, addr)
	}
	hello, err := json.Marshal(map[string]any{
		"user": routeUser, "pass": c.Secret, "tls_required": c.Secret != "", "name": "probe", "cluster": c.Cluster,
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(nc, "CONNECT %s\r\nPING\r\n", hello); err != nil {
		return fmt.Errorf("%s: %w", addr, err)
	}
	for {
		line, err := lines.ReadSlice('\n')
		switch text := string(bytes.TrimSpace(line)); {
		case err != nil:
			return c.tlsCause(addr, err)
		case text == "PONG":
			return nil
		case strings.Contains(text, "Authorization Violation"):
			return fmt.Errorf("%w: %s has another secret than this node (cluster-secret-file)", errRefused, addr)
		case strings.HasPrefix(text, "-ERR"):
			return fmt.Errorf("%w: %s: %s", errRefused, addr, strings.Trim(text[4:], " '"))
		}
	}
}

// tlsCause says what is wrong with TLS. Other errors are those of a network.
func (c *Config) tlsCause(addr string, err error) error {
	which := "the certificate that is derived from its secret is another one: the secrets differ, or one side has certificates (cluster-tls-cert) and the other none"
	if c.TLS != nil {
		which = "see cluster-tls-cert and cluster-tls-ca"
	}
	if _, ours := errors.AsType[*tls.CertificateVerificationError](err); ours {
		return fmt.Errorf("%w: the certificate of %s is not accepted here: %w (%s)", errRefused, addr, err, which)
	}
	// The alert of the other side is an error of the kind "remote error: tls: …".
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return fmt.Errorf("%w: %s does not accept the certificate of this node: %w (%s)", errRefused, addr, op.Err, which)
	}
	return fmt.Errorf("%s: %w", addr, err)
}

// checkCertificate reports what is wrong with the certificate of this node: others
// would refuse it, and say so in their own logs.
func (c *Config) checkCertificate(now time.Time) error {
	if c.TLS == nil || len(c.TLS.Certificates) == 0 {
		return nil
	}
	var chain []*x509.Certificate
	for _, der := range c.TLS.Certificates[0].Certificate {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("cluster: cluster-tls-cert: %w", err)
		}
		chain = append(chain, cert)
	}
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		_, err := chain[0].Verify(x509.VerifyOptions{Roots: c.TLS.RootCAs, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
		if wrong, ok := errors.AsType[x509.CertificateInvalidError](err); ok && wrong.Reason == x509.IncompatibleUsage {
			return errors.New("cluster: cluster-tls-cert: nodes connect to each other in both directions: the certificate needs the extended key usages serverAuth and clientAuth")
		}
		if err != nil {
			return fmt.Errorf("cluster: cluster-tls-cert is not accepted by cluster-tls-ca: %w", err)
		}
	}
	host, _, _ := net.SplitHostPort(c.Addr)
	if err := chain[0].VerifyHostname(host); err != nil {
		return fmt.Errorf("cluster: cluster-tls-cert: the others reach this node at %s: %w", c.Addr, err)
	}
	return nil
}
