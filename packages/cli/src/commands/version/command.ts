/** The `version` command, which loads almost nothing. */
import { VERSION } from '@windlass/plan/version'
import { command, oneOf } from '../../command.ts'

export const versionCommands = [
  command('version', {
    summary: 'Print the version',
    options: { output: oneOf('-o, --output <format>', 'Output format', ['json']) },
    async run({ out, options }) {
      out.line(
        options.output === 'json'
          ? JSON.stringify({ version: VERSION, node: process.versions.node })
          : `windlass ${VERSION} (Node ${process.versions.node})`,
      )
    },
  }),
]
