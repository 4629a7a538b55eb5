package follow

// Copies of a filter that a server has.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/internal/resp"
)

// server is a server whose filter is followed, with the connection to it and what of the copy
// it knows. Who updates uses it.
type server struct {
	config    Config
	scheme    string
	addresses []string
	user      *url.Userinfo
	at        int // which address is asked

	nc    net.Conn // nil if there is none
	r     *bufio.Reader
	watch *steady

	version uint64        // of the copy, 0 if there is none: with age what is told to a server that knows Name
	age     time.Duration // of the copy

	token string   // of the copy, "" if it has none
	parts [][]byte // its encodings
	sum   string   // of parts, "" if nobody has needed it yet
}

// isServer reports whether an address is that of a server.
func isServer(address string) bool {
	return strings.HasPrefix(address, "redis://") || strings.HasPrefix(address, "rediss://")
}

// newServer returns the server at an address. It dials when it is asked.
func newServer(c Config) (*server, error) {
	scheme, rest, _ := strings.Cut(c.Address, "://")
	userinfo, hosts, found := strings.Cut(rest, "@")
	if !found {
		userinfo, hosts = "", rest
	}
	s := &server{config: c, scheme: scheme}
	for host := range strings.SplitSeq(strings.TrimSuffix(hosts, "/"), ",") {
		u, err := url.Parse(scheme + "://" + host)
		if err != nil || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%w: %q is no address of a server: want redis://user:password@host:port,host:port", bloomery.ErrParameter, scheme+"://"+hosts)
		}
		port := u.Port()
		if port == "" {
			port = "6379"
		}
		s.addresses = append(s.addresses, net.JoinHostPort(u.Hostname(), port))
	}
	if found {
		u, err := url.Parse(scheme + "://" + userinfo + "@host")
		if err != nil {
			return nil, fmt.Errorf("%w: the address has a password that is not written as in a URL", bloomery.ErrParameter)
		}
		s.user = u.User
	}
	switch {
	case c.Filter == "":
		return nil, fmt.Errorf("%w: Filter is the key of the filter on the server, and is needed", ErrName)
	case len(c.Key) > 0:
		return nil, fmt.Errorf("%w: a server signs nothing: use TLS, or follow a published folder", bloomery.ErrParameter)
	case len(c.Name) > maxName || strings.ContainsFunc(c.Name, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, fmt.Errorf("%w: Name is %q: a server takes names of up to %d letters, digits and signs, without blanks", bloomery.ErrParameter, c.Name, maxName)
	case c.TLS != nil && scheme == "redis":
		return nil, fmt.Errorf("%w: TLS is set, and the address does not begin with rediss://", bloomery.ErrParameter)
	}
	return s, nil
}

// String is the address without a password.
func (s *server) String() string {
	return s.scheme + "://" + strings.Join(s.addresses, ",") + " " + s.config.Filter
}

// dial connects, to the next address if the present one does not answer.
func (s *server) dial(ctx context.Context) error {
	var all []error
	for range s.addresses {
		address := s.addresses[s.at]
		err := s.connect(ctx, address)
		if err == nil {
			return nil
		}
		s.hangUp()
		if all = append(all, fmt.Errorf("%s: %w", address, err)); ctx.Err() != nil {
			break
		}
		s.at = (s.at + 1) % len(s.addresses)
	}
	return errors.Join(all...)
}

func (s *server) connect(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, stalled)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	if s.scheme == "rediss" {
		config := s.config.TLS.Clone()
		if config == nil {
			config = &tls.Config{}
		}
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address)
		}
		nc = tls.Client(nc, config)
	}
	s.watch = &steady{Conn: nc}
	s.nc, s.r = nc, bufio.NewReaderSize(s.watch, 64<<10)
	if s.user != nil {
		words := []string{"AUTH"}
		password, has := s.user.Password()
		if name := s.user.Username(); name != "" && has {
			words = append(words, name)
		} else if !has {
			password = name
		}
		if _, err := s.call(ctx, 0, append(words, password)...); err != nil {
			return err
		}
	}
	if s.config.Name != "" {
		_, err = s.call(ctx, 0, "CLIENT", "SETNAME", s.config.Name)
	}
	return err
}

func (s *server) hangUp() {
	if s.nc != nil {
		_ = s.nc.Close()
		s.nc = nil
	}
}

// maxName is the longest name that a server takes.
const maxName = 64

const (
	// mostReplies is of how many replies an answer is made at most: four, and four for each
	// part.
	mostReplies = 5 + 4*maxParts
	// usualNews is more than what a server answers, but for the last piece.
	usualNews = 32 << 20
	// largestPiece is the longest text that a server can answer.
	largestPiece = 512 << 20
)

// mostBytes is the largest size of the filter.
func (s *server) mostBytes() uint64 {
	if limit := s.config.Limits.Bytes; limit > 0 {
		return min(limit, memory.Limit())
	}
	return memory.Limit()
}

// mostText is how many bytes of text an answer has at most. A filter that cannot be compressed
// takes little more than it has.
func (s *server) mostText() int64 {
	whole := min(s.mostBytes(), largestPiece)
	return int64(whole + whole/16 + usualNews)
}

// errRefused is an answer that is an error.
var errRefused = errors.New("the server refuses")

// errDown is errRefused of a node of a cluster that cannot answer, as others may.
var errDown = fmt.Errorf("%w", errRefused)

// othersMay reports whether another node of a cluster may answer what one refuses: it is down for
// now.
func othersMay(text string) bool {
	return strings.HasPrefix(text, "CLUSTERDOWN ") || strings.HasPrefix(text, "LOADING ")
}

// call sends a command and returns the answer. The server may take its time before it begins.
func (s *server) call(ctx context.Context, patience time.Duration, words ...string) (*resp.Reply, error) {
	nc := s.nc
	watch := s.watch
	stop := context.AfterFunc(ctx, watch.end)
	defer stop()
	watch.begin(patience)
	_, err := nc.Write(resp.AppendCommand(nil, words...))
	var reply resp.Reply
	if err == nil {
		err = reply.ReadWithin(s.r, mostReplies, s.mostText())
	}
	if err == nil && s.r.Buffered() > 0 {
		err = fmt.Errorf("%w: it sends more than was asked for", bloomery.ErrCorrupt)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		s.hangUp()
		return nil, err
	}
	if text := string(reply.Text); reply.Type == '-' && othersMay(text) {
		s.hangUp()
		s.at = (s.at + 1) % len(s.addresses)
		return nil, fmt.Errorf("%w: %s", errDown, text)
	}
	if reply.Type == '-' && string(reply.Text) == "ERR not found" {
		return nil, fmt.Errorf("%w: the key %q was not found on the server", ErrName, s.config.Filter)
	}
	if reply.Type == '-' {
		return nil, fmt.Errorf("%w: %s", errRefused, reply.Text)
	}
	return &reply, nil
}

// steady is a connection that must bring a few bytes at least in the time that it may be
// silent.
type steady struct {
	net.Conn
	since int         // bytes that have come since the deadline was set
	ended atomic.Bool // nobody waits any more
}

func (c *steady) begin(patience time.Duration) {
	c.since = 0
	_ = c.SetDeadline(time.Now().Add(patience + stalled))
	if c.ended.Load() {
		c.end()
	}
}

// end has whoever waits wait no more.
func (c *steady) end() {
	c.ended.Store(true)
	_ = c.SetDeadline(time.Unix(1, 0))
}

func (c *steady) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.since += n; c.since >= fewBytes {
		c.begin(0)
	}
	return n, err
}

// ask asks for news, waits for them if there are none, and returns the copy that they make: nil
// if nothing has changed. What s knows of the copy changes when the answer is complete. Each
// address is asked once if nodes are down.
func (s *server) ask(ctx context.Context, block time.Duration) (parts [][]byte, err error) {
	for range s.addresses {
		if parts, err = s.askOne(ctx, block); !errors.Is(err, errDown) {
			break
		}
	}
	return parts, err
}

// askOne is ask of the present address.
func (s *server) askOne(ctx context.Context, block time.Duration) (parts [][]byte, err error) {
	if s.nc != nil && block == 0 { // it may have been cut since the last update
		if _, err := s.call(ctx, 0, "PING"); err != nil && s.nc != nil {
			return nil, err
		}
	}
	if s.nc == nil {
		if err := s.dial(ctx); err != nil {
			return nil, err
		}
	}
	token, parts, changed := s.token, slices.Clone(s.parts), false
	var pace pace
	for more := true; more; {
		words := []string{"FILTER.NEWS", s.config.Filter}
		if token != "" {
			words = append(words, "SINCE", token)
		}
		if !changed && len(parts) > 0 {
			if s.sum == "" {
				s.sum = sumOfParts(parts)
			}
			words = append(words, "SUM", s.sum)
		}
		if !changed && block >= time.Millisecond {
			words = append(words, "BLOCK", strconv.FormatInt(block.Milliseconds(), 10))
		}
		reply, err := s.call(ctx, block, append(words, s.introduction()...)...)
		if err != nil {
			return nil, err
		}
		n, err := parseNews(s.config.Filter, reply)
		if err == nil && n.more && n.token == token {
			err = fmt.Errorf("%w: the server says that there is more, and sends the same again", bloomery.ErrCorrupt)
		}
		next, again := "", false
		if err == nil {
			next, again, err = pace.next(&n)
		}
		if err == nil {
			parts, err = s.apply(parts, n)
		}
		if err != nil {
			// Whatever is wrong, the next question begins anew, with another connection.
			s.hangUp()
			s.token, s.parts = "", nil
			return nil, err
		}
		changed = changed || len(n.pieces) > 0
		token, more = next, again
	}
	s.token, s.parts = token, parts
	if !changed {
		return nil, nil
	}
	s.sum = ""
	return parts, nil
}

// introduction is what is said of who asks.
func (s *server) introduction() (words []string) {
	if s.config.Name == "" {
		return nil
	}
	words = []string{"NAME", s.config.Name}
	if s.version > 0 {
		words = append(words, "VERSION", strconv.FormatUint(s.version, 10), "AGE", strconv.FormatInt(s.age.Milliseconds(), 10))
	}
	return words
}

// fewRounds is how many answers may bring changes before a copy asks for whole parts.
const fewRounds = 64

// pace is how far a copy has caught up with a source that keeps changing. A part that has come as a whole is at least
// as new as the first question. So a copy is up to date when all of its parts have come that way, whatever the source
// has by then.
type pace struct {
	rounds    int
	epoch     uint64
	came      []bool // the parts that have come as a whole
	overtaken bool   // by changes that are not known any more
}

// next returns the token of the next question, and whether there is one.
func (p *pace) next(n *answered) (token string, more bool, err error) {
	numbers := n.since.Numbers
	if len(p.came) != len(numbers) || p.epoch != n.since.Epoch {
		p.came, p.epoch = make([]bool, len(numbers)), n.since.Epoch
	}
	for _, piece := range n.pieces {
		if whole := piece.Form == news.Whole || piece.Form == news.Dump; whole && piece.Part < len(p.came) {
			p.overtaken = p.overtaken || p.came[piece.Part]
			p.came[piece.Part] = true
		}
	}
	if p.rounds++; p.rounds > 2*fewRounds+4*len(numbers) {
		return "", false, fmt.Errorf("the filter changes faster than it can be copied: %d answers were not enough", p.rounds)
	}
	if !n.more || n.known && !slices.Contains(p.came, false) {
		return n.token, false, nil
	}
	if !p.overtaken && p.rounds < fewRounds {
		return n.token, true, nil
	}
	for i, came := range p.came {
		if !came {
			numbers[i] = news.Unknown
		}
	}
	return n.since.String(), true, nil
}

// answered is an answer of FILTER.NEWS.
type answered struct {
	token  string
	since  news.Token // the same
	known  bool       // all parts are
	more   bool
	pieces []news.Piece
}

var errNews = fmt.Errorf("%w: the answer is not one of FILTER.NEWS", bloomery.ErrCorrupt)

// parseNews reads an answer on a key.
func parseNews(key string, r *resp.Reply) (n answered, err error) {
	if r.Type != '*' || len(r.Array) != 4 || r.Array[0].Type != '$' || r.Array[1].Type != ':' || r.Array[2].Type != '*' || r.Array[3].Type != ':' {
		return n, errNews
	}
	n.token, n.more = string(r.Array[0].Text), r.Array[1].Int == 1
	for i := range r.Array[2].Array {
		p := &r.Array[2].Array[i]
		if p.Type != '*' || len(p.Array) != 3 || p.Array[0].Type != ':' || p.Array[1].Type != '$' || p.Array[2].Type != '$' || p.Array[0].Int < 0 || p.Array[0].Int > maxParts {
			return n, errNews
		}
		if last := len(n.pieces) - 1; last >= 0 && n.pieces[last].Part >= int(p.Array[0].Int) {
			return n, errNews // a part comes once
		}
		n.pieces = append(n.pieces, news.Piece{Part: int(p.Array[0].Int), Form: string(p.Array[1].Text), Data: p.Array[2].Text})
	}
	if int64(news.Check(key, n.token, n.more, n.pieces)) != r.Array[3].Int {
		return n, fmt.Errorf("%w: the checksum of the news is wrong", bloomery.ErrCorrupt)
	}
	if n.since, err = news.ParseToken(n.token); err != nil {
		return n, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	n.known = !slices.Contains(n.since.Numbers, news.Unknown)
	if !n.known && !n.more || len(n.pieces) == 0 && n.more {
		return n, errNews
	}
	return n, nil
}

// apply returns what news make of the parts of a copy, which stay as they are.
func (s *server) apply(parts [][]byte, n answered) ([][]byte, error) {
	if count := len(n.since.Numbers); len(parts) != count {
		parts = make([][]byte, count)
	}
	if err := s.allow(parts, n.pieces); err != nil {
		return nil, err
	}
	for _, p := range n.pieces {
		if p.Part >= len(parts) || p.Form != news.Whole && p.Form != news.Dump && parts[p.Part] == nil {
			return nil, fmt.Errorf("%w: news of part %d, which is not there", bloomery.ErrCorrupt, p.Part)
		}
		data, err := s.applied(parts, p)
		if err != nil {
			return nil, err
		}
		parts[p.Part] = data
	}
	if n.known && slices.ContainsFunc(parts, func(p []byte) bool { return p == nil }) {
		return nil, fmt.Errorf("%w: a part is missing", bloomery.ErrCorrupt)
	}
	return parts, nil
}

// allow refuses parts that are larger than the limit, or the memory, with the pieces that
// replace some: by what their headers say, before one of them is unpacked.
func (s *server) allow(parts [][]byte, pieces []news.Piece) error {
	sizes := make([]uint64, len(parts))
	for i, p := range parts {
		sizes[i] = uint64(len(p))
	}
	for _, p := range pieces {
		if p.Part >= len(parts) || p.Form != news.Whole && p.Form != news.Dump {
			continue
		}
		if p.Form == news.Dump {
			sizes[p.Part] = uint64(len(p.Data))
			continue
		}
		head := make([]byte, envelope.HeaderSize)
		if _, err := io.ReadFull(codec.NewReader(bytes.NewReader(p.Data)), head); err != nil {
			return err
		}
		h, err := envelope.ParseHeader(head)
		if err != nil {
			return err
		}
		sizes[p.Part] = h.EncodedSize()
	}
	sum, limit := uint64(0), s.mostBytes()
	for _, n := range sizes {
		if n > limit-sum {
			return fmt.Errorf("%w: the filter takes more than %d bytes, the limit", bloomery.ErrTooLarge, limit)
		}
		sum += n
	}
	if len(parts) > 1 { // they are joined, and are there twice then
		return memory.Fits(2 * sum)
	}
	return nil
}

// room returns by how many bytes a part may grow. While it grows it is there twice besides its old encoding, and
// when parts are joined all of them are there twice.
func (s *server) room(parts [][]byte, at int) uint64 {
	sum := uint64(0)
	for _, p := range parts {
		sum += uint64(len(p))
	}
	limit, there, used := s.mostBytes(), memory.Limit(), sum+max(sum, 2*uint64(len(parts[at])))
	return min(limit-min(limit, sum), (there-min(there, used))/2)
}

// applied returns what a piece makes of the encoding of its part.
func (s *server) applied(parts [][]byte, p news.Piece) ([]byte, error) {
	old := parts[p.Part]
	switch p.Form {
	case news.Whole:
		return io.ReadAll(codec.NewReader(bytes.NewReader(p.Data))) // as many bytes as the header says
	case news.Dump:
		if !isDump(p.Data) {
			return nil, fmt.Errorf("%w: a dump that is none", bloomery.ErrCorrupt)
		}
		return p.Data, nil // it is verified when it is opened
	case news.Bits:
		return setBits(old, p.Data)
	case news.Added:
		return s.addDumped(old, p.Data)
	case news.Steps:
		if isDump(old) {
			return s.redoDumped(old, p.Data, s.room(parts, p.Part))
		}
		return s.redo(old, p.Data, s.room(parts, p.Part))
	}
	return nil, fmt.Errorf("%w: news of the form %q", bloomery.ErrVersion, p.Form)
}

// sumOfParts returns the sum of encodings, one behind the other.
func sumOfParts(parts [][]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
