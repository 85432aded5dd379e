// Package typing types into an agent CLI: prompts, answers to dialogs, interrupts. It
// types only while the newest picture shows that the keys will have the intended
// effect. Afterwards it looks for proof that the keys had that effect.
//
// A Typist types for one session, for one caller at a time. It sees the session through
// a View. It never touches a screen, a lock or a process itself.
//
// The files, by subject:
//
//   - the session as a Typist sees it: view
//   - one key at a time: keys; the Typist and its lock: typist
//   - a prompt: prompt clears the composer and types the text; submit presses the
//     submit key and collects the proof; resubmit presses the key once more if it was
//     lost; unseen makes sure that no earlier text is still on its way; prove looks for
//     a prompt that was typed before a restart
//   - dialogs and turns: respond, interrupt
package typing
