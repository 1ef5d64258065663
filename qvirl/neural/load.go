package neural

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/npz"
)

// StoredMethod returns the name of the method of the model in a folder, whose files have to belong together.
func StoredMethod(dir string) (string, error) {
	d, err := readDescription(dir)
	if err != nil {
		return "", err
	}
	return d.Method, nil
}

// Load reads a model of an objective of type O that Fitted.Save wrote. backendName is what predictions are computed on,
// as backend.Get takes it.
func Load[O Objective](dir, backendName string) (*Fitted, error) {
	d, err := readDescription(dir)
	if err != nil {
		return nil, err
	}
	var objective O
	path := filepath.Join(dir, DescriptionFile)
	if d.Config == nil {
		return nil, fmt.Errorf("neural: %s describes no single model", path)
	}
	if err := json.Unmarshal(d.Objective, &objective); err != nil {
		return nil, fmt.Errorf("neural: %s: the objective of %s: %w", path, d.Method, err)
	}
	d.Config.Backend = backendName
	learner, err := NewLearner(d.Method, *d.Config, objective)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s, a model of %s)", err, path, d.Method)
	}
	parameters, err := d.readParameters(dir)
	if err != nil {
		return nil, err
	}
	f, err := learner.Model(d.Spec, d.Scale, parameters)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	if d.Calibration != nil {
		if err := d.Calibration.validate(d.Spec.Actions); err != nil {
			return nil, fmt.Errorf("%w (in %s)", err, path)
		}
	}
	f.curve, f.seconds, f.calibration = d.Curve, d.Seconds, d.Calibration
	return f, nil
}

// readDescription reads the description of the model in a folder, and checks that the other files belong to it.
func readDescription(dir string) (*description, error) {
	path, d := filepath.Join(dir, DescriptionFile), new(description)
	if err := atomicfile.ReadJSON(path, d); err != nil {
		unfinished := filepath.Join(dir, CheckpointDir)
		if _, missing := os.Stat(unfinished); missing == nil && errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("neural: %s holds no model yet: %s is of a training that has not ended, with which "+
				"the command that began it goes on", dir, unfinished)
		}
		return nil, fmt.Errorf("neural: %s holds no model: %w", dir, err)
	}
	if d.Format != modelFormat {
		return nil, fmt.Errorf("neural: %s: the format is %q, want %q", path, d.Format, modelFormat)
	}
	for name, want := range d.SHA256 {
		is, err := demo.FileSum(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("neural: a part of the model in %s: %w", dir, err)
		}
		if is != want {
			return nil, fmt.Errorf("neural: %s has the SHA-256 %s, %s says %s: one of them is damaged, or belongs to "+
				"another model, as when storing one in its place was interrupted; train and store it again",
				filepath.Join(dir, name), is, path, want)
		}
	}
	return d, nil
}

// readParameters reads the parameters that the description lists.
func (d *description) readParameters(dir string) ([]Parameter, error) {
	a, err := npz.Open(filepath.Join(dir, weightsFile))
	if err != nil {
		return nil, fmt.Errorf("neural: %w", err)
	}
	defer a.Close()
	var out []Parameter
	r := a.Under("")
	for _, p := range d.Parameters {
		p.Value = npz.Narrow[float32](r.Finite(arrayName(p.Name), p.Dims...))
		out = append(out, p)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("neural: %w", err)
	}
	return out, nil
}

// arrayName returns the name that a parameter has in an archive, where names are file names.
func arrayName(parameter string) string { return strings.ReplaceAll(parameter, "/", ".") }

// DescriptionFile is the file in a model's folder that makes it one.
const DescriptionFile = "model.json"

// CheckpointDir is the folder in a model's folder where the state of its training lies until it ends.
const CheckpointDir = "checkpoint"

const (
	weightsFile = "weights.npz"
	modelFormat = "birl-model-1"
)

// description is a model as it is described on disk.
type description struct {
	Format string `json:"format"`
	Method string `json:"method"`
	Spec   Spec   `json:"spec"`
	// SHA256 is that of each file of the folder that has to belong to the description, by its path in the folder. What
	// was stored before there was this field has none.
	SHA256 map[string]string `json:"sha256,omitempty"`
	// of an ensemble, which has nothing of what follows but Seconds
	Members     int             `json:"members,omitempty"`
	Config      *Config         `json:"config,omitempty"`
	Objective   json.RawMessage `json:"objective,omitempty"`
	Scale       *Scale          `json:"scale,omitempty"`
	Parameters  []Parameter     `json:"parameters,omitempty"` // their values are in the archive
	Calibration *Calibration    `json:"calibration,omitempty"`
	Seconds     float64         `json:"seconds"`
	Curve       []CurvePoint    `json:"curve,omitempty"`
}
