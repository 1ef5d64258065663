package problemfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// Names of the arrays of a stored posterior; its own follow the prefix.
const (
	posteriorPrefix  = "posterior_"
	posteriorKind    = posteriorPrefix + "kind"
	posteriorVersion = posteriorPrefix + "version"
)

// version of the format: files of later ones are refused.
const version = 1

// Save writes a posterior to a file, atomically: its problem as Write does, and beside it
//
//	posterior_kind     []  a text: what restores it
//	posterior_version  []  1
//	posterior_…            arrays of the kind's own
//
// An answer to a problem (see Answer) holds the same. A posterior that is no irl.Storable is an error. The folder must
// exist.
func Save(path string, post irl.Posterior) error {
	if err := irl.CheckPosterior("problemfile", post); err != nil {
		return err
	}
	p, ok := post.(irl.Storable)
	if !ok {
		return fmt.Errorf("problemfile: a posterior of type %T cannot be stored", post)
	}
	arrays := arraysOf(p.Problem())
	addPosterior(arrays, p)
	if err := write(path, arrays); err != nil {
		return fmt.Errorf("problemfile: cannot save a posterior: %w", err)
	}
	return nil
}

// addPosterior adds the arrays of a posterior.
func addPosterior(to map[string]npz.Array, p irl.Storable) {
	kind, arrays := p.Store()
	to[posteriorKind], to[posteriorVersion] = npz.String(kind), npz.Ints([]int{version})
	for name, a := range arrays {
		to[posteriorPrefix+name] = a
	}
}

// Load reads a posterior that Save wrote, or an answer, with its problem. restore holds what makes posteriors of each
// kind.
func Load(path string, restore map[string]irl.Restore) (irl.Posterior, error) {
	post, _, err := LoadJudged(path, restore)
	return post, err
}

// LoadJudged is Load with what the file says of the posterior's worth; nothing if Save wrote it.
func LoadJudged(path string, restore map[string]irl.Restore) (irl.Posterior, Judgement, error) {
	archive, err := npz.Open(path)
	if err != nil {
		return nil, Judgement{}, fmt.Errorf("problemfile: cannot load a posterior: %w", err)
	}
	defer archive.Close()
	post, err := load(archive, restore)
	if err != nil || !archive.Has("verdict") {
		return post, Judgement{}, err
	}
	r, j := archive.Under(""), Judgement{}
	j.Verdict, j.Returned, j.Reason = r.Text("verdict"), r.Text("returned"), r.Text("reason")
	j.Converged = r.Scalar("converged") != 0
	if err := r.Err(); err != nil {
		return nil, Judgement{}, fmt.Errorf("problemfile: %w", err)
	}
	return post, j, nil
}

func load(archive *npz.Archive, restore map[string]irl.Restore) (irl.Posterior, error) {
	problem, err := ReadArchive(archive)
	if err != nil {
		return nil, err
	}
	if !archive.Has(posteriorKind) {
		return nil, fmt.Errorf("problemfile: %s holds a problem but no posterior: it has no array %q",
			archive.Path(), posteriorKind)
	}
	kind, err := archive.Text(posteriorKind)
	if err != nil {
		return nil, fmt.Errorf("problemfile: %w", err)
	}
	r := archive.Under(posteriorPrefix)
	if v := r.Int("version"); v < 1 || v > version {
		r.Fail("its posterior has the version %d of the format; this program reads versions up to %d", v, version)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("problemfile: %w", err)
	}
	make, ok := restore[kind]
	if !ok {
		return nil, fmt.Errorf("problemfile: %s holds a posterior of kind %q; want one of %s", archive.Path(),
			kind, strings.Join(slices.Sorted(maps.Keys(restore)), ", "))
	}
	post, err := make(r, problem)
	if err != nil {
		return nil, fmt.Errorf("problemfile: cannot restore a posterior of kind %s: %w", kind, err)
	}
	return post, nil
}
