package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/demo"
)

// usedFile is where a model's folder keeps which episodes it was trained on.
const usedFile = "demonstrations.json"

// usedEpisodes are the episodes of a file that a model was trained on.
type usedEpisodes struct {
	File     string `json:"file"` // its name, without folders
	SHA256   string `json:"sha256"`
	Episodes []int  `json:"episodes"`
	// Digests are those of the episodes, by which they are known in other files; older models have none.
	Digests []string `json:"digests,omitempty"`
}

// newUsedEpisodes identifies the file.
func newUsedEpisodes(path string) (*usedEpisodes, error) {
	sum, err := demo.FileSum(path)
	if err != nil {
		return nil, err
	}
	return &usedEpisodes{File: filepath.Base(path), SHA256: sum}, nil
}

// write stores them in a model's folder.
func (u *usedEpisodes) write(dir string) error {
	return atomicfile.WriteJSON(filepath.Join(dir, usedFile), u)
}

// readUsed returns which episodes the model in dir was trained on; nil if its folder does not tell.
func readUsed(dir string) (*usedEpisodes, error) {
	used := new(usedEpisodes)
	err := atomicfile.ReadJSON(filepath.Join(dir, usedFile), used)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return used, err
}

// add adds episode i of the file.
func (u *usedEpisodes) add(i int, t *demo.Trajectory) {
	u.Episodes, u.Digests = append(u.Episodes, i), append(u.Digests, episodeDigest(t))
}

// episodeDigest returns the SHA-256, in hexadecimal, of an episode's observations and actions, whatever file holds it.
func episodeDigest(t *demo.Trajectory) string {
	observed := t.Digest
	if observed == "" {
		observed = t.Sum()
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, observed, t.Actions)))
}

// countUsed returns how many of the episodes first, …, end−1 of a file, all of which are given, the model in dir was
// trained on, and a note where its folder does not tell, or the file is another than its name promises.
func countUsed(dir, path string, first, end int, all []demo.Trajectory) (n int, note string, err error) {
	used, err := readUsed(dir)
	if err != nil {
		return 0, "", err
	}
	if used == nil {
		return 0, fmt.Sprintf("%s holds no %s: whether the model was trained on these episodes cannot be told", dir,
			usedFile), nil
	}
	this, err := newUsedEpisodes(path)
	if err != nil {
		return 0, "", err
	}
	if this.SHA256 == used.SHA256 {
		return len(used.among(first, end)), "", nil
	}
	if used.Digests == nil {
		return 0, fmt.Sprintf("%s is not the file that the model was trained on, which was called %s: whether it was "+
			"trained on these episodes cannot be told", path, used.File), nil
	}
	known := 0
	for i := range all {
		if slices.Contains(used.Digests, episodeDigest(&all[i])) {
			known++
			if i >= first && i < end {
				n++
			}
		}
	}
	if known == 0 && this.File == used.File {
		note = fmt.Sprintf("the model was trained on a file of the same name, but none of the episodes that it learnt "+
			"from are in %s: it was replaced, or its episodes were changed", path)
	}
	return n, note, nil
}

// among returns those of the episodes first, …, end−1.
func (u *usedEpisodes) among(first, end int) (out []int) {
	for _, i := range u.Episodes {
		if i >= first && i < end {
			out = append(out, i)
		}
	}
	return out
}
