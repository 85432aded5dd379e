package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Spending is the cost of models in one account on one day.
type Spending struct {
	Account string // the account of an arm, a project or the fleet; package host/spending defines the names
	Day     string // the day in the host's time zone, such as 2026-01-31
	Dollars float64
}

func spendingCells(s *Spending) []any { return []any{&s.Account, &s.Day, &s.Dollars} }

// Spendings returns the cost of models for each account and day.
func (h *HostDB) Spendings(ctx context.Context) ([]Spending, error) {
	rows, err := h.db.reader.QueryContext(ctx, "SELECT account, day, dollars FROM spending ORDER BY account, day")
	list, err := collect(rows, err, spendingCells)
	if err != nil {
		return nil, fmt.Errorf("read what models have cost: %w", err)
	}
	return list, nil
}

// addSpending adds amounts to accounts.
func addSpending(tx *sql.Tx, list []Spending) error {
	for _, s := range list {
		if _, err := tx.Exec(`INSERT INTO spending (account, day, dollars) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET dollars = dollars + excluded.dollars`, s.Account, s.Day, s.Dollars); err != nil {
			return fmt.Errorf("count what a model has cost: %w", err)
		}
	}
	return nil
}
