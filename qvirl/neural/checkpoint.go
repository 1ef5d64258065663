package neural

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-birl/birl/envs/atomicfile"
)

// checkpointEvery is how much work may be lost when a training is killed; one whose context ends loses none. Those that
// explore an environment also lose what came after the last round.
const checkpointEvery = 20 * time.Second

// ErrCheckpoint is wrapped by errors about a checkpoint that training cannot go on from.
var ErrCheckpoint = errors.New("remove it to start over")

// checkpoint is a file with the state of a job: the SHA-256 of what follows, and the state. A nil checkpoint keeps
// nothing.
type checkpoint struct {
	path, identity string
	last           time.Time // when the file was written
	kept           *state    // which the file does not hold yet; nil for none
}

// newCheckpoint returns the checkpoint, in a folder, of the job whose first run is the given one. It loads no state of
// a training of another identity.
func newCheckpoint(dir string, first int, identity string) *checkpoint {
	return &checkpoint{path: filepath.Join(dir, fmt.Sprintf("runs-%03d.checkpoint", first)), identity: identity,
		last: time.Now()}
}

// old reports whether a state is to be written by now.
func (c *checkpoint) old() bool { return c != nil && time.Since(c.last) >= checkpointEvery }

// keep keeps a state, whose parameters nothing changes in place, and writes it to the file if it is the last one or the
// file is old.
func (c *checkpoint) keep(s *state, last bool) error {
	kept := *s
	kept.Identity = c.identity
	kept.Curves, kept.Aux, kept.Best = slices.Clone(s.Curves), slices.Clone(s.Aux), slices.Clone(s.Best)
	kept.Sums = slices.Clone(s.Sums)
	kept.BestLikelihood, kept.BestPoint = slices.Clone(s.BestLikelihood), slices.Clone(s.BestPoint)
	c.kept = &kept
	if last || c.old() {
		return c.write()
	}
	return nil
}

// write writes the state that was kept last, if there is any, whole or not at all.
func (c *checkpoint) write() error {
	if c == nil || c.kept == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o755); err != nil {
		return fmt.Errorf("neural: the folder of the checkpoint: %w", err)
	}
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(c.kept); err != nil {
		return fmt.Errorf("neural: the checkpoint: %w", err)
	}
	sum := sha256.Sum256(body.Bytes())
	err := atomicfile.Write(c.path, func(w io.Writer) error {
		_, err := io.Copy(w, io.MultiReader(bytes.NewReader(sum[:]), &body))
		return err
	})
	if err != nil {
		return fmt.Errorf("neural: the checkpoint: %w", err)
	}
	c.kept, c.last = nil, time.Now()
	return nil
}

// checked returns what follows the SHA-256 that a text begins with, if it is that of what follows.
func checked(text []byte) ([]byte, error) {
	if len(text) < sha256.Size {
		return nil, errors.New("it is cut off")
	}
	sum, body := text[:sha256.Size], text[sha256.Size:]
	if is := sha256.Sum256(body); !bytes.Equal(is[:], sum) {
		return nil, errors.New("its checksum is another")
	}
	return body, nil
}

// load replaces a state by the saved one, if there is any.
func (c *checkpoint) load(s *state) error {
	if c == nil {
		return nil
	}
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("neural: the checkpoint: %w", err)
	}
	var saved state
	body, err := checked(text)
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(body)).Decode(&saved)
	}
	if err != nil {
		return fmt.Errorf("neural: the checkpoint %s is damaged, %w; %w", c.path, err, ErrCheckpoint)
	}
	if saved.Identity != c.identity {
		return fmt.Errorf("neural: the checkpoint %s is of a training with other data, settings or seeds; %w",
			c.path, ErrCheckpoint)
	}
	if len(saved.Trained) != len(s.Trained) || len(saved.Moment1) != len(s.Trained) ||
		len(saved.Moment2) != len(s.Trained) ||
		len(saved.Curves) != len(s.Curves) || len(saved.Best) != len(s.Best) {
		return fmt.Errorf("neural: the checkpoint %s does not hold what it should; %w", c.path,
			ErrCheckpoint)
	}
	saved.fixed = s.fixed
	*s = saved
	return nil
}

// clock measures how long a training takes, with all its programs and what came before an interruption.
type clock struct {
	began  time.Time
	mutex  sync.Mutex
	before float64 // seconds up to the interruption
}

func newClock() *clock { return &clock{began: time.Now()} }

// goOn adds the seconds up to an interruption. Each program has kept them when it last could: the last one counts.
func (c *clock) goOn(seconds float64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.before = max(c.before, seconds)
}

func (c *clock) seconds() float64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.before + time.Since(c.began).Seconds()
}
