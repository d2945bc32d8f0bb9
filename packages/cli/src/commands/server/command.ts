/** Commands that manage a server: over its API, and with its data while it is stopped. */
import { command, flag, oneOf, text } from '../../command.ts'

const output = oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml'])

const direct = flag('--direct', 'Read the database itself, with the settings WINDLASS_SERVER_*, instead of calling the server')
const data = text('--data <folder>', 'Data folder of the server (default: WINDLASS_SERVER_DATA_DIR)')
const dryRun = flag('--dry-run', 'Check the archive, the master key and the database, and write nothing')
const archive = [{ name: '<file>', summary: 'The archive' }]
const newArchive = [{ name: '<file>', summary: 'File to write, compressed if it ends with `.gz`; - is standard output' }]

export const serverCommands = [
  command('server backup', {
    summary: 'Write everything that a server stores to a file, while it is running',
    about:
      'The archive has the database as of one moment, and the logs of it. It is checked before the file gets its name. ' +
      'Secrets in it are encrypted with the master key, which it contains only with --passphrase-file. Use --direct if the server is stopped.',
    arguments: newArchive,
    options: {
      withoutLogs: flag('--without-logs', 'Omit the logs, for example if the bucket is replicated'),
      passphraseFile: text('--passphrase-file <file>', 'Include the master keys, encrypted with the passphrase in this file'),
      direct,
      data,
    },
    examples: ['windlass server backup monday.tar.gz', 'windlass server backup full.tar.gz --passphrase-file passphrase.txt'],
    run: async (invocation) => (await import('./archives.ts')).backup(invocation),
  }),
  command('server restore', {
    summary: 'Restore a backup into an empty database and an empty log storage',
    about:
      'Uses the settings WINDLASS_SERVER_* of the server that will use the data, which may be another database than that of the backup. ' +
      'Rows and checksums are compared before the transaction commits. After an error the database is empty, and the command can be repeated.',
    arguments: archive,
    options: {
      passphraseFile: text(
        '--passphrase-file <file>',
        'Restore the master keys, which are encrypted with the passphrase in this file',
      ),
      data,
      dryRun,
    },
    examples: ['windlass server restore monday.tar.gz --data /var/lib/windlass --dry-run'],
    run: async (invocation) => (await import('./archives.ts')).restore(invocation),
  }),
  command('server export', {
    summary: 'Write the database to a file, to move it to another one',
    about: 'The archive has no logs and no keys: the new server uses the log storage and the master key of the old one.',
    arguments: newArchive,
    options: { direct, data },
    examples: ['windlass server export windlass.tar --direct --data /var/lib/windlass'],
    run: async (invocation) => (await import('./archives.ts')).exportDatabase(invocation),
  }),
  command('server import', {
    summary: 'Load an exported database into another one: from SQLite to PostgreSQL, or back',
    about:
      'Uses the settings WINDLASS_SERVER_* of the server that will use the data: an empty database, and the log storage and master key of the old server. ' +
      'No server may run on the database.',
    arguments: archive,
    options: { data, dryRun },
    examples: ['windlass server import windlass.tar --data /var/lib/windlass'],
    run: async (invocation) => (await import('./archives.ts')).importDatabase(invocation),
  }),
  command('server recover-admin', {
    summary: 'Create an admin key without one, from the data of a server',
    about:
      'For a server whose admin keys and passwords are lost. It needs the database and the master key, with the settings WINDLASS_SERVER_* of the server. ' +
      'The server of an SQLite database must be stopped. The key acts for the oldest active admin, and the audit log names it.',
    options: { data },
    examples: ['windlass server recover-admin --data /var/lib/windlass > admin.key'],
    run: async (invocation) => (await import('./recover-admin.ts')).recover(invocation),
  }),
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
