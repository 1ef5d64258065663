package demo

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// csvColumns are where a CSV file has what; −1 where it has not.
type csvColumns struct {
	episode, action, reward, terminated, truncated, seed int

	obs, next []int
	ignored   []string
}

func importCSV(path string, o ImportOptions) (*Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	defer f.Close()
	return readCSV(f, path, o)
}

// readCSV reads row by row.
func readCSV(r io.Reader, name string, o ImportOptions) (*Set, error) {
	text := bufio.NewReader(r)
	start, err := text.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("demo: %s: %w", name, err)
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")): // the byte-order mark of UTF-8, which spreadsheets write
		_, _ = text.Discard(3) // what was seen is there
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return nil, fmt.Errorf("demo: %s is text in UTF-16, as its byte-order mark says; store it in UTF-8", name)
	case bytes.HasPrefix(start, []byte("PK\x03")):
		return nil, fmt.Errorf("demo: %s is a zip archive, as .npz files are, and no text that the layout csv could "+
			"be read from", name)
	}
	rows := csv.NewReader(text)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("demo: %s is empty, want a header", name)
	}
	if err != nil {
		return nil, fmt.Errorf("demo: %s: %w", name, err)
	}
	at, err := findColumns(header)
	if err != nil {
		return nil, fmt.Errorf("demo: %s: %w", name, err)
	}
	f := flat{name: name, shape: []int{len(at.obs)}}
	for {
		fields, err := rows.Read()
		if errors.Is(err, io.EOF) {
			set, err := f.set(o)
			if err == nil {
				set.Ignored, set.Merged = at.ignored, f.rounding.merged()
			}
			return set, err
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("demo: %s, line %d: it has %d fields, want %d as the header has", name, line,
				len(fields), rows.FieldsPerRecord)
		}
		if err != nil {
			return nil, fmt.Errorf("demo: %s: %w", name, err)
		}
		if err := f.appendRow(fields, at); err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("demo: %s, line %d: %w", name, line, err)
		}
		if len(f.obs) > maxNumbers {
			return nil, fmt.Errorf("demo: %s has observations of more than %d numbers", name, maxNumbers)
		}
	}
}

// observationColumn matches the names of the columns of observations.
var observationColumn = regexp.MustCompile(`^(next_)?obs_\d+$`)

// findColumns reads the header.
func findColumns(header []string) (csvColumns, error) {
	for _, s := range [][2]string{{";", "semicolons"}, {"\t", "tabs"}} {
		if len(header) == 1 && strings.Contains(header[0], s[0]) {
			return csvColumns{}, fmt.Errorf("its columns are separated by %s, want commas (and points in numbers)",
				s[1])
		}
	}
	index := map[string]int{}
	for i, name := range header {
		if _, twice := index[name]; twice {
			return csvColumns{}, fmt.Errorf("its header has %q twice", name)
		}
		index[name] = i
	}
	optional := func(name string) int {
		if i, ok := index[name]; ok {
			return i
		}
		return -1
	}
	at := csvColumns{
		episode: optional("episode"), action: optional("action"), reward: optional("reward"),
		terminated: optional("terminated"), truncated: optional("truncated"), seed: optional("seed"),
	}
	for {
		obs, next := optional(fmt.Sprintf("obs_%d", len(at.obs))), optional(fmt.Sprintf("next_obs_%d", len(at.obs)))
		if obs < 0 || next < 0 {
			break
		}
		at.obs, at.next = append(at.obs, obs), append(at.next, next)
	}
	if at.episode < 0 || at.action < 0 || len(at.obs) == 0 {
		return at, fmt.Errorf("its header is %q, want the columns episode, action, obs_0, …, next_obs_0, …", header)
	}
	for _, name := range header {
		if !observationColumn.MatchString(name) {
			at.ignored = append(at.ignored, without([]string{name}, "", "episode", "action", "reward", "terminated",
				"truncated", "seed")...)
			continue
		}
		k, _ := strconv.Atoi(name[strings.LastIndex(name, "_")+1:])
		found := k < len(at.obs) && (header[at.obs[k]] == name || header[at.next[k]] == name)
		if !found {
			return at, fmt.Errorf("its header has %q, but obs_%d or next_obs_%d is missing: "+
				"want both of each number from 0 on, without gaps", name, len(at.obs), len(at.obs))
		}
	}
	return at, nil
}

// whole reads a whole number, written as an integer or as a float, as "3.0".
func whole(text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > maxSeed {
		return 0, strconv.ErrSyntax
	}
	return int(v), nil
}

func (f *flat) appendRow(fields []string, at csvColumns) error {
	episode, err := whole(fields[at.episode])
	if err != nil {
		return fmt.Errorf("episode is %.40q, want an integer", fields[at.episode])
	}
	action, err := whole(fields[at.action])
	if err != nil {
		return fmt.Errorf("action is %.40q, want an integer of at least 0", fields[at.action])
	}
	if why := noAction(float64(action)); why != "" {
		return fmt.Errorf("action is %d%s", action, why)
	}
	f.episodes, f.actions = append(f.episodes, episode), append(f.actions, action)
	if at.seed >= 0 {
		seed, err := whole(fields[at.seed])
		if err != nil || seed < NoSeed || seed > maxSeed {
			return fmt.Errorf("seed is %.40q, want an integer from %d, for none, to 2⁵³", fields[at.seed], NoSeed)
		}
		f.seeds = append(f.seeds, seed)
	}
	for i := range at.obs {
		for _, c := range []struct {
			to     *[]float32
			column int
			name   string
		}{{&f.obs, at.obs[i], "obs"}, {&f.next, at.next[i], "next_obs"}} {
			v, err := strconv.ParseFloat(fields[c.column], 64)
			if x := float32(v); err != nil || x-x != 0 {
				return fmt.Errorf("%s_%d is %.40q, want a finite number that float32 holds", c.name, i,
					fields[c.column])
			}
			*c.to = append(*c.to, float32(v))
			if c.to == &f.obs {
				f.rounding.add(i, v)
			}
		}
	}
	if at.reward >= 0 {
		v, err := strconv.ParseFloat(fields[at.reward], 64)
		if err != nil || CheckReward(v) != nil {
			return fmt.Errorf("reward is %.40q, want a number of magnitude at most %g; where rewards are not known, "+
				"leave the column out", fields[at.reward], MaxReward)
		}
		f.rewards = append(f.rewards, v)
	}
	for _, c := range []struct {
		to     *[]bool
		column int
		name   string
	}{{&f.terminated, at.terminated, "terminated"}, {&f.truncated, at.truncated, "truncated"}} {
		if c.column < 0 {
			continue
		}
		v, err := strconv.ParseBool(fields[c.column])
		if err != nil {
			var n int
			if n, err = whole(fields[c.column]); err != nil || n < 0 || n > 1 {
				return fmt.Errorf("%s is %.40q, want 0 or 1, or true or false", c.name, fields[c.column])
			}
			v = n == 1
		}
		*c.to = append(*c.to, v)
	}
	return nil
}
