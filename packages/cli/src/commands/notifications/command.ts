/** Commands for notifications and the mail server. */
import { CHANNEL_NAMES, MAIL_SECURITY_NAMES, NOTIFY_ON_NAMES } from '../../role-names.ts'
import { command, flag, integer, oneOf, optionalBoolean, text, texts } from '../../command.ts'

const json = oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml'])
const NAME = [{ name: '<name>', summary: 'Name of the notification' }]

const on = texts('--on <event>', `What is reported; repeatable: ${NOTIFY_ON_NAMES.join(', ')} (default: failure and recovery)`)
const pipeline = texts('--pipeline <name>', 'Builds of this pipeline; repeatable')
const project = texts('--project <name>', 'Builds of this project; repeatable')

export const notificationCommands = [
  command('create notification', {
    summary: 'Send messages about builds to a webhook, a chat or by mail',
    about:
      'Without --pipeline, --project and --mine it reports every build. A personal notification reports only builds that you may see. ' +
      'The URL is a secret and is read from a file. For a webhook the command prints the key of its signatures, which is shown only once.',
    arguments: NAME,
    options: {
      channel: oneOf('--channel <type>', 'Kind of receiver', CHANNEL_NAMES),
      urlFile: text('--url-file <file>', 'File with the URL of the receiver; - reads standard input'),
      secretFile: text('--secret-file <file>', 'Webhooks: file with the key, whsec_ and base64 (default: a random key)'),
      to: texts('--to <address>', 'Mail: recipient; repeatable'),
      on,
      personal: flag('--personal', 'Make it yours: only you see it'),
      mine: flag('--mine', 'Personal: builds that you have started'),
      pipeline,
      project,
      branch: text('-b, --branch <filter>', 'Only builds of these branches: a glob, or a regular expression in slashes'),
      disabled: flag('--disabled', 'Create it without sending messages'),
      output: oneOf('-o, --output <format>', 'Output format', ['json']),
    },
    examples: [
      'windlass create notification team-chat --channel slack --url-file slack.url --project shop --branch main',
      'windlass create notification mine --channel mail --to mira@example.com --personal --mine --on failure --on approval',
    ],
    run: async (invocation) => (await import('./action.ts')).createNotification(invocation),
  }),
  command('set notification', {
    summary: 'Change what a notification reports',
    about: '--on, --pipeline and --project replace all earlier ones. An empty --branch removes the filter.',
    arguments: NAME,
    options: {
      on: texts('--on <event>', `What is reported; repeatable: ${NOTIFY_ON_NAMES.join(', ')}`),
      mine: optionalBoolean('--mine', 'Personal: builds that you have started'),
      pipeline,
      project,
      branch: text('-b, --branch <filter>', 'Only builds of these branches'),
      disabled: optionalBoolean('--disabled', 'Send no messages, or send them again with --disabled=false'),
      output: json,
    },
    examples: ['windlass set notification team-chat --on always', 'windlass set notification team-chat --disabled'],
    run: async (invocation) => (await import('./action.ts')).changeNotification(invocation),
  }),
  command('describe notification', {
    summary: 'Show what a notification reports, where, and why the last message was not sent',
    arguments: NAME,
    options: { output: json },
    run: async (invocation) => (await import('./action.ts')).describeNotification(invocation),
  }),
  command('notification test', {
    summary: 'Send a test message to the receiver of a notification',
    about: 'The exit code is 0 if the receiver has accepted the message, otherwise 1.',
    arguments: NAME,
    options: { output: json },
    examples: ['windlass notification test team-chat'],
    run: async (invocation) => (await import('./action.ts')).testNotification(invocation),
  }),
  command('get mail-server', {
    summary: 'Show the mail server that sends notifications',
    options: { output: json },
    run: async (invocation) => (await import('./mail-server.ts')).showMailServer(invocation),
  }),
  command('set mail-server', {
    summary: 'Set the mail server that sends notifications, replacing the earlier one',
    about: 'Without --password-file it keeps the one that is stored for the same host and user name.',
    options: {
      host: text('--host <name>', 'Host name of the mail server'),
      port: integer('--port <number>', 'Port (default: 587, 465 with --security tls, 25 with --security none)'),
      security: oneOf('--security <mode>', 'How the connection is encrypted (default: starttls)', MAIL_SECURITY_NAMES),
      username: text('--username <name>', 'Name for the login'),
      passwordFile: text('--password-file <file>', 'File with the password; - reads standard input'),
      from: text('--from <address>', 'Sender of the mails'),
      domain: texts('--domain <name>', 'Send only to recipients in this domain; repeatable (default: any)'),
      caFile: text('--ca-file <file>', 'PEM certificates to trust instead of those of public authorities'),
      output: json,
    },
    examples: ['windlass set mail-server --host smtp.example.com --from ci@example.com --domain example.com'],
    run: async (invocation) => (await import('./mail-server.ts')).setMailServer(invocation),
  }),
  command('delete mail-server', {
    summary: 'Remove the mail server; mails that are not sent yet wait for another one',
    options: {},
    run: async (invocation) => (await import('./mail-server.ts')).deleteMailServer(invocation),
  }),
]
