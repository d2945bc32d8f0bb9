/** A server on this machine. */
import { command, flag, integer, text } from '../command.ts'

export const DEFAULT_PORT = 7400

export const upOptions = {
  port: integer('--port <port>', `Port to listen on; ${DEFAULT_PORT} when left out`),
  host: text('--host <address>', 'Address to listen on; 127.0.0.1 when left out'),
  data: text('--data <folder>', 'Where to keep everything; ~/.local/share/windlass when left out'),
  postgres: text(
    '--postgres <url>',
    'Keep the records in this PostgreSQL database (or set WINDLASS_POSTGRES, so that no password shows); a file when left out',
  ),
  detach: flag('--detach', 'Return as soon as it is ready; it runs on'),
  stop: flag('--stop', 'Stop the one that runs with this data folder'),
}

export const upCommands = [
  command('up', {
    summary: 'Start a server with a runtime environment on this machine’s Docker',
    about:
      'Server, agent and engine in one process. Makes the runtime environment `local`, an admin key, and the context `local` of this ' +
      'command. Builds that were running when the process died are run again, as another attempt.',
    options: upOptions,
    examples: ['windlass up', 'windlass up --detach --port 7400', 'windlass up --stop'],
    run: async (invocation) => (await import('../actions/up.ts')).up(invocation),
  }),
]
