package nats

// Streams: when they are made, refused, waited for, and what is read of them.

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// jetStream is JetStream as tests have it. What they do not expect ends them.
type jetStream struct {
	nats.JetStreamContext
	info    func(name string, wait time.Duration) (*nats.StreamInfo, error)
	add     func(c *nats.StreamConfig) (*nats.StreamInfo, error)
	get     func(name string, seq uint64) (*nats.RawStreamMsg, error)
	purge   func(name string, below uint64) error
	consume func(stream string, c *nats.ConsumerConfig) (*nats.ConsumerInfo, error)
	forget  func(stream, consumer string) error
}

func (j *jetStream) StreamInfo(name string, opts ...nats.JSOpt) (*nats.StreamInfo, error) {
	wait := time.Duration(0)
	for _, o := range opts {
		wait = time.Duration(o.(nats.MaxWait))
	}
	return j.info(name, wait)
}

func (j *jetStream) AddStream(c *nats.StreamConfig, _ ...nats.JSOpt) (*nats.StreamInfo, error) {
	return j.add(c)
}

func (j *jetStream) GetMsg(name string, seq uint64, _ ...nats.JSOpt) (*nats.RawStreamMsg, error) {
	return j.get(name, seq)
}

func (j *jetStream) PurgeStream(name string, opts ...nats.JSOpt) error {
	return j.purge(name, opts[0].(*nats.StreamPurgeRequest).Sequence)
}

func (j *jetStream) AddConsumer(stream string, c *nats.ConsumerConfig, _ ...nats.JSOpt) (*nats.ConsumerInfo, error) {
	return j.consume(stream, c)
}

func (j *jetStream) DeleteConsumer(stream, consumer string, _ ...nats.JSOpt) error {
	return j.forget(stream, consumer)
}

// external is a log over a NATS cluster of others.
func external(js *jetStream) *Log {
	return &Log{
		config: Config{Cluster: "c", URL: "nats://u:p@h:1", LaneBytes: 1 << 20, Log: slog.New(slog.DiscardHandler)},
		js:     js, ended: make(chan struct{}), leaders: []leader{{}},
	}
}

// TestLaneNames asks what streams and subjects are called.
func TestLaneNames(t *testing.T) {
	l := external(nil)
	for _, c := range []struct {
		lanes, lane   int
		name, subject string
	}{
		{0, 0, "CAT", "cat"}, {0, 1, "D1", "d.1"}, {2, 0, "CAT", "cat"}, {2, 1, "D1", "d.1"}, {2, 2, "D2", "d.2"}, {2, 3, "W", "w"}, {2, 4, "D4", "d.4"},
	} {
		l.lanes = c.lanes
		if l.laneName(c.lane) != c.name || l.stream(c.lane) != "bloomery-c-"+c.name || l.laneSubject(c.lane) != "bloomery.c."+c.subject {
			t.Errorf("lane %d of %d: %s, %s, %s", c.lane, c.lanes, l.laneName(c.lane), l.stream(c.lane), l.laneSubject(c.lane))
		}
	}
}

// TestLanesAreMade asks for which lanes streams are made, and that numbers out of bounds
// change nothing.
func TestLanesAreMade(t *testing.T) {
	synctest.Test(t, testLanesAreMade) // nothing may be left running
}

func testLanesAreMade(t *testing.T) {
	var asked, made []string
	l := external(nil)
	js := &jetStream{
		info: func(name string, _ time.Duration) (*nats.StreamInfo, error) {
			asked = append(asked, name)
			return nil, nats.ErrStreamNotFound
		},
		add: func(c *nats.StreamConfig) (*nats.StreamInfo, error) {
			made = append(made, c.Name)
			return &nats.StreamInfo{Config: *c}, nil
		},
	}
	l.js = js
	for _, n := range []int{-1, 0, MaxLanes + 1} {
		if err := l.Lanes(n, true); err == nil || len(asked) > 0 || l.laneCount() != 1 {
			t.Errorf("%d lanes: %v, asked for %v", n, err, asked)
		}
	}
	if err := l.Lanes(1, false); !errors.Is(err, errStream) || len(made) > 0 {
		t.Errorf("a missing stream: %v, made %v", err, made)
	}
	want := []string{"bloomery-c-D1", "bloomery-c-D2", "bloomery-c-W"}
	if err := l.Lanes(2, true); err != nil || !slices.Equal(made, want) {
		t.Errorf("two lanes: %v, made %v", err, made)
	}
	if l.laneCount() != 4 {
		t.Errorf("%d lanes have leaders", l.laneCount())
	}
	l.leaders[3] = leader{server: "s"}
	for lane, want := range map[int]string{2: "", 3: "s", 4: ""} {
		if got, lost := l.Leader(lane); got != want || lost {
			t.Errorf("lane %d: leader %q, lost: %v", lane, got, lost)
		}
	}
	if err := l.Lanes(MaxLanes, true); err != nil || l.laneCount() != MaxLanes+2 {
		t.Errorf("the most lanes: %v, %d", err, l.laneCount())
	}
}

// TestStreamsAreChecked asks which errors of a stream are final, and which are waited out.
func TestStreamsAreChecked(t *testing.T) {
	api := func(code int, number nats.ErrorCode) error {
		return &nats.APIError{Code: code, ErrorCode: number, Description: "x"}
	}
	for name, c := range map[string]struct {
		info, add error
		embedded  bool
		final, ok bool
	}{
		"there":                    {ok: true},
		"made":                     {info: nats.ErrStreamNotFound, ok: true},
		"made by another":          {info: nats.ErrStreamNotFound, add: nats.ErrStreamNameAlreadyInUse},
		"made by another, own":     {info: nats.ErrStreamNotFound, add: nats.ErrStreamNameAlreadyInUse, embedded: true},
		"no answer":                {info: nats.ErrTimeout},
		"not allowed":              {info: api(403, 1), final: true},
		"not allowed, own":         {info: api(403, 1), embedded: true},
		"one server":               {info: nats.ErrStreamNotFound, add: api(500, 10074), final: true},
		"one server yet, own":      {info: nats.ErrStreamNotFound, add: api(500, 10074), embedded: true},
		"no servers at the moment": {info: nats.ErrStreamNotFound, add: api(503, 10008)},
	} {
		l := external(nil)
		if c.embedded {
			l.server = new(running)
		}
		l.js = &jetStream{
			info: func(string, time.Duration) (*nats.StreamInfo, error) {
				return &nats.StreamInfo{Config: *l.streamConfig(0)}, c.info
			},
			add: func(s *nats.StreamConfig) (*nats.StreamInfo, error) { return &nats.StreamInfo{Config: *s}, c.add },
		}
		if err := l.checkStream(0, true, time.Second); (err == nil) != c.ok || errors.Is(err, errStream) != c.final {
			t.Errorf("%s: %v, want one that is final: %v", name, err, c.final)
		}
	}
}

// TestStreamsAreWaitedFor asks that a stream is asked for again until it is there, with
// more patience each time, and that the end of the log or of the patience ends that.
func TestStreamsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		l := external(nil)
		js := &jetStream{info: func(_ string, wait time.Duration) (*nats.StreamInfo, error) {
			if waits = append(waits, wait); len(waits) < 5 {
				return nil, nats.ErrTimeout
			}
			return &nats.StreamInfo{Config: *l.streamConfig(0)}, nil
		}}
		l.js = js
		began := time.Now()
		if err := l.ensure(t.Context(), 0, true); err != nil || time.Since(began) != 4*200*time.Millisecond {
			t.Errorf("ensure = %v after %v", err, time.Since(began))
		}
		if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, askIn, askIn}; !slices.Equal(waits, want) {
			t.Errorf("it was waited for %v, want %v", waits, want)
		}
		js.info = func(string, time.Duration) (*nats.StreamInfo, error) { return nil, nats.ErrTimeout }
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := l.ensure(ctx, 0, true); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, nats.ErrTimeout) {
			t.Errorf("a stream that is never there: %v", err)
		}
		js.info = func(string, time.Duration) (*nats.StreamInfo, error) { return nil, nats.ErrNoResponders }
		began = time.Now()
		if err := l.ensure(t.Context(), 0, true); !errors.Is(err, errStream) || time.Since(began) < externalIn || time.Since(began) > externalIn+time.Second {
			t.Errorf("no JetStream: %v after %v", err, time.Since(began))
		}
		js.info = func(string, time.Duration) (*nats.StreamInfo, error) { return nil, nats.ErrTimeout }
		time.AfterFunc(time.Second, func() { close(l.ended) })
		if err := l.ensure(t.Context(), 0, true); !errors.Is(err, errClosed) {
			t.Errorf("a log that is closed meanwhile: %v", err)
		}
		if err := l.Lanes(1, true); err == nil {
			t.Error("a log that is closed has lanes")
		}
	})
}

// TestHopeless asks after which errors there is no use in asking servers of others again.
func TestHopeless(t *testing.T) {
	denied := errors.New("denied")
	for name, c := range map[string]struct {
		err      error
		waited   time.Duration
		embedded bool
		denied   error
		want     string // "" for nothing
	}{
		"no answer":              {nats.ErrTimeout, time.Hour, false, nil, ""},
		"no JetStream yet":       {nats.ErrJetStreamNotEnabled, externalIn, false, nil, ""},
		"no JetStream":           {nats.ErrJetStreamNotEnabled, externalIn + 1, false, nil, "switch JetStream on"},
		"not for this user":      {nats.ErrJetStreamNotEnabledForAccount, externalIn + 1, false, nil, "switch JetStream on"},
		"nobody answers":         {nats.ErrNoResponders, externalIn + 1, false, nil, "switch JetStream on"},
		"own servers that start": {nats.ErrNoResponders, time.Hour, true, nil, ""},
		"not allowed":            {nats.ErrTimeout, 0, false, denied, "this user needs"},
		"not allowed, own":       {nats.ErrTimeout, 0, true, denied, ""},
	} {
		l := external(nil)
		if c.embedded {
			l.server = new(running)
		}
		if c.denied != nil {
			l.denied.Store(&c.denied)
		}
		err := l.hopeless(c.err, c.waited)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, errStream) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "u:p")) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestReadsOfStreams asks what heads, reads and purges are of what JetStream says.
func TestReadsOfStreams(t *testing.T) {
	broken := errors.New("broken")
	l := external(nil)
	js := &jetStream{}
	l.js = js
	for _, c := range []struct {
		state       nats.StreamState
		first, last uint64
	}{
		{nats.StreamState{}, 1, 0},
		{nats.StreamState{Msgs: 3, FirstSeq: 1, LastSeq: 3}, 1, 3},
		{nats.StreamState{Msgs: 1, FirstSeq: 9, LastSeq: 9}, 9, 9},
		{nats.StreamState{FirstSeq: 0, LastSeq: 7}, 8, 7}, // all was purged
	} {
		js.info = func(name string, _ time.Duration) (*nats.StreamInfo, error) {
			if name != "bloomery-c-CAT" {
				t.Errorf("asked for %s", name)
			}
			return &nats.StreamInfo{State: c.state}, nil
		}
		if first, last, err := l.Head(0); first != c.first || last != c.last || err != nil {
			t.Errorf("head of %+v: %d, %d, %v", c.state, first, last, err)
		}
	}
	js.info = func(string, time.Duration) (*nats.StreamInfo, error) { return nil, broken }
	if _, _, err := l.Head(0); !errors.Is(err, broken) {
		t.Errorf("Head: %v", err)
	}
	for _, c := range []struct {
		msg  *nats.RawStreamMsg
		err  error
		want string
		none bool
	}{
		{&nats.RawStreamMsg{Data: []byte("text")}, nil, "text", false},
		{&nats.RawStreamMsg{}, nil, "", false},
		{nil, nats.ErrMsgNotFound, "", true},
		{nil, broken, "", true},
	} {
		js.get = func(name string, seq uint64) (*nats.RawStreamMsg, error) {
			if name != "bloomery-c-CAT" || seq != 5 {
				t.Errorf("read of %s at %d", name, seq)
			}
			return c.msg, c.err
		}
		b, err := l.Read(0, 5)
		if string(b) != c.want || (b == nil) != c.none || errors.Is(err, broken) != (c.err == broken) || c.err != broken && err != nil {
			t.Errorf("Read of %+v, %v: %q, %v", c.msg, c.err, b, err)
		}
	}
	var purged []uint64
	js.purge = func(_ string, below uint64) error {
		purged = append(purged, below)
		return nil
	}
	for _, below := range []uint64{0, 1, 2, 9} {
		if err := l.Purge(0, below); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(purged, []uint64{2, 9}) {
		t.Errorf("purged below %v", purged)
	}
	js.purge = func(string, uint64) error { return broken }
	if err := l.Purge(0, 2); !errors.Is(err, broken) {
		t.Errorf("Purge: %v", err)
	}
}

// TestRoomyStreams asks that streams which keep more than is needed are taken.
func TestRoomyStreams(t *testing.T) {
	l := external(nil)
	for name, change := range map[string]func(*nats.StreamConfig){
		"five copies":           func(c *nats.StreamConfig) { c.Replicas = 5 },
		"no limit of messages":  func(c *nats.StreamConfig) { c.MaxMsgs = 0 },
		"no limit of a subject": func(c *nats.StreamConfig) { c.MaxMsgsPerSubject = 0 },
		"one byte":              func(c *nats.StreamConfig) { c.MaxBytes = 1 },
	} {
		c := l.streamConfig(0)
		change(c)
		if err := l.compare(*c, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
