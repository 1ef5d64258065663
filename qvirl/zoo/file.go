package zoo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/problemfile"
)

//go:embed data
var embedded embed.FS

// Names of the files in a folder of the zoo.
const (
	indexFile     = "zoo.json"
	problemFolder = "problems"
	answerFolder  = "answers"
)

// entry is a case in the index.
type entry struct {
	Name     string
	Family   string
	Sentence string
	States   int
	Actions  int
	Rewards  int
	Demos    int
	Digest   string // SHA-256 of the problem's file
	Answer   *answerEntry
}

// answerEntry says how an answer was computed.
type answerEntry struct {
	Recipe        string
	Digest        string // of the problem that was answered
	EffectiveSize float64
	KHat          float64 `json:",omitempty"`
	Seconds       float64
}

// All returns the cases of the zoo with their exact answers.
func All() ([]Case, error) {
	data, err := fs.Sub(embedded, "data")
	if err != nil {
		return nil, fmt.Errorf("zoo: %w", err)
	}
	return Read(data)
}

// Read reads the cases in a folder of the layout that README.md describes.
func Read(folder fs.FS) ([]Case, error) {
	text, err := fs.ReadFile(folder, indexFile)
	if err != nil {
		return nil, fmt.Errorf("zoo: %w", err)
	}
	var entries []entry
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("zoo: %s: %w", indexFile, err)
	}
	cases := make([]Case, len(entries))
	for i, e := range entries {
		if cases[i], err = read(folder, e); err != nil {
			return nil, fmt.Errorf("zoo: %s: %w", e.Name, err)
		}
	}
	return cases, nil
}

func read(folder fs.FS, e entry) (Case, error) {
	c := Case{Name: e.Name, Family: e.Family, Sentence: e.Sentence}
	archive, text, err := open(folder, problemFolder, e.Name)
	if err != nil {
		return c, err
	}
	if c.Digest = fmt.Sprintf("%x", sha256.Sum256(text)); c.Digest != e.Digest {
		return c, errors.New("the problem's file is not the one of the index: its SHA-256 differs")
	}
	if c.Problem, err = problemfile.ReadArchive(archive); err != nil || e.Answer == nil {
		return c, err
	}
	if archive, _, err = open(folder, answerFolder, e.Name); err != nil {
		return c, err
	}
	c.Exact = &Answer{Recipe: e.Answer.Recipe, Digest: e.Answer.Digest, EffectiveSize: e.Answer.EffectiveSize,
		KHat: e.Answer.KHat, Seconds: e.Answer.Seconds}
	if c.Exact.Digest != c.Digest {
		return c, errors.New("its answer is that of another problem: the SHA-256 differ; compute it anew")
	}
	if c.Exact.Summary, err = readSummary(archive); err != nil {
		return c, err
	}
	return c, c.Exact.Check(c.Problem)
}

// open opens an archive of the folder, and returns its bytes too.
func open(folder fs.FS, kind, name string) (*npz.Archive, []byte, error) {
	path := kind + "/" + name + ".npz"
	text, err := fs.ReadFile(folder, path)
	if err != nil {
		return nil, nil, err
	}
	archive, err := npz.NewArchive(bytes.NewReader(text), int64(len(text)), path)
	return archive, text, err
}

// arraysOf returns a summary's arrays by their names in answer files; scalarsOf, its numbers. The names of their errors
// end in "_error".
func arraysOf(s *summary.Summary) map[string]*[]float64 {
	return map[string]*[]float64{"reward_mean": &s.RewardMean, "reward_std": &s.RewardStd, "value_mean": &s.ValueMean,
		"value_std": &s.ValueStd, "action_probs": &s.Policy}
}

func scalarsOf(s *summary.Summary) map[string]*float64 {
	return map[string]*float64{"beta_mean": &s.BetaMean, "beta_std": &s.BetaStd}
}

const errorSuffix = "_error"

func readSummary(archive *npz.Archive) (summary.Summary, error) {
	s, r := summary.Summary{Error: &summary.Summary{}}, archive.Under("")
	for suffix, part := range map[string]*summary.Summary{"": &s, errorSuffix: s.Error} {
		for name, to := range arraysOf(part) {
			*to = r.Numbers(name+suffix, -1)
		}
		for name, to := range scalarsOf(part) {
			if r.Has(name + suffix) {
				*to = r.Scalar(name + suffix)
			}
		}
	}
	return s, r.Err()
}

// Update brings a folder of the layout of the zoo up to the given problems: those that it holds already, up to
// rounding, keep their files and answers; answer is asked for the answers of others, one after the other, each of which
// is stored at once. A nil answer is none: the case is stored without.
func Update(ctx context.Context, folder string, cases []Case,
	answer func(context.Context, Case) (*Answer, error)) error {
	for _, sub := range []string{problemFolder, answerFolder} {
		if err := os.MkdirAll(filepath.Join(folder, sub), 0o755); err != nil {
			return fmt.Errorf("zoo: %w", err)
		}
	}
	var stored []Case
	if _, err := os.Stat(filepath.Join(folder, indexFile)); err == nil {
		if stored, err = Read(os.DirFS(folder)); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("zoo: %w", err)
	}
	var done []Case
	var entries []entry
	var err error
	for _, c := range cases {
		i := slices.IndexFunc(stored, func(s Case) bool { return s.Name == c.Name })
		if i >= 0 && equal(stored[i].Problem, c.Problem) {
			stored[i].Family, stored[i].Sentence = c.Family, c.Sentence
			c = stored[i]
		} else if c, err = c.write(folder); err != nil {
			return err
		}
		done, entries = append(done, c), append(entries, c.entry())
	}
	if err := writeIndex(folder, entries); err != nil {
		return err
	}
	for i, c := range done {
		if c.Exact != nil {
			continue
		}
		if c.Exact, err = answer(ctx, c); err != nil {
			return fmt.Errorf("zoo: %s: %w", c.Name, err)
		}
		if c.Exact == nil {
			continue
		}
		c.Exact.Digest = c.Digest
		path := filepath.Join(folder, answerFolder, c.Name+".npz")
		if err := writeSummary(path, c.Exact.Summary); err != nil {
			return err
		}
		entries[i] = c.entry()
		if err := writeIndex(folder, entries); err != nil {
			return err
		}
	}
	return nil
}

// write writes the problem of a case and returns the case with the problem that a reader of the file gets.
func (c Case) write(folder string) (Case, error) {
	path := filepath.Join(folder, problemFolder, c.Name+".npz")
	if err := problemfile.Write(path, c.Problem); err != nil {
		return c, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("zoo: %w", err)
	}
	c.Digest = fmt.Sprintf("%x", sha256.Sum256(text))
	c.Problem, err = problemfile.Read(path)
	return c, err
}

func (c Case) entry() entry {
	e := entry{Name: c.Name, Family: c.Family, Sentence: c.Sentence, States: c.Problem.MDP.States(),
		Actions: c.Problem.MDP.Actions(), Rewards: c.Problem.RewardDim(), Demos: len(c.Problem.Demos), Digest: c.Digest}
	if a := c.Exact; a != nil {
		e.Answer = &answerEntry{Recipe: a.Recipe, Digest: a.Digest, EffectiveSize: a.EffectiveSize, KHat: a.KHat,
			Seconds: a.Seconds}
	}
	return e
}

func writeIndex(folder string, entries []entry) error {
	return atomicfile.WriteJSON(filepath.Join(folder, indexFile), entries)
}

func writeSummary(path string, s summary.Summary) error {
	arrays := map[string]npz.Array{}
	for suffix, part := range map[string]*summary.Summary{"": &s, errorSuffix: s.Error} {
		for name, x := range arraysOf(part) {
			arrays[name+suffix] = npz.Floats(*x, len(*x))
		}
		for name, x := range scalarsOf(part) {
			arrays[name+suffix] = npz.Scalar(*x)
		}
	}
	if err := npz.Write(path, arrays); err != nil {
		return fmt.Errorf("zoo: %w", err)
	}
	return nil
}

// equal reports whether two problems are the same up to rounding.
func equal(p, q *irl.Problem) bool {
	if p.MDP.States() != q.MDP.States() || p.MDP.Actions() != q.MDP.Actions() || !slices.Equal(p.Demos, q.Demos) ||
		(p.Prior.Cov == nil) != (q.Prior.Cov == nil) {
		return false
	}
	flat := func(p *irl.Problem) []float64 {
		return slices.Concat(p.MDP.Dense(), p.MDP.Initial(), p.Prior.Mean,
			mat.DenseCopyOf(p.Prior.Covariance()).RawMatrix().Data,
			[]float64{p.Discount, p.Beta, p.BetaLogStd})
	}
	return slices.EqualFunc(flat(p), flat(q), func(a, b float64) bool { return math.Abs(a-b) <= rounding*math.Abs(a) })
}

// rounding is how much the same problem may differ between machines, relative to each number.
const rounding = 1e-12
