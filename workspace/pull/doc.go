// Package pull makes a pull request of an arm's branch, and gives the arm the failed checks and the
// comments.
//
// Open pushes the branch and makes the pull request. Follow looks for failed checks and for
// comments, and sends them to the arm as prompts. The programs gh and glab call GitHub and GitLab,
// with the user's own login. They run in the root folder, so they never read an arm's git
// configuration.
//
// A Record, one file for each arm, names the pull request and the comments that the arm has
// received. Each step first looks for the result of an earlier call. So no step is done twice, even
// after a kill. Package git pushes the commits. Package pull does not know queues: its caller gives
// it an Arm, which takes prompts.
package pull
