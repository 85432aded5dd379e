package modelresolver

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"coleo.dev"
)

func TestOpenCodesReplyIsRead(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "opencode-1.18.33-provider.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseCatalog(data)
	want := Catalog{
		Providers: []Provider{{ID: "mock", Name: "Mock",
			Models: []Model{{ID: "mock-1", Name: "Mock One", Cost: &Cost{3, 15}}}}},
		Connected: []string{"mock"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("catalogue = %+v, %v; want %+v", got, err, want)
	}
}

func TestBothFormsAndBothShapesOfModelsMeanTheSame(t *testing.T) {
	t.Parallel()
	want := Catalog{
		Providers: []Provider{{ID: "p", Name: "P",
			Models: []Model{{ID: "a/x", Name: "A"}, {ID: "b", Name: "b", Cost: &Cost{0, 2.5}}}}, {ID: "q", Name: "q"}},
		Connected: []string{"p"},
	}
	list := `[{"id":"a/x","name":"A","cost":null},{"id":"b","cost":{"input":0,"output":2.5,"cache":{}},"limit":7}]`
	table := `{"b":{"cost":{"output":2.5,"input":0}},"a/x":{"id":"elsewhere","name":"A"}}`
	for name, text := range map[string]string{
		"OpenCode's, a map": `{"all":[{"id":"p","name":"P","models":` +
			table + `},{"id":"q"}],"default":{"p":"b"},"connected":["p"]}`,
		"OpenCode's, a list": `{"all":[{"id":"p","name":"P","models":` +
			list + `},{"id":"q","models":null}],"connected":["p"]}`,
		"ours, a list": ` {"providers":[{"id":"p","name":"P","models":` +
			list + `},{"id":"q","models":[]}],"connected":["p"],"cached":true} `,
		"ours, a map": `{"connected":["p"],"providers":[{"id":"p","name":"P","models":` +
			table + `},{"id":"q","models":{}}]}`,
	} {
		got, err := ParseCatalog([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: catalogue = %+v, %v; want %+v", name, got, err, want)
		}
	}
}

func TestAnEmptyCatalogueIsOne(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"all":[],"connected":[]}`,
		`{"providers":[],"connected":null}`, `{"providers":[]}`} {
		if got, err := ParseCatalog([]byte(text)); err != nil || len(got.Providers)+len(got.Connected) != 0 {
			t.Errorf("%s = %+v, %v", text, got, err)
		}
	}
}

func TestWhatIsWrongIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                 "line 1: unexpected end of JSON input",
		"{\n\"all\": [\n{]}":               "line 3: invalid character ']'",
		`{"all":[]} x`:                     "line 1: invalid character 'x' after top-level value",
		`[]`:                               "the top: want an object, got a list",
		`{}`:                               `it has neither "all" nor "providers" at the top`,
		`{"status":200,"body":{"all":[]}}`: `it has neither "all" nor "providers" at the top, but body, status`,
		`{"all":[],"providers":[]}`:        `it has both "all" and "providers" at the top, and can be only one of them`,
		`{"all":{}}`:                       "all: want a list, got an object",
		`{"all":null}`:                     "all: want a list, got nothing",
		`{"all":[7]}`:                      "all[0]: want an object, got a number",
		`{"all":[{"name":"x"}]}`:           "all[0]: it has no id",
		`{"all":[{"id":7}]}`:               "all[0].id: want a text, got a number",
		`{"all":[{"id":"p","name":[]}]}`:   "all[0].name: want a text, got a list",
		`{"all":[{"id":"p"},{"id":"p"}]}`:  `all[1]: provider "p" is listed twice`,
		`{"providers":[{"id":"p","models":"m"}]}`: "providers[0].models: want a list, got a text",
		`{"providers":[{"id":"p","models":["m"]}]}`: "providers[0].models[0]: want an object, got " +
			"a text",
		`{"providers":[{"id":"p","models":[{}]}]}`: "providers[0].models[0]: it has no id",
		`{"providers":[{"id":"p","models":[{"id":"m"},{"id":"m"}]}]}`: `providers[0].models[1]: model "m" is listed ` +
			`twice`,
		`{"all":[{"id":"p","models":{"a.b/c":false}}]}`:  `all[0].models["a.b/c"]: want an object, got true or false`,
		`{"all":[{"id":"p","models":{"m":{"cost":3}}}]}`: "all[0].models.m.cost: want an object, got a number",

		`{"all":[{"id":"p","models":{"m":{"cost":{"input":"3","output":1}}}}]}`: "all[0].models.m.cost.input: want " +
			"a number, got a text",
		`{"all":[{"id":"p","models":{"m":{"cost":{"input":3}}}}]}`: "all[0].models.m.cost: it has no " +
			"output price",
		`{"all":[{"id":"p","models":{"m":{"cost":{"input":-1,"output":1}}}}]}`: "all[0].models.m.cost.input: -1 " +
			"cannot be a price",
		`{"all":[{"id":"p","models":{"m":{"cost":{"input":1e999,"output":1}}}}]}`: "all[0].models.m.cost.input: " +
			"1e999 cannot be a price",

		`{"all":[{"id":"p","models":{"m":{"cost":{"input":NaN,"output":1}}}}]}`: "line 1: invalid character 'N'",
		`{"all":[{"id":"p","models":{"m":{},"m":{}}}]}`:                         `all[0].models: the key "m" is there twice`,
		`{"all":[],"connected":[],"all":[]}`:                                    `the top: the key "all" is there twice`,
		`{"all":[{"id":"a\u001b[2Jb"}]}`:                                        `all[0]: its id "a\x1b[2Jb" has control`,
		`{"all":[{"id":"p","models":{"a\nb":{}}}]}`:                             `all[0].models["a\nb"]: its id "a\nb" has`,
		strings.Repeat(" ", MaxCatalog+1):                                       "it has 67108865 bytes, and at most",
		strings.Repeat("[", 20_000):                                             "line 1: ",

		`{"all":[],"connected":"p"}`:        "connected: want a list, got a text",
		`{"all":[],"connected":["p",null]}`: "connected[1]: want a text, got nothing",
	} {
		_, err := ParseCatalog([]byte(text))
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.HasPrefix(err.Error(), "model catalogue: "+want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%.200s:\n got %v\nwant model catalogue: %s", text, err, want)
		}
	}
}

func TestANameIsPrintable(t *testing.T) {
	t.Parallel()
	c, err := ParseCatalog([]byte(`{"all":[{"id":"p","name":"a\u001b[2J\nb\t","models":{"m":{"name":"\t"}}}]}`))
	if err != nil || c.Providers[0].Name != "a[2J b" || c.Providers[0].Models[0].Name != "m" {
		t.Errorf("catalogue = %+v, %v", c, err)
	}
}

func FuzzParseCatalog(f *testing.F) {
	for _, seed := range []string{`{"all":[{"id":"p","models":{"m":{"cost":{"input":1,"output":2}}}}],` +
		`"connected":["p"]}`,
		`{"providers":[{"id":"p","models":[{"id":"m"}]}]}`, `{"all":[null]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCatalog(data)
		if err != nil {
			if coleo.ErrorCode(err) != coleo.EInvalid {
				t.Fatalf("error = %v, want code invalid", err)
			}
			return
		}
		for _, o := range AvailableByCost(c) {
			if o.ProviderID == "" || o.ModelID == "" || o.ModelName == "" || o.Cost.Total() < 0 {
				t.Fatalf("offer = %+v", o)
			}
			if r := Resolve(c, o.ProviderID, o.ModelID); r.Fallback || r.ModelID != o.ModelID {
				t.Fatalf("resolve %+v = %+v", o, r)
			}
		}
	})
}
