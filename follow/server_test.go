package follow_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/follow"
	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server"
)

// source is a server with a client of its own.
type source struct {
	t    testing.TB
	addr string
	stop func()
	nc   net.Conn
	r    *bufio.Reader
}

// serving starts a server.
func serving(t testing.TB, c server.Config) *source {
	t.Helper()
	if len(c.Addr) == 0 {
		c.Addr = []string{"127.0.0.1:0"}
	}
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Serve(ctx); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	src := &source{t: t, addr: s.Addr().String(), stop: sync.OnceFunc(func() { cancel(); done.Wait() })}
	t.Cleanup(src.stop)
	if src.nc, err = s.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	src.r = bufio.NewReader(src.nc)
	return src
}

// do runs a command that must succeed.
func (s *source) do(words ...string) resp.Reply {
	s.t.Helper()
	if _, err := s.nc.Write(resp.AppendCommand(nil, words...)); err != nil {
		s.t.Fatal(err)
	}
	var r resp.Reply
	if err := r.Read(s.r); err != nil || r.Type == '-' {
		s.t.Fatalf("%.100q: %v %s", words, err, r.Text)
	}
	return r
}

func (s *source) line(line string) { s.t.Helper(); s.do(strings.Fields(line)...) }

// dumped returns the encodings of the parts of a filter, one behind the other.
func (s *source) dumped(key string) (all []byte) {
	s.t.Helper()
	for cursor := "0"; ; {
		r := s.do("FILTER.DUMP", key, cursor)
		if cursor = fmt.Sprint(r.Array[0].Int); cursor == "0" {
			return all
		}
		all = append(all, r.Array[1].Text...)
	}
}

// copied asks that a copy is what the server has, byte for byte.
func (s *source) copied(f *follow.Filter, key string) {
	s.t.Helper()
	var want []byte
	got := must(f.View().MarshalBinary())
	if got[0] != 'b' { // a BF or CF
		want = s.do("DUMP", key).Text
	} else if string(got[8+2:12]) == "\x13\x00" { // stripes: the parts lie at cache lines
		var parts []byte
		for rest := got; ; {
			at := bytes.Index(rest[1:], []byte("bloomery"))
			if at < 0 {
				break
			}
			rest = rest[1+at:]
			parts = append(parts, must(encodedLength(rest))...)
		}
		got = parts
	}
	if want == nil {
		want = s.dumped(key)
	}
	if !bytes.Equal(got, want) {
		s.t.Fatalf("the copy of %s has %d bytes, and others than the %d of the source", key, len(got), len(want))
	}
}

// encodedLength returns the encoding that data begins with.
func encodedLength(data []byte) ([]byte, error) {
	r := bytes.NewReader(data)
	f, err := codec.Read(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = f.(io.WriterTo).WriteTo(&b)
	return b.Bytes(), err
}

// TestFollowServer follows filters of several kinds, in one part and in several, which change
// in all ways. A copy is the filter, byte for byte.
func TestFollowServer(t *testing.T) {
	s := serving(t, server.Config{})
	rng := rand.New(rand.NewPCG(1, 1))
	for _, kind := range []string{"bloom", "split", "cuckoo", "window", "growing", "quorum"} {
		for _, parts := range []string{"", " PARTS 4"} {
			if kind == "quorum" && parts != "" {
				continue // stripes have no members
			}
			key := strings.ReplaceAll(kind+parts, " ", "-")
			s.line("FILTER.CREATE " + key + " " + kind + " CAPACITY 5000" + parts)
			s.line("FILTER.ADD " + key + " before")
			name := filepath.Join(t.TempDir(), "copy.bf")
			c := follow.Config{Address: "redis://" + s.addr, Filter: key, File: name, Every: -1}
			f := opened(t, c)
			s.copied(f, key)
			for i := range 6 {
				switch i {
				case 3:
					s.line("FILTER.CLEAR " + key)
				case 4: // what is on disk goes on
					if err := f.Close(); err != nil {
						t.Fatal(err)
					}
					f = opened(t, c)
				}
				for range 5 {
					s.line(fmt.Sprintf("FILTER.ADD %s %d %d", key, rng.IntN(1000), rng.IntN(1000)))
				}
				if kind == "cuckoo" {
					s.line("FILTER.DEL " + key + " before")
				}
				was := f.Version()
				if changed := updated(t, f); !changed && i != 4 || f.Version().Number < was.Number {
					t.Errorf("%s: round %d: changed %t, version %d behind %d", key, i, changed, f.Version().Number, was.Number)
				}
				s.copied(f, key)
			}
			if updated(t, f) || f.Age() > time.Minute || f.Err() != nil {
				t.Errorf("%s: nothing has happened: age %v, %v", key, f.Age(), f.Err())
			}
		}
	}
}

// TestFollowServerRuns asks that changes come by themselves, also when a server is replaced by
// another with the same data, and that an outage changes nothing.
func TestFollowServerRuns(t *testing.T) {
	dir := t.TempDir()
	s := serving(t, server.Config{Dir: dir, Addr: ports.Free(t, 1)})
	s.line("FILTER.CREATE f bloom CAPACITY 5000")
	name := filepath.Join(t.TempDir(), "copy.bf")
	changes := make(chan follow.Version, 100)
	f := must(follow.Open(t.Context(), follow.Config{
		Address: "redis://127.0.0.1:1," + s.addr, Filter: "f", File: name, Every: 50 * time.Millisecond, Name: "a-follower",
		Changed: func(v follow.Version) { changes <- v },
	}))
	for i := range 5 {
		key := fmt.Sprint("key ", i)
		s.do("FILTER.ADD", "f", key)
		for !f.ContainsString(key) {
			<-changes
		}
	}
	if list := string(s.do("CLIENT", "LIST").Text); !strings.Contains(list, "name=a-follower") {
		t.Errorf("the server does not know the name: %s", list)
	}
	for _, want := range []string{"a-follower", "version", "age", "asked"} {
		if row := s.do("FILTER.FOLLOWERS", "f").Array[0]; !slices.ContainsFunc(row.Array, func(r resp.Reply) bool { return string(r.Text) == want }) {
			t.Errorf("FILTER.FOLLOWERS lacks %s", want)
		}
	}
	s.stop()
	for f.Err() == nil {
		time.Sleep(time.Millisecond) // until the outage is noticed
	}
	if !f.ContainsString("key 4") {
		t.Error("an outage empties the copy")
	}
	s = serving(t, server.Config{Dir: dir, Addr: []string{s.addr}})
	s.do("FILTER.ADD", "f", "later")
	for !f.ContainsString("later") {
		<-changes
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.copied(f, "f")
	if got := must(codec.Open(must(os.ReadFile(name)))); !got.ContainsHash(f.Hash([]byte("later"))) {
		t.Error("the file lacks what came last")
	}
}

// TestFollowServerErrors asks that what cannot be followed is refused, with the reason.
func TestFollowServerErrors(t *testing.T) {
	s := serving(t, server.Config{Password: "secret"})
	s.nc = must(net.Dial("tcp", s.addr))
	s.r = bufio.NewReader(s.nc)
	s.line("AUTH secret")
	s.line("FILTER.CREATE f bloom CAPACITY 500")
	s.line("CMS.INITBYDIM sketch 10 3")
	at := s.addr
	other := filepath.Join(t.TempDir(), "other.bf")
	if err := os.WriteFile(other, encoded(t, 500, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config follow.Config
		want   string
	}{
		{follow.Config{Address: "redis://" + at, Filter: "f"}, "NOAUTH"},
		{follow.Config{Address: "redis://:wrong@" + at, Filter: "f"}, "WRONGPASS"},
		{follow.Config{Address: "redis://:secret@" + at, Filter: "none"}, "not found"},
		{follow.Config{Address: "redis://:secret@" + at, Filter: "sketch"}, "WRONGTYPE"},
		{follow.Config{Address: "redis://:secret@" + at}, "Filter is the key"},
		{follow.Config{Address: "redis://:secret@" + at, Filter: "f", Name: "two words"}, "without blanks"},
		{follow.Config{Address: "redis://:secret@" + at, Filter: "f", Name: strings.Repeat("x", 65)}, "up to 64"},
		{follow.Config{Address: "redis://", Filter: "f"}, "no address"},
		{follow.Config{Address: "redis://host/path", Filter: "f"}, "no address"},
		{follow.Config{Address: "rediss://:secret@" + at, Filter: "f"}, "tls"},
		{follow.Config{Address: "redis://:secret@" + at, Filter: "f", Limits: codec.Limits{Bytes: 100}}, "limit"},
		{follow.Config{Address: "redis://:secret@" + at, Filter: "f", File: other}, "is not a copy"},
	} {
		if f, err := follow.Open(t.Context(), c.config); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v, %v; want %q", c.config.Address, f, err, c.want)
		}
	}
	f := opened(t, follow.Config{Address: "redis://default:secret@" + at, Filter: "f", Every: -1})
	if f.ContainsString("x") {
		t.Error("an empty filter contains something")
	}
}

// proxy passes what a server and a client say to each other, but for one byte of the server:
// that is changed, or it is the last.
type proxy struct {
	listener net.Listener
	to       string
	at       atomic.Int64 // which byte of the next connection; none if it is negative
	change   atomic.Bool  // else the connection is cut
	toServer atomic.Bool  // the byte is one of the client
}

func newProxy(t testing.TB, to string) *proxy {
	p := &proxy{to: to, listener: must(net.Listen("tcp", "127.0.0.1:0"))}
	p.at.Store(-1)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			nc, err := p.listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(nc) })
		}
	})
	t.Cleanup(func() { _ = p.listener.Close(); all.Wait() })
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	srv, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer srv.Close()
	at, change, up := p.at.Load(), p.change.Load(), p.toServer.Load()
	pass := func(to, from net.Conn, spoil bool) {
		defer to.Close()
		defer from.Close()
		buf, passed := make([]byte, 4096), int64(0)
		for {
			n, err := from.Read(buf)
			if i := at - passed; spoil && at >= 0 && i >= 0 && i < int64(n) {
				if !change {
					_, _ = to.Write(buf[:i])
					return
				}
				buf[i] ^= 1 << (at % 8)
			}
			passed += int64(n)
			if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
				return
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() { pass(srv, client, up) })
	pass(client, srv, !up)
	both.Wait()
}

// TestServerFaults cuts and corrupts what is said at every byte, in both directions: a copy
// is the old one or the new one and nothing else, and after the fault it is the new one.
func TestServerFaults(t *testing.T) {
	s := serving(t, server.Config{})
	p := newProxy(t, s.addr)
	for _, kind := range []string{"bloom", "cuckoo"} {
		key := "f-" + kind
		s.line("FILTER.CREATE " + key + " " + kind + " CAPACITY 60")
		s.line("FILTER.ADD " + key + " first")
		f := opened(t, follow.Config{Address: "redis://" + p.listener.Addr().String(), Filter: key, Every: -1})
		for _, mode := range []struct{ change, up bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
			p.change.Store(mode.change)
			p.toServer.Store(mode.up)
			for at := range int64(400) {
				before := must(f.View().MarshalBinary())
				item := fmt.Sprint(at % 40)
				s.line("FILTER.ADD " + key + " " + item)
				if kind == "cuckoo" {
					s.line("FILTER.DEL " + key + " " + fmt.Sprint((at+20)%40))
				}
				after := s.dumped(key)
				p.at.Store(at)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				f.Hangup()
				_, err := f.Update(ctx)
				cancel()
				got := must(f.View().MarshalBinary())
				if !bytes.Equal(got, before) && !bytes.Equal(got, after) {
					t.Fatalf("%s, byte %d %+v: the copy is neither the old nor the new filter (%v)", kind, at, mode, err)
				}
				if err == nil && !bytes.Equal(got, after) {
					t.Fatalf("%s, byte %d %+v: the copy is old, and nothing is said", kind, at, mode)
				}
				p.at.Store(-1)
				f.Hangup()
				if _, err := f.Update(t.Context()); err != nil || !bytes.Equal(must(f.View().MarshalBinary()), after) {
					t.Fatalf("%s, byte %d %+v: without a fault: %v", kind, at, mode, err)
				}
				if mode.up && at > 150 || at > 260 {
					break
				}
			}
		}
	}
}

// liar is a server that answers everything alike.
func liar(t testing.TB, answer []byte) string {
	return lying(t, func() []byte { return answer })
}

// lying is a server that answers whatever it likes.
func lying(t testing.TB, answer func() []byte) string {
	return replying(t, func(string) []byte { return answer() })
}

// replying is lying for answers that depend on the request.
func replying(t testing.TB, answer func(request string) []byte) string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				buf := make([]byte, 4096)
				for {
					n, err := nc.Read(buf)
					if err != nil {
						return
					}
					if _, err := nc.Write(answer(string(buf[:n]))); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestLiars follows servers that answer nonsense.
func TestLiars(t *testing.T) {
	for name, answer := range map[string]string{
		"OK": "+OK\r\n", "nothing": "*0\r\n", "numbers": "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "a promise": "$9999999999\r\n", "deep": strings.Repeat("*1\r\n", 100),
		"two answers": "*0\r\n*0\r\n", "no checksum": "*4\r\n$1\r\nx\r\n:0\r\n*0\r\n:5\r\n",
	} {
		most := time.Minute // for what is refused at once
		if name == "a promise" {
			most = 300 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), most)
		f, err := follow.Open(ctx, follow.Config{Address: "redis://" + liar(t, []byte(answer)), Filter: "f"})
		cancel()
		if err == nil {
			t.Errorf("%s: %v", name, f)
		}
		if name != "a promise" && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: it is waited for more: %v", name, err)
		}
	}
}

// A node that is down for now is passed over for the next address.
func TestFollowPassesNodesThatAreDown(t *testing.T) {
	s := serving(t, server.Config{})
	s.line("FILTER.CREATE f bloom CAPACITY 500")
	for _, text := range []string{"-CLUSTERDOWN no majority\r\n", "-LOADING it was paused\r\n"} {
		down := must(net.Listen("tcp", "127.0.0.1:0"))
		var asked atomic.Int64
		var all sync.WaitGroup
		all.Go(func() {
			for {
				nc, err := down.Accept()
				if err != nil {
					return
				}
				if _, err := nc.Read(make([]byte, 4096)); err == nil {
					asked.Add(1)
					_, _ = io.WriteString(nc, text)
				}
				_ = nc.Close()
			}
		})
		f := opened(t, follow.Config{Address: "redis://" + down.Addr().String() + "," + s.addr, Filter: "f", Every: -1})
		if s.copied(f, "f"); asked.Load() != 1 {
			t.Errorf("%q was asked %d times", text, asked.Load())
		}
		_, err := follow.Open(t.Context(), follow.Config{Address: "redis://" + down.Addr().String(), Filter: "f", Every: -1})
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(text[1:])) {
			t.Errorf("no other address: %v", err)
		}
		_ = down.Close()
		all.Wait()
	}
}

// TestFileIsNotLate changes a filter twice in a moment: its copy on disk has both changes long
// before the source is asked anew.
func TestFileIsNotLate(t *testing.T) {
	s := serving(t, server.Config{})
	s.line("FILTER.CREATE f bloom CAPACITY 1000")
	name, changes := filepath.Join(t.TempDir(), "copy"), make(chan follow.Version, 10)
	f := must(follow.Open(t.Context(), follow.Config{Address: "redis://" + s.addr, Filter: "f", File: name, Every: time.Hour,
		Changed: func(v follow.Version) { changes <- v }}))
	defer f.Close()
	<-changes
	for _, key := range []string{"one", "two"} {
		s.do("FILTER.ADD", "f", key)
		<-changes
	}
	want := must(f.View().MarshalBinary())
	for until := time.Now().Add(time.Minute); !bytes.Equal(must(os.ReadFile(name)), want); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the file lacks what the copy has")
		}
	}
}
