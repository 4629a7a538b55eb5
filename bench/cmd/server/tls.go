package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/bench/internal/report"
)

// tlsTarget is what TLS must leave of the throughput without, by CPU, at pipeline 16.
const tlsTarget = 0.6

// tlsPort is how much higher the port with TLS is than the one without.
const tlsPort = 10

// hasTLS reports whether redis-benchmark was built with TLS.
func hasTLS() bool {
	out, _ := exec.Command("redis-benchmark", "--help").CombinedOutput()
	return strings.Contains(string(out), "--tls")
}

// certify writes a certificate for this machine, and its key.
func certify(dir string) (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return "", "", err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			return "", "", err
		}
	}
	return cert, key, nil
}

// tlsReport adds the section on cases with TLS, each beside the same case
// without.
func tlsReport(doc *report.Document, results []result) {
	t := &report.Table{Head: []string{
		"command", "pipeline", "items/s", "CPU, µs", "plain: items/s", "plain: CPU, µs", "over plain by CPU", "lowest – highest", "target", "over plain by items/s",
	}}
	for _, secure := range results {
		if !secure.c.tls {
			continue
		}
		for _, plain := range results {
			if plain.c.tls || plain.c.name != secure.c.name || plain.c.pipeline != secure.c.pipeline {
				continue
			}
			t.Row(tlsRow(plain, secure)...)
		}
	}
	if t.Empty() {
		return
	}
	doc.Section("TLS")
	doc.Text("Over TLS 1.3 and without, in the same rounds, by CPU per request and by throughput; redis-benchmark, one thread, encrypts on " +
		"the same processors.")
	doc.Table(t)
}

func tlsRow(plain, secure result) []string {
	rate := func(x oneRun) float64 { return x.rate }
	cpu := func(x oneRun) float64 { return x.cpu.Seconds() * 1e6 }
	var byCPU, byRate []float64
	for i, run := range secure.runs[ours] {
		byCPU = append(byCPU, plain.runs[ours][i].cpu.Seconds()/run.cpu.Seconds())
		byRate = append(byRate, run.rate/plain.runs[ours][i].rate)
	}
	aim := 0.0
	if secure.c.pipeline == 16 {
		aim = tlsTarget
	}
	return []string{
		secure.c.name, strconv.Itoa(secure.c.pipeline), fmt.Sprintf("%.0f", secure.median(ours, rate)), two(secure.median(ours, cpu)),
		fmt.Sprintf("%.0f", plain.median(ours, rate)), two(plain.median(ours, cpu)), "**" + two(report.Median(byCPU)) + "**",
		report.Span(byCPU, "%.2f"), target(aim), two(report.Median(byRate)),
	}
}
