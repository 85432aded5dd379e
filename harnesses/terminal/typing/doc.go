// Package typing types into an agent CLI: prompts, answers to dialogs, interrupts. It types only
// while the newest picture shows that the keys will have the intended effect. After the keys were
// typed, it looks for proof that they had that effect.
//
// A Typist types into one session, for one caller at a time. It sees the session through a View. It
// never touches a screen or a process itself.
//
// The files, by subject:
//
//   - the session as a Typist sees it: view
//   - the Typist and its lock: typist
//   - how single keys are typed: keys
//   - a prompt: prompt clears the composer and types the text; submit presses the
//     submit key and collects the proof; resubmit and dropped press the key once more
//     if the agent CLI ignored it; unseen makes sure that the agent CLI has read
//     earlier text; prove looks for a prompt that was typed before a restart
//   - dialogs and turns: respond, tick, interrupt
//   - a dialog that no rule knows: strange
//   - the mode and the model: mode; a mode that takes no prompt: leave
package typing
