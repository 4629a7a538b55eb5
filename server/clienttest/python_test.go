package clienttest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// redisPy is a process that uses redis-py, and answers line by line.
type redisPy struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// pythonWithRedis returns a Python that has redis-py, or "" where none has: make clients
// installs Debian's package of it.
func pythonWithRedis(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} { // Debian's is the second where there are several
		if exec.CommandContext(t.Context(), python, "-c", "import redis.cluster").Run() == nil {
			return python
		}
	}
	return ""
}

// startRedisPy starts a Python program of testdata at a cluster. It returns nil where no
// Python has redis-py.
func startRedisPy(t *testing.T, n *nodes, mode string) *redisPy {
	t.Helper()
	python := pythonWithRedis(t)
	if python == "" {
		return nil
	}
	cmd := exec.Command(python, append([]string{"testdata/redis_cluster.py", mode, fmt.Sprint(clusterKeys)}, n.addrs...)...)
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	var trouble strings.Builder
	cmd.Stderr = &trouble
	check(t, cmd.Start())
	t.Cleanup(func() { // it ends with its input
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("redis-py: %v\n%s", err, trouble.String())
		}
	})
	return &redisPy{in, bufio.NewReader(out)}
}

// ask has the program do a round, and reads its answer.
func (p *redisPy) ask(answer any) error {
	if _, err := fmt.Fprintln(p.in); err != nil {
		return err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, answer)
}

func (p *redisPy) round() error {
	var answer struct{ Error string }
	if err := p.ask(&answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

// redisPyOnACluster asks for what docs/cluster.md says about redis-py: which of its calls
// list each name once, and which pipelines work.
func redisPyOnACluster(t *testing.T, n *nodes) {
	p := startRedisPy(t, n, "names")
	if p == nil {
		t.Skip("no Python has redis-py (Debian: python3-redis)")
	}
	var want []string
	for i := range clusterKeys {
		want = append(want, clusterKey(i))
	}
	slices.Sort(want)
	var answer map[string]any
	until(t, "the names", func() error {
		answer = nil
		if err := p.ask(&answer); err != nil {
			t.Fatal(err)
		}
		return errors.Join(
			equal(answer, "scan_iter", want), equal(answer, "scan_iter of one node", want), equal(answer, "keys", want),
			equal(answer, "scan_iter of a single client", want), equal(answer, "dbsize", 0),
		)
	})
	const instead, each = "pipeline(transaction=False)", "[" // a list of replies
	for part, want := range map[string]string{
		"pipeline of two filters": instead, "pipeline of a new filter": instead, "pipeline without a transaction": each, "pipeline of a cluster": each,
	} {
		if got := fmt.Sprint(answer[part]); !strings.Contains(got, want) {
			t.Errorf("%s = %s, want %q in it", part, got, want)
		}
	}
}

// equal reports a part of an answer that is something else.
func equal(answer map[string]any, part string, want any) error {
	if got := fmt.Sprint(answer[part]); got != fmt.Sprint(want) {
		return fmt.Errorf("%s = %s, want %v", part, got, want)
	}
	return nil
}
