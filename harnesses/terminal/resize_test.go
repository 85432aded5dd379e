package terminal

import (
	"syscall"
	"testing"
)

// What a program draws once it knows its new size must not be read at the old one:
// the screen has it before the program can be told.
func TestTheScreenIsResizedBeforeTheProgramIs(t *testing.T) {
	t.Parallel()
	st, s := setStage(t, 80, 24, 0)
	st.say(s, []byte("> \r\n---"))
	holding := s.Handle().Holder.PID
	if err := syscall.Kill(holding, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Resize(t.Context(), 60, 20) }()
	size := func() [2]int { v := s.Screen(); return [2]int{v.Cols, v.Rows} }
	st.await("the screen has the new size, or the request is over", func() bool {
		return size() == [2]int{60, 20} || len(done) > 0
	})
	if len(done) > 0 {
		t.Errorf("the request is over before the screen has the new size: %v", <-done)
		done <- nil
	}
	if err := syscall.Kill(holding, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || size() != [2]int{60, 20} {
		t.Errorf("the program is resized: %v, the screen is %v", err, size())
	}
}
