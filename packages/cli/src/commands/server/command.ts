/** Commands that manage a server over its API. */
import { command, flag, oneOf } from '../../command.ts'

const output = oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml'])

export const serverCommands = [
  command('server keys', {
    summary: 'List master keys and their uses',
    options: { output },
    run: async (invocation) => (await import('./master-keys.ts')).showMasterKeys(invocation),
  }),
  command('server rotate-keys', {
    summary: 'Rotate the master key without downtime',
    about:
      'A server that keeps its key in its data folder creates the new one itself. If the keys come from a Secret or a variable, append the new one there first. ' +
      'The rotation runs on the server and continues after a restart. The command may be interrupted; run it again to see the progress. ' +
      'Older keys are kept until they are pruned, so that running builds are not affected.',
    options: { prune: flag('--prune', 'Remove older keys when nothing uses them any more'), output },
    examples: ['windlass server rotate-keys', 'windlass server rotate-keys --prune'],
    run: async (invocation) => (await import('./master-keys.ts')).rotateMasterKeys(invocation),
  }),
  command('server prune-keys', {
    summary: 'Remove master keys that are no longer used',
    about:
      'Checks every stored secret again. Keys of credentials that running builds hold are removed when these builds have ended. ' +
      'A backup from before the rotation needs the older key: keep a copy of it as long as the backup.',
    options: { output },
    run: async (invocation) => (await import('./master-keys.ts')).pruneMasterKeys(invocation),
  }),
]
