package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
)

// serial returns the serial number of the certificate that a new client is shown.
func serial(t *testing.T, addr string, a *authority) *big.Int {
	t.Helper()
	c := dialTLS(t, addr, a.trusted())
	c.expect("+PONG\r\n", "PING")
	n := c.tlsConn().ConnectionState().PeerCertificates[0].SerialNumber
	_ = c.nc.Close()
	return n
}

// badFiles are files that cannot be a certificate or a key: what they are made of, and
// what the error says besides the name of the file.
func badFiles(t *testing.T, a *authority) map[string]struct {
	cert, key func(file string)
	want      string
} {
	t.Helper()
	dir := t.TempDir()
	other, late := a.issue(t, dir, "other", time.Hour), a.issue(t, dir, "late", -time.Minute)
	put := func(data []byte) func(string) { return func(file string) { writeFile(t, file, data) } }
	broken := []byte(strings.Replace(string(other.cert), "\nMII", "\nMIJ", 1))
	type bad = struct {
		cert, key func(file string)
		want      string
	}
	all := map[string]bad{
		"no file":         {cert: func(f string) { _ = os.Remove(f) }, want: "no such file"},
		"no key file":     {key: func(f string) { _ = os.Remove(f) }, want: "no such file"},
		"empty":           {cert: put(nil), want: "no certificate in PEM form"},
		"not PEM":         {cert: put([]byte("hello")), want: "no certificate in PEM form"},
		"broken":          {cert: put(broken), want: "certificate 1: "},
		"key as cert":     {cert: put(other.key), want: "no certificate in PEM form"},
		"cert as key":     {key: put(other.cert), want: "key"},
		"key not PEM":     {key: put([]byte("hello")), want: "failed to find any PEM data in key input"},
		"not a pair":      {key: put(other.key), want: "private key does not match public key"},
		"other way round": {cert: put(other.cert), want: "private key does not match public key"},
		"huge":            {cert: put(make([]byte, 2<<20)), want: "more than a file of certificates can have"},
		"expired":         {cert: put(late.cert), key: put(late.key), want: "the certificate expired at "},
		"a pipe": {key: func(f string) {
			_ = os.Remove(f)
			if err := exec.Command("mkfifo", f).Run(); err != nil {
				t.Skip(err)
			}
		}, want: "not a regular file"},
	}
	if os.Getuid() != 0 {
		all["unreadable"] = bad{key: func(f string) { _ = os.Chmod(f, 0) }, want: "permission denied"}
	}
	return all
}

// TestBadCertificates asks that New refuses files that are not what they should be and
// names them, and that Reload does so too and leaves the old ones in force. An expired
// certificate is not refused at the start.
func TestBadCertificates(t *testing.T) {
	a := newAuthority(t, "authority")
	for name, bad := range badFiles(t, a) {
		dir := t.TempDir()
		i := a.issue(t, dir, "server", time.Hour)
		config := server.Config{Addr: []string{"127.0.0.1:0"}, TLSCert: i.certFile, TLSKey: i.keyFile}
		s := open0(t, config)
		go func() { _ = s.Serve(context.Background()) }()
		before := serial(t, s.Addr().String(), a)
		file := i.certFile
		if bad.cert != nil {
			bad.cert(i.certFile)
		}
		if bad.key != nil {
			bad.key(i.keyFile)
			if bad.cert == nil {
				file = i.keyFile
			}
		}
		if name == "other way round" { // the pair is wrong, and it is the key that is tried
			file = i.keyFile
		}
		check := func(err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), bad.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s: %v, want an error with %q and %s", name, err, bad.want, file)
			}
			if err != nil && strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("%s: the error shows the key: %v", name, err)
			}
		}
		check(s.Reload())
		if after := serial(t, s.Addr().String(), a); after.Cmp(before) != 0 {
			t.Errorf("%s: another certificate is in force", name)
		}
		again, err := server.New(t.Context(), config)
		if err == nil {
			_ = again.Close()
		}
		if name == "expired" {
			if err != nil {
				t.Errorf("a start with an expired certificate: %v", err)
			}
			continue
		}
		check(err)
	}
}

// TestBadTLSSettings asks for settings that do not go together.
func TestBadTLSSettings(t *testing.T) {
	a := newAuthority(t, "authority")
	dir := t.TempDir()
	i := a.issue(t, dir, "server", time.Hour)
	for want, c := range map[string]server.Config{
		"tls-cert needs tls-key":                 {TLSCert: i.certFile},
		"need tls-cert":                          {TLSKey: i.keyFile},
		"need tls-cert, ":                        {TLSCA: i.certFile},
		"need tls-cert, the":                     {TLSAuthClients: tls.RequireAndVerifyClientCert},
		"tls-auth-clients yes needs tls-ca":      {TLSCert: i.certFile, TLSKey: i.keyFile, TLSAuthClients: tls.RequireAndVerifyClientCert},
		"tls-auth-clients optional needs tls-ca": {TLSCert: i.certFile, TLSKey: i.keyFile, TLSAuthClients: tls.VerifyClientCertIfGiven},
		"tls-auth-clients: RequestClientCert":    {TLSCert: i.certFile, TLSKey: i.keyFile, TLSCA: i.certFile, TLSAuthClients: tls.RequestClientCert},
		"tls-ca: " + i.keyFile:                   {TLSCert: i.certFile, TLSKey: i.keyFile, TLSCA: i.keyFile},
		"tls-ca: open ":                          {TLSCert: i.certFile, TLSKey: i.keyFile, TLSCA: filepath.Join(dir, "none")},
	} {
		c.Addr = []string{"127.0.0.1:0"}
		s, err := server.New(t.Context(), c)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// TestReloadUnderLoad renews certificates, again and again and sometimes wrongly, while
// clients work and others come: none is dropped, and new ones see the new certificate.
func TestReloadUnderLoad(t *testing.T) {
	dir := t.TempDir()
	a := newAuthority(t, "authority")
	i := a.issue(t, dir, "server", time.Hour)
	s := open0(t, server.Config{Addr: []string{"127.0.0.1:0"}, TLSCert: i.certFile, TLSKey: i.keyFile})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	addr := s.Addr().String()
	var done atomic.Bool
	var wg sync.WaitGroup
	for id := range 6 {
		wg.Go(func() {
			c := dialTLS(t, addr, a.trusted())
			for n := 0; !done.Load(); n++ {
				_, err := c.nc.Write(request("PING"))
				if err == nil {
					_, err = readRaw(nil, c.r)
				}
				if err != nil {
					t.Errorf("client %d, command %d: %v", id, n, err)
					return
				}
				if id%2 == 0 { // a new connection each time
					_ = c.nc.Close()
					c = dialTLS(t, addr, a.trusted())
				}
			}
		})
	}
	for round := range 20 {
		if round%4 == 3 { // only one of the two files is there
			next := a.issue(t, t.TempDir(), "server", time.Hour)
			writeFile(t, i.certFile, next.cert)
			before := serial(t, addr, a)
			if err := s.Reload(); err == nil {
				t.Error("a certificate without its key was put in force")
			}
			if after := serial(t, addr, a); after.Cmp(before) != 0 {
				t.Error("a certificate without its key is shown")
			}
			writeFile(t, i.keyFile, next.key)
		} else {
			a.issue(t, dir, "server", time.Hour)
		}
		if err := s.Reload(); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		data, err := os.ReadFile(i.certFile)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := tlsLeaf(data)
		if err != nil {
			t.Fatal(err)
		}
		if serial(t, addr, a).Cmp(leaf.SerialNumber) != 0 {
			t.Errorf("round %d: the old certificate is shown", round)
		}
	}
	done.Store(true)
	wg.Wait()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestReloadAuthorities changes whose clients are served: tickets of before do not
// open the door again.
func TestReloadAuthorities(t *testing.T) {
	dir := t.TempDir()
	a, next := newAuthority(t, "authority"), newAuthority(t, "next")
	i := a.issue(t, dir, "server", time.Hour)
	ca := a.file(t, dir, "ca.crt")
	s := open0(t, server.Config{Addr: []string{"127.0.0.1:0"}, TLSCert: i.certFile, TLSKey: i.keyFile, TLSCA: ca, TLSAuthClients: tls.RequireAndVerifyClientCert})
	go func() { _ = s.Serve(context.Background()) }()
	old := a.trusted(a.issue(t, dir, "old", time.Hour))
	old.ClientSessionCache = tls.NewLRUClientSessionCache(10)
	there := dialTLS(t, s.Addr().String(), old)
	there.expect("+PONG\r\n", "PING")
	again := dialTLS(t, s.Addr().String(), old)
	again.expect("+PONG\r\n", "PING")
	if !again.tlsConn().ConnectionState().DidResume {
		t.Error("a client with a ticket had to begin anew")
	}
	writeFile(t, ca, next.pem)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	c := dialTLS(t, s.Addr().String(), old)
	_, _ = c.nc.Write(request("PING"))
	if _, err := readRaw(nil, c.r); err == nil {
		t.Error("a client of the old authority is served")
	}
	fresh := a.trusted(next.issue(t, dir, "fresh", time.Hour))
	dialTLS(t, s.Addr().String(), fresh).expect("+PONG\r\n", "PING")
	there.expect("+PONG\r\n", "PING") // who is there stays
}

// TestReloadKeys adds a secret key while the server runs; what is wrong with the file
// is an error that changes nothing, certificates included.
func TestReloadKeys(t *testing.T) {
	const key, other = "00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	writeFile(t, file, []byte("users = "+key+"\n"))
	a := newAuthority(t, "authority")
	i := a.issue(t, dir, "server", time.Hour)
	s := open0(t, server.Config{Addr: []string{"127.0.0.1:0"}, TLSCert: i.certFile, TLSKey: i.keyFile, KeysFile: file, Dir: filepath.Join(dir, "data")})
	go func() { _ = s.Serve(context.Background()) }()
	c := inside(t, s)
	c.expect("+OK\r\n", "FILTER.CREATE", "f", "bloom", "KEYED", "users")
	c.expect("*1\r\n:1\r\n", "FILTER.ADD", "f", "a")
	if got := c.do("FILTER.CREATE", "g", "bloom", "KEYED", "more"); !strings.HasPrefix(got, "-") {
		t.Errorf("a key that is not there = %q", got)
	}
	before := serial(t, s.Addr().String(), a)
	for text, want := range map[string]string{
		"users = " + other + "\n":                  `the key of "users" is not the one in force`,
		"users = " + key + "\nmore = 12\n":         "line 2",
		"users = " + key + "\nusers = " + key:      "line 2",
		"users = " + key + "\n more " + other + "": "line 2",
	} {
		writeFile(t, file, []byte(text))
		a.issue(t, dir, "server", time.Hour) // is good, and waits
		if err := s.Reload(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), other) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
		if serial(t, s.Addr().String(), a).Cmp(before) != 0 {
			t.Errorf("%q: half of a reload is in force", text)
		}
	}
	writeFile(t, file, []byte("more = "+other+"\n")) // and without the first
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if serial(t, s.Addr().String(), a).Cmp(before) == 0 {
		t.Error("the old certificate is in force")
	}
	c.expect("+OK\r\n", "FILTER.CREATE", "g", "bloom", "KEYED", "more")
	c.expect("*1\r\n:1\r\n", "FILTER.ADD", "g", "a")
	c.expect("*2\r\n:1\r\n:0\r\n", "FILTER.HAS", "f", "a", "b") // as it was opened
	if got := c.do("FILTER.CREATE", "h", "bloom", "KEYED", "users"); !strings.HasPrefix(got, "-") {
		t.Errorf("a key that was removed = %q", got)
	}
}

// TestReloadNothing asks that a server without files to read reloads without an error.
func TestReloadNothing(t *testing.T) {
	s := open0(t, server.Config{})
	if err := s.Reload(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Close(), s.Reload()); err != nil {
		t.Error(err)
	}
}

// TestReloadConfig changes settings of a server that runs: those that can change do, all or
// none, those that cannot are named, and what CONFIG SET has changed stays.
func TestReloadConfig(t *testing.T) {
	config := server.Config{Addr: []string{"127.0.0.1:0"}, HTTP: []string{"127.0.0.1:0"}, MaxClients: 100, IdleTimeout: time.Minute}
	s, _, _ := serveHTTP(t, config)
	addr := s.Addr().String()
	c := dial(t, addr)
	c.expect("+OK\r\n", "CONFIG", "SET", "max-transaction", "777")
	next := config
	next.MaxClients, next.MaxQuery, next.Password = 200, 1<<20, "secret"
	restart, err := s.ReloadConfig(next)
	if err != nil || strings.Join(restart, " ") != "max-query" {
		t.Fatalf("ReloadConfig() = %q, %v, want that max-query needs a restart", restart, err)
	}
	c.expect("*2\r\n$10\r\nmaxclients\r\n$3\r\n200\r\n", "CONFIG", "GET", "maxclients")
	c.expect("*2\r\n$15\r\nmax-transaction\r\n$3\r\n777\r\n", "CONFIG", "GET", "max-transaction")
	if got := dial(t, addr).do("AUTH", "secret"); got != "+OK\r\n" {
		t.Errorf("AUTH with the new password = %q", got)
	}
	c.expect("+OK\r\n", "CONFIG", "SET", "maxclients", "300")
	if restart, err = s.ReloadConfig(next); err != nil || len(restart) != 1 {
		t.Errorf("the same again = %q, %v", restart, err)
	}
	c.expect("*2\r\n$10\r\nmaxclients\r\n$3\r\n300\r\n", "CONFIG", "GET", "maxclients")

	opened := next
	opened.MaxClients, opened.Password = 500, ""
	if _, err := s.ReloadConfig(opened); err == nil || !strings.Contains(err.Error(), "clients that need a password now would need none") {
		t.Errorf("a reload takes the password away: %v", err)
	}
	c.expect("*2\r\n$10\r\nmaxclients\r\n$3\r\n300\r\n", "CONFIG", "GET", "maxclients")

	bad := next
	bad.MaxClients, bad.KeysFile = 400, ""
	bad.Defaults.CuckooBucket, bad.Defaults.CuckooCapacity = 200, 100 // not together
	if _, err := s.ReloadConfig(bad); err == nil {
		t.Error("settings that do not fit are taken")
	}
	negative := next
	negative.MaxClients = -1
	if _, err := s.ReloadConfig(negative); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("a negative limit: %v", err)
	}
	c.expect("*2\r\n$10\r\nmaxclients\r\n$3\r\n300\r\n", "CONFIG", "GET", "maxclients")
}
