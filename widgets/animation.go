package widgets

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	colors "image/color/palette"
	"image/gif"
	"image/png"
	"slices"
	"strings"

	"github.com/go-birl/birl/envs/check"
)

// Animation is pictures of one size, one after another.
type Animation struct {
	Title    string
	Pictures []image.Image
}

// ShowAnimations displays animations side by side, which begin again when they have ended, as output of the notebook's
// cell. Each is so many pixels wide, at most as wide as its pictures, and shows perSecond of them a second, from 1 to
// 50.
func ShowAnimations(width, perSecond int, animations ...Animation) error {
	if len(animations) == 0 {
		return apologise(fmt.Errorf("widgets: ShowAnimations needs animations"))
	}
	var pictures []encoded
	for _, a := range animations {
		data, err := animate(a.Pictures, width, perSecond)
		if err != nil {
			return apologise(err)
		}
		pictures = append(pictures, encoded{a.Title, "image/gif", data})
	}
	return showPictures("", 0, pictures)
}

// ShowPictures displays pictures side by side, each so many pixels wide, under a title, as output of the notebook's
// cell.
func ShowPictures(title string, width int, pictures ...image.Image) error {
	if len(pictures) == 0 {
		return apologise(fmt.Errorf("widgets: ShowPictures needs pictures for %q", title))
	}
	out := make([]encoded, len(pictures))
	for i, p := range pictures {
		var b bytes.Buffer
		err := check.NotNil(fmt.Sprintf("number %d", i), p, "an image")
		if err == nil {
			err = png.Encode(&b, p)
		}
		if err != nil {
			return apologise(fmt.Errorf("widgets: a picture of %q: %w", title, err))
		}
		out[i] = encoded{"", "image/png", b.Bytes()}
	}
	return showPictures(title, width, out)
}

// encoded is a picture as a browser takes it.
type encoded struct {
	title, mime string
	data        []byte
}

// showPictures displays pictures side by side, in their own width if that is 0, each under its title and all under a
// heading, where these are not empty.
func showPictures(heading string, width int, pictures []encoded) error {
	bold := func(text string) string {
		if text == "" {
			return ""
		}
		return "<b>" + html.EscapeString(minus(text)) + "</b>"
	}
	size := ""
	if width > 0 {
		size = fmt.Sprintf(` width="%d"`, width)
	}
	fragment, said := "", []string{}
	for _, p := range pictures {
		name := cmp.Or(p.title, heading)
		fragment += fmt.Sprintf(`<figure style="margin:0"><figcaption>%s</figcaption><img%s alt="%s" `+
			`src="data:%s;base64,%s"></figure>`, bold(p.title), size, html.EscapeString(minus(name)), p.mime,
			base64.StdEncoding.EncodeToString(p.data))
		if !slices.Contains(said, name) {
			said = append(said, name)
		}
	}
	return ShowHTML(bold(heading)+`<div style="display:flex;flex-wrap:wrap;gap:12px;margin:4px 0">`+fragment+"</div>",
		strings.Join(said, "; "))
}

// animate returns the pictures as an animated GIF.
func animate(pictures []image.Image, width, perSecond int) ([]byte, error) {
	switch {
	case len(pictures) == 0:
		return nil, fmt.Errorf("widgets: ShowAnimations needs pictures")
	case perSecond < 1 || perSecond > 50:
		return nil, fmt.Errorf("widgets: ShowAnimations: perSecond = %d, want 1 to 50", perSecond)
	case width < 1:
		return nil, fmt.Errorf("widgets: ShowAnimations: width = %d, want at least 1", width)
	}
	size := pictures[0].Bounds().Size()
	if size.X == 0 || size.Y == 0 {
		return nil, fmt.Errorf("widgets: ShowAnimations: picture 0 is empty")
	}
	width = min(width, size.X)
	height := max(1, width*size.Y/size.X)
	out := gif.GIF{}
	for i, p := range pictures {
		if p.Bounds().Size() != size {
			return nil, fmt.Errorf("widgets: ShowAnimations: picture %d has the size %v, picture 0 has %v", i,
				p.Bounds().Size(), size)
		}
		frame := image.NewPaletted(image.Rect(0, 0, width, height), colors.Plan9)
		for y := range height {
			for x := range width {
				frame.Set(x, y, p.At(p.Bounds().Min.X+x*size.X/width, p.Bounds().Min.Y+y*size.Y/height))
			}
		}
		out.Image = append(out.Image, frame)
		out.Delay = append(out.Delay, 100*(i+1)/perSecond-100*i/perSecond) // whole hundredths that add up to the rate
	}
	out.Delay[len(pictures)-1] = 150 // hundredths of a second
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &out); err != nil {
		return nil, fmt.Errorf("widgets: encoding an animation: %w", err)
	}
	return b.Bytes(), nil
}
