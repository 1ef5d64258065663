// Rows of full runs. A module of its own, so that the zip of the main module, which importers download, leaves them out.
module github.com/go-birl/birl/results

go 1.26.0
