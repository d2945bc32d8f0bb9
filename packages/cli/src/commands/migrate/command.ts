/** The `migrate` command. */
import { command, flag, oneOf, text } from '../../command.ts'

export const migrateCommands = [
  command('migrate', {
    summary: 'Move pipelines, contexts and step types from Codefresh',
    about:
      'Reads the documents of a file, of all YAML files below a folder, or of a whole account through the API of the platform (--from). Writes resources to ' +
      'the configured server, or as files with --output-dir, and reports each one: moved, moved with remarks, or left with the reason. Secret values are ' +
      'not moved. The exit code is 1 if anything is left. The command can be repeated.',
    arguments: [{ name: '[source]', summary: 'File or folder; - reads standard input' }],
    options: {
      from: text('--from <url>', 'Read the account of this platform, such as https://g.codefresh.io'),
      tokenFile: text('--token-file <file>', 'With --from: file with an API key of the account'),
      outputDir: text('--output-dir <dir>', 'Write files for `windlass apply` to this folder instead of the server'),
      dryRun: flag('--dry-run', 'Show what would be done; compares with the server if there is one'),
      overwrite: flag('--overwrite', 'Replace resources that exist with other content'),
      output: oneOf('-o, --output <format>', 'Format of the report', ['json']),
    },
    examples: [
      'windlass migrate ./repos --dry-run',
      'windlass migrate --from https://g.codefresh.io --token-file codefresh.key --output-dir ./moved',
      'windlass migrate --from https://g.codefresh.io --token-file codefresh.key -o json > report.json',
    ],
    run: async (invocation) => (await import('./action.ts')).migrate(invocation),
  }),
]
