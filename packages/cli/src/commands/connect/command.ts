/** Commands that connect the server with other services. */
import { command, flag, integer, oneOf, text, texts } from '../../command.ts'
import { CONNECTED_FORGE_NAMES } from '../../role-names.ts'

export const connectCommands = [
  command('connect git', {
    summary: 'Connect a forge: create or update its Git context, and the webhooks of repositories',
    about:
      'Builds clone with the token of the context. For each --repo the command creates a webhook of the server, and registers it at the forge ' +
      'with the same token, which must be allowed to manage webhooks of the repository. Without --repo it creates one webhook, and prints the ' +
      'address and the secret to enter at the forge. The command can be repeated: it updates what exists, and creates a webhook anew if the ' +
      'forge does not have it. With --oauth-app you sign in at the forge in a browser instead of creating a token, and the server renews the ' +
      'token before it expires. With --app-proxy the webhooks are registered through the app-proxy of a Runner, which also gets the token, ' +
      'and sets the commit statuses of builds.',
    arguments: [{ name: '<name>', summary: 'Name of the Git context' }],
    options: {
      forge: oneOf('--forge <name>', 'Type of the forge', CONNECTED_FORGE_NAMES),
      url: text('--url <url>', 'Base URL of the forge (default: that of the public service; required for gitea)'),
      tokenFile: text(
        '--token-file <file>',
        'File with an access token of the forge; - reads standard input (default: asks, or reads standard input)',
      ),
      username: text(
        '--username <name>',
        'User that the token belongs to, for tokens that are passwords, such as app passwords of Bitbucket',
      ),
      oauthApp: text('--oauth-app <id>', 'Sign in at the forge with this OAuth app (client ID) instead of a token'),
      oauthSecretFile: text('--oauth-secret-file <file>', 'File with the client secret of the OAuth app; none for a public app'),
      noBrowser: flag('--no-browser', 'Do not open a browser; show only the address of the forge'),
      callbackPort: integer(
        '--callback-port <port>',
        'Port of http://127.0.0.1:PORT/callback, to which the forge sends the browser back (default: a free one)',
      ),
      repo: texts('--repo <owner/name>', 'Repository whose events the forge reports; repeatable'),
      appProxy: text(
        '--app-proxy <runtime>',
        'Reach the forge through the app-proxy of this runtime environment, for a forge behind the firewall',
      ),
      integration: text('--integration <name>', 'Git integration of the app-proxy (default: the name of the context)'),
      newSecret: flag('--new-secret', 'Replace the webhooks, for example because their secrets were changed at the forge'),
      output: oneOf('-o, --output <format>', 'Output format', ['json']),
    },
    examples: [
      'windlass connect git github --forge github --token-file token --repo acme/app',
      'windlass connect git work --forge gitea --url https://git.example.com --token-file token --repo acme/app --repo acme/shop',
      'windlass connect git work --forge gitea --url https://git.example.com --oauth-app CLIENT_ID --repo acme/app',
      'windlass connect git work --forge gitlab --url https://git.internal --token-file token --app-proxy prod/builds --repo acme/app',
    ],
    run: async (invocation) => (await import('./action.ts')).connectGit(invocation),
  }),
]
