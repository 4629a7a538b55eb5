package datadir

// What the folder of a node of a cluster has beside contents.

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
	"github.com/bloomery/bloomery/server/internal/door/cluster/nats"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// nodeFiles checks what the folder of a node of a cluster has beside contents, and adds it to the report.
// It returns what to do about damage, by the kinds of files: other nodes have what this one had. A folder
// that is not that of a node has none.
func nodeFiles(dir string, disk folder.Disk, found *local.Report) (remedies map[FileKind]string, err error) {
	isNode := false
	for i := range found.Files {
		f := &found.Files[i]
		if f.Name != claims.SessionsName {
			continue
		}
		isNode, f.Kind = true, string(Sessions)
		nonces, err := claims.ReadSessions(disk)
		if f.Err = bareCorrupt(err); f.Err == nil && err != nil {
			return nil, fmt.Errorf("datadir: %w", err)
		}
		f.Detail = fmt.Sprintf("%d sessions that this folder has begun", len(nonces))
	}
	own, err := nats.Inspect(filepath.Join(dir, cluster.LogFolder))
	if err != nil {
		return nil, fmt.Errorf("datadir: %w", err)
	}
	if own.Size > 0 || own.Err != nil {
		isNode = true
		found.Files = append(found.Files, local.FileReport{
			Name: filepath.Join(cluster.LogFolder, own.File), Kind: string(Node), Size: own.Size, Detail: own.Detail, Err: bareCorrupt(own.Err), Torn: -1,
		})
	}
	if own.Streams > 0 {
		found.Files = append(found.Files, local.FileReport{
			Name: filepath.Join(cluster.LogFolder, own.Folder), Kind: string(Streams), Size: own.Streams, Detail: "the log: a start checks it", Torn: -1, Unchecked: true,
		})
	}
	if !isNode {
		return nil, nil
	}
	return map[FileKind]string{
		Manifest: cluster.FetchAgain,
		Part:     "start the node: it fetches this snapshot from another one",
		Sessions: "remove this file: the node starts without it",
		Node:     nats.NewFolder(dir),
	}, nil
}

// bareCorrupt returns the cause of damage, nil of other errors: a report names the file, and the remedy.
func bareCorrupt(err error) error {
	if !errors.Is(err, bloomery.ErrCorrupt) {
		return nil
	}
	return bloomery.ErrCorrupt
}
