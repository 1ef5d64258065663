//go:build unix

package widgets

import (
	"encoding/gob"
	"errors"
	"fmt"
	"image"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// kernel stands for GoNB: it reads what programs display from one named pipe, and acknowledges through the other.
type kernel struct {
	mu       sync.Mutex
	received []*protocol.DisplayData
}

// take returns what was displayed since the last call.
func (k *kernel) take() []*protocol.DisplayData {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.received
	k.received = nil
	return out
}

// theKernel is started once: gonbui keeps its pipes for the life of the program.
var theKernel = sync.OnceValues(func() (*kernel, error) {
	dir, err := os.MkdirTemp("", "birl-widgets-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // open pipes outlive their names
	to, from := filepath.Join(dir, "to"), filepath.Join(dir, "from")
	for variable, path := range map[string]string{protocol.GONB_PIPE_ENV: to, protocol.GONB_PIPE_BACK_ENV: from} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			return nil, err
		}
		os.Setenv(variable, path)
	}
	k := &kernel{}
	ready := make(chan error, 1)
	go func() {
		in, err := os.Open(to) // both wait for gonbui to open the other end
		if err != nil {
			ready <- err
			return
		}
		out, err := os.OpenFile(from, os.O_WRONLY, 0)
		ready <- err
		if err != nil {
			return
		}
		decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
		for {
			data := &protocol.DisplayData{}
			if decoder.Decode(data) != nil {
				return
			}
			if value, ok := data.Data[protocol.MIMECommValue].(protocol.CommValue); ok {
				encoder.Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: value.Value})
				continue
			}
			k.mu.Lock()
			k.received = append(k.received, data)
			k.mu.Unlock()
		}
	}()
	gonbui.IsNotebook = true
	if err := gonbui.Open(); err != nil {
		return nil, err
	}
	gonbui.IsNotebook = false
	return k, <-ready
})

// inNotebook lets the test see what a notebook would be sent.
func inNotebook(t *testing.T) *kernel {
	t.Helper()
	k, err := theKernel()
	if err != nil {
		t.Fatal(err)
	}
	gonbui.IsNotebook = true
	t.Cleanup(func() { gonbui.IsNotebook = false })
	k.take()
	return k
}

func TestShow(t *testing.T) {
	k := inNotebook(t)
	if err := Show(exampleELBO()); err != nil {
		t.Fatal(err)
	}
	if err := ShowTable(exampleTable()); err != nil {
		t.Fatal(err)
	}
	if err := ShowMarkdown("*a*"); err != nil {
		t.Fatal(err)
	}
	if err := ShowBrowser(exampleMarginals(), 1, 2); err != nil {
		t.Fatal(err)
	}
	got := k.take()
	if len(got) != 4 {
		t.Fatalf("%d outputs, want 4", len(got))
	}
	for i, want := range []map[protocol.MIMEType]string{
		{protocol.MIMEImageSVG: "<svg ", protocol.MIMEImagePNG: "\x89PNG", protocol.MIMETextPlain: "QVIRL's objective"},
		{protocol.MIMETextHTML: "<table", protocol.MIMETextPlain: "method  "},
		{protocol.MIMETextMarkdown: "*a*"},
		{protocol.MIMEImageSVG: "state 27", protocol.MIMEImagePNG: "\x89PNG",
			protocol.MIMETextPlain: "Marginal posteriors"},
	} {
		for mime, part := range want {
			text, ok := got[i].Data[mime].(string)
			if picture, is := got[i].Data[mime].([]byte); is && !ok {
				text = string(picture)
			}
			if !strings.Contains(text, part) {
				t.Errorf("output %d, %s: %.60q, want it to contain %q", i, mime, text, part)
			}
		}
	}
	f, err := exampleELBO().Figure()
	if err != nil {
		t.Fatal(err)
	}
	w, h := f.Size()
	want := map[string]any{"image/png": map[string]any{"width": w, "height": h}}
	if diff := cmp.Diff(want, got[0].Metadata); diff != "" {
		t.Errorf("the picture's size on the page (-want +got):\n%s", diff)
	}
	spec, ok := got[3].Data[vegaLite].(map[string]any)
	if !ok || len(spec["layer"].([]any)) != 7 {
		t.Errorf("the Vega-Lite output is a %T with %v layers, want 7", got[3].Data[vegaLite], len(spec))
	}
	if err := Show(Curves{}); err == nil {
		t.Error("an empty figure gave no error")
	}
	if err := ShowBrowser(exampleMarginals(), 3); err == nil {
		t.Error("a panel that does not exist gave no error")
	}
}

func TestLive(t *testing.T) {
	k := inNotebook(t)
	live := NewLive()
	for range 100 {
		if err := live.Update(exampleELBO()); err != nil {
			t.Fatal(err)
		}
	}
	if err := live.Done(); err != nil {
		t.Fatal(err)
	}
	got := k.take()
	first, last := got[0], got[len(got)-1]
	if len(got) < 2 || len(got) > 10 || first.DisplayID == "" || first.DisplayID != last.DisplayID {
		t.Fatalf("%d updates to %q and %q", len(got), first.DisplayID, last.DisplayID)
	}
	if first.Data[protocol.MIMEImageSVG] == nil || last.Data[protocol.MIMEImageSVG] == nil ||
		last.Data[protocol.MIMEImagePNG] == nil {
		t.Error("a picture is missing: SVG in every update, PNG in the last")
	}
}

func TestShowWithoutNotebook(t *testing.T) {
	if err := Show(exampleELBO()); !errors.Is(err, ErrNoNotebook) {
		t.Errorf("got %v, want ErrNoNotebook", err)
	}
	if err := Slider("λ", []string{"1"}, 0, func(int) (Drawing, error) { return exampleELBO(), nil }); !errors.Is(err,
		ErrNoNotebook) {
		t.Errorf("got %v, want ErrNoNotebook", err)
	}
}

func TestHeadlessChoices(t *testing.T) {
	t.Setenv("BIRL_HEADLESS", "1")
	k := inNotebook(t)
	drawn := -1
	draw := func(option int) (Drawing, error) {
		drawn = option
		return exampleELBO(), nil
	}
	if err := Slider("β", []string{"1", "2", "5"}, 1, draw); err != nil {
		t.Fatal(err)
	}
	if got := k.take(); drawn != 1 || len(got) != 2 || got[0].Data[protocol.MIMETextMarkdown] != "*β: 2*" ||
		got[1].Data[protocol.MIMEImageSVG] == nil {
		t.Errorf("option %d is drawn, and %d outputs are shown", drawn, len(got))
	}
	for _, bad := range []error{Slider("β", nil, 0, draw), Slider("β", []string{"1"}, 1, draw),
		Slider("β", []string{"1"}, 0, nil)} {
		if bad == nil {
			t.Error("a choice that cannot be made gave no error")
		}
	}
}

func TestProgress(t *testing.T) {
	k := inNotebook(t)
	p := NewProgress("QVIRL <8×8>")
	for i := range 1000 {
		p.Report(i, 1000, "ELBO −23")
	}
	p.Done()
	got := k.take()
	if len(got) < 2 || len(got) > 10 {
		t.Fatalf("%d updates for 1000 reports in no time, want the first and the last", len(got))
	}
	first, last := got[0].Data[protocol.MIMETextHTML].(string), got[len(got)-1].Data[protocol.MIMETextHTML].(string)
	if !strings.Contains(first, "QVIRL &lt;8×8&gt;") || !strings.Contains(first, "ELBO −23") ||
		!strings.Contains(last, "s · ELBO −23") {
		t.Errorf("first %q, last %q", first, last)
	}
	if got[0].DisplayID == "" || got[0].DisplayID != got[len(got)-1].DisplayID {
		t.Error("the updates do not go to one output")
	}
	t.Setenv("BIRL_HEADLESS", "1")
	p = NewProgress("ValueWalk")
	for i := range 100 {
		p.Report(i, 100, "")
	}
	p.Done()
	if got := k.take(); len(got) != 1 {
		t.Errorf("%d outputs without a reader, want 1", len(got))
	}
}

// An interrupt ends the line, and reaches whoever else waits for it: here, this test.
func TestProgressIsInterrupted(t *testing.T) {
	k := inNotebook(t)
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	p := NewProgress("ValueWalk")
	p.Interrupted = "the first half is kept"
	p.Report(40, 100, "")
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-interrupts // ours
	<-interrupts // and what the line handed on, after it was ended
	p.Done()     // changes nothing any more
	got := k.take()
	last := got[len(got)-1].Data[protocol.MIMETextHTML].(string)
	if !strings.Contains(last, "ValueWalk: interrupted after") || strings.Contains(last, "width") ||
		!strings.Contains(last, "at 40 %; the first half is kept") {
		t.Errorf("the line ends with %q", last)
	}
}

// A heading stands above all pictures: as the caption of the first it made that one as wide as the text.
func TestHeadingStandsAbovePictures(t *testing.T) {
	k := inNotebook(t)
	picture := image.NewRGBA(image.Rect(0, 0, 2, 2))
	if err := ShowPictures("a & b", 10, picture, picture); err != nil {
		t.Fatal(err)
	}
	shown := k.take()
	if len(shown) != 1 {
		t.Fatalf("%d outputs, want 1", len(shown))
	}
	fragment, text := fmt.Sprint(shown[0].Data[protocol.MIMETextHTML]), shown[0].Data[protocol.MIMETextPlain]
	heading, rest, _ := strings.Cut(fragment, "<div")
	if heading != "<b>a &amp; b</b>" || text != "a & b" {
		t.Errorf("heading %q and text %q, want a & b in both", heading, text)
	}
	if strings.Count(rest, "<figure") != 2 || strings.Count(rest, `alt="a &amp; b"`) != 2 || strings.Contains(rest,
		"<b>") {
		t.Errorf("pictures %q, want two without captions that are described by the heading", rest)
	}
}
