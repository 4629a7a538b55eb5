// The command cluster join: whether this machine could be a node, and how it becomes one.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/server"
)

// joinOptions are the flags of cluster join.
type joinOptions struct {
	connectFlags
	own    server.Cluster
	client string
	dir    string
}

func newClusterJoin() *cobra.Command {
	var o joinOptions
	cmd := &cobra.Command{
		Use:   "join --addr HOST:PORT --cluster-addr HOST:PORT [--cluster-secret-file FILE]",
		Short: "Check that this machine can become a node",
		Long: `join checks whether this machine can become a node. It asks a node of the
cluster (--addr) for the name of the cluster, its log nodes and its settings.
Then it checks that each log node can be reached from here, and accepts the
secret, the certificates and the name of the cluster. It compares releases and
clocks, and asks that nothing listens at --cluster-addr yet. If all is well it
prints the command that starts the node, with the settings that have to be the
same on all nodes; add those of this machine, such as a password.

join changes nothing: the node joins when it is started, and serves when it has
fetched what the others have. It keeps no log; cluster replace-log makes it a
log node in the place of another. A log node that has lost its folder joins in
the same way.

Exit codes: 0 it can join, 1 it cannot, 2 the node does not answer.`,
		Example: `  bloomery cluster join --addr 10.0.0.1:6379 --cluster-addr 10.0.0.4:6380 \
    --cluster-secret-file secret --client-addr 10.0.0.4:6379`,
		Args: noArguments,
	}
	newShell(cmd, func(ctx context.Context, s *shell, _ []string) error { return runClusterJoin(ctx, s, &o) })
	f := cmd.Flags()
	o.bind(f, "127.0.0.1:6379", "`ADDRESS` of a node of the cluster: HOST:PORT, tls:HOST:PORT or unix:PATH")
	f.StringVar(&o.own.Addr, "cluster-addr", "", "`ADDRESS` at which the other nodes will reach this one, HOST:PORT")
	f.StringVar(&o.own.SecretFile, "cluster-secret-file", "", "`FILE` with the secret of the cluster")
	f.StringVar(&o.own.TLSCert, "cluster-tls-cert", "", "`FILE` of the certificate for connections between nodes, PEM")
	f.StringVar(&o.own.TLSKey, "cluster-tls-key", "", "`FILE` of its private key, PEM")
	f.StringVar(&o.own.TLSCA, "cluster-tls-ca", "", "`FILE` of the authority that has signed the certificates of all nodes, PEM")
	f.StringVar(&o.client, "client-addr", "", "`ADDRESS` for clients of the new node, for the command that is printed")
	f.StringVar(&o.dir, "dir", "", "`FOLDER` of the new node, for the command that is printed")
	_ = cmd.MarkFlagDirname("dir")
	for _, name := range []string{"cluster-secret-file", "cluster-tls-cert", "cluster-tls-key", "cluster-tls-ca"} {
		_ = cmd.MarkFlagFilename(name)
	}
	return cmd
}

// joinJSON is what cluster join prints with --json.
type joinJSON struct {
	Name     string   `json:"name"`
	ID       string   `json:"id"`
	Join     []string `json:"join"`
	Problems []string `json:"problems,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Command  []string `json:"command"`
}

func runClusterJoin(ctx context.Context, s *shell, o *joinOptions) error {
	if o.own.Addr == "" {
		return hinted{errors.New("give the address of this machine for the other nodes with --cluster-addr"), "see bloomery cluster join --help"}
	}
	n, c, err := dialCluster(ctx, s, &o.connectFlags)
	if err != nil {
		return err
	}
	defer n.close()
	j := joinJSON{Name: c.Name, ID: c.ID}
	settings, err := n.settings()
	if err != nil {
		return err
	}
	if !c.Quorum {
		j.problem("the cluster takes no writes at present: no node can join")
	}
	if url := settings["nats"]; url != "" {
		return hinted{errors.New("the streams of this cluster are on a separate NATS cluster"), "start the node with the same --cluster and --nats as the others"}
	}
	o.own.Name, j.Join = c.Name, strings.Split(settings["join"], ",")
	o.own.Join = j.Join
	reached, err := o.own.Reach(ctx)
	if err != nil {
		return worded{err, withoutPackage(err)}
	}
	refused := 0
	for i, err := range reached {
		if err != nil {
			refused++
			j.Warnings = append(j.Warnings, fmt.Sprintf("the log node %s: %s", j.Join[i], withoutPackage(err)))
		}
	}
	if 2*refused > len(reached) {
		j.problem("most of the log nodes cannot be reached from here, or refuse this machine")
	}
	j.alone(ctx, o.own.Addr)
	if err := n.compare(&j); err != nil {
		return err
	}
	j.Command = o.command(settings)
	if s.asJSON {
		err = s.print(j)
	} else {
		err = j.write(s)
	}
	if err == nil && len(j.Problems) > 0 {
		err = errNo
	}
	return err
}

// withoutPackage returns the text of an error without the package that it is from.
func withoutPackage(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "server: "), "cluster: ")
}

func (j *joinJSON) problem(text string) { j.Problems = append(j.Problems, text) }

// alone adds a problem if something listens at the address that the node is to have: that of
// another node, or the node itself, which runs already.
func (j *joinJSON) alone(ctx context.Context, addr string) {
	d := net.Dialer{Timeout: 2 * time.Second}
	if nc, err := d.DialContext(ctx, "tcp", addr); err == nil {
		_ = nc.Close()
		j.problem(fmt.Sprintf("something listens at %s already, perhaps another node: choose another --cluster-addr", addr))
	}
}

// settings returns what CONFIG GET * replies.
func (n *nodeConn) settings() (map[string]string, error) {
	reply, err := n.ask("CONFIG", "GET", "*")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for i := 0; i+1 < len(reply.Array); i += 2 {
		all[string(reply.Array[i].Text)] = string(reply.Array[i+1].Text)
	}
	return all, nil
}

// Clocks that differ by so much are a warning, and a node with the second difference
// takes no writes.
const (
	warnClock   = 500 * time.Millisecond
	refuseClock = 10 * time.Second
)

// compare asks the node for its release and its clock.
func (n *nodeConn) compare(j *joinJSON) error {
	info, err := n.ask("INFO", "server")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(info.Text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if own := thisBuild().Version; name == "bloomery_version" && value != own {
			j.Warnings = append(j.Warnings, fmt.Sprintf("%s runs release %s, this program is %s: nodes may differ by one release", n.addr, value, own))
		}
	}
	before := time.Now()
	reply, err := n.ask("TIME")
	if err != nil {
		return err
	}
	after := time.Now()
	if len(reply.Array) != 2 {
		return fmt.Errorf("%s: the server replied something else than the time", n.addr)
	}
	seconds, err1 := strconv.ParseInt(string(reply.Array[0].Text), 10, 64)
	micros, err2 := strconv.ParseInt(string(reply.Array[1].Text), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return about(n.addr, err)
	}
	theirs := time.Unix(seconds, micros*1000)
	// The answer was made at some moment in between.
	skew := max(theirs.Sub(after), before.Sub(theirs), 0).Round(time.Millisecond)
	switch {
	case skew >= refuseClock:
		j.problem(fmt.Sprintf("the clock of this machine differs from that of %s by %v: a node would take no writes", n.addr, skew))
	case skew >= warnClock:
		j.Warnings = append(j.Warnings, fmt.Sprintf("the clock of this machine differs from that of %s by %v", n.addr, skew))
	}
	return nil
}

// command returns the command that starts the new node.
func (o *joinOptions) command(settings map[string]string) []string {
	line := []string{"bloomery", "serve", "--cluster", o.own.Name, "--join", strings.Join(o.own.Join, ","), "--cluster-addr", o.own.Addr}
	for _, flag := range []struct{ name, value string }{
		{"cluster-secret-file", o.own.SecretFile}, {"cluster-tls-cert", o.own.TLSCert}, {"cluster-tls-key", o.own.TLSKey}, {"cluster-tls-ca", o.own.TLSCA},
		{"addr", o.client}, {"dir", o.dir},
	} {
		if flag.value != "" {
			line = append(line, "--"+flag.name, flag.value)
		}
	}
	for _, s := range server.Settings() {
		alike := strings.HasPrefix(s.Name, "bf-") || strings.HasPrefix(s.Name, "cf-") || s.Name == "cluster-protocol"
		if value := settings[s.Redis]; alike && value != "" && value != s.Default {
			line = append(line, "--"+s.Name, value)
		}
	}
	return line
}

// write prints the result for people.
func (j *joinJSON) write(s *shell) error {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s (%s), log nodes %s\n", j.Name, j.ID, strings.Join(j.Join, ", "))
	for _, w := range j.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, p := range j.Problems {
		fmt.Fprintf(&b, "problem: %s\n", p)
	}
	if len(j.Problems) == 0 {
		in := ""
		if len(j.Warnings) > 0 {
			in = ", in spite of the warnings above"
		}
		fmt.Fprintf(&b, "this machine can join%s. This command starts the node:\n\n  %s\n", in, strings.Join(j.Command, " "))
	}
	_, err := s.out.Write([]byte(b.String()))
	return err
}
