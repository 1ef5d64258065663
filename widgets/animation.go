package widgets

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	colors "image/color/palette"
	"image/gif"
)

// ShowAnimation displays pictures of one size as an animation, which begins again when it has ended, as output of the
// notebook's cell. It is so many pixels wide, at most as wide as the pictures, and shows perSecond of them a second,
// from 1 to 50.
func ShowAnimation(title string, pictures []image.Image, width, perSecond int) error {
	animation, err := animate(pictures, width, perSecond)
	if err != nil {
		return err
	}
	escaped := html.EscapeString(title)
	return ShowHTML(fmt.Sprintf(`<p><b>%s</b><br><img alt="%s" src="data:image/gif;base64,%s"></p>`, escaped, escaped,
		base64.StdEncoding.EncodeToString(animation)), title)
}

// animate returns the pictures as an animated GIF.
func animate(pictures []image.Image, width, perSecond int) ([]byte, error) {
	switch {
	case len(pictures) == 0:
		return nil, fmt.Errorf("widgets: ShowAnimation needs pictures")
	case perSecond < 1 || perSecond > 50:
		return nil, fmt.Errorf("widgets: ShowAnimation: perSecond = %d, want 1 to 50", perSecond)
	case width < 1:
		return nil, fmt.Errorf("widgets: ShowAnimation: width = %d, want at least 1", width)
	}
	size := pictures[0].Bounds().Size()
	if size.X == 0 || size.Y == 0 {
		return nil, fmt.Errorf("widgets: ShowAnimation: picture 0 is empty")
	}
	width = min(width, size.X)
	height := max(1, width*size.Y/size.X)
	out := gif.GIF{}
	for i, p := range pictures {
		if p.Bounds().Size() != size {
			return nil, fmt.Errorf("widgets: ShowAnimation: picture %d has the size %v, picture 0 has %v", i,
				p.Bounds().Size(), size)
		}
		frame := image.NewPaletted(image.Rect(0, 0, width, height), colors.Plan9)
		for y := range height {
			for x := range width {
				frame.Set(x, y, p.At(p.Bounds().Min.X+x*size.X/width, p.Bounds().Min.Y+y*size.Y/height))
			}
		}
		out.Image, out.Delay = append(out.Image, frame), append(out.Delay, 100/perSecond)
	}
	out.Delay[len(pictures)-1] = 150 // hundredths of a second
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &out); err != nil {
		return nil, fmt.Errorf("widgets: encoding an animation: %w", err)
	}
	return b.Bytes(), nil
}
