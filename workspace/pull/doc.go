// Package pull makes a pull request of an arm's branch, and sends the failed checks and the
// comments to the arm.
//
// Open pushes the branch and makes the pull request. Follow looks for failed checks and comments,
// and sends them to the arm as prompts. The package calls GitHub and GitLab through the programs gh
// and glab, with the user's own login. These programs run in the root folder, so they never read an
// arm's git configuration.
//
// A Record, one file per arm, contains the pull request and the comments that the arm has received.
// Each step first looks for the result of an earlier call, so no step is done twice, even after a
// kill.
//
// Package git pushes the commits. Package pull knows nothing about queues: its caller passes an
// Arm, which accepts prompts.
package pull
