/** Commands for the settings of the account. */
import { command, oneOf } from '../../command.ts'

const format = oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml'])

export const settingsCommands = [
  command('get settings', {
    summary: 'Show the settings of the account',
    options: { output: format },
    run: async (invocation) => (await import('./action.ts')).showSettings(invocation),
  }),
  command('set settings', {
    summary: 'Change settings of the account',
    about: 'NAME=VALUE changes a setting and keeps the others; NAME- restores its default.',
    arguments: [{ name: '<change...>', summary: 'NAME=VALUE, or NAME- for its default' }],
    options: { output: format },
    examples: ['windlass set settings pauseBuilds=true', 'windlass set settings concurrency=20 keepPVCsForPendingApproval=true'],
    run: async (invocation) => (await import('./action.ts')).setSettings(invocation),
  }),
]
