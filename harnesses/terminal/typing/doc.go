// Package typing types prompts, answers to dialogs and interrupts into an agent CLI. It types only while the
// newest picture shows that the keys will have the intended effect. Afterwards it searches for proof of this
// effect.
//
// A Typist types into one session, for one caller at a time. It uses the session only through a View, and
// never a screen or a process directly.
//
// The files, by subject:
//
//   - the session as a Typist sees it: view
//   - the Typist and its lock: typist
//   - typing single keys: keys
//   - clearing the composer and typing the text of a prompt: prompt
//   - the submit key, and the proof that the prompt has arrived: submit
//   - a second press of a submit key that the agent CLI ignored: resubmit, dropped
//   - making sure that the agent CLI has read the text that was typed before: unseen
//   - text of somebody else that is removed from the composer: cleared
//   - a prompt that was typed before a restart: prove
//   - dialogs and turns: respond, tick, interrupt
//   - menus that need several keys to close: menu
//   - a dialog that no rule knows: strange
//   - the mode and the model: mode
//   - a mode that takes no prompt: leave
package typing
