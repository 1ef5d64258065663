// Package experiment runs experiments in resumable pieces and keeps their results as plain rows, from which every table
// and figure is drawn.
//
// An experiment is a Definition; with a scale it becomes a Plan: a config, and units of work which depend on the config
// alone. Run computes units, all of them or every n-th (a shard), and keeps each in a folder as it ends:
//
//	OUT/units/NAME.csv   the rows of a unit
//	OUT/units/NAME.json  its record: config, checksum, seconds of each method, machine; a unit without one is unfinished
//	OUT/rows.csv         the rows of all finished units, sorted
//	OUT/run.json         the record of the run, put together from those of the units
//
// No two processes write the same unit unless they are asked to, and the last two files follow from the first two, so
// shards may share a folder or be merged from several (Merge) with the same rows as one run.
package experiment
