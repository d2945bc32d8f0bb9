/** Commands for the Git integrations of a GitOps runtime, and for Git tokens. They call the runtime itself. */
import { command, flag, oneOf, text } from '../../command.ts'

const runtime = [{ name: '<runtime>', summary: 'Name of the GitOps runtime' }]
const integration = [...runtime, { name: '[name]', summary: 'Name of the integration (default: default)' }]
const url = { runtimeUrl: text('--runtime-url <url>', 'URL of the runtime (default: that of its tunnel)') }
const output = { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) }
const ofRuntime = { runtimeToken: flag('--runtime-token', 'The token with which the runtime carries out releases; for admins') }

export const gitopsIntegrationCommands = [
  command('gitops integration list', {
    summary: 'List the Git integrations of a GitOps runtime, and your registrations',
    arguments: runtime,
    options: { ...url, ...output },
    examples: ['windlass gitops integration list prod'],
    run: async (invocation) => (await import('./action.ts')).listIntegrations(invocation),
  }),
  command('gitops integration add', {
    summary: 'Add a Git integration to a GitOps runtime, or change it',
    about: 'An integration is a forge that users of the runtime may use. A changed URL needs new registrations.',
    arguments: integration,
    options: {
      provider: text('--provider <name>', 'github, gitlab, gitea or bitbucket-server'),
      url: text('--url <url>', 'URL of the forge as people open it'),
      accountAdminsOnly: flag('--account-admins-only', 'Share it with admins only'),
      ...url,
      ...output,
    },
    examples: ['windlass gitops integration add prod --provider gitlab --url https://git.example.com'],
    run: async (invocation) => (await import('./action.ts')).addIntegration(invocation),
  }),
  command('gitops integration remove', {
    summary: 'Remove a Git integration from a GitOps runtime, with the Git tokens of its users',
    arguments: integration,
    options: url,
    examples: ['windlass gitops integration remove prod old-forge'],
    run: async (invocation) => (await import('./action.ts')).removeIntegration(invocation),
  }),
  command('gitops integration register', {
    summary: 'Register your Git token for a Git integration',
    about: 'The runtime asks the forge whose token it is, and keeps it encrypted in its namespace. It does not reach the server.',
    arguments: integration,
    options: {
      tokenFile: text('--token-file <file>', 'File with the Git token; - reads standard input'),
      username: text('--username <name>', 'User name, for forges whose tokens need one'),
      ...ofRuntime,
      ...url,
      ...output,
    },
    examples: [
      'windlass gitops integration register prod --token-file git-token',
      'windlass gitops integration register prod --token-file service-token --runtime-token',
    ],
    run: async (invocation) => (await import('./action.ts')).register(invocation),
  }),
  command('gitops integration deregister', {
    summary: 'Remove your Git token from a Git integration',
    arguments: integration,
    options: { user: text('--user <id>', 'The user whose token is removed (default: you); for admins'), ...ofRuntime, ...url },
    examples: ['windlass gitops integration deregister prod'],
    run: async (invocation) => (await import('./action.ts')).deregister(invocation),
  }),
]
