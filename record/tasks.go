package record

import (
	"encoding/json"
	"strconv"

	"coleo.dev"
)

// mostTasks is the maximum length of a list of tasks. Tasks beyond it are ignored. Models write much
// shorter lists.
const mostTasks = 256

// Tasks returns the tasks in a JSON list of objects, or false if raw is not such a list. It leaves
// out canceled tasks. If a task has no id, its id is its number in the list.
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
		status, known := StatusOfTask(item.Status)
		if !known {
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

// StatusOfTask returns the status of a task. The parameter `name` is the agent CLI's own word for
// this status. StatusOfTask returns false if the task is canceled or deleted.
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
