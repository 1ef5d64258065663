package exhibit

import "testing"

func TestOnly(t *testing.T) {
	all := Table{Title: "t", Rows: []Row{{Method: "a"}, {Method: "b"}, {Method: "c"}}}
	some := all.Only("c", "a", "none")
	if some.Title != "t" || len(some.Rows) != 2 || some.Rows[0].Method != "c" || some.Rows[1].Method != "a" ||
		len(all.Rows) != 3 {
		t.Errorf("%+v of %+v, want the rows c and a", some, all)
	}
}
