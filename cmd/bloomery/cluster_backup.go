// The command cluster backup: all data of a running cluster as a data folder.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/datadir"
)

func newClusterBackup() *cobra.Command {
	var o connectFlags
	var stale bool
	cmd := &cobra.Command{
		Use:   "backup DIR [--addr HOST:PORT]",
		Short: "Copy all data of a running cluster to a folder",
		Long: `backup asks a node of a cluster for a copy of all data and writes it to DIR,
which must be empty, not exist, or hold a backup that was interrupted. The
cluster goes on meanwhile. All that any node has acknowledged before the
command is in the copy; what is written meanwhile may be in it.

The copy is the data folder of a single server: bloomery serve --dir opens it,
bloomery doctor checks it, and bloomery cluster restore starts a new cluster
with it. It holds names, contents, strings, deadlines and windows. It does not
hold users, passwords, settings and certificates: keep those files as well.

Only the owner can read the files. They are read back and every checksum is
compared before the command ends. If it fails or is interrupted, run it again
with the same DIR: what is there and has not changed is not copied again. No
server starts on an unfinished copy.

The user needs the right to run CLUSTER BACKUP (category admin) and to read
all keys. The node needs room on its disk for what changes while the copy is
made. Where contents are spread over nodes (cluster copies) the node fetches
what others hold and passes it on; this needs no more memory than a snapshot.

A cluster without a majority cannot find out what it has acknowledged. --stale
copies what the node has, without asking the others: use it when most of the log
nodes are lost for good. Where contents are spread, every shard needs a node
that holds it and is up, with --stale too.`,
		Example: `  bloomery cluster backup backup-monday
  bloomery cluster backup /backups/2026-05-04 --addr 10.0.0.2:6379 --user backup`,
		Args: between(1, 1, "a folder to write"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error {
		return runClusterBackup(ctx, s, args[0], &o, stale)
	}).bindSummary(cmd)
	o.bind(cmd.Flags(), "127.0.0.1:6379", "`ADDRESS` of a node: HOST:PORT, tls:HOST:PORT or unix:PATH")
	cmd.Flags().BoolVar(&stale, "stale", false, "copy what the node has, without asking for a majority")
	return cmd
}

// clusterBackupJSON is what cluster backup prints with --json.
type clusterBackupJSON struct {
	Folder string `json:"folder"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	Stale  bool   `json:"stale"`
}

func runClusterBackup(ctx context.Context, s *shell, dir string, o *connectFlags, stale bool) (err error) {
	made, err := backupFolder(dir)
	if err != nil {
		return err
	}
	b := &clusterCopy{shell: s, flags: o, dir: dir}
	defer func() {
		if err != nil {
			err = b.leave(err, made)
		}
	}()
	if err := b.mark(); err != nil {
		return err
	}
	if err := b.open(ctx, stale); err != nil {
		return err
	}
	stop := s.progress("copy", b, false)
	err = b.fetch(ctx)
	stop()
	b.release()
	if err == nil {
		err = b.finish(ctx)
	}
	if err != nil {
		return err
	}
	if s.asJSON {
		return s.print(clusterBackupJSON{dir, len(b.files), b.total, stale})
	}
	s.say("%s: %s in %s, read back and checked", dir, bytesText(uint64(b.total)), plural(uint64(len(b.files)), "file"))
	return nil
}

// backupFolder makes a folder that only its owner can use, or finds one that is empty, or has a
// copy that is not whole. It reports whether it was made.
func backupFolder(dir string) (made bool, err error) {
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		return true, nil
	case !errors.Is(err, fs.ErrExist):
		return false, pathless(dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, pathless(dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, backupMark)); err == nil {
		return false, nil
	}
	if len(entries) > 0 {
		return false, hinted{worded{datadir.ErrNotEmpty, dir + ": the folder is not empty"}, "name a folder that is empty or does not exist: nothing is overwritten"}
	}
	return false, nil
}

// copiedFile is a file of the copy.
type copiedFile struct {
	name string
	size int64
}

// clusterCopy is a copy that a node holds and this command reads.
type clusterCopy struct {
	shell *shell
	flags *connectFlags
	dir   string

	nc     net.Conn
	r      *bufio.Reader
	reply  resp.Reply
	number int64 // of the copy; 0 for none
	files  []copiedFile
	total  int64
	done   atomic.Int64
}

// Done returns how many bytes have come.
func (b *clusterCopy) Done() int64 { return b.done.Load() }

// Total returns how many there are.
func (b *clusterCopy) Total() int64 { return b.total }

const (
	copyPiece   = 256 << 10        // of a file, in a reply
	copyAhead   = 8                // pieces that are asked for at once
	copyTimeout = 30 * time.Second // for a piece
)

// dial connects to the node. The connection ends with ctx.
func (b *clusterCopy) dial(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	nc, err := b.flags.dial(limit)
	if err != nil {
		return err
	}
	b.nc, b.r = nc, bufio.NewReaderSize(nc, 64<<10)
	stop := context.AfterFunc(limit, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	if auth := b.flags.auth(b.shell.lookup); auth != nil {
		_, err = askText(nc, b.r, auth...)
	}
	if !stop() && err == nil {
		err = limit.Err()
	}
	return about(b.flags.addr, err)
}

// open has the node make the copy, which may take minutes.
func (b *clusterCopy) open(ctx context.Context, stale bool) error {
	if err := b.dial(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = b.nc.SetDeadline(time.Unix(1, 0)) })()
	stop := b.shell.progress("copy is made", b, false)
	defer stop()
	command := []string{"CLUSTER", "BACKUP", "OPEN"}
	if stale {
		command = append(command, "STALE")
	}
	var reply resp.Reply
	err := ask(b.nc, b.r, &reply, command...)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return about(b.flags.addr, networkCause(err))
	case reply.Type == '-':
		return copyRefused(b.flags.addr, string(reply.Text), stale)
	}
	if b.number, b.files, err = parseCopy(&reply); err != nil {
		return about(b.flags.addr, err)
	}
	for _, f := range b.files {
		b.total += f.size
	}
	return nil
}

// copyRefused is the error for a node that makes no copy. What is stale needs no majority, but a holder of
// each shard.
func copyRefused(addr, text string, stale bool) error {
	err := fmt.Errorf("%s: the server replied: %s", addr, text)
	switch {
	case strings.Contains(text, "cluster support disabled"):
		return hinted{fmt.Errorf("%s: this server is not in a cluster", addr), "bloomery backup DIR -o FILE copies the data folder of a single server"}
	case strings.Contains(text, "has no live holder"):
		return hinted{err, "every shard needs a node that is up and holds it: bloomery cluster status says which do"}
	case strings.HasPrefix(text, "CLUSTERDOWN") && !stale:
		return hinted{err, "--stale does without a majority; where contents are spread, a node that is up has to hold every shard"}
	}
	return err
}

// copyName is what files of a copy are called.
var copyName = regexp.MustCompile(`^(MANIFEST|[0-9]{16}\.part|[0-9]{20}\.log)$`)

// parseCopy reads the reply to CLUSTER BACKUP OPEN: the number of the copy, and its
// files. The manifest is the last.
func parseCopy(reply *resp.Reply) (number int64, files []copiedFile, err error) {
	bad := fmt.Errorf("CLUSTER BACKUP: %w", resp.ErrReply)
	if reply.Type != '*' || len(reply.Array) != 2 || reply.Array[0].Type != ':' || reply.Array[1].Type != '*' || len(reply.Array[1].Array) == 0 {
		return 0, nil, bad
	}
	seen, total := map[string]bool{}, int64(0)
	for i := range reply.Array[1].Array {
		row := &reply.Array[1].Array[i]
		if row.Type != '*' || len(row.Array) != 2 || row.Array[0].Type != '$' || row.Array[1].Type != ':' {
			return 0, nil, bad
		}
		f := copiedFile{string(row.Array[0].Text), row.Array[1].Int}
		total += f.size
		if !copyName.MatchString(f.name) || seen[f.name] || f.size < 0 || total < 0 {
			return 0, nil, bad
		}
		seen[f.name] = true
		files = append(files, f)
	}
	if files[len(files)-1].name != manifestName || reply.Array[0].Int < 1 {
		return 0, nil, bad
	}
	return reply.Array[0].Int, files, nil
}

// manifestName is the file without which the others are of no use. It gets its name when
// all of them are on disk.
const (
	manifestName = "MANIFEST"
	manifestTemp = "MANIFEST.tmp"
	// backupMark says that the folder has a copy that is not whole: nothing but this command
	// has written it, and it may remove what is in it.
	backupMark = "BACKUP"
)

// fetch writes all files.
func (b *clusterCopy) fetch(ctx context.Context) error {
	if err := b.clean(); err != nil {
		return err
	}
	for i, f := range b.files {
		name := f.name
		if name == manifestName {
			name = manifestTemp
		}
		to, err := os.OpenFile(filepath.Join(b.dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		err = b.fetchFile(ctx, i, to)
		if err == nil {
			err = to.Sync()
		}
		if err = errors.Join(err, to.Close()); err != nil {
			return err
		}
	}
	return nil
}

// mark marks the folder, before anything else is in it.
func (b *clusterCopy) mark() error {
	mark, err := os.OpenFile(filepath.Join(b.dir, backupMark), os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(mark.Sync(), mark.Close(), syncFolder(b.dir))
	}
	return err
}

// notWhole is the error for a folder with a copy that is not whole, nil for others.
func notWhole(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, backupMark)); dir == "" || err != nil {
		return nil
	}
	return hinted{fmt.Errorf("%s: an unfinished cluster backup", dir), "run bloomery cluster backup " + dir + " again: it goes on"}
}

// clean removes what an earlier run has left that is no file of this copy, or grows with it: only
// part files stay the same from one copy to the next.
func (b *clusterCopy) clean() error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if name != manifestTemp && !copyName.MatchString(name) {
			continue
		}
		at := slices.IndexFunc(b.files, func(f copiedFile) bool { return f.name == name && strings.HasSuffix(name, ".part") })
		if at < 0 {
			err = errors.Join(err, os.Remove(filepath.Join(b.dir, name)))
		}
	}
	return err
}

// fetchFile writes a file, from where an earlier run has come to: some pieces are asked for at
// once, and come in order.
func (b *clusterCopy) fetchFile(ctx context.Context, file int, to *os.File) error {
	size := b.files[file].size
	had, err := b.resume(ctx, file, to)
	if err != nil {
		return err
	}
	b.done.Add(had)
	for asked := had; had < size; {
		for asked < size && asked-had < copyAhead*copyPiece {
			n := min(copyPiece, size-asked)
			if err := b.askPiece(file, asked, n); err != nil {
				return err
			}
			asked += n
		}
		piece, err := b.piece(ctx, min(copyPiece, size-had))
		if err != nil {
			return err
		}
		if _, err := to.WriteAt(piece, had); err != nil {
			return err
		}
		had += int64(len(piece))
		b.done.Add(int64(len(piece)))
	}
	return nil
}

// A file of a copy is a sequence of frames. The header of a frame has its length, where it is, and a
// checksum of all of it: two frames with the same header are the same.
const (
	frameMagic  = "blmr"
	frameHeader = 32
	// frameMean is how long frames have to be in the mean, so that it is worth comparing them.
	frameMean = 4 << 10
)

// resume returns how much of a file is there as the copy has it, and cuts off the rest. It reads the
// header of each frame from both.
func (b *clusterCopy) resume(ctx context.Context, file int, to *os.File) (int64, error) {
	headers, offsets, err := frameHeaders(to, b.files[file].size)
	if err != nil {
		return 0, err
	}
	same := 0
	if last := len(offsets) - 1; last > 0 && offsets[last]/int64(last) >= frameMean {
		if same, err = b.sameFrames(ctx, file, headers, offsets); err != nil {
			return 0, err
		}
	}
	return offsets[same], to.Truncate(offsets[same])
}

// sameFrames returns how many frames at the beginning of a file are those of the copy.
func (b *clusterCopy) sameFrames(ctx context.Context, file int, headers [][]byte, offsets []int64) (same int, err error) {
	differ := false
	for asked, had := 0, 0; had < len(headers); had++ {
		for ; asked < len(headers) && asked-had < copyAhead; asked++ {
			if err := b.askPiece(file, offsets[asked], frameHeader); err != nil {
				return 0, err
			}
		}
		piece, err := b.piece(ctx, frameHeader)
		if err != nil {
			return 0, err
		}
		if differ = differ || !bytes.Equal(piece, headers[had]); !differ {
			same++
		}
	}
	return same, nil
}

// frameHeaders returns the headers of the whole frames of a file, up to a size, where they are, and
// behind that where the last one ends.
func frameHeaders(r io.ReaderAt, size int64) (headers [][]byte, offsets []int64, err error) {
	offsets = []int64{0}
	last := make([]byte, 1)
	for at := int64(0); at < size; {
		header := make([]byte, frameHeader)
		if _, err := r.ReadAt(header, at); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		next := at + frameHeader + int64(binary.LittleEndian.Uint32(header[8:]))
		if string(header[:len(frameMagic)]) != frameMagic || next > size {
			break
		}
		if _, err := r.ReadAt(last, next-1); err != nil {
			break // it is not whole
		}
		headers, offsets, at = append(headers, header), append(offsets, next), next
	}
	return headers, offsets, nil
}

// askPiece asks for a piece of a file.
func (b *clusterCopy) askPiece(file int, off, n int64) error {
	command := []string{"CLUSTER", "BACKUP", "READ", strconv.FormatInt(b.number, 10), strconv.Itoa(file), strconv.FormatInt(off, 10), strconv.FormatInt(n, 10)}
	if _, err := b.nc.Write(resp.AppendCommand(nil, command...)); err != nil {
		return about(b.flags.addr, networkCause(err))
	}
	return nil
}

// piece returns the next piece that was asked for, of so many bytes. It is valid until the next.
func (b *clusterCopy) piece(ctx context.Context, n int64) ([]byte, error) {
	if err := b.nc.SetDeadline(time.Now().Add(copyTimeout)); err != nil {
		return nil, err
	}
	err := b.reply.Read(b.r)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, about(b.flags.addr, networkCause(err))
	case b.reply.Type == '-':
		return nil, hinted{fmt.Errorf("%s: the server replied: %s", b.flags.addr, b.reply.Text), "run the command again: a node that holds contents may have died"}
	case b.reply.Type != '$' || int64(len(b.reply.Text)) != n:
		return nil, about(b.flags.addr, fmt.Errorf("CLUSTER BACKUP: %w", resp.ErrReply))
	}
	return b.reply.Text, nil
}

// release has the node give the copy up. It does so by itself after a minute, too.
func (b *clusterCopy) release() {
	if b.nc == nil {
		return
	}
	_ = b.nc.Close()
	b.nc = nil
	if b.number == 0 {
		return
	}
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if b.dial(limit) == nil { // replies may be on their way on the connection that was
		_, _ = askText(b.nc, b.r, "CLUSTER", "BACKUP", "CLOSE", strconv.FormatInt(b.number, 10))
	}
	if b.nc != nil {
		_ = b.nc.Close()
		b.nc = nil
	}
	b.number = 0
}

// finish gives the manifest its name and reads everything back.
func (b *clusterCopy) finish(ctx context.Context) error {
	if err := os.Rename(filepath.Join(b.dir, manifestTemp), filepath.Join(b.dir, manifestName)); err != nil {
		return err
	}
	if err := syncFolder(b.dir); err != nil {
		return err
	}
	_, err := abandon(ctx, func() (struct{}, error) { return struct{}{}, datadir.Check(b.dir) })
	if err != nil {
		return fmt.Errorf("%s: read back: %w", b.dir, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return os.Remove(filepath.Join(b.dir, backupMark))
}

// syncFolder makes the names in a folder durable, where folders can be synced.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every system can
	return d.Close()
}

// leave ends a copy that has failed. What has come of it stays for the next run, unless that is
// nothing, or damaged.
func (b *clusterCopy) leave(why error, made bool) error {
	b.release()
	if errors.Is(why, bloomery.ErrCorrupt) {
		return errors.Join(why, b.clear(made))
	}
	if err := os.Remove(filepath.Join(b.dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(why, err)
	}
	entries, err := os.ReadDir(b.dir)
	had := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".part") {
			had += info.Size()
		}
	}
	if err != nil || had == 0 {
		return errors.Join(why, err, b.clear(made))
	}
	return hinted{why, fmt.Sprintf("%s are in %s: run the command again, and it goes on from there", bytesText(uint64(had)), b.dir)}
}

// clear removes what was written, the manifest first, and the folder if it was made.
func (b *clusterCopy) clear(made bool) error {
	names := []string{manifestName, manifestTemp}
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if copyName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	names = append(names, backupMark)
	for _, name := range names {
		if err := os.Remove(filepath.Join(b.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if made {
		return os.Remove(b.dir)
	}
	return nil
}
