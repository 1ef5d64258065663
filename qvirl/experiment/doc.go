// Package experiment runs experiments in resumable pieces and keeps their results as plain rows, from which every table
// and figure is drawn.
//
// An experiment is a Definition; with a scale it becomes a Plan: a config, and units, each a method or a variant of one
// on a chunk of problems. A unit's key is a digest of what its rows depend on. Run computes the units whose keys a
// folder lacks, all of them or those of a shard, and keeps each as it ends:
//
//	OUT/plan.json             the config, and the names and keys of the units that the folder is to hold
//	OUT/units/NAME.KEY.csv    the rows of a unit
//	OUT/units/NAME.KEY.json   its record: checksum, seconds of each method, machine; a unit without one is unfinished
//	OUT/rows.csv              the rows of the plan's finished units, sorted
//	OUT/run.json              the record of the run, put together from those of the units
//
// No two processes write the same unit unless they are asked to, and the last two files follow from the others, so
// shards may share a folder or be merged from several (Merge) with the same rows as one run. Units that rows.csv and
// run.json alone hold, as results are published, are gone on from as well.
package experiment
