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
	"strings"
	"time"
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

// tlsReport is the section on cases with TLS, each beside the same case without.
func tlsReport(results []result) string {
	var b strings.Builder
	for _, secure := range results {
		if !secure.c.tls {
			continue
		}
		for _, plain := range results {
			if plain.c.tls || plain.c.name != secure.c.name || plain.c.pipeline != secure.c.pipeline {
				continue
			}
			b.WriteString(tlsRow(plain, secure))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n## TLS\n\nThe same server and commands over TLS 1.3 (redis-benchmark --tls; AES-128-GCM or what the two agree on) and without, in the same rounds.\n" +
		"\"Over plain\" is what TLS leaves: CPU per request without TLS over CPU with, and throughput with TLS over throughput without; redis-benchmark,\n" +
		"one thread, encrypts on the same processors.\n\n" +
		"| command | pipeline | items/s | CPU, µs | plain: items/s | plain: CPU, µs | over plain by CPU | lowest – highest | target | over plain by items/s |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n" + b.String()
}

func tlsRow(plain, secure result) string {
	rate := func(x oneRun) float64 { return x.rate }
	cpu := func(x oneRun) float64 { return x.cpu.Seconds() * 1e6 }
	var byCPU, byRate []float64
	for i, run := range secure.runs[ours] {
		byCPU = append(byCPU, plain.runs[ours][i].cpu.Seconds()/run.cpu.Seconds())
		byRate = append(byRate, run.rate/plain.runs[ours][i].rate)
	}
	target := "–"
	if secure.c.pipeline == 16 {
		target = fmt.Sprintf("≥ %.2f", tlsTarget)
	}
	return fmt.Sprintf("| %s | %d | %.0f | %.2f | %.0f | %.2f | **%.2f** | %s | %s | %.2f |\n", secure.c.name, secure.c.pipeline,
		secure.median(ours, rate), secure.median(ours, cpu), plain.median(ours, rate), plain.median(ours, cpu), median(byCPU), span(byCPU, "%.2f"), target, median(byRate))
}
