package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// An image of containers in the layout of the Open Container Initiative, in one tar file:
// blobs that are named by their SHA-256, and an index of the images by processor. Docker is
// not needed to make one. What the image is comes from the last stage of Dockerfile.

// Media types of the parts of an image.
const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// imageConfig is how an image is run.
type imageConfig struct {
	Created string `json:"created"`
	platform
	Config runConfig `json:"config"`
	RootFS rootFS    `json:"rootfs"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type runConfig struct {
	User         string              `json:"User"`
	Env          []string            `json:"Env"`
	Entrypoint   []string            `json:"Entrypoint"`
	Cmd          []string            `json:"Cmd"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts"`
	Volumes      map[string]struct{} `json:"Volumes"`
	StopSignal   string              `json:"StopSignal"`
	Labels       map[string]string   `json:"Labels,omitempty"`
	Healthcheck  *healthcheck        `json:"Healthcheck,omitempty"`
}

type healthcheck struct {
	Test          []string
	Interval      time.Duration
	Timeout       time.Duration
	StartPeriod   time.Duration
	StartInterval time.Duration
}

// readDockerfile returns how the image of the last stage of a Dockerfile is run. A line that it
// does not know is an error: the image would differ from that of Docker.
func readDockerfile(text string) (c runConfig, err error) {
	_, text, found := strings.Cut(text, "\nFROM scratch\n")
	if !found {
		return c, errors.New("dockerfile: the last stage is not FROM scratch")
	}
	c.ExposedPorts, c.Volumes = map[string]struct{}{}, map[string]struct{}{}
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		fields := strings.Fields(rest)
		switch word {
		case "", "#", "COPY": // imageFiles has what is copied
		case "USER":
			c.User = rest
		case "ENV":
			c.Env = fields
		case "VOLUME":
			for _, f := range fields {
				c.Volumes[f] = struct{}{}
			}
		case "EXPOSE":
			for _, f := range fields {
				c.ExposedPorts[f+"/tcp"] = struct{}{}
			}
		case "STOPSIGNAL":
			c.StopSignal = rest
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &c.Entrypoint)
		case "CMD":
			err = json.Unmarshal([]byte(rest), &c.Cmd)
		case "HEALTHCHECK":
			c.Healthcheck, err = readHealthcheck(rest)
		default:
			err = errors.New("unknown instruction")
		}
		if err != nil {
			return c, fmt.Errorf("dockerfile: %s: %w", word, err)
		}
	}
	return c, nil
}

func readHealthcheck(text string) (*healthcheck, error) {
	options, command, found := strings.Cut(text, "CMD ")
	if !found {
		return nil, errors.New("there is no command")
	}
	h := &healthcheck{}
	durations := map[string]*time.Duration{
		"--interval": &h.Interval, "--timeout": &h.Timeout, "--start-period": &h.StartPeriod, "--start-interval": &h.StartInterval,
	}
	for option := range strings.FieldsSeq(options) {
		name, value, _ := strings.Cut(option, "=")
		d, err := time.ParseDuration(value)
		if err != nil || durations[name] == nil {
			return nil, fmt.Errorf("option %q", option)
		}
		*durations[name] = d
	}
	var words []string
	if err := json.Unmarshal([]byte(command), &words); err != nil {
		return nil, err
	}
	h.Test = append([]string{"CMD"}, words...)
	return h, nil
}

// layer returns the files of the image as a tar, plain: the program, the licence, and the folder
// of data, which belongs to the user of the image.
func (r *release) layer(t target, user string) ([]byte, error) {
	uid, gid, _ := strings.Cut(user, ":")
	owner, err := strconv.Atoi(uid)
	if err != nil {
		return nil, fmt.Errorf("the user %q is not a number", user)
	}
	group, err := strconv.Atoi(gid)
	if err != nil {
		return nil, fmt.Errorf("the group of %q is not a number", user)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []file{
		{"LICENSE", filepath.Join(r.root, "LICENSE"), 0o644},
		{"bloomery", filepath.Join(r.stage, t.String(), t.binary()), 0o755},
	} {
		data, err := os.ReadFile(f.path)
		if err != nil {
			return nil, err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(data)), Mode: f.mode, ModTime: r.when, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	h := &tar.Header{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o700, Uid: owner, Gid: group, ModTime: r.when, Format: tar.FormatUSTAR}
	err = errors.Join(w.WriteHeader(h), w.Close())
	return b.Bytes(), err
}

// layout is an image that is being written: its blobs by digest, in the order of their making.
type layout struct {
	digests []string
	blobs   map[string][]byte
}

// add takes a blob and returns its descriptor.
func (l *layout) add(media string, data []byte) descriptor {
	d := digestOf(data)
	if l.blobs == nil {
		l.blobs = map[string][]byte{}
	}
	if _, there := l.blobs[d]; !there {
		l.blobs[d] = data
		l.digests = append(l.digests, d)
	}
	return descriptor{MediaType: media, Digest: d, Size: int64(len(data))}
}

func (l *layout) addJSON(media string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return l.add(media, data), err
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// image adds the image of a target.
func (r *release) image(l *layout, t target, run runConfig, labels map[string]string) (descriptor, error) {
	plain, err := r.layer(t, run.User)
	if err != nil {
		return descriptor{}, err
	}
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // a level that there is
	if _, err := z.Write(plain); err != nil {
		return descriptor{}, err
	}
	if err := z.Close(); err != nil {
		return descriptor{}, err
	}
	run.Labels = labels
	p := platform{t.arch, t.os}
	config, err := l.addJSON(mediaConfig, imageConfig{
		Created: r.when.Format(time.RFC3339), platform: p, Config: run, RootFS: rootFS{"layers", []string{digestOf(plain)}},
	})
	if err != nil {
		return descriptor{}, err
	}
	m, err := l.addJSON(mediaManifest, manifest{2, mediaManifest, config, []descriptor{l.add(mediaLayer, zipped.Bytes())}, labels})
	m.Platform = &p
	return m, err
}

// images writes the images of all targets of Linux into one file.
func (r *release) images() error {
	text, err := os.ReadFile(filepath.Join(r.root, "Dockerfile"))
	if err != nil {
		return err
	}
	run, err := readDockerfile(string(text))
	if err != nil {
		return err
	}
	labels := map[string]string{
		"org.opencontainers.image.title": "bloomery", "org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://github.com/bloomery/bloomery",
	}
	var l layout
	inner := index{SchemaVersion: 2, MediaType: mediaIndex}
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		m, err := r.image(&l, t, run, labels)
		if err != nil {
			return fmt.Errorf("%s: image: %w", t, err)
		}
		inner.Manifests = append(inner.Manifests, m)
	}
	if len(inner.Manifests) == 0 {
		return nil // none of the targets has one
	}
	d, err := l.addJSON(mediaIndex, inner)
	if err != nil {
		return err
	}
	d.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	return l.write(filepath.Join(r.out, "bloomery_"+r.version+"_image.tar"), d, r.when)
}

// write writes the layout as a tar file, of which d is the entry.
func (l *layout) write(name string, d descriptor, when time.Time) error {
	entry, err := json.Marshal(index{SchemaVersion: 2, MediaType: mediaIndex, Manifests: []descriptor{d}})
	if err != nil {
		return err
	}
	return create(name, func(out io.Writer) error {
		w := tar.NewWriter(out)
		put := func(name string, data []byte) error {
			h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, ModTime: when, Format: tar.FormatUSTAR}
			if err := w.WriteHeader(h); err != nil {
				return err
			}
			_, err := w.Write(data)
			return err
		}
		errs := []error{put("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)), put("index.json", entry)}
		for _, digest := range l.digests {
			errs = append(errs, put("blobs/"+strings.Replace(digest, ":", "/", 1), l.blobs[digest]))
		}
		return errors.Join(append(errs, w.Close())...)
	})
}
