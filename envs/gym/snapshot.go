package gym

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"maps"
	"slices"
)

// Snapshot is the state of one environment in the middle of an episode, in JSON. It can be stored, and restored in any
// pool of the same environment with the same options and wrappers. Restore only snapshots that you trust: an emulator's
// state that was tampered with can crash the worker.
type Snapshot []byte

// snapshotHeader is what every snapshot has.
type snapshotHeader struct {
	Kind    string        `json:"kind"`
	ID      string        `json:"id,omitempty"`
	Highway *HighwayState `json:"highway,omitempty"`
	Lunar   *[8]float64   `json:"lunar,omitempty"`
}

// Snapshot returns the state of environment env, whose episode must be under way.
func (p *Pool) Snapshot(ctx context.Context, env int) (Snapshot, error) {
	var s Snapshot
	err := p.single(ctx, env, "snapshot", askSnapshot, nil, func(body []byte) error {
		var raw json.RawMessage
		_, err := splitText(body, &raw)
		s = slices.Clone(Snapshot(raw))
		return err
	})
	return s, err
}

// Restore brings environment env to the snapshot's state and returns the observation [1, …] there. The steps that
// follow repeat those that followed the snapshot; the package comment says how exactly.
func (p *Pool) Restore(ctx context.Context, env int, s Snapshot) (Array, error) {
	return p.RestoreEnvs(ctx, []int{env}, []Snapshot{s})
}

// RestoreEnvs brings each of the given environments to a snapshot's state and returns the observations [len(envs), …]
// there, in that order. All workers restore at the same time.
func (p *Pool) RestoreEnvs(ctx context.Context, envs []int, snapshots []Snapshot) (Array, error) {
	if len(envs) != len(snapshots) {
		return Array{}, fmt.Errorf("gym: %d snapshots for %d environments", len(snapshots), len(envs))
	}
	for _, s := range snapshots {
		if _, err := s.header(); err != nil {
			return Array{}, err
		}
	}
	return p.begin(ctx, "restore", askRestore, envs, snapshots, func(slots, which []int) any {
		states := make([]json.RawMessage, len(which))
		for i, k := range which {
			states[i] = json.RawMessage(snapshots[k])
		}
		return map[string]any{"envs": slots, "snapshots": states}
	})
}

// Render returns a picture of environment env, which must have been opened with the option "render_mode": "rgb_array".
func (p *Pool) Render(ctx context.Context, env int) (*image.RGBA, error) {
	var picture *image.RGBA
	err := p.single(ctx, env, "render", askRender, nil, func(body []byte) error {
		if len(body) < 8 {
			return fmt.Errorf("%w: a picture of %d bytes", errGarbage, len(body))
		}
		height, width := int(binary.LittleEndian.Uint32(body)), int(binary.LittleEndian.Uint32(body[4:]))
		if body = body[8:]; len(body) != 3*height*width {
			return fmt.Errorf("%w: a picture %d×%d of %d bytes", errGarbage, width, height, len(body))
		}
		picture = image.NewRGBA(image.Rect(0, 0, width, height))
		for i := range height * width {
			copy(picture.Pix[4*i:], body[3*i:3*i+3])
			picture.Pix[4*i+3] = 0xff
		}
		return nil
	})
	return picture, err
}

// single asks the worker of environment env for something about it. What the worker refuses leaves the pool open.
func (p *Pool) single(ctx context.Context, env int, doing string, kind byte, more map[string]any,
	use func(body []byte) error) error {
	if env < 0 || env >= p.Len() {
		return fmt.Errorf("gym: environment %d, want 0 to %d", env, p.Len()-1)
	}
	ask := func(slots, _ []int) any {
		request := map[string]any{"env": slots[0]}
		maps.Copy(request, more)
		return request
	}
	answered := func(_ *worker, body []byte, _ []int) error { return use(body) }
	return p.each(ctx, doing, kind, kind, []int{env}, ask, answered)
}

// HighwayState is the true state of highway-env's highway, of which the observation shows only a part.
type HighwayState struct {
	// Vehicles are those on the road, the ego vehicle first. Their number is the environment's, 21 in highway-fast-v0.
	Vehicles []Vehicle `json:"vehicles"`
	// SpeedIndex is which of its allowed speeds (20, 25 and 30 m/s) the ego vehicle is asked to drive at.
	SpeedIndex int `json:"speed_index"`
	// Time is the time since the episode began, in seconds, and Steps the number of simulated frames.
	Time  float64 `json:"time"`
	Steps int     `json:"steps"`
}

// Vehicle is the state of one vehicle. Its lane follows from its position.
type Vehicle struct {
	X            float64 `json:"x"`            // along the road, in m
	Y            float64 `json:"y"`            // across it, in m; lane i is at 4·i
	Heading      float64 `json:"heading"`      // in rad, 0 along the road
	Speed        float64 `json:"speed"`        // in m/s
	TargetLane   int     `json:"target_lane"`  // 0 is the leftmost
	TargetSpeed  float64 `json:"target_speed"` // in m/s
	Steering     float64 `json:"steering"`     // in rad
	Acceleration float64 `json:"acceleration"` // in m/s²
	Crashed      bool    `json:"crashed"`
	// Impact is the displacement by a collision that the next frame will make, if there is one, in m.
	Impact *[2]float64 `json:"impact"`
	// Timer is the time since the vehicle last thought of changing lanes, in s, and Exponent the δ of its Intelligent
	// Driver Model; the ego vehicle has neither.
	Timer    float64 `json:"timer"`
	Exponent float64 `json:"exponent"`
}

// header returns what every snapshot has.
func (s Snapshot) header() (head snapshotHeader, err error) {
	if err := json.Unmarshal(s, &head); err != nil {
		return head, fmt.Errorf("gym: that is no snapshot: %w", err)
	}
	return head, nil
}

// Highway returns the true state in a snapshot of a highway.
func (s Snapshot) Highway() (HighwayState, error) {
	head, err := s.header()
	if err != nil {
		return HighwayState{}, err
	}
	if head.Highway == nil {
		return HighwayState{}, fmt.Errorf("gym: the snapshot is of %s (%s), which has no highway's state", head.ID,
			head.Kind)
	}
	return *head.Highway, nil
}

// Snapshot returns a snapshot with this state. The random generator of the environment that it is restored in goes on
// from where it is; no vehicle draws from it during an episode.
func (h HighwayState) Snapshot() (Snapshot, error) {
	return snapshotHeader{Kind: "highway", Highway: &h}.encode()
}

// LunarState is an observation of Lunar Lander: position, velocity, angle, angular velocity, contact of the left and of
// the right leg.
type LunarState [8]float64

// Snapshot returns a snapshot of about this state, at the beginning of an episode's time. The legs are put where their
// springs hold them in flight, at rest with the lander, and the ground beside the landing pad is that of a new episode.
//
// In the air, the observations that follow are closer to the original's than the main engine's own noise makes them to
// one another: one step later the root mean square error is 3e-5 in position, 1e-3 in velocity, 2e-4 in angle and 4e-3
// in angular velocity, the noise 3e-4, 1e-2, 5e-4 and 1e-2. At touchdown it is not: one step later the velocity is off
// by 0.4 and the angular velocity by 0.9, and one landing in five becomes a crash. Replay is exact there.
func (l LunarState) Snapshot() (Snapshot, error) {
	v := [8]float64(l)
	return snapshotHeader{Kind: "lunar", Lunar: &v}.encode()
}

func (h snapshotHeader) encode() (Snapshot, error) {
	text, err := json.Marshal(h)
	if err != nil { // an infinity or NaN
		return nil, fmt.Errorf("gym: that is no state: %w", err)
	}
	return text, nil
}
