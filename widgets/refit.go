package widgets

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/comms"
	"github.com/janpfeifer/gonb/gonbui/dom"
	gonbwidgets "github.com/janpfeifer/gonb/gonbui/widgets"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Assumptions are what the reader of Refit changes.
type Assumptions struct {
	PriorMean, PriorStd float64 // of each reward
	Beta                float64 // the expert's rationality coefficient
	State               int     // that is looked at
	Demonstrations      []mdp.Step
}

func (a Assumptions) validate(w exhibit.World) error {
	states := w.Width * w.Height
	return check.First(checkWorld("Refit", w), checkFinite("Refit: prior mean, prior standard deviation, β",
		[]float64{a.PriorMean, a.PriorStd, a.Beta}), refuse(!(a.PriorStd > 0) || !(a.Beta > 0), "Refit: the prior's "+
		"standard deviation is %g and β %g, want both positive", a.PriorStd, a.Beta),
		refuse(len(w.Actions) == 0, "Refit needs names of actions"), checkState("Refit: state", a.State, states),
		forEach("Refit: demonstrations", a.Demonstrations, func(field string, d mdp.Step) error {
			return refuse(d.State < 0 || d.State >= states || d.Action < 0 || d.Action >= len(w.Actions), "%s is of "+
				"state %d and action %d, want 0..%d and 0..%d", field, d.State, d.Action, states-1, len(w.Actions)-1)
		}))
}

// parseAssumptions reads what the page sends: the fields, as JSON.
func parseAssumptions(text string) (a Assumptions, err error) {
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, fmt.Errorf("widgets: Refit: %q was sent: %w", text, err)
	}
	return a, nil
}

// caption says what was assumed, and how long the answer took.
func (a Assumptions) caption(took time.Duration) string {
	text := fmt.Sprintf("prior %g ± %g, β = %g, %s", a.PriorMean, a.PriorStd, a.Beta,
		progress.Count(len(a.Demonstrations), "demonstrated decision", "demonstrated decisions"))
	if took > 0 {
		text += fmt.Sprintf("; %.2f s", took.Seconds())
	}
	return minus(text)
}

//go:embed refit.js
var refitScript string

// Refit lets the reader change the prior and β, and add demonstrations by a click on a state and one on an action, and
// draws what each change makes of the posterior. draw, which fits it, is called for each change; where changes come
// faster than it answers, for the last of them. Refit returns when the reader clicks “done”. Without a reader (see
// Headless) it shows the picture of start and returns.
func Refit(w exhibit.World, start Assumptions, draw func(Assumptions) (Drawing, error)) error {
	if err := start.validate(w); err != nil {
		return apologise(err)
	}
	if draw == nil {
		return apologise(fmt.Errorf("widgets: Refit needs a function that draws"))
	}
	if !gonbui.IsNotebook {
		return ErrNoNotebook
	}
	if Headless() {
		return showOnce(start.caption(0), func() (Drawing, error) { return draw(start) })
	}
	id := "birl-refit-" + gonbui.UniqueId()
	parent := dom.CreateTransientDiv()
	dom.Append(parent, refitForm(id, w, start))
	changes := comms.Listen[string](refitAddress(id)).LatestOnly()
	defer changes.Close()
	done := gonbwidgets.Button("done").AppendTo(parent).Done().Listen()
	defer done.Close()
	script, err := refitJS(id, start)
	if err != nil {
		return err
	}
	dom.TransientJavascript(script)
	show := func(a Assumptions, render renderer) error {
		began := time.Now()
		d, err := draw(a)
		if err == nil {
			err = redraw(id+"-picture", a.caption(time.Since(began)), d, render)
		}
		return err
	}
	for now := start; ; {
		select {
		case <-done.C:
			return show(now, render) // what the saved notebook shows
		case text := <-changes.C:
			if text == "" { // before the page has sent anything
				continue
			}
			a, err := parseAssumptions(text)
			if err == nil {
				err = a.validate(w)
			}
			if err == nil {
				err = show(a, renderFast)
			}
			if err != nil { // a number that was mistyped, say: the reader goes on
				gonbui.UpdateHTML(id+"-picture-caption", html.EscapeString(sentence(err)))
				continue
			}
			now = a
		}
	}
}

// refitForm is what the reader operates: inputs called prior-mean, prior-std, beta, and undo; buttons with the
// attributes data-state and data-action.
func refitForm(id string, w exhibit.World, a Assumptions) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<div id="%s" class="birl-refit">`, id)
	for _, input := range []struct {
		name, label string
		value, step float64
	}{{"prior-mean", "prior mean", a.PriorMean, 0.5}, {"prior-std", "prior standard deviation", a.PriorStd, 0.5},
		{"beta", "β", a.Beta, 0.25}} {
		fmt.Fprintf(&b, `<label>%s <input type="number" name="%s" value="%g" step="%g" style="width:5em"></label> `,
			input.label, input.name, input.value, input.step)
	}
	b.WriteString(`<div style="display:flex;gap:16px;margin:8px 0;align-items:flex-start">`)
	fmt.Fprintf(&b, `<div style="display:grid;grid-template-columns:repeat(%d,auto);gap:2px">`, w.Width)
	for s, name := range stateNames(w) {
		frame := ""
		if w.Terminal != nil && w.Terminal[s] {
			frame = ";border:2px solid"
		}
		name = html.EscapeString(name)
		fmt.Fprintf(&b, `<button data-state="%d" title="%s" style="min-width:44px%s">%s</button>`, s, name, frame, name)
	}
	b.WriteString(`</div><div>the expert does here:<br>`)
	for i, name := range w.Actions {
		fmt.Fprintf(&b, `<button data-action="%d">%s</button> `, i, html.EscapeString(name))
	}
	b.WriteString(`<br><button name="undo">take the last back</button></div></div></div>`)
	return b.String()
}

// refitJS is the script of the form.
func refitJS(id string, a Assumptions) (string, error) {
	start, err := json.Marshal(map[string]any{"ID": id, "address": refitAddress(id), "state": a.State,
		"demos": append([]mdp.Step{}, a.Demonstrations...)})
	return strings.Replace(refitScript, "START", string(start), 1), err
}

// refitAddress is where the page sends what the reader assumes.
func refitAddress(id string) string { return "/birl/refit/" + id }
