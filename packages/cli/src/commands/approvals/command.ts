/** Commands that decide approvals. */
import { command, flag, text } from '../../command.ts'

const decisionArguments = [
  { name: '<build>', summary: 'Id of a build' },
  { name: '[step]', summary: 'The step that waits; optional if only one waits' },
]
const decisionOptions = {
  comment: text('-m, --comment <text>', 'Comment, shown with the decision'),
  follow: flag('-f, --follow', 'Follow the build to its end'),
}

export const approvalCommands = [
  command('approve', {
    summary: 'Approve a waiting step of a build, or the start of a build of a fork',
    about: 'Repeating the same decision has no effect. A different one is rejected, because an approval is decided once.',
    arguments: decisionArguments,
    options: decisionOptions,
    examples: [
      'windlass approve 65f0c1d2a3b4c5d6e7f80912',
      'windlass approve 65f0c1d2a3b4c5d6e7f80912 release -m "tested by hand"',
    ],
    run: async (invocation) => (await import('./action.ts')).decideBuild(invocation, 'approve'),
  }),
  command('deny', {
    summary: 'Deny a waiting step of a build, or the start of a build of a fork',
    arguments: decisionArguments,
    options: decisionOptions,
    run: async (invocation) => (await import('./action.ts')).decideBuild(invocation, 'deny'),
  }),
]
