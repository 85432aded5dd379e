package store

import (
	"testing"
)

// A newer Coleo has stored a configuration with fields that this version does not know, one of them in the sandbox.
// This version changes the record, as an older version does after a downgrade. The fields must stay.
func TestFieldsOfANewerVersionStayInARecord(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), host(t)
	r := record("a1", "ada")
	if err := h.PutArm(ctx, r); err != nil {
		t.Fatal(err)
	}
	_, err := h.db.writer.Exec(`UPDATE arms SET spec = json_set(spec, '$.fence', json('["x"]'),
		'$.sandbox', json('{"kind": "bwrap", "shield": {"level": 2}}'))`)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = h.Arm(ctx, "a1"); err != nil {
		t.Fatal(err)
	}
	r.Spec.Sandbox.Network = "none"
	if err := h.PutArm(ctx, r); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"$.fence": `["x"]`, "$.sandbox.shield": `{"level":2}`,
		"$.sandbox.network": "none", "$.sandbox.kind": "bwrap", "$.workdir": "/w"} {
		var got string
		err := h.db.writer.QueryRow("SELECT COALESCE(spec ->> ?, '') FROM arms", path).Scan(&got)
		if err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", path, got, err, want)
		}
	}
}
