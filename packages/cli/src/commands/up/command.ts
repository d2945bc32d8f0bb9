/** The `up` command, which runs a local server. */
import { command } from '../../command.ts'
import { upOptions } from './options.ts'

export const upCommands = [
  command('up', {
    summary: 'Start a local server with a runtime environment on the local Docker daemon',
    about:
      'Runs server, agent and engine in one process. Creates the runtime environment `local`, an admin key, and the context `local`. ' +
      'Clusters reach it with `--host 0.0.0.0` and `--advertise URL`. Builds that were running when the process died run again, as another attempt.',
    options: upOptions,
    examples: [
      'windlass up',
      'windlass up --detach --host 0.0.0.0 --advertise http://10.0.0.5:7400',
      'windlass up --detach --port 7400',
      'windlass up --stop',
    ],
    run: async (invocation) => (await import('./action.ts')).up(invocation),
  }),
]
