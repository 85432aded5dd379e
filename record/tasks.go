package record

import (
	"encoding/json"
	"strconv"

	"coleo.dev"
)

// mostTasks limits the number of tasks in one list. The lists of models are much shorter.
const mostTasks = 256

// Tasks returns the list of tasks in raw, which is a JSON list of objects. It returns
// false if raw is no such list. A task without an id has its number in the list as its id.
// Canceled tasks are left out.
func Tasks(raw json.RawMessage) (coleo.TasksUpdated, bool) {
	var list []struct {
		ID          any    `json:"id"`
		Content     string `json:"content"`
		Description string `json:"description"`
		Step        string `json:"step"`
		Subject     string `json:"subject"`
		Title       string `json:"title"`
		Status      string `json:"status"`
	}
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return coleo.TasksUpdated{}, false
	}
	out := coleo.TasksUpdated{Tasks: []coleo.Task{}}
	for i, item := range list[:min(len(list), mostTasks)] {
		status, told := StatusOfTask(item.Status)
		if !told {
			continue
		}
		id, _ := item.ID.(string)
		if n, isNumber := item.ID.(float64); isNumber {
			id = strconv.Itoa(int(n))
		}
		if id == "" {
			id = strconv.Itoa(i + 1)
		}
		text := ""
		for _, s := range []string{item.Content, item.Subject, item.Step, item.Title, item.Description} {
			if text == "" {
				text = s
			}
		}
		text, _ = coleo.CutWork(text)
		out.Tasks = append(out.Tasks, coleo.Task{ID: id, Text: text, Status: status})
	}
	return out, true
}

// StatusOfTask returns the status that an agent CLI names. It returns false for a task
// that is not to be done any more.
func StatusOfTask(name string) (coleo.TaskStatus, bool) {
	switch name {
	case "completed", "done":
		return coleo.TaskDone, true
	case "in_progress":
		return coleo.TaskRunning, true
	case "cancelled", "canceled", "deleted":
		return "", false
	}
	return coleo.TaskPending, true
}
