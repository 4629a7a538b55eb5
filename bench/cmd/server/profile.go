package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/bench/internal/process"
)

const (
	recordings       = 4  // profiles, which are added up
	recordingSeconds = 30 // of each
	profilePort      = 7463
	profileHTTP      = "127.0.0.1:7465"
	profileToken     = "profile-profile-profile"
)

// writeProfile has a server answer all cases, without TLS, and writes where its processor time went: the compiler
// reads that (see docs/adr/0068-compiled-with-a-profile.md).
func writeProfile(o options, dir string) error {
	program := filepath.Join(dir, "bloomery")
	if err := process.Build(o.root, program, "-pgo=off"); err != nil {
		return err
	}
	p, err := process.Start(profilePort, program, "serve", "--log-level", "warn", "--addr", "127.0.0.1:"+strconv.Itoa(profilePort), "--dir", filepath.Join(dir, "data"),
		"--http", profileHTTP, "--http-debug", "--http-token", profileToken)
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := fill(p, o.capacity); err != nil {
		return err
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- answerCases(o, p, stop) }()
	files, err := record(dir)
	close(stop)
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	out, err := exec.Command("go", append([]string{"tool", "pprof", "-proto", "-output", o.profile}, files...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pprof: %w: %s", err, out)
	}
	return nil
}

// answerCases runs the cases again and again, until stop is closed.
func answerCases(o options, p *process.Process, stop <-chan struct{}) error {
	for {
		for _, c := range cases() {
			select {
			case <-stop:
				return nil
			default:
			}
			if c.redis || c.tls {
				continue
			}
			if _, err := runCase(o, p, c); err != nil {
				return err
			}
		}
	}
}

// record writes profiles to files in dir.
func record(dir string) (files []string, err error) {
	for i := range recordings {
		file := filepath.Join(dir, "cpu"+strconv.Itoa(i))
		if err := fetchProfile(file); err != nil {
			return nil, err
		}
		files = append(files, file)
		fmt.Fprintf(os.Stderr, "profile %d of %d\n", i+1, recordings)
	}
	return files, nil
}

func fetchProfile(file string) error {
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", profileHTTP, recordingSeconds), http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+profileToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	return os.WriteFile(file, body, 0o644)
}
