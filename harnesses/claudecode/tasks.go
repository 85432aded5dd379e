package claudecode

import (
	"encoding/json"
	"slices"

	"coleo.dev"
	"coleo.dev/record"
)

// taskList is the model's list of tasks. In newer versions of Claude Code, each call changes one
// task. In older versions, each call contains the whole list.
type taskList struct{ tasks []coleo.Task }

// mostTasks is the maximum length of a taskList. Tasks beyond it are ignored. Models write much shorter
// lists.
const mostTasks = 256

// apply applies a successful call to the list. It returns the new list, and whether the call has changed
// the list.
func (t *taskList) apply(c call, result json.RawMessage) (coleo.TasksUpdated, bool) {
	switch c.name {
	case "TodoWrite":
		var in struct {
			Todos json.RawMessage `json:"todos"`
		}
		_ = json.Unmarshal(c.input, &in)
		return record.Tasks(in.Todos)
	case "TaskCreate":
		var out struct {
			Task struct {
				ID      string `json:"id"`
				Subject string `json:"subject"`
			} `json:"task"`
		}
		_ = json.Unmarshal(result, &out)
		if out.Task.ID == "" || len(t.tasks) >= mostTasks {
			return coleo.TasksUpdated{}, false
		}
		text, _ := coleo.CutWork(out.Task.Subject)
		t.tasks = append(t.tasks, coleo.Task{ID: out.Task.ID, Text: text, Status: coleo.TaskPending})
	case "TaskUpdate":
		if !t.update(c.input) {
			return coleo.TasksUpdated{}, false
		}
	default:
		return coleo.TasksUpdated{}, false
	}
	return coleo.TasksUpdated{Tasks: append([]coleo.Task{}, t.tasks...)}, true
}

// update changes one task. It returns false if the call does not name a known task.
func (t *taskList) update(input json.RawMessage) bool {
	var in struct {
		ID      string `json:"taskId"`
		Subject string `json:"subject"`
		Status  string `json:"status"`
	}
	_ = json.Unmarshal(input, &in)
	i := slices.IndexFunc(t.tasks, func(task coleo.Task) bool { return task.ID == in.ID })
	if i < 0 {
		return false
	}
	if in.Subject != "" {
		t.tasks[i].Text, _ = coleo.CutWork(in.Subject)
	}
	if in.Status != "" {
		status, kept := record.StatusOfTask(in.Status)
		if t.tasks[i].Status = status; !kept {
			t.tasks = slices.Delete(t.tasks, i, i+1)
		}
	}
	return true
}
