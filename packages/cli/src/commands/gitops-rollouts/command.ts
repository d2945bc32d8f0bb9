/** Commands for the rollouts of an application. They call the runtime, which asks Argo CD. */
import { command, integer, oneOf, text } from '../../command.ts'

const application = [
  { name: '<runtime>', summary: 'Name of the GitOps runtime' },
  { name: '<name>', summary: 'Name of the application' },
]
const rollout = [...application, { name: '[rollout]', summary: 'NAME or NAMESPACE/NAME; needed if the application has several' }]
const options = {
  runtimeUrl: text('--runtime-url <url>', 'URL of the runtime (default: that of its tunnel)'),
  output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']),
}

export const gitopsRolloutCommands = [
  command('gitops app rollouts', {
    summary: 'List the rollouts of an application',
    arguments: application,
    options,
    examples: ['windlass gitops app rollouts prod shop'],
    run: async (invocation) => (await import('./show.ts')).listRollouts(invocation),
  }),
  command('gitops app rollout get', {
    summary: 'Show a rollout: its steps, analyses and revisions, and what can be done with it now',
    arguments: rollout,
    options,
    examples: ['windlass gitops app rollout get prod shop'],
    run: async (invocation) => (await import('./show.ts')).getRollout(invocation),
  }),
  command('gitops app rollout pause', {
    summary: 'Pause a rollout where it is',
    arguments: rollout,
    options,
    examples: ['windlass gitops app rollout pause prod shop'],
    run: async (invocation) => (await import('./operations.ts')).actOnRollout(invocation, 'pause'),
  }),
  command('gitops app rollout resume', {
    summary: 'Let a rollout go on that is paused, or that waits at a step',
    arguments: rollout,
    options,
    examples: ['windlass gitops app rollout resume prod shop'],
    run: async (invocation) => (await import('./operations.ts')).actOnRollout(invocation, 'resume'),
  }),
  command('gitops app rollout skip', {
    summary: 'Skip the step at which a rollout is',
    arguments: rollout,
    options,
    examples: ['windlass gitops app rollout skip prod shop'],
    run: async (invocation) => (await import('./operations.ts')).actOnRollout(invocation, 'skip-current-step'),
  }),
  command('gitops app rollout promote', {
    summary: 'Complete a rollout at once',
    about: 'Its remaining steps, pauses and analyses are left out.',
    arguments: rollout,
    options,
    examples: ['windlass gitops app rollout promote prod shop'],
    run: async (invocation) => (await import('./operations.ts')).actOnRollout(invocation, 'promote-full'),
  }),
  command('gitops app rollout abort', {
    summary: 'End a rollout; the stable revision gets all traffic again',
    arguments: rollout,
    options,
    examples: ['windlass gitops app rollout abort prod shop'],
    run: async (invocation) => (await import('./operations.ts')).actOnRollout(invocation, 'abort'),
  }),
  command('gitops app rollout retry', {
    summary: 'Begin a rollout again that was aborted',
    arguments: rollout,
    options,
    examples: ['windlass gitops app rollout retry prod shop'],
    run: async (invocation) => (await import('./operations.ts')).actOnRollout(invocation, 'retry'),
  }),
  command('gitops app rollout restart', {
    summary: 'Restart the pods of a rollout one after the other',
    arguments: rollout,
    options,
    examples: ['windlass gitops app rollout restart prod shop'],
    run: async (invocation) => (await import('./operations.ts')).actOnRollout(invocation, 'restart'),
  }),
  command('gitops app rollout rollback', {
    summary: 'Restore an earlier revision of a rollout, by its steps',
    about:
      'Argo CD must not correct the application automatically, because it would undo the rollback. `gitops app rollout get` lists the revisions. Git stays as it is, so the application is out of sync afterwards.',
    arguments: rollout,
    options: { revision: integer('--revision <number>', 'Revision (default: the one before the latest)'), ...options },
    examples: ['windlass gitops app rollout rollback prod shop --revision 3'],
    run: async (invocation) => (await import('./operations.ts')).rollBackRollout(invocation),
  }),
]
