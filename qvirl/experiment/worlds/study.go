package worlds

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
)

// Study is one world and its posteriors, kept in a folder: what a notebook looks at cell by cell without fitting a
// method twice.
type Study struct {
	Config Config
	World  *World
	dir    string
}

// NewStudy returns the study of the world with the given seed. Posteriors are kept in dir, which is made if need be,
// under names that depend on the config and the method's version.
func NewStudy(c Config, seed uint64, dir string) (*Study, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	w, err := c.NewWorld(seed)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("worlds: the folder of the study: %w", err)
	}
	return &Study{Config: c, World: w, dir: dir}, nil
}

// Posterior returns the posterior of a method, read from the study's folder, or fitted and kept there.
func (s *Study) Posterior(ctx context.Context, name string, progress irl.Progress) (irl.Posterior, error) {
	path, err := s.path(name, method.Version(name))
	if err != nil {
		return nil, err
	}
	post, err := qvirl.Load(path)
	if err == nil {
		return post, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("worlds: the posterior of %s that the study keeps cannot be read; remove its file to "+
			"have it fitted again: %w", name, err)
	}
	posts, err := s.Config.FitWorld(ctx, s.World, []string{name}, "", progress)
	if err != nil {
		return nil, err
	}
	return posts[name], qvirl.Save(path, posts[name])
}

// Posteriors returns the posteriors of several methods by name.
func (s *Study) Posteriors(ctx context.Context, names []string, progress irl.Progress) (map[string]irl.Posterior,
	error) {
	out := map[string]irl.Posterior{}
	for _, name := range names {
		var err error
		if out[name], err = s.Posterior(ctx, name, progress); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// path names the file of a posterior by the method, the world and a digest of the config and the version of the
// method's code.
func (s *Study) path(name string, version int) (string, error) {
	text, err := json.Marshal(struct {
		Config  Config
		Version int
	}{s.Config, version})
	if err != nil {
		return "", fmt.Errorf("worlds: %w", err)
	}
	digest := sha256.Sum256(text)
	return filepath.Join(s.dir, fmt.Sprintf("%s-%d-%x.npz", name, s.World.Seed, digest[:6])), nil
}
