package pricebook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"coleo.dev"
	"coleo.dev/wholefile"
)

const (
	// refreshTimeout is the time limit for a whole refresh. The document has about 6 MB, so a refresh takes
	// so long only on a slow line.
	refreshTimeout = time.Minute
	// dateLayout is the form of Prices.Date.
	dateLayout = "2006-01-02"
)

// kept is the content of the file with the fetched prices.
type kept struct {
	URL    string                 `json:"url"`
	Time   time.Time              `json:"time"`
	Prices map[string]coleo.Price `json:"prices"`
}

// Refresh fetches the document of models.dev from an address, and writes its prices to the file at `path`. It
// returns the number of models with a price. It checks the whole document before it replaces the file. After
// an error, the file is unchanged.
//
// Refresh returns EInvalid for a bad address or a bad document. It returns EUnavailable if the
// server does not answer in time, or does not send the whole document.
func Refresh(ctx context.Context, client *http.Client, address, path string, now time.Time) (int, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return 0, coleo.Errorf(coleo.EInvalid, "%q is not the address of a "+
			"document: give a URL that begins with https://; the "+
			"prices are as before", address)
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	data, err := fetch(ctx, client, u.String())
	if err != nil {
		return 0, coleo.Errorf(coleo.EUnavailable, "fetch the prices from %s: %v; the prices are as before",
			u.Redacted(), err)
	}
	prices, err := ParseDocument(data)
	if err != nil {
		return 0, coleo.Errorf(coleo.EInvalid, "%s: %v; the prices are as before", u.Redacted(), err)
	}
	text, err := json.Marshal(kept{u.Redacted(), now.UTC(), prices})
	if err != nil {
		return 0, err
	}
	if err := replace(path, text); err != nil {
		return 0, fmt.Errorf("keep the prices: %w", err)
	}
	return len(prices), nil
}

func fetch(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	a, err := client.Do(q)
	if err != nil {
		return nil, whyNot(ctx, err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", a.Status)
	}
	data, err := io.ReadAll(io.LimitReader(a.Body, MaxDocument+1))
	if err != nil {
		return nil, whyNot(ctx, err)
	}
	if len(data) > MaxDocument {
		return nil, fmt.Errorf("the server sends more than %d bytes", MaxDocument)
	}
	return data, nil
}

// whyNot returns a short form of an HTTP client's error, without the address.
func whyNot(ctx context.Context, err error) error {
	var outer *url.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the whole document did not come in time")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the server sent only a part of the document")
	case errors.As(err, &outer):
		return outer.Err
	}
	return err
}

// replace replaces a file. It creates the folder of the file if necessary.
func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.Replace(path, text, wholefile.OwnerOnly)
}

// Load returns the prices that Refresh has written to the file at `path`. It returns nil and no error if
// there is no file, and EInvalid if the file is damaged.
func Load(path string) (*Prices, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	for name, price := range k.Prices {
		if wrong := CheckRates(price.Rates); wrong != nil && err == nil {
			err = fmt.Errorf("%q: %w", name, wrong)
		}
	}
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the fetched prices in %s cannot be read, so they do not count: %v: "+
			"'coleo models refresh' fetches them again", path, err)
	}
	return &Prices{Source: coleo.PriceRefreshed, Date: k.Time.Format(dateLayout), ByName: k.Prices}, nil
}
