package uitest

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	{"filters", "/filters", "light", 1280, 860},
	{"filter", "/filters?name=crawler:urls", "dark", 1280, 1000},
	{"calculator", "/calculator", "light", 1280, 1000},
	{"how", "/how", "light", 1280, 1000},
	{"phone", "/filters", "dark", 390, 844},
}

// TestScreenshots writes the pictures that docs and README show: make screenshots.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("give a folder with -screenshots")
	}
	s := stocked(t, server.Config{HTTPAdmin: true, Dir: t.TempDir()})
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
