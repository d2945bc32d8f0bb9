/** The `plan` command, which shows what a build would do. */
import { command } from '../../command.ts'
import { planOptions } from './options.ts'

export const planCommands = [
  command('plan', {
    summary: 'Show what a build would do, without running anything',
    about:
      'Shows the steps in the order in which they run, which of them run and why or why not, every variable with its source, ' +
      'and the images that are needed. A step whose condition depends on results of the build is marked with ?. ' +
      'The exit code is 1 if the document has errors. With --pipeline the server plans a stored pipeline, and says whether a build of it would wait; ' +
      'with --build it shows the plan of a build.',
    arguments: [{ name: '[file]', summary: 'The document, like -f' }],
    options: planOptions,
    examples: [
      'windlass plan -f pipeline.yml -b main',
      'windlass plan pipeline.yml -v DEPLOY=true -o json',
      'windlass plan pipeline.yml -o svg > pipeline.svg',
      'windlass plan --pipeline demo/app -b main',
      'windlass plan --build 65f0c1d2a3b4c5d6e7f80912 -o json',
    ],
    run: async (invocation) => (await import('./action.ts')).planFile(invocation),
  }),
]
