package progress

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	var got []Event
	show := func(e Event) { got = append(got, e) }
	m := NewMeter(show, "u")
	if m.Report(1, 10, "a stage without work"); got[0].Fraction != 0.1 || got[0].Left != 0 {
		t.Errorf("a tenth at once: %+v, want no estimate of the time left", got[0])
	}
	got, m = nil, NewMeter(show, "u")
	m.start = m.start.Add(-10 * time.Second)
	m.Report(1, 4, " loss 3 ")
	m.Report(7, 4, "")
	m.Report(1, 0, "")
	m.Finish(Event{Out: "there"})
	if len(got) != 4 {
		t.Fatalf("%d events, want 4", len(got))
	}
	if e := got[0]; e.Kind != Progressed || e.Unit != "u" || e.Status != "loss 3" || e.Fraction != 0.25 ||
		e.Elapsed < 10 || e.Left < 29 || e.Left > 40 {
		t.Errorf("a quarter in 10 s: %+v", e)
	}
	if got[1].Fraction != 1 || got[2].Fraction != 0 || got[2].Left != 0 {
		t.Errorf("more than all, and of no total: %+v, %+v", got[1], got[2])
	}
	if e := got[3]; e.Kind != Finished || e.Fraction != 1 || e.Done != 1 || e.Out != "there" || e.Elapsed < 10 {
		t.Errorf("at the end: %+v", e)
	}
}

// A computation that makes half of its way in a second and a hundredth of it in each later one has 40 of them left when
// it has made 0.6 of it. Nobody knows what one that stands still has left.
func TestTimeLeftAtTheRecentPace(t *testing.T) {
	var e Event
	m := NewMeter(func(now Event) { e = now }, "")
	report := func(seconds, fraction float64) {
		m.start = time.Now().Add(-time.Duration(seconds * float64(time.Second)))
		m.Report(int(1000*fraction), 1000, "")
	}
	for i := range 11 {
		report(1+float64(i), 0.5+0.01*float64(i))
	}
	if e.Left < 38 || e.Left > 42 {
		t.Errorf("%.1f s left, want 40", e.Left)
	}
	for i := range 20 {
		report(11+10*float64(i), 0.6)
	}
	if e.Left != 0 {
		t.Errorf("at a standstill %.1f s left, want no estimate", e.Left)
	}
	if len(m.marks) > 20 {
		t.Errorf("%d marks of 31 reports", len(m.marks))
	}
}

func TestEvery(t *testing.T) {
	for interval, want := range map[time.Duration]bool{time.Hour: false, 0: true} {
		due := Every(interval)
		if first, again := due(), due(); !first || again != want {
			t.Errorf("every %v: due at first: %t, and right after: %t", interval, first, again)
		}
	}
}

// The three writings of one event say the same.
func TestWritings(t *testing.T) {
	e := Event{Kind: Progressed, Unit: "world-<3>", Done: 2, Total: 8, Fraction: 0.25, Left: 90, Status: "ELBO −23"}
	var lines, bar, text bytes.Buffer
	Terminal(&lines)(e)
	(&terminal{w: &bar, rewrites: true}).event(e)
	JSON(&text)(e)
	var again Event
	if err := json.Unmarshal(text.Bytes(), &again); err != nil || again.Unit != e.Unit || again.Left != e.Left {
		t.Errorf("JSON %s: %+v, %v", text.Bytes(), again, err)
	}
	page := HTML("a & b", e)
	for name, got := range map[string]string{"lines": lines.String(), "bar": bar.String(), "page": page} {
		for _, want := range []string{"25 %", "2/8 units", "90 s left", "world-", "ELBO −23"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in %q", name, want, got)
			}
		}
	}
	if !strings.Contains(page, "width:25.0%") || !strings.Contains(page, "a &amp; b") || strings.Contains(page, "<3>") {
		t.Errorf("page %q", page)
	}
	if full := strings.Count(bar.String(), "█"); full != 6 || !strings.HasPrefix(bar.String(), "\r") {
		t.Errorf("%d parts of the bar %q, want 6", full, bar.String())
	}
}

// A shorter line leaves nothing of a longer one, nor does one that the terminal is too narrow for, and a note takes the
// place of the bar.
func TestTerminalRewrites(t *testing.T) {
	var out bytes.Buffer
	d := &terminal{w: &out, rewrites: true}
	d.event(Event{Kind: Started, Unit: "a long name"})
	d.event(Event{Kind: Progressed, Unit: "dropped", Fraction: 1}) // too soon
	d.event(Event{Kind: UnitFinished, Unit: "b", Notes: []string{"a note"}})
	if got := out.String(); !strings.Contains(got, "\x1b[?7l[····") ||
		!strings.Contains(got, "a long name\x1b[?7h\r\x1b[K") ||
		!strings.Contains(got, "  b\x1b[?7h\r\x1b[Knote: b: a note\n") || strings.Contains(got, "dropped") {
		t.Errorf("written: %q", got)
	}
	d.event(Event{Kind: Finished, Fraction: 1, Elapsed: 125})
	if !strings.HasSuffix(out.String(), "done in 2 min 05 s\x1b[?7h\n") {
		t.Errorf("the end: %q", out.String())
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{20 * time.Millisecond: "20 ms", 1234 * time.Millisecond: "1.2 s",
		59 * time.Second: "59 s", 125 * time.Second: "2 min 05 s", 200 * time.Minute: "3 h 20 min"} {
		if got := Brief(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}

func TestOneThingIsNotSeveral(t *testing.T) {
	for n, want := range map[int]string{0: "0 entries", 1: "1 entry", 2: "2 entries", 11: "11 entries"} {
		if got := Count(n, "entry", "entries"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
