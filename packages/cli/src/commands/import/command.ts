/** The `import` commands. */
import { command, flag } from '../../command.ts'

export const importCommands = [
  command('import step-types', {
    summary: 'Load a catalog of step types into the server',
    about:
      'Reads all manifests (kind: step-type) below a folder or in a Git repository, and creates their versions on the server. Manifests with errors, types ' +
      'that Windlass includes, duplicates and versions that exist with other content are left out, each with all its problems. The exit code is 1 if anything is left out, except types that Windlass includes. The command can be repeated.',
    arguments: [{ name: '<source>', summary: 'Folder, or URL of a Git repository' }],
    options: {
      dryRun: flag('--dry-run', 'Show what would be done'),
      overwrite: flag('--overwrite', 'Replace versions that the server has with other content'),
    },
    examples: [
      'windlass import step-types ./steps',
      'windlass import step-types https://git.example.com/team/steps.git --dry-run',
    ],
    run: async (invocation) => (await import('./action.ts')).importStepTypes(invocation),
  }),
]
