/** The `run` command, on a server or on the local Docker daemon. */
import { command } from '../../command.ts'
import { runOptions } from './options.ts'

export const runCommands = [
  command('run', {
    summary: 'Run a pipeline and follow its log',
    about:
      'Exits with the exit code of the build. On a server, Ctrl-C stops following and leaves the build running; a second Ctrl-C ' +
      'terminates it. A local build is terminated by the first Ctrl-C.',
    arguments: [{ name: '[pipeline]', summary: 'Name or id of a stored pipeline' }],
    options: runOptions,
    examples: [
      'windlass run demo/app -b main -v GREETING=hello',
      'windlass run -f pipeline.yml',
      'windlass run --local -f pipeline.yml --source .',
    ],
    async run(invocation) {
      if (invocation.options.local) return (await import('./locally.ts')).runLocally(invocation)
      return (await import('./on-server.ts')).runOnServer(invocation)
    },
  }),
]
