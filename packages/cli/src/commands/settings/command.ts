/** Commands for the settings of the account, and the quotas of projects. */
import { command, flag, oneOf, texts } from '../../command.ts'

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
    examples: [
      'windlass set settings pauseBuilds=true "pauseReason=upgrade of the database"',
      'windlass set settings concurrency=20 keepPVCsForPendingApproval=true',
    ],
    run: async (invocation) => (await import('./action.ts')).setSettings(invocation),
  }),
  command('set runtime-access', {
    summary: 'Give the runtime environments with a tag to teams',
    about:
      'Only members of these teams, and admins, then see and use the runtime environments that have the tag. Without a team only admins do. `get settings` shows all tags.',
    arguments: [{ name: '<tag>', summary: 'Tag of runtime environments' }],
    options: {
      team: texts('--team <name>', 'Team whose members may use them; repeatable, replaces all earlier ones'),
      everybody: flag('--everybody', 'The tag restricts nothing any more'),
      output: format,
    },
    examples: ['windlass set runtime-access gpu --team ml --team research', 'windlass set runtime-access gpu --everybody'],
    run: async (invocation) => (await import('./action.ts')).setRuntimeAccess(invocation),
  }),
  command('get quotas', {
    summary: 'Show the quotas of a project',
    arguments: [{ name: '<project>', summary: 'Name of the project' }],
    options: { output: format },
    run: async (invocation) => (await import('./action.ts')).showQuotas(invocation),
  }),
  command('set quotas', {
    summary: 'Limit the concurrent builds of a project, and what is kept of its builds and logs',
    about:
      'NAME=VALUE sets a quota and keeps the others; NAME- removes it. The quotas are concurrency, buildDays, logDays, maxBuilds and maxLogBytes.',
    arguments: [
      { name: '<project>', summary: 'Name of the project' },
      { name: '<change...>', summary: 'NAME=VALUE, or NAME- to remove it' },
    ],
    options: { output: format },
    examples: [
      'windlass set quotas shop concurrency=5 logDays=14',
      'windlass set quotas shop maxLogBytes=10737418240 maxBuilds-',
    ],
    run: async (invocation) => (await import('./action.ts')).setQuotas(invocation),
  }),
]
