package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/widgets"
)

// layout is notebooks/pages/pages.yaml: what pages, tables and figures there are.
type layout struct {
	Pages     []page             `yaml:"pages"`
	Tables    map[string]tableOf `yaml:"tables"`
	Notebooks []entry            `yaml:"notebooks"`
	Shown     []shown            `yaml:"shown"`
}

// shown is a figure of a notebook that another page shows: the first whose description holds the words.
type shown struct {
	Notebook string `yaml:"notebook"`
	Words    string `yaml:"words"`
	Path     string `yaml:"path"` // of the PNG, from the root
}

// page is a page of an experiment, around the prose of its name.
type page struct {
	Name        string       `yaml:"name"`
	Title       string       `yaml:"title"`
	Experiments []string     `yaml:"experiments"` // folders in results
	Command     string       `yaml:"command"`     // other than `qvirl run EXPERIMENT --scale paper`
	Notebook    string       `yaml:"notebook"`    // that gets its box; empty for none
	Says        string       `yaml:"says"`        // what the paper says; a template, as all texts here
	Found       string       `yaml:"found"`       // what was found
	Verdict     string       `yaml:"verdict"`     // of pages without claims of the paper's, such as "beyond the paper"
	Figure      *figureOf    `yaml:"figure"`
	Picture     *storedImage `yaml:"picture"` // a file instead of a figure
}

// storedImage is a picture that another command has made.
type storedImage struct {
	Path string `yaml:"path"` // from the page
	Alt  string `yaml:"alt"`
}

// entry is a line of the gallery. A notebook that does not exist yet is left out.
type entry struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	Line  string `yaml:"line"`
	// Figure is the number of the picture that becomes the thumbnail, from 0, the first by default; the last picture
	// where there are fewer.
	Figure int `yaml:"figure"`
}

// site holds all that pages are made of, and the files that are made.
type site struct {
	root     string
	pictures bool // whether their bytes are made; else they are nil
	results  *results
	ledger   *ledger
	layout   *layout
	files    map[string][]byte     // by path from the root
	used     map[string]bool       // the tables that some page shows
	kinds    map[method.Kind]bool  // the kinds of methods that some page lists
	zoo      *exhibit.VerdictChart // nil until it is asked for
}

const banner = "<!-- Made by `go run ./notebooks/cmd/pages` from claims.yaml, pages/pages.yaml, pages/prose and " +
	"results; edit those. -->\n\n"

// build makes all files, with or without the bytes of pictures.
func build(root string, pictures bool) (*site, error) {
	s := &site{root: root, pictures: pictures, results: newResults(root), layout: new(layout),
		files: map[string][]byte{}, used: map[string]bool{}, kinds: map[method.Kind]bool{}}
	var err error
	if err = readYAML(filepath.Join(root, "notebooks", "pages", "pages.yaml"), s.layout); err != nil {
		return nil, err
	}
	if s.ledger, err = readLedger(root, s.results); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, p := range s.layout.Pages {
		names[p.Name] = true
		if err := s.makePage(p); err != nil {
			return nil, fmt.Errorf("page %s: %w", p.Name, err)
		}
		if p.Notebook != "" {
			if err := s.makeBox(p); err != nil {
				return nil, fmt.Errorf("notebook %s: %w", p.Notebook, err)
			}
		}
	}
	for _, c := range s.ledger.Claims {
		if !names[c.Page] {
			return nil, fmt.Errorf("claims.yaml: %q: there is no page %q", c.Claim, c.Page)
		}
	}
	if err := s.makeThumbnails(); err != nil {
		return nil, err
	}
	for _, f := range s.layout.Shown {
		if err := s.copyFigure(f); err != nil {
			return nil, err
		}
	}
	for path, prose := range map[string]string{
		"notebooks/REPRODUCTION.md": "REPRODUCTION.md", "notebooks/README.md": "README.md",
		"notebooks/pages/methods.md": "methods.md", "notebooks/pages/metrics.md": "metrics.md",
	} {
		text, err := s.prose(prose)
		if err != nil {
			return nil, err
		}
		s.files[path] = []byte(banner + text + "\n")
	}
	for _, name := range sortedKeys(s.layout.Tables) {
		if !s.used[name] {
			return nil, fmt.Errorf("pages.yaml: no page shows the table %s", name)
		}
	}
	for _, kind := range method.Kinds() {
		if !s.kinds[kind] {
			return nil, fmt.Errorf("prose: no page lists the methods of the kind %s", kind)
		}
	}
	return s, nil
}

// claimsOf returns the claims of a page.
func (s *site) claimsOf(name string) []claim {
	return slices.DeleteFunc(slices.Clone(s.ledger.Claims), func(c claim) bool { return c.Page != name })
}

// tally counts the verdicts of claims.
func tally(claims []claim) map[verdict]int {
	counts := map[verdict]int{}
	for _, c := range claims {
		counts[c.verdict]++
	}
	return counts
}

// verdictOf sums the verdicts of a page's claims up.
func (s *site) verdictOf(p page) string {
	claims := s.claimsOf(p.Name)
	counts := tally(claims)
	attempted := len(claims) - counts[notAttempted]
	switch {
	case len(claims) == 0:
		return p.Verdict
	case attempted == 0:
		return "Not attempted"
	case counts[reproduced] == len(claims):
		return "Reproduced"
	case counts[not] == attempted:
		return "Not reproduced"
	case counts[reproduced] == 0 && counts[not] > counts[partly]:
		return "Mostly not reproduced"
	}
	return "Partly reproduced"
}

// counted says how many claims have which verdict.
func counted(claims []claim) string {
	counts := tally(claims)
	var parts []string
	for _, v := range []verdict{reproduced, partly, not, notAttempted} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	noun := "claims"
	if len(claims) == 1 {
		noun = "claim"
	}
	return fmt.Sprintf("%d %s: %s", len(claims), noun, strings.Join(parts, ", "))
}

// sentences returns what the paper says and what was found, on a page and in its box, with the numbers filled in.
func (s *site) sentences(p page) (says, found string, err error) {
	if says, err = s.fill(p.Says); err != nil {
		return "", "", err
	}
	found, err = s.fill(p.Found)
	return says, found, err
}

// makePage writes a page, and the figure beside it.
func (s *site) makePage(p page) error {
	says, found, err := s.sentences(p)
	if err != nil {
		return err
	}
	prose, err := s.prose(p.Name + ".md")
	if err != nil {
		return err
	}
	why, rest, _ := strings.Cut(prose, "\n## ")
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\n", banner, p.Title)
	claims := s.claimsOf(p.Name)
	if fmt.Fprintf(&b, "**%s**", s.verdictOf(p)); len(claims) > 0 {
		fmt.Fprintf(&b, " ([%s](#claim-by-claim))", counted(claims))
	}
	b.WriteString(". ")
	if says != "" {
		fmt.Fprintf(&b, "The paper: %s ", says)
	}
	fmt.Fprintf(&b, "Found: %s\n\n", found)
	switch {
	case p.Picture != nil:
		fmt.Fprintf(&b, "![%s](%s)\n\n", p.Picture.Alt, p.Picture.Path)
	case p.Figure != nil:
		drawing, err := s.drawing(*p.Figure)
		if err == nil {
			err = s.makeFigure(p.Name, drawing)
		}
		if err != nil {
			return fmt.Errorf("figure: %w", err)
		}
		fmt.Fprintf(&b, "![%s](figures/%s.svg)\n\n", p.Figure.Title, p.Name)
		fmt.Fprintf(&b, "<sub>[PNG](figures/%[1]s.png) · [numbers as CSV](figures/%[1]s.csv)</sub>\n\n", p.Name)
	}
	b.WriteString(strings.TrimSpace(why) + "\n\n")
	if rest != "" {
		b.WriteString("## " + strings.TrimSpace(rest) + "\n\n")
	}
	if len(claims) > 0 {
		notes, err := s.notes(claims)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "## Claim by claim\n\n%s\n%s\n%s", claimTable(claims, false), notes, details(claims))
	}
	if len(p.Experiments) > 0 {
		b.WriteString("## Compute it again\n\n")
		text, err := s.provenance(p)
		if err != nil {
			return err
		}
		b.WriteString(text)
	}
	b.WriteString("[Methods by name](methods.md) · [all metrics](metrics.md) · [all claims](../REPRODUCTION.md) · " +
		"[all notebooks](../README.md)\n")
	s.files["notebooks/pages/"+p.Name+".md"] = []byte(b.String())
	return nil
}

// makeBox writes the verdict into the page's notebook.
func (s *site) makeBox(p page) error {
	nb, err := readNotebook(s.root, p.Notebook)
	if err != nil {
		return err
	}
	says, found, err := s.sentences(p)
	if err != nil {
		return err
	}
	box := fmt.Sprintf("> **%s.** ", s.verdictOf(p))
	if says != "" {
		box += "*The paper:* " + says + " "
	}
	box += fmt.Sprintf("*Found:* %s [More](pages/%s.md), [all claims](REPRODUCTION.md).", found, p.Name)
	text, err := nb.withBox(box)
	if err != nil {
		return err
	}
	s.files["notebooks/"+p.Notebook+".ipynb"] = text
	return nil
}

// makeThumbnails makes a small picture of each notebook of the gallery, and refuses notebooks that have no line there.
func (s *site) makeThumbnails() error {
	paths, err := filepath.Glob(filepath.Join(s.root, "notebooks", "*.ipynb"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".ipynb")
		i := slices.IndexFunc(s.layout.Notebooks, func(e entry) bool { return e.Name == name })
		if i < 0 {
			return fmt.Errorf("pages.yaml: notebooks has no line for %s", name)
		}
		nb, err := readNotebook(s.root, name)
		if err != nil {
			return err
		}
		pictures := slices.DeleteFunc(nb.figures(), func(f figure) bool { return f.png == nil })
		if len(pictures) == 0 {
			continue
		}
		var small []byte
		if s.pictures {
			n := min(s.layout.Notebooks[i].Figure, len(pictures)-1)
			if small, err = thumbnail(pictures[n].png); err != nil {
				return fmt.Errorf("notebook %s: %w", name, err)
			}
		}
		s.files[thumbnailPath(name)] = small
	}
	return nil
}

// copyFigure writes a figure of a notebook to a file.
func (s *site) copyFigure(f shown) error {
	nb, err := readNotebook(s.root, f.Notebook)
	if err != nil {
		return err
	}
	for _, picture := range nb.figures() {
		if picture.png != nil && strings.Contains(picture.description, f.Words) {
			s.files[f.Path] = picture.png
			return nil
		}
	}
	return fmt.Errorf("pages.yaml: shown: no figure of %s is described by %q", f.Notebook, f.Words)
}

func thumbnailPath(notebook string) string { return "notebooks/figures/thumb-" + notebook + ".png" }

// gallery lists the notebooks that exist.
func (s *site) gallery() (string, error) {
	var b strings.Builder
	b.WriteString("| | notebook | what it shows |\n|:--|:--|:--|\n")
	for _, e := range s.layout.Notebooks {
		if _, err := os.Stat(filepath.Join(s.root, "notebooks", e.Name+".ipynb")); errors.Is(err, os.ErrNotExist) {
			continue
		}
		line, err := s.fill(e.Line)
		if err != nil {
			return "", err
		}
		verdict := ""
		for _, p := range s.layout.Pages {
			if p.Notebook == e.Name {
				verdict = fmt.Sprintf(" **%s** ([page](pages/%s.md)).", s.verdictOf(p), p.Name)
			}
		}
		picture, path := "", thumbnailPath(e.Name)
		if _, err := os.Stat(filepath.Join(s.root, path)); err == nil || has(s.files, path) {
			picture = fmt.Sprintf(`<a href="%[1]s.ipynb"><img src="figures/thumb-%[1]s.png" width="180" alt="%[2]s"></a>`,
				e.Name, e.Title)
		}
		fmt.Fprintf(&b, "| %s | [%s](%s.ipynb) | %s%s |\n", picture, e.Title, e.Name, line, verdict)
	}
	return b.String(), nil
}

// makeFigure draws a figure of a page: SVG, PNG, and its numbers as CSV.
func (s *site) makeFigure(name string, drawing widgets.Drawing) error {
	drawn, err := drawing.Figure()
	if err != nil {
		return err
	}
	for ending, write := range map[string]func() ([]byte, error){"svg": drawn.SVG, "png": drawn.PNG, "csv": drawn.CSV} {
		var text []byte
		if ending == "csv" || s.pictures {
			if text, err = write(); err != nil {
				return err
			}
		}
		s.files["notebooks/pages/figures/"+name+"."+ending] = text
	}
	return nil
}

// value returns an estimate for a figure, nil where there is none.
func value(e *estimate) *widgets.Estimate {
	if e == nil {
		return nil
	}
	return widgets.Value(e.mean, e.stdErr)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func has[K comparable, V any](m map[K]V, key K) bool { _, ok := m[key]; return ok }
