/** The `version` command, which loads almost nothing. */
import { VERSION } from '@windlass/plan/version'
import { command, flag, oneOf, text } from '../../command.ts'

export const versionCommands = [
  command('version', {
    summary: 'Print the version',
    about:
      '--check compares the version with that of the server, --release with the file `images.json` of a release. The exit code is 1 if they ' +
      'differ: then install the version of the server.',
    options: {
      check: flag('--check', 'Compare with the server'),
      release: text('--release <file>', 'Compare with the file images.json of a release; - reads standard input'),
      output: oneOf('-o, --output <format>', 'Output format', ['json']),
    },
    examples: ['windlass version --check', 'windlass version --release images.json -o json'],
    async run(invocation) {
      const { out, options } = invocation
      if (options.check || options.release !== undefined) return (await import('./check.ts')).checkVersion(invocation)
      out.line(
        options.output === 'json'
          ? JSON.stringify({ version: VERSION, node: process.versions.node })
          : `windlass ${VERSION} (Node ${process.versions.node})`,
      )
    },
  }),
]
