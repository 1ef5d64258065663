package widgets

import (
	"fmt"
	"html"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/comms"
	"github.com/janpfeifer/gonb/gonbui/dom"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	gonbwidgets "github.com/janpfeifer/gonb/gonbui/widgets"
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
	if err := checkChoice("Slider", options, start, draw != nil); err != nil {
		return apologise(err)
	}
	return interact(label, options, start, draw, func(parent string) *comms.AddressChan[int] {
		return gonbwidgets.Slider(0, len(options)-1, start).AppendTo(parent).Done().Listen()
	})
}

// Select is Slider with a drop-down list, for options without an order.
func Select(label string, options []string, start int, draw func(option int) (Drawing, error)) error {
	if err := checkChoice("Select", options, start, draw != nil); err != nil {
		return apologise(err)
	}
	return interact(label, options, start, draw, func(parent string) *comms.AddressChan[int] {
		escaped := make([]string, len(options))
		for i, o := range options {
			escaped[i] = html.EscapeString(o)
		}
		return gonbwidgets.Select(escaped).SetDefault(start).AppendTo(parent).Done().Listen()
	})
}

func checkChoice(name string, options []string, start int, drawable bool) error {
	switch {
	case len(options) == 0:
		return fmt.Errorf("widgets: %s needs options", name)
	case start < 0 || start >= len(options):
		return fmt.Errorf("widgets: %s: start = %d is outside 0..%d", name, start, len(options)-1)
	case !drawable:
		return fmt.Errorf("widgets: %s needs a function that draws", name)
	}
	return nil
}

func interact(label string, options []string, start int, draw func(int) (Drawing, error),
	build func(parent string) *comms.AddressChan[int]) error {
	if !gonbui.IsNotebook {
		return ErrNoNotebook
	}
	if Headless() {
		if err := ShowMarkdown(fmt.Sprintf("*%s: %s*", label, options[start])); err != nil {
			return err
		}
		d, err := draw(start)
		if err != nil {
			return apologise(err)
		}
		return Show(d)
	}
	parent := dom.CreateTransientDiv()
	dom.Append(parent, "<span>"+html.EscapeString(label)+" </span>")
	choices := build(parent)
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
