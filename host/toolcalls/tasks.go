package toolcalls

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/store"
)

// These constants limit the list of tasks of one arm.
const (
	maxTasks    = 200
	maxTaskText = 1 << 10 // bytes
)

var taskStatuses = []coleo.TaskStatus{coleo.TaskPending, coleo.TaskRunning, coleo.TaskDone}

// taskWrite replaces the arm's list of tasks, and gives each task a new id.
func (d *Dispatcher) taskWrite(ctx context.Context, c call) (string, error) {
	var in struct {
		Tasks []struct {
			Text   string           `json:"text"`
			Status coleo.TaskStatus `json:"status"`
		} `json:"tasks"`
	}
	if err := c.read(&in); err != nil {
		return "", err
	}
	if len(in.Tasks) > maxTasks {
		return "", coleo.Errorf(coleo.EInvalid, "a list has at most %d tasks", maxTasks)
	}
	list, err := d.DB.Tasks(ctx, c.arm)
	if err != nil {
		return "", err
	}
	list.Tasks = nil
	for _, t := range in.Tasks {
		if t.Status == "" {
			t.Status = coleo.TaskPending
		}
		list.Last++
		task := coleo.Task{ID: fmt.Sprintf("t%d", list.Last), Text: strings.TrimSpace(t.Text), Status: t.Status}
		if err := checkTask(task); err != nil {
			return "", err
		}
		list.Tasks = append(list.Tasks, task)
	}
	return d.wroteTasks(ctx, c, list)
}

// taskUpdate changes the text or the status of one task.
func (d *Dispatcher) taskUpdate(ctx context.Context, c call) (string, error) {
	var in struct {
		ID     string           `json:"id"`
		Text   string           `json:"text"`
		Status coleo.TaskStatus `json:"status"`
	}
	if err := c.read(&in); err != nil {
		return "", err
	}
	return d.changeTask(ctx, c, in.ID, func(t *coleo.Task) {
		if text := strings.TrimSpace(in.Text); text != "" {
			t.Text = text
		}
		if in.Status != "" {
			t.Status = in.Status
		}
	})
}

// taskComplete completes one task.
func (d *Dispatcher) taskComplete(ctx context.Context, c call) (string, error) {
	var in struct {
		ID string `json:"id"`
	}
	if err := c.read(&in); err != nil {
		return "", err
	}
	return d.changeTask(ctx, c, in.ID, func(t *coleo.Task) { t.Status = coleo.TaskDone })
}

// taskCheck returns the tasks that are not completed.
func (d *Dispatcher) taskCheck(ctx context.Context, c call) (string, error) {
	list, err := d.DB.Tasks(ctx, c.arm)
	if err != nil {
		return "", err
	}
	open := slices.DeleteFunc(list.Tasks, func(t coleo.Task) bool { return t.Status == coleo.TaskDone })
	if len(open) == 0 {
		return "All tasks are completed.", nil
	}
	return fmt.Sprintf("%d tasks are not completed:\n%s", len(open), taskLines(open)), nil
}

// changeTask changes the task with this id. It returns ENotFound if there is no such task.
func (d *Dispatcher) changeTask(ctx context.Context, c call, id string, change func(*coleo.Task)) (string, error) {
	list, err := d.DB.Tasks(ctx, c.arm)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(list.Tasks, func(t coleo.Task) bool { return t.ID == id })
	if at < 0 {
		return "", coleo.Errorf(coleo.ENotFound, "no task has the id %q; the tasks are:\n%s", short(id),
			taskLines(list.Tasks))
	}
	change(&list.Tasks[at])
	if err := checkTask(list.Tasks[at]); err != nil {
		return "", err
	}
	return d.wroteTasks(ctx, c, list)
}

func (d *Dispatcher) wroteTasks(ctx context.Context, c call, list store.TaskList) (string, error) {
	return d.answerAtOnce(ctx, c, store.ToolChange{Tasks: &list}, "The tasks are now:\n"+taskLines(list.Tasks),
		coleo.TasksUpdated{Tasks: list.Tasks})
}

func checkTask(t coleo.Task) error {
	if t.Text == "" || len(t.Text) > maxTaskText {
		return coleo.Errorf(coleo.EInvalid, "the text of a task must have 1 to %d bytes", maxTaskText)
	}
	if !slices.Contains(taskStatuses, t.Status) {
		return coleo.Errorf(coleo.EInvalid, "the status of a task is %s, %s or %s, not %q", coleo.TaskPending,
			coleo.TaskRunning, coleo.TaskDone, short(string(t.Status)))
	}
	return nil
}

func taskLines(list []coleo.Task) string {
	if len(list) == 0 {
		return "(none)"
	}
	lines := make([]string, len(list))
	for i, t := range list {
		lines[i] = fmt.Sprintf("%s [%s] %s", t.ID, t.Status, t.Text)
	}
	return strings.Join(lines, "\n")
}
