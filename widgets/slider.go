package widgets

import (
	"html"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/dom"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	gonbwidgets "github.com/janpfeifer/gonb/gonbui/widgets"

	"github.com/go-birl/birl/envs/check"
)

// Slider lets the reader choose one of the options and redraws the picture for each choice, computed by draw, which
// gets the option's index. It returns when the reader clicks “done”. Without a reader (see Headless) it shows the
// picture of the option at start and returns.
//
// Where the page is busy, the control may not appear: then interrupt the cell and run it again.
//
// It needs the kernel for each picture. Where all pictures can be computed beforehand, ShowBrowser or ShowVegaLite are
// better: they also work in a saved notebook.
func Slider(label string, options []string, start int, draw func(option int) (Drawing, error)) error {
	if err := check.First(refuse(len(options) == 0, "Slider needs options"),
		checkState("Slider: start", start, len(options)),
		refuse(draw == nil, "Slider needs a function that draws")); err != nil {
		return apologise(err)
	}
	if !gonbui.IsNotebook {
		return ErrNoNotebook
	}
	if Headless() {
		return showOnce(label+": "+options[start], func() (Drawing, error) { return draw(start) })
	}
	parent := dom.CreateTransientDiv()
	dom.Append(parent, "<span>"+html.EscapeString(label)+" </span>")
	choices := gonbwidgets.Slider(0, len(options)-1, start).AppendTo(parent).Done().Listen()
	defer choices.Close()
	done := gonbwidgets.Button("done").AppendTo(parent).Done().Listen()
	defer done.Close()
	picture := "birl-picture-" + gonbui.UniqueId()
	for choice := start; ; {
		d, err := draw(choice)
		if err == nil {
			err = redraw(picture, label+": "+options[choice], d, renderFast)
		}
		if err != nil {
			return apologise(err)
		}
		select {
		case <-done.C:
			return redraw(picture, label+": "+options[choice], d, render) // what the saved notebook shows
		case choice = <-choices.C:
		}
		for len(choices.C) > 0 { // only the latest position counts
			choice = <-choices.C
		}
		choice = min(max(choice, 0), len(options)-1)
	}
}

// showOnce shows a drawing under its caption, where nobody operates it.
func showOnce(caption string, draw func() (Drawing, error)) error {
	if err := ShowMarkdown("*" + caption + "*"); err != nil {
		return err
	}
	d, err := draw()
	if err != nil {
		return apologise(err)
	}
	return Show(d)
}

// renderer makes a drawing an output.
type renderer func(Drawing) (*protocol.DisplayData, error)

func redraw(id, caption string, d Drawing, render renderer) error {
	out, err := render(d)
	if err != nil {
		return err
	}
	gonbui.UpdateHTML(id+"-caption", "<b>"+html.EscapeString(caption)+"</b>")
	update(id, out)
	return gonbui.Error()
}
