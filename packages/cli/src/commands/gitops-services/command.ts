/** Commands for service integrations of a GitOps runtime: registries and Jira, whose logins are sealed Secrets in the shared configuration repository. They call the runtime itself. */
import { command, oneOf, text, texts } from '../../command.ts'

const runtime = [{ name: '<runtime>', summary: 'Name of the GitOps runtime' }]
const named = [...runtime, { name: '[name]', summary: 'Name of the integration (default: default)' }]
const url = { runtimeUrl: text('--runtime-url <url>', 'URL of the runtime (default: that of its tunnel)') }
const output = { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) }
const message = { message: text('--message <text>', 'Message of the commit') }
const SEALED =
  'The runtime encrypts the login for the controller of Sealed Secrets in its cluster, and commits it in your name. It cannot be read from Git or from the runtime again. Repeating the command replaces it.'

export const gitopsServiceCommands = [
  command('gitops service list', {
    summary: 'List the registries and Jira whose logins a GitOps runtime has, without the logins',
    arguments: runtime,
    options: { ...url, ...output },
    examples: ['windlass gitops service list prod'],
    run: async (invocation) => (await import('./action.ts')).listServices(invocation),
  }),
  command('gitops service add-registry', {
    summary: 'Give a GitOps runtime the login of a registry, sealed in Git',
    about: SEALED,
    arguments: named,
    options: {
      domain: text('--domain <host>', 'Host of the registry with its port, as the names of its images begin'),
      username: text('--username <name>', 'User name'),
      tokenFile: text('--token-file <file>', 'File with the password or a token; - is standard input'),
      ...message,
      ...url,
      ...output,
    },
    examples: ['windlass gitops service add-registry prod --domain registry.example.com --username ci --token-file token'],
    run: async (invocation) => (await import('./action.ts')).addRegistry(invocation),
  }),
  command('gitops service add-jira', {
    summary: 'Give a GitOps runtime the login of Jira, sealed in Git',
    about: SEALED,
    arguments: named,
    options: {
      url: text('--url <url>', 'URL of Jira'),
      username: text('--username <name>', 'E-mail address of the owner of an API token (default: a personal access token)'),
      tokenFile: text('--token-file <file>', 'File with the token; - is standard input'),
      project: texts(
        '--project <key>',
        'Key of a project whose issues reports of images may read; can be repeated (default: all)',
      ),
      ...message,
      ...url,
      ...output,
    },
    examples: [
      'windlass gitops service add-jira prod --url https://acme.atlassian.net --username ci@example.com --token-file token',
    ],
    run: async (invocation) => (await import('./action.ts')).addJira(invocation),
  }),
  command('gitops service remove', {
    summary: 'Remove the login of a registry or of Jira from a GitOps runtime',
    about: 'One commit removes its file, and Argo CD deletes the Secret.',
    arguments: [
      ...runtime,
      { name: '<type>', summary: 'registry or jira', choices: ['registry', 'jira'] },
      { name: '[name]', summary: 'Name of the integration (default: default)' },
    ],
    options: url,
    examples: ['windlass gitops service remove prod registry'],
    run: async (invocation) => (await import('./action.ts')).removeService(invocation),
  }),
]
