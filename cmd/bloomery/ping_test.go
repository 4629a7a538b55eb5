//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
)

// certify writes a certificate for 127.0.0.1 that signs itself, and its key, and
// returns the names of the files.
func certify(t *testing.T, dir, name string, lasts time.Duration) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	write(t, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	return cert, key
}

func TestPing(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "--dir", "")
	t.Cleanup(c.kill)
	if code, out, errOut := ping(t, "--addr", c.addr); code != 0 || !strings.HasPrefix(out, c.addr+": PONG in ") || errOut != "" {
		t.Errorf("ping = %d, %q, %q", code, out, errOut)
	}
	if code, out, _ := ping(t, "--addr", c.addr, "--json"); code != 0 || !strings.HasPrefix(out, `{"address":"`+c.addr+`","answer":"PONG","seconds":`) {
		t.Errorf("ping --json = %d, %q", code, out)
	}
	if code, out, _ := ping(t, "--addr", c.addr, "-q"); code != 0 || out != "" {
		t.Errorf("ping -q = %d, %q", code, out)
	}
	deaf := badServer(t, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
	gone := badServer(t, func(nc net.Conn) { _, _ = nc.Read(make([]byte, 100)) })
	odd := badServer(t, func(nc net.Conn) {
		_, _ = io.WriteString(nc, "-LOADING not yet\r\n")
		_, _ = nc.Read(make([]byte, 100))
	})
	garbage := badServer(t, func(nc net.Conn) { _, _ = io.WriteString(nc, "HTTP/1.1 400\r\n"); _, _ = nc.Read(make([]byte, 100)) })
	for want, args := range map[string][]string{
		"no answer within 100ms":                {"--addr", deaf, "--timeout", "100ms"},
		"the server closed the connection":      {"--addr", gone},
		"PING: the server replied: LOADING not": {"--addr", odd},
		"invalid reply":                         {"--addr", garbage},
		"connection refused\nhint: is the":      {"--addr", "127.0.0.1:1"},
		"/nowhere: no such file":                {"--addr", "unix:/nowhere"},
		"want HOST:PORT":                        {"--addr", "nonsense"},
		"--timeout 0s is not":                   {"--addr", c.addr, "--timeout", "0s"},
		"does this address of the server":       {"--addr", c.addr, "--tls"},
		"has no TLS: leave out --tls":           {"--addr", "plain:" + c.addr, "--tls"},
		"--cert and --key go together":          {"--addr", c.addr, "--cert", "x"},
		"--cacert: open ":                       {"--addr", c.addr, "--cacert", filepath.Join(dir, "none")},
	} {
		if code, out, errOut := ping(t, args...); code != 2 || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("ping %q = %d, %q, %q, want %q", args, code, out, errOut, want)
		}
	}
	// A handshake that is not answered ends in time too.
	if code, _, errOut := ping(t, "--addr", deaf, "--tls", "--timeout", "100ms"); code != 2 || !strings.Contains(errOut, "no answer within 100ms") {
		t.Errorf("ping of a server without TLS = %d, %q", code, errOut)
	}
}

// TestPingOwnServer asks the server of this machine by the settings that it has, as a
// health check in a container does.
func TestPingOwnServer(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "server", time.Hour)
	c := startChild(t, "--dir", "", "--password", "secret", "--tls-cert", cert, "--tls-key", key, "--tls-ca", cert, "--tls-auth-clients", "yes")
	t.Cleanup(c.kill)
	_, port, _ := net.SplitHostPort(c.addr)
	t.Setenv("BLOOMERY_ADDR", ":"+port)
	t.Setenv("BLOOMERY_TLS_CERT", cert)
	t.Setenv("BLOOMERY_TLS_KEY", key)
	t.Setenv("BLOOMERY_TLS_CA", cert)
	t.Setenv("BLOOMERY_TLS_AUTH_CLIENTS", "yes")
	if code, out, errOut := ping(t); code != 1 || !strings.Contains(out, "NOAUTH") || !strings.HasSuffix(out, "by --password or BLOOMERY_PASSWORD\n") || errOut != "" {
		t.Errorf("ping without a password = %d, %q, %q, want that it is told how to give one", code, out, errOut)
	}
	t.Setenv("BLOOMERY_ACL_FILE", filepath.Join(dir, "users"))
	if code, out, errOut := ping(t); code != 0 || !strings.Contains(out, "NOAUTH") {
		t.Errorf("ping of a server with a file of users = %d, %q, %q, want that the server answers", code, out, errOut)
	}
	_ = os.Unsetenv("BLOOMERY_ACL_FILE") // Setenv puts it back
	t.Setenv("BLOOMERY_PASSWORD", "wrong")
	if code, _, errOut := ping(t); code != 2 || !strings.Contains(errOut, "WRONGPASS") {
		t.Errorf("ping with a wrong password = %d, %q", code, errOut)
	}
	t.Setenv("BLOOMERY_PASSWORD", "secret")
	if code, out, errOut := ping(t); code != 0 || !strings.HasPrefix(out, "127.0.0.1:"+port+": PONG in ") {
		t.Errorf("ping = %d, %q, %q", code, out, errOut)
	}
	// One that is starting takes no clients, and says so over HTTP.
	const starting = `{"error":{"code":"starting","message":"it reads its data"}}`
	t.Setenv("BLOOMERY_ADDR", "127.0.0.1:1")
	t.Setenv("BLOOMERY_HTTP", "plain:"+badServer(t, func(nc net.Conn) {
		_, _ = nc.Read(make([]byte, 1000))
		_, _ = fmt.Fprintf(nc, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: %d\r\n\r\n%s", len(starting), starting)
	}))
	if code, _, errOut := ping(t); code != 2 || !strings.Contains(errOut, "127.0.0.1:1: not yet: it reads its data") {
		t.Errorf("ping of a server that starts = %d, %q", code, errOut)
	}
	// The file of the server does as well, and a unix socket comes first.
	path := filepath.Join(dir, "socket")
	file := filepath.Join(dir, "config.toml")
	write(t, file, []byte("addr = [\"127.0.0.1:1\", \"unix:"+path+"\"]\npassword = \"secret\"\n"))
	for _, name := range []string{"ADDR", "HTTP", "TLS_CERT", "TLS_KEY", "TLS_CA", "TLS_AUTH_CLIENTS", "PASSWORD"} {
		_ = os.Unsetenv("BLOOMERY_" + name) // Setenv puts them back
	}
	s := startChild(t, "--dir", "", "--password", "secret", "--addr", "127.0.0.1:0,unix:"+path)
	t.Cleanup(s.kill)
	t.Setenv("BLOOMERY_CONFIG", file)
	if code, out, errOut := ping(t); code != 0 || !strings.HasPrefix(out, path+": PONG") {
		t.Errorf("ping by a file = %d, %q, %q", code, out, errOut)
	}
	if code, _, errOut := ping(t, "--config", filepath.Join(dir, "none")); code != 2 || !strings.Contains(errOut, "none") {
		t.Errorf("ping by a file that is not there = %d, %q", code, errOut)
	}
}

// TestPingUsers asks a server as users with and without the right to do so, and has
// SIGHUP change them.
func TestPingUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	write(t, file, []byte("user default on nopass\nuser alice on >pw +ping\n"))
	c := startChild(t, "--dir", "", "--acl-file", file)
	t.Cleanup(c.kill)
	if code, out, errOut := ping(t, "--addr", c.addr); code != 0 || !strings.Contains(out, "NOPERM") {
		t.Errorf("ping without the right to = %d, %q, %q, want that the server answers", code, out, errOut)
	}
	alice := []string{"--addr", c.addr, "--user", "alice", "--password", "pw"}
	if code, out, errOut := ping(t, alice...); code != 0 || !strings.Contains(out, ": PONG in ") {
		t.Errorf("ping by a user = %d, %q, %q", code, out, errOut)
	}
	write(t, file, []byte("user default on nopass\n"))
	if err := c.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		code, _, errOut := ping(t, alice...)
		if code == 2 && strings.Contains(errOut, "WRONGPASS") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("ping by a user who is not in the file any more = %d, %q", code, errOut)
		}
	}
}

// ping runs the command with more patience than it has by itself: the machine may be busy.
func ping(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return call(t, append([]string{"ping", "--timeout", "1m"}, args...)...)
}

// TestConnectTLS connects ping and load with TLS, in all the ways that there are.
func TestConnectTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "server", time.Hour)
	other, otherKey := certify(t, dir, "other", time.Hour)
	path := filepath.Join(dir, "socket")
	c := startChild(t, "--dir", "", "--addr", "127.0.0.1:0,unix:"+path, "--tls-cert", cert, "--tls-key", key, "--tls-ca", cert, "--tls-auth-clients", "yes")
	t.Cleanup(c.kill)
	addr, _, _ := strings.Cut(c.addr, ",")
	for want, args := range map[string][]string{
		"certificate required":            {"--tls", "--cacert", cert},
		"hint: --cacert names":            {"--tls", "--cacert", other, "--cert", cert, "--key", key},
		"to match example.com":            {"--tls", "--cacert", cert, "--sni", "example.com", "--cert", cert, "--key", key},
		"this address expects TLS":        {},
		"private key does not match":      {"--cert", cert, "--key", otherKey},
		"there is no certificate in PEM ": {"--cacert", key},
	} {
		if code, _, errOut := ping(t, append([]string{"--addr", addr}, args...)...); code != 2 || !strings.Contains(errOut, want) {
			t.Errorf("ping %q = %d, %q, want %q", args, code, errOut, want)
		}
	}
	good := []string{"--cacert", cert, "--cert", cert, "--key", key}
	for _, args := range [][]string{
		append([]string{"--addr", addr, "--tls"}, good...),
		append([]string{"--addr", "tls:" + addr}, good...),
		append([]string{"--addr", addr}, good...),
		{"--addr", addr, "--insecure", "--cert", cert, "--key", key},
		{"--addr", "unix:" + path},
	} {
		if code, _, errOut := ping(t, args...); code != 0 {
			t.Errorf("ping %q = %d, %q", args, code, errOut)
		}
		code, _, errOut := loadFrom(t.Context(), numbered(5000), append(args, "users")...)
		if code != 0 || !strings.HasPrefix(errOut, "users: 5,000 lines, ") {
			t.Errorf("load %q = %d, %q", args, code, errOut)
		}
	}
}

// TestHangupSettings changes the configuration file of a server in a process of its own: SIGHUP
// puts in force what can change, names what cannot, and a file that is wrong changes nothing.
func TestHangupSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bloomery.toml")
	write(t, file, []byte("max-clients = 100\n"))
	c := startChild(t, "--dir", "", "--max-transaction", "50", "--config", file)
	t.Cleanup(c.kill)
	hangup := func(text, log string) {
		t.Helper()
		write(t, file, []byte(text))
		_ = c.cmd.Process.Signal(syscall.SIGHUP)
		c.says(t, log)
	}
	hangup("max-clients = many\n", "nothing was reloaded")
	hangup("max-clients = 200\nmax-query = \"1MiB\"\nmax-transaction = 60\n", `"settings":"max-query"`)
	hangup("max-clients = 300\nmax-query = \"1MiB\"\nlog-level = \"error\"\n", `"changed":"max-clients"`)
	nc, err := net.Dial("tcp", c.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	r := bufio.NewReader(nc)
	for setting, want := range map[string]string{"maxclients": "300", "max-transaction": "50"} { // a flag goes before the file
		var reply resp.Reply
		if err := ask(nc, r, &reply, "CONFIG", "GET", setting); err != nil || len(reply.Array) != 2 || string(reply.Array[1].Text) != want {
			t.Errorf("CONFIG GET %s = %v, %v, want %s", setting, reply, err, want)
		}
	}
}

// TestHangup renews the certificate of a server in a process of its own by SIGHUP: who
// is connected stays, and a file that is wrong changes nothing.
func TestHangup(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "server", time.Hour)
	c := startChild(t, "--dir", "", "--tls-cert", cert, "--tls-key", key)
	t.Cleanup(c.kill)
	seen := func() *big.Int {
		nc, err := tls.Dial("tcp", c.addr, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is looked at
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = nc.Close() }()
		return nc.ConnectionState().PeerCertificates[0].SerialNumber
	}
	there, err := tls.Dial("tcp", c.addr, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is looked at
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = there.Close() }()
	first := seen()
	write(t, key, []byte("nonsense"))
	_ = c.cmd.Process.Signal(syscall.SIGHUP)
	c.says(t, "nothing was reloaded")
	if seen().Cmp(first) != 0 {
		t.Error("another certificate after a reload that must fail")
	}
	certify(t, dir, "server", time.Hour)
	_ = c.cmd.Process.Signal(syscall.SIGHUP)
	for until := time.Now().Add(time.Minute); seen().Cmp(first) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("SIGHUP did not renew the certificate")
		}
	}
	if _, err := there.Write([]byte("PING\r\n")); err != nil {
		t.Error(err)
	}
	if reply := make([]byte, 7); !readsPong(there, reply) {
		t.Errorf("a client of before = %q", reply)
	}
}

func readsPong(r io.Reader, reply []byte) bool {
	_, err := io.ReadFull(r, reply)
	return err == nil && string(reply) == "+PONG\r\n"
}

// TestServeRefusesCertificates asks that a start with files that are not what they
// should be ends with exit code 2 and their name.
func TestServeRefusesCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "server", time.Hour)
	_, other := certify(t, dir, "other", time.Hour)
	none := filepath.Join(dir, "none")
	for want, args := range map[string][]string{
		"serve: tls-cert: open " + none:                       {"--tls-cert", none, "--tls-key", key},
		"serve: tls-key: open " + none:                        {"--tls-cert", cert, "--tls-key", none},
		"serve: tls-key: " + other + ", for the certificate ": {"--tls-cert", cert, "--tls-key", other},
		"serve: tls-ca: " + key + ": there is no":             {"--tls-cert", cert, "--tls-key", key, "--tls-ca", key},
		"serve: tls-cert needs tls-key":                       {"--tls-cert", cert},
		"TLS needs a certificate":                             {"--addr", "tls:127.0.0.1:0"},
	} {
		cmd := process(t, append([]string{"serve", "--dir", "", "--addr", "127.0.0.1:0"}, args...)...)
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
		code := exitOf(t, cmd.Run())
		late.Stop()
		if code != exitUsage || !strings.Contains(errOut.String(), want) {
			t.Errorf("serve %q = %d, %q, want %q", args, code, &errOut, want)
		}
	}
}
