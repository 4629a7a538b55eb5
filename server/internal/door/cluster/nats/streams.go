package nats

// How streams are made and checked.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// replicas is on how many servers each stream is. One is never enough, and more
// than three make each write dearer.
const replicas = 3

// Lanes makes the streams of lanes 1 to n, and of the wide lane n+1, reachable.
// With create it makes those that are missing; without, a missing one is an error.
func (l *Log) Lanes(n int, create bool) error {
	if n < 1 || n > MaxLanes {
		return fmt.Errorf("cluster: %d lanes: 1 to %d are allowed", n, MaxLanes)
	}
	l.mu.Lock()
	l.lanes = n
	l.leaders = append(l.leaders[:1:1], make([]leader, n+1)...)
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	go func() {
		select {
		case <-l.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	for lane := 1; lane <= n+1; lane++ {
		if err := l.ensure(ctx, lane, create); err != nil {
			return err
		}
	}
	return nil
}

// ensure returns when the stream of a lane is there and is as it should be. It
// waits while the servers have no leader.
func (l *Log) ensure(ctx context.Context, lane int, create bool) error {
	began := time.Now()
	told := began
	// Servers that have just started do not answer at all: asking again is quicker than
	// waiting. Servers under load need more time.
	for wait := time.Second; ; wait = min(2*wait, askIn) {
		err := l.checkStream(lane, create, wait)
		if err == nil || errors.Is(err, errStream) {
			return err
		}
		if cause := l.hopeless(err, time.Since(began)); cause != nil {
			return cause
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			l.config.Log.Info("cluster: waiting for a majority of the log nodes", "lane", l.laneName(lane), "error", err)
			if err := l.probe(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cluster: stream %s: %w (%w)", l.stream(lane), ctx.Err(), err)
		case <-l.ended:
			return errClosed
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// hopeless returns why there is no use in asking a NATS cluster of others again, nil if
// there is.
func (l *Log) hopeless(err error, waited time.Duration) error {
	denied := l.denied.Load()
	switch {
	case l.server != nil:
		return nil
	case denied != nil:
		publish, subscribe := l.rights()
		return fmt.Errorf("%w: nats %s: %w: this user needs the rights to publish to %s, and to subscribe to %s",
			errStream, redactURL(l.config.URL), *denied, strings.Join(publish, ", "), strings.Join(subscribe, ", "))
	case waited > externalIn && (errors.Is(err, nats.ErrJetStreamNotEnabled) || errors.Is(err, nats.ErrJetStreamNotEnabledForAccount) || errors.Is(err, nats.ErrNoResponders)):
		return fmt.Errorf("%w: nats %s: %w: switch JetStream on, on three servers at least", errStream, redactURL(l.config.URL), err)
	}
	return nil
}

// rights returns what the user of a NATS cluster of others has to be allowed: requests
// to JetStream and its flow control, the subjects of this cluster, and answers, which
// nodes also give each other.
func (l *Log) rights() (publish, subscribe []string) {
	own := l.subject(">")
	return []string{"$JS.API.>", "$JS.FC.>", own, "_INBOX.>"}, []string{own, "_INBOX.>"}
}

// externalIn is how long a NATS cluster of others may say that it has no JetStream: it
// may be starting.
const externalIn = 10 * time.Second

// errStream marks what waiting does not mend.
var errStream = errors.New("cluster: a stream is not as it should be")

// checkStream looks at a stream, and makes it if it is missing and may be made.
func (l *Log) checkStream(lane int, create bool, wait time.Duration) error {
	name := l.stream(lane)
	info, err := l.js.StreamInfo(name, nats.MaxWait(wait))
	if errors.Is(err, nats.ErrStreamNotFound) {
		if !create {
			return fmt.Errorf("%w: %s is missing, though this node has data of it: nothing is made anew; restore the log nodes, or a backup", errStream, name)
		}
		info, err = l.js.AddStream(l.streamConfig(lane))
		if errors.Is(err, nats.ErrStreamNameAlreadyInUse) {
			return err // another node made it just now: look again
		}
	}
	var api *nats.APIError
	if errors.As(err, &api) && l.server == nil && (api.Code == 403 || api.ErrorCode == replicasUnsupported) {
		return fmt.Errorf("%w: %s: %w: the NATS cluster must have JetStream on three servers or more, and this user the right to make streams", errStream, name, err)
	}
	if err != nil {
		return err
	}
	return l.compare(info.Config, lane)
}

// replicasUnsupported is JetStream's code for a server that is not clustered.
const replicasUnsupported = 10074

func (l *Log) streamConfig(lane int) *nats.StreamConfig {
	return &nats.StreamConfig{
		Name: l.stream(lane), Subjects: []string{l.laneSubject(lane)},
		Description: "bloomery: do not change",
		Storage:     nats.FileStorage, Replicas: replicas, Retention: nats.LimitsPolicy,
		Discard: nats.DiscardNew, MaxBytes: l.config.LaneBytes,
		MaxMsgs: -1, MaxConsumers: -1, MaxMsgsPerSubject: -1, DenyDelete: true,
	}
}

// compare reports whether a stream keeps every message until it is purged.
func (l *Log) compare(got nats.StreamConfig, lane int) error {
	want := l.streamConfig(lane)
	wrong := func(what string, got any) error {
		return fmt.Errorf("%w: %s: %s is %v", errStream, want.Name, what, got)
	}
	switch {
	case len(got.Subjects) != 1 || got.Subjects[0] != want.Subjects[0]:
		return wrong("subjects", got.Subjects)
	case got.Storage != want.Storage:
		return wrong("storage", got.Storage)
	case got.Replicas < want.Replicas:
		return wrong("replicas", got.Replicas)
	case got.Retention != want.Retention:
		return wrong("retention", got.Retention)
	case got.Discard != want.Discard:
		return wrong("discard", got.Discard)
	case got.MaxBytes <= 0:
		return wrong("max bytes", got.MaxBytes)
	case got.MaxMsgs > 0:
		return wrong("max msgs", got.MaxMsgs)
	case got.MaxMsgsPerSubject > 0:
		return wrong("max msgs per subject", got.MaxMsgsPerSubject)
	case got.MaxAge != 0:
		return wrong("max age", got.MaxAge)
	case got.NoAck:
		return wrong("no ack", got.NoAck)
	case !got.DenyDelete:
		return wrong("deny delete", got.DenyDelete)
	case got.AllowRollup:
		return wrong("allow rollup", got.AllowRollup)
	case got.Sealed:
		return wrong("sealed", got.Sealed)
	}
	return nil
}

// Head returns the first and the last sequence of a lane, as its leader has them.
func (l *Log) Head(lane int) (first, last uint64, err error) {
	info, err := l.js.StreamInfo(l.stream(lane))
	if err != nil {
		return 0, 0, fmt.Errorf("cluster: stream %s: %w", l.stream(lane), err)
	}
	first, last = info.State.FirstSeq, info.State.LastSeq
	if info.State.Msgs == 0 {
		first = last + 1
	}
	return first, last, nil
}

// Read returns the message at a sequence of a lane, as its leader has it, and nil if
// there is none.
func (l *Log) Read(lane int, seq uint64) ([]byte, error) {
	m, err := l.js.GetMsg(l.stream(lane), seq)
	switch {
	case errors.Is(err, nats.ErrMsgNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cluster: stream %s: %w", l.stream(lane), err)
	case m.Data == nil:
		return []byte{}, nil // a message without bytes is one
	}
	return m.Data, nil
}

// Purge drops what is below a sequence.
func (l *Log) Purge(lane int, below uint64) error {
	if below <= 1 {
		return nil
	}
	if err := l.js.PurgeStream(l.stream(lane), &nats.StreamPurgeRequest{Sequence: below}); err != nil {
		return fmt.Errorf("cluster: stream %s: purge: %w", l.stream(lane), err)
	}
	return nil
}

// redactURL returns addresses, with commas between them, without their users: a user
// may be a token.
func redactURL(s string) string {
	list := strings.Split(s, ",")
	for i := range list {
		u, err := url.Parse(strings.TrimSpace(list[i]))
		if err != nil {
			return "(address)"
		}
		u.User = nil
		list[i] = u.String()
	}
	return strings.Join(list, ",")
}
