package uitest

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bloomery/bloomery/server"
)

var screenshots = flag.String("screenshots", "", "folder that pictures of the page are written to")

// shots are the pictures of the documentation: each tab, one of them dark, one as on a
// telephone.
var shots = []struct {
	name, path, theme string
	width, height     int64
}{
	{"overview", "/", "light", 1280, 860},
	{"filters", "/filters?sort=verdict", "light", 1280, 900},
	{"filter", "/filters?name=crawler:urls", "dark", 1280, 1010},
	{"calculator", "/calculator", "light", 1280, 1000},
	{"how", "/how", "light", 1280, 1000},
	{"phone", "/filters?sort=verdict", "dark", 390, 844},
}

// TestScreenshots writes the pictures that docs and README show: make screenshots.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("give a folder with -screenshots")
	}
	clock := newFastClock(5 * time.Hour)
	s := stocked(t, server.Config{HTTPAdmin: true, Dir: t.TempDir(), Version: "v0.1.0", Now: clock.now})
	clock.run(func(round int) {
		s.addMany("BF.MADD", "crawler:urls", 6000+round*110)
		s.send("BF.EXISTS", "crawler:urls", fmt.Sprint("absent", round))
	})
	for _, shot := range shots {
		p := open(t, s.base, "/")
		p.theme(shot.theme)
		p.size(shot.width, shot.height)
		p.visit(shot.path)
		if shot.path == "/" { // a curve needs some seconds
			for range 40 {
				s.addMany("FILTER.ADD", "users:seen", 500+int(time.Now().UnixNano()%7)*2000)
				time.Sleep(200 * time.Millisecond)
			}
		}
		if shot.path == "/how" { // where the first lesson leads
			p.click(`button[aria-label="Last step"]`)
			p.shown("cat-dog", 3)
			p.wait(`document.getAnimations().length === 0`) // colours fade in
		}
		data, err := run(p, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		small, err := smaller(data)
		if err != nil {
			t.Fatal(err)
		}
		const most = 150_000
		if len(small) > most {
			t.Errorf("page-%s.png has %d bytes, want at most %d", shot.name, len(small), most)
		}
		if err := os.WriteFile(filepath.Join(*screenshots, "page-"+shot.name+".png"), small, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fastClock is a clock that begins in the past and catches up with the true time, in
// steps of five minutes: so long is it between two points of a filter's history.
type fastClock struct{ behind atomic.Int64 }

func newFastClock(behind time.Duration) *fastClock {
	c := &fastClock{}
	c.behind.Store(int64(behind))
	return c
}

func (c *fastClock) now() time.Time { return time.Now().Add(-time.Duration(c.behind.Load())) }

// run calls f before every step.
func (c *fastClock) run(f func(round int)) {
	const step = 5 * time.Minute
	for round := 0; c.behind.Load() > 0; round++ {
		f(round)
		time.Sleep(250 * time.Millisecond) // in which the server takes its measurements
		c.behind.Store(max(c.behind.Load()-int64(step), 0))
	}
}

// smaller writes a picture with the 256 colours that it has the most of; others become
// the nearest of them.
func smaller(data []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	counts := map[color.NRGBA]int{}
	bounds := from.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.NRGBAModel.Convert(from.At(x, y)).(color.NRGBA)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.NRGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := color.Palette{}
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.NRGBA]uint8{}
	to := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := color.NRGBAModel.Convert(from.At(x, y)).(color.NRGBA)
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&b, to)
	return b.Bytes(), err
}
