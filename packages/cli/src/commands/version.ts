/** `version`, which loads next to nothing. */
import { command, oneOf } from '../command.ts'

export const VERSION = '0.1.0'

export const versionCommands = [
  command('version', {
    summary: 'Print the version',
    options: { output: oneOf('-o, --output <format>', 'How to print', ['json']) },
    async run({ out, options }) {
      out.line(
        options.output === 'json'
          ? JSON.stringify({ version: VERSION, node: process.versions.node })
          : `windlass ${VERSION} (Node ${process.versions.node})`,
      )
    },
  }),
]
