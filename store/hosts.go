package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"coleo.dev"
)

func hostFields(h *coleo.Host) []field {
	return []field{
		{"id", textOf(&h.ID)},
		{"hostname", textOf(&h.Hostname)},
		{"platform", textOf(&h.Platform)},
		{"version", textOf(&h.Version)},
		{"started_at", moment{&h.StartedAt}},
		{"last_seen", moment{&h.LastSeen}},
		{"capabilities", documentOf(&h.Capabilities)},
		{"max_arms", number{p: &h.MaxArms, kept: true}},
	}
}

func hostCells(h *coleo.Host) []any { return cells(hostFields(h)) }

// PutHost stores a host, or replaces the host with the same id. It also writes the host's Hostname
// into the rows of the host's arms. It returns EInvalid for a host without an id.
func (s *ServeDB) PutHost(ctx context.Context, h coleo.Host) error {
	if h.ID == "" {
		return coleo.Errorf(coleo.EInvalid, "a host on %q has no id", h.Hostname)
	}
	err := s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		_, err := tx.Exec(upsertStatement("hosts", hostFields(&h)), hostCells(&h)...)
		if err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE arms SET host = ? WHERE agent_id = ?", textOf(&h.Hostname), h.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("write host %s: %w", h.ID, err)
	}
	return nil
}

// Hosts returns all hosts that serve has ever seen, sorted by id. LastSeen is the time
// of the last sign of life from a host.
func (s *ServeDB) Hosts(ctx context.Context) ([]coleo.Host, error) {
	var shape coleo.Host
	rows, err := s.db.reader.QueryContext(ctx, "SELECT "+columns(hostFields(&shape))+" FROM hosts ORDER BY id")
	list, err := collect(rows, err, hostCells)
	if err != nil {
		return nil, fmt.Errorf("read the hosts: %w", err)
	}
	return list, nil
}

// Setting returns the value of a setting, or "" if the setting has no value.
func (s *ServeDB) Setting(ctx context.Context, key string) (string, error) {
	var value string
	err := s.db.reader.QueryRowContext(ctx, "SELECT value FROM config WHERE key = ?", key).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read setting %s: %w", key, err)
	}
	return value, nil
}

// SetSetting sets the value of a setting. The value "" deletes the setting. The change
// survives a power failure.
func (s *ServeDB) SetSetting(ctx context.Context, key, value string) error {
	err := s.db.write(ctx, intent, func(tx *sql.Tx) error {
		var err error
		if value == "" {
			_, err = tx.Exec("DELETE FROM config WHERE key = ?", key)
		} else {
			_, err = tx.Exec("INSERT INTO config (key, value) VALUES (?, ?) "+
				"ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write setting %s: %w", key, err)
	}
	return nil
}

// MeetHost stores where the log of a host ended when serve first met the host: at the event with the
// number `head`. The events up to `head` are the backlog of the host. If serve has met the host
// before, MeetHost does nothing. Call MeetHost before Project receives the first event of the host.
func (s *ServeDB) MeetHost(ctx context.Context, host string, head uint64) error {
	err := s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO backlogs (host, head) VALUES (?, ?) ON CONFLICT (host) DO NOTHING",
			host, int64(head))
		return err
	})
	return describeError(err, "store the backlog of host %s", host)
}

// InBacklog reports whether the event at a position of serve's log belongs to the backlog of its
// host: the events that had happened before serve first met the host.
func (s *ServeDB) InBacklog(ctx context.Context, host string, position uint64) (bool, error) {
	var end uint64
	err := s.db.reader.QueryRowContext(ctx, "SELECT pos FROM backlogs WHERE host = ?", host).Scan(&end)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("read the backlog of host %s: %w", host, err)
	}
	return position <= end, nil
}
